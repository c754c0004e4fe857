import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("RFC 9101: authorization requests that clients sign")
struct SignedRequestTests {
    /// A client that signs, and what a browser of its brings.
    private struct Signer {
        let f: ProviderFixture
        let client: RegisteredClient
        let key: ClientKey

        init(_ f: ProviderFixture, _ key: ClientKey? = nil, requiring: Bool = false) async throws {
            let key = try key ?? ClientKey(.es256)
            var settings = key.settings
            settings.profile.requiresSignedRequests = requiring
            self.f = f
            self.key = key
            self.client = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address], settings: settings)
        }

        /// A request object that is right but for `changes`; `nil` leaves a claim out.
        func object(_ changes: [String: JSON?] = [:], type: String = "oauth-authz-req+jwt", by other: ClientKey? = nil)
            throws -> String
        {
            let now = self.f.clock.source.now().seconds
            var claims: JSONObject = [
                "iss": .string(self.client.client.id), "aud": .string(ProviderFixture.issuer),
                "exp": .integer(now + 60), "nbf": .integer(now), "client_id": .string(self.client.client.id),
                "response_type": .string("code"), "redirect_uri": .string(ProviderFixture.address),
                "scope": .string("openid"), "state": .string("signed"), "nonce": .string("n-signed"),
                "code_challenge": .string(self.f.verifier.challenge.text), "code_challenge_method": .string("S256"),
            ]
            for (name, value) in changes { claims[name] = value }
            return try JWS.sign(JSON.object(claims).serialized, type: type, with: (other ?? self.key).signing)
        }

        /// What a browser is told that comes with an object, and with more beside it.
        func come(
            _ object: String, _ more: Parameters = [:], session: SessionSecret? = nil,
            explain: (ProviderRefusal) -> Void = { _ in }
        ) async throws -> AuthorizationAnswer {
            var parameters: Parameters = ["client_id": self.client.client.id, "request": object]
            for (name, value) in more.members { parameters.append(name, value) }
            return try await self.f.provider.authorizations.authorize(
                parameters.encoded, browser: self.f.browser, session: session, source: "a", address: nil,
                explain: explain)
        }

        /// Pushes a form of the client's, which authenticates.
        func push(_ form: Parameters) async throws -> ProviderAnswer {
            var form = form
            form.append("client_assertion", try self.key.assertion(self.client.client.id, self.f))
            form.append("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            return try await self.f.provider.authorizations.push(header: nil, body: form.encoded, source: "a")
        }
    }

    private func request(_ answer: AuthorizationAnswer) throws -> String {
        guard case .signIn(let request, _) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return request
    }

    /// The parameters of the answer that the client gets once the person has signed in.
    private func complete(_ answer: AuthorizationAnswer, _ f: ProviderFixture) async throws -> (String) -> String? {
        let request = try self.request(answer)
        f.authenticate(request)
        guard
            case .signedIn(.redirect(let redirect), _, _) = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
        else { throw OAuthError(.serverError, detail: "not signed in") }
        #expect(redirect.hasPrefix(ProviderFixture.address + "?"))
        return { name in (try? ProviderFixture.parameter(name, of: redirect)).flatMap { $0 } }
    }

    @Test("a signed request signs a person in, and what stands beside it counts for nothing (section 6.3)")
    func counts() async throws {
        try await ProviderFixture.run { f in
            let signer = try await Signer(f)
            let others: Parameters = [
                "redirect_uri": "https://evil.example/", "state": "beside", "nonce": "beside", "scope": "other",
                "response_type": "token", "prompt": "none", "code_challenge": "x", "dpop_jkt": "x",
            ]
            let answered = try await self.complete(try await signer.come(signer.object(), others), f)
            #expect(answered("state") == "signed")
            let code = try #require(answered("code"))
            let assertion = try signer.key.assertion(signer.client.client.id, f)
            let body = try #require(try await f.token(code, assertion: assertion).body)
            #expect(body["scope"] == .string("openid"))
            let claims = try f.claims(body.requiredString("id_token"), type: "JWT")
            #expect(claims.members["nonce"] == .string("n-signed"))
        }
    }

    @Test("every algorithm that the metadata names is taken", arguments: ["ES256", "PS256", "EdDSA", "RS256"])
    func algorithms(name: String) async throws {
        try await ProviderFixture.run { f in
            #expect(f.provider.discovery["request_parameter_supported"] == .bool(true))
            let listed = try #require(try f.provider.discovery.strings("request_object_signing_alg_values_supported"))
            #expect(Set(listed) == ["ES256", "PS256", "EdDSA", "RS256"])
            let signer = try await Signer(f, ClientKey(#require(JWSAlgorithm(rawValue: name))))
            _ = try self.request(try await signer.come(signer.object()))
        }
    }

    @Test(
        "one that is not right is told on a page, and its own address is not followed",
        arguments: [
            ["aud": nil], ["aud": .string("https://other.example")], ["aud": .string("https://id.example/")],
            ["exp": nil], ["exp": .integer(1_800_000_000 - 31)], ["exp": .integer(1_800_000_000 + 3632)],
            ["nbf": .integer(1_800_000_000 + 31)], ["iss": nil], ["iss": .string("another")],
            ["client_id": nil], ["client_id": .string("another")], ["request": .string("e30.e30.")],
            ["request_uri": .string("urn:ietf:params:oauth:request_uri:x")], ["state": .bool(true)],
        ] as [[String: JSON?]])
    func wrong(changes: [String: JSON?]) async throws {
        try await ProviderFixture.run { f in
            let signer = try await Signer(f)
            var refusal: ProviderRefusal?
            let answer = try await signer.come(
                signer.object(changes), ["redirect_uri": ProviderFixture.address]
            ) { refusal = $0 }
            #expect(answer == .page(OAuthError(.invalidRequestObject)))
            #expect(refusal?.code == "invalid_request_object" && refusal?.client == signer.client.client.id)
            let pushed = try await signer.push(["request": signer.object(changes)])
            #expect(pushed.status == 400 && pushed.error == "invalid_request_object")
            _ = try self.request(try await signer.come(signer.object()))
        }
    }

    @Test("an unsigned one, another key's, a damaged one and another kind of token are refused")
    func signatures() async throws {
        try await ProviderFixture.run { f in
            let signer = try await Signer(f)
            let right = try signer.object()
            let claims = try #require(right.split(separator: ".").dropFirst().first)
            let none = Base64URL.encode(Array(#"{"alg":"none","typ":"oauth-authz-req+jwt"}"#.utf8))
            let id = signer.client.client.id
            let cases = [
                "\(none).\(claims).", try signer.object(by: ClientKey(.es256)), right + "A", "x",
                try signer.object(type: "dpop+jwt"), try signer.key.assertion(id, f, ["client_id": .string(id)]),
            ]
            for object in cases {
                #expect(try await signer.come(object) == .page(OAuthError(.invalidRequestObject)), "\(object)")
            }
            _ = try self.request(try await signer.come(right))
        }
    }

    @Test("a browser can come again with one until it ends, at the last moment of the clocks' difference too")
    func times() async throws {
        try await ProviderFixture.run { f in
            let signer = try await Signer(f)
            let object = try signer.object()
            _ = try self.request(try await signer.come(object))
            f.clock.advance(.seconds(89))
            _ = try self.request(try await signer.come(object))
            f.clock.advance(.seconds(1))
            #expect(try await signer.come(object) == .page(OAuthError(.invalidRequestObject)))
            let ahead = f.clock.source.now().seconds + 30
            _ = try self.request(
                try await signer.come(signer.object(["nbf": .integer(ahead), "exp": .integer(ahead + 60)])))
        }
    }

    @Test("whose it is has to stand beside it, and no other client's key signs for it")
    func clients() async throws {
        try await ProviderFixture.run { f in
            let (signer, other) = (try await Signer(f), try await Signer(f))
            let nobodys: Parameters = ["request": try signer.object()]
            let unnamed = try await f.provider.authorizations.authorize(
                nobodys.encoded, browser: f.browser, session: nil, source: "a", address: nil)
            #expect(unnamed == .page(OAuthError(.invalidRequest)))
            #expect(try await other.come(signer.object()) == .page(OAuthError(.invalidRequestObject)))
            let stolen = try await signer.push(["request": other.object()])
            #expect(stolen.status == 400 && stolen.error == "invalid_request_object")
        }
    }

    @Test("a pushed one is the request as well, and what a client proves itself by stands beside it")
    func pushed() async throws {
        try await ProviderFixture.run { f in
            let signer = try await Signer(f)
            let answer = try await signer.push([
                "request": signer.object(), "state": "beside", "redirect_uri": "https://evil.example/",
            ])
            #expect(answer.status == 201)
            let name = try #require(answer.body).requiredString("request_uri")
            let browsers: Parameters = [
                "client_id": signer.client.client.id, "request_uri": name, "state": "browser's",
            ]
            // What was taken when it was pushed is not judged by the clock again.
            f.clock.advance(.seconds(89))
            let answered = try await self.complete(
                try await f.provider.authorizations.authorize(
                    browsers.encoded, browser: f.browser, session: nil, source: "a", address: nil), f)
            #expect(answered("state") == "signed")
        }
    }

    @Test("a client that has to sign is refused what it has not signed, pushed or not, and the log names the setting")
    func required() async throws {
        try await ProviderFixture.run { f in
            let signer = try await Signer(f, requiring: true)
            var refusal: ProviderRefusal?
            let answer = try await f.provider.authorizations.authorize(
                f.query(client: signer.client), browser: f.browser, session: nil, source: "a", address: nil
            ) { refusal = $0 }
            guard case .client(.redirect(let address)) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "invalid_request")
            #expect(refusal?.setting == "--require-signed-request-object")
            var form = try Parameters(parsing: f.query(client: signer.client))
            #expect(try await signer.push(form).error == "invalid_request")
            form.append("request", try signer.object())
            let pushed = try await signer.push(form)
            #expect(pushed.status == 201)
            let name = try #require(pushed.body).requiredString("request_uri")
            let browsers: Parameters = ["client_id": signer.client.client.id, "request_uri": name]
            _ = try self.request(
                try await f.provider.authorizations.authorize(
                    browsers.encoded, browser: f.browser, session: nil, source: "a", address: nil))
            _ = try self.request(try await signer.come(signer.object()))
        }
    }

    @Test("a client without keys is told that it cannot sign, and cannot be made one that has to")
    func withoutKeys() async throws {
        try await ProviderFixture.run { f in
            let request = f.query(["request": "e30.e30."])
            var refusal: ProviderRefusal?
            let answer = try await f.provider.authorizations.authorize(
                request, browser: f.browser, session: nil, source: "a", address: nil
            ) { refusal = $0 }
            guard case .client(.redirect(let address)) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "request_not_supported")
            #expect(refusal?.reason?.contains("--jwks") == true)
            await #expect(throws: OAuthError(.invalidRequest)) {
                _ = try await f.provider.clients.change(
                    f.bank.client.id, ClientChange(profile: ClientProfileChange(requiresSignedRequests: true)))
            }
        }
    }
}
