import JOSE
import OAuth
import OAuthProvider
import Records
import Settings
import Testing
import _Primitives

@Suite("FAPI 2.0 Security Profile, section 5: clients whose profile is fapi2")
struct FAPIProfileTests {
    private static let par = ProviderFixture.issuer + "/oauth2/par"
    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    /// A client of the profile with its keys.
    private struct Bank {
        let f: ProviderFixture
        let client: RegisteredClient
        let key: ClientKey
        let holder: KeyHolder

        var id: String { self.client.client.id }

        init(_ f: ProviderFixture, _ algorithm: JWSAlgorithm = .es256) async throws {
            self.f = f
            self.key = try ClientKey(algorithm)
            self.holder = try KeyHolder()
            var settings = self.key.settings
            settings.grantTypes = ["authorization_code", "refresh_token"]
            settings.profile.security = .fapi2
            self.client = try await f.provider.clients.register(
                name: "Bank of FAPI", redirectURIs: [ProviderFixture.address], settings: settings)
        }

        func credentials(by other: ClientKey? = nil) throws -> Parameters {
            [
                "client_assertion": try (other ?? self.key).assertion(self.id, self.f),
                "client_assertion_type": FAPIProfileTests.assertionType,
            ]
        }

        func push(
            _ changes: [String: String?] = [:], by other: ClientKey? = nil, proofs: [String] = []
        ) async throws -> ProviderAnswer {
            let form = self.f.query(changes, client: self.client) + "&" + (try self.credentials(by: other).encoded)
            return try await self.f.provider.authorizations.push(header: nil, body: form, source: "a", proofs: proofs)
        }

        func name(_ changes: [String: String?] = [:], proofs: [String] = []) async throws -> String {
            try #require(try await self.push(changes, proofs: proofs).body).requiredString("request_uri")
        }

        func proofOfPush() async throws -> String {
            try await self.holder.proof(self.f, ["htu": .string(FAPIProfileTests.par)])
        }

        /// A code, after the person has signed in.
        func code(_ changes: [String: String?] = [:], proofs: [String] = []) async throws -> String {
            let parameters: Parameters = [
                "client_id": self.id, "request_uri": try await self.name(changes, proofs: proofs),
            ]
            let answer = try await self.f.provider.authorizations.authorize(
                parameters.encoded, browser: self.f.browser, session: nil, source: "a", address: nil)
            guard case .signIn(let request, _) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
            self.f.authenticate(request)
            guard
                case .signedIn(.redirect(let redirect), _, _) = try await self.f.provider.authorizations.complete(
                    request: request, browser: self.f.browser, session: nil)
            else { throw OAuthError(.serverError, detail: "not signed in") }
            return try #require(try ProviderFixture.parameter("code", of: redirect))
        }

        func token(_ form: String, by other: ClientKey? = nil, proofs: [String]) async throws -> ProviderAnswer {
            try await self.f.provider.grants.answer(
                header: nil, body: form + "&" + self.credentials(by: other).encoded, proofs: proofs)
        }

        func exchange(_ code: String, by other: ClientKey? = nil, proofs: [String]? = nil) async throws
            -> ProviderAnswer
        {
            var shown = proofs ?? []
            if proofs == nil { shown = [try await self.holder.proof(self.f)] }
            return try await self.token(self.f.form(code), by: other, proofs: shown)
        }
    }

    // MARK: 5.3.2.2, pushed requests

    @Test("5.3.2.2: a request that was not pushed is refused, and the log names the setting")
    func pushing() async throws {
        try await ProviderFixture.run { f in
            let bank = try await Bank(f)
            var refusal: ProviderRefusal?
            let answer = try await f.provider.authorizations.authorize(
                f.query(client: bank.client), browser: f.browser, session: nil, source: "a", address: nil
            ) { refusal = $0 }
            guard case .client(.redirect(let address)) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "invalid_request")
            #expect(try ProviderFixture.parameter("code", of: address) == nil)
            #expect(refusal?.setting == "--profile")
            // Nor one that is signed.
            let now = f.clock.source.now().seconds
            var claims: JSONObject = [
                "iss": .string(bank.id), "aud": .string(ProviderFixture.issuer), "exp": .integer(now + 60),
                "nbf": .integer(now),
            ]
            for (name, value) in try Parameters(parsing: f.query(client: bank.client)).members {
                claims[name] = .string(value)
            }
            let signed: Parameters = [
                "client_id": bank.id,
                "request": try JWS.sign(JSON.object(claims).serialized, type: "JWT", with: bank.key.signing),
            ]
            let second = try await f.provider.authorizations.authorize(
                signed.encoded, browser: f.browser, session: nil, source: "a", address: nil)
            guard case .client(.redirect(let other)) = second else {
                Issue.record("\(second)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: other) == "invalid_request")
        }
    }

    @Test("5.3.2.2: a request is pushed by a client that has authenticated, and by no other")
    func authenticatedPushing() async throws {
        try await ProviderFixture.run { f in
            let bank = try await Bank(f)
            let form = f.query(client: bank.client)
            for (header, body) in [
                (nil, form), (f.basic(bank.client, secret: "secret"), form), (nil, form + "&client_secret=secret"),
                (nil, form + "&" + (try bank.credentials(by: ClientKey(.es256)).encoded)),
            ] {
                let answer = try await f.provider.authorizations.push(header: header, body: body, source: "a")
                #expect(answer.status == 401 && answer.error == "invalid_client", "\(body)")
            }
            #expect(try await bank.push().status == 201)
        }
    }

    @Test("5.3.2.2: a pushed request names its redirect_uri, has a challenge by S256, and response_type code")
    func pushedParameters() async throws {
        try await ProviderFixture.run { f in
            let bank = try await Bank(f)
            let changes: [([String: String?], String)] = [
                (["redirect_uri": nil], "invalid_request"), (["code_challenge": nil], "invalid_request"),
                (["code_challenge_method": "plain"], "invalid_request"),
                (["code_challenge_method": nil], "invalid_request"),
                (["response_type": "code id_token"], "unsupported_response_type"),
            ]
            for (change, error) in changes {
                let answer = try await bank.push(change)
                #expect(answer.status == 400 && answer.error == error, "\(change)")
            }
            #expect(try await bank.push().status == 201)
        }
    }

    @Test("5.3.2.2: a pushed request ends before 600 seconds, and a code after 60, whatever the operator has set")
    func ends() async throws {
        var limits = Limits()
        limits.oauth.pushedRequestLifetime = .seconds(3600)
        limits.authorizationCodeLifetime = .seconds(300)
        limits.authorizationRequestLifetime = .seconds(3600)
        try await ProviderFixture.run(limits: limits) { f in
            let bank = try await Bank(f)
            #expect(try await bank.push().body?["expires_in"] == .integer(599))
            #expect(try await f.push().body?["expires_in"] == .integer(3600))
            let (late, early) = (try await bank.code(), try await bank.code())
            let others = try await f.signIn().code
            f.clock.advance(.seconds(59))
            #expect(try await bank.exchange(early).status == 200)
            f.clock.advance(.seconds(1))
            #expect(try await bank.exchange(late).error == "invalid_grant")
            #expect(try await f.token(others).status == 200)
        }
    }

    // MARK: 5.3.2.1, tokens

    @Test("5.3.2.1: tokens are bound to a key; without a proof there are none, and the code is not spent")
    func bound() async throws {
        try await ProviderFixture.run { f in
            let bank = try await Bank(f)
            let code = try await bank.code(["scope": "openid offline_access"])
            let bare = try await bank.exchange(code, proofs: [])
            #expect(bare.status == 400 && bare.error == "invalid_dpop_proof")
            let body = try #require(try await bank.exchange(code).body)
            #expect(body["token_type"] == .string("DPoP"))
            let access = try body.requiredString("access_token")
            #expect(try f.claims(access, type: "at+jwt").members["cnf"] == bank.holder.confirmation)
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 401)
            let proof = try await bank.holder.proof(f, of: access)
            #expect(try await f.provider.userinfo.answer(header: "DPoP \(access)", proofs: [proof]).status == 200)
            let refresh: Parameters = [
                "grant_type": "refresh_token", "refresh_token": try body.requiredString("refresh_token"),
            ]
            #expect(try await bank.token(refresh.encoded, proofs: []).error == "invalid_dpop_proof")
        }
    }

    @Test("5.3.2.1: a refresh token stays as it is, however often it is used, and beside others at once")
    func refresh() async throws {
        try await ProviderFixture.run { f in
            let bank = try await Bank(f)
            let body = try #require(try await bank.exchange(bank.code(["scope": "openid offline_access"])).body)
            let token = try body.requiredString("refresh_token")
            let parameters: Parameters = ["grant_type": "refresh_token", "refresh_token": token]
            let form = parameters.encoded
            var access: Set<String> = []
            for _ in 0..<4 {
                f.clock.advance(.seconds(24 * 60 * 60))
                let answer = try await bank.token(form, proofs: [bank.holder.proof(f)])
                #expect(answer.status == 200)
                #expect(answer.body?["refresh_token"] == .string(token))
                access.insert(try #require(answer.body).requiredString("access_token"))
            }
            #expect(access.count == 4)
            // Somebody else has it in vain: it is this client's.
            let shop = try await Bank(f)
            #expect(try await shop.token(form, proofs: [shop.holder.proof(f)]).error == "invalid_grant")
            // It ends with the family as any other.
            f.clock.advance(.seconds(31 * 24 * 60 * 60))
            #expect(try await bank.token(form, proofs: [bank.holder.proof(f)]).error == "invalid_grant")
        }
    }

    @Test("RFC 9449, section 10: dpop_jkt and a proof at the pushed request bind the code, and are of one key")
    func bindingOfCodes() async throws {
        try await ProviderFixture.run { f in
            let bank = try await Bank(f)
            let other = try KeyHolder()
            let thumbprint = ["dpop_jkt": Optional(bank.holder.thumbprint)]
            let mismatch = try await bank.push(["dpop_jkt": other.thumbprint], proofs: [bank.proofOfPush()])
            #expect(mismatch.status == 400 && mismatch.error == "invalid_dpop_proof")
            #expect(mismatch.header("DPoP-Nonce") != nil)
            for (changes, isProven) in [(thumbprint, false), ([:], true), (thumbprint, true)] {
                let spent = try await bank.code(changes, proofs: isProven ? [bank.proofOfPush()] : [])
                let stolen = try await bank.exchange(spent, proofs: [other.proof(f)])
                #expect(stolen.status == 400 && stolen.error == "invalid_grant")
                let code = try await bank.code(changes, proofs: isProven ? [bank.proofOfPush()] : [])
                #expect(try await bank.exchange(code).status == 200)
            }
        }
    }

    @Test("RFC 9449, section 10.1: a proof at the pushed request is for that address, has a nonce, and counts once")
    func proofsOfPushes() async throws {
        try await ProviderFixture.run { f in
            let bank = try await Bank(f)
            let elsewhere = try await bank.push(proofs: [bank.holder.proof(f)])
            #expect(elsewhere.status == 400 && elsewhere.error == "invalid_dpop_proof")
            let target = JSON.string(Self.par)
            let nonceless = try await bank.holder.proof(f, ["htu": target, "nonce": nil])
            let challenged = try await bank.push(proofs: [nonceless])
            #expect(challenged.status == 400 && challenged.error == "use_dpop_nonce")
            #expect(challenged.header("DPoP-Nonce") == (try await f.keyProofNonce()))
            let proof = try await bank.proofOfPush()
            #expect(try await bank.push(proofs: [proof]).status == 201)
            #expect(try await bank.push(proofs: [proof]).error == "invalid_dpop_proof")
            #expect(
                try await bank.push(proofs: [bank.proofOfPush(), bank.proofOfPush()]).error == "invalid_dpop_proof")
            // A client of no profile binds its codes likewise.
            let form = f.query()
            let usual = try await f.provider.authorizations.push(
                header: f.basic(), body: form, source: "a", proofs: [bank.proofOfPush()])
            #expect(usual.status == 201)
        }
    }

    // MARK: 5.4, algorithms

    @Test("5.4.1: what the client signs is ES256, PS256 or EdDSA", arguments: ["ES256", "PS256", "EdDSA"])
    func algorithms(name: String) async throws {
        try await ProviderFixture.run { f in
            let bank = try await Bank(f, #require(JWSAlgorithm(rawValue: name)))
            #expect(try await bank.exchange(bank.code()).status == 200)
        }
    }

    @Test("5.4.1: an RSA key of the client's signs PS256, and never RS256; nothing is taken unsigned")
    func neverRS256() async throws {
        try await ProviderFixture.run { f in
            let pss = try ClientKey(.ps256)
            let kept = try SigningKey.make(.rs256, random: .system)
            let signing = try SigningKey(kept: kept, algorithm: .rs256, keyID: nil)
            // A key that does not say what it is for: only what the client signs with it shows that.
            var bare = try #require(signing.publicKey?.publicJSON)
            bare["alg"] = nil
            var settings = pss.settings
            settings.keySet = JSON.object(["keys": .array([.object(bare)])]).text
            settings.profile.security = .fapi2
            let client = try await f.provider.clients.register(
                name: "Bank", redirectURIs: [ProviderFixture.address], settings: settings)
            func push(_ algorithm: JWSAlgorithm) async throws -> ProviderAnswer {
                let now = f.clock.source.now().seconds
                let claims: JSONObject = [
                    "iss": .string(client.client.id), "sub": .string(client.client.id),
                    "aud": .string(ProviderFixture.issuer), "jti": .string(RandomSource.system.identifier()),
                    "iat": .integer(now), "exp": .integer(now + 60),
                ]
                let key = try SigningKey(kept: kept, algorithm: algorithm, keyID: nil)
                let form: Parameters = [
                    "client_assertion": try JWS.sign(JSON.object(claims).serialized, type: "JWT", with: key),
                    "client_assertion_type": Self.assertionType,
                ]
                return try await f.provider.authorizations.push(
                    header: nil, body: f.query(client: client) + "&" + form.encoded, source: "a")
            }
            #expect(try await push(.ps256).status == 201)
            let refused = try await push(.rs256)
            #expect(refused.status == 401 && refused.error == "invalid_client")
            _ = try await f.provider.clients.change(
                client.client.id, ClientChange(profile: ClientProfileChange(security: .usual)))
            #expect(try await push(.rs256).status == 201)
        }
    }

    // MARK: Settings

    @Test("all that a client lacks for the profile is told at once")
    func everythingAtOnce() async throws {
        try await ProviderFixture.run { f in
            let refusal = await #expect(throws: OAuthError(.invalidRequest)) {
                _ = try await f.provider.clients.change(
                    f.bank.client.id,
                    ClientChange(idTokenAlgorithm: .rs256, profile: ClientProfileChange(security: .fapi2)))
            }
            let message = try #require(refusal?.message)
            #expect(message.contains("private_key_jwt") && message.contains("ID tokens signed with ES256"))
        }
    }

    @Test("a setting that contradicts the profile is refused when it is saved, and changes nothing")
    func contradictions() async throws {
        try await ProviderFixture.run { f in
            let bank = try await Bank(f)
            let marked = try ClientKey(.rs256)
            var changes = [
                ClientChange(redirectURIs: ["http://127.0.0.1/callback"]), ClientChange(idTokenAlgorithm: .rs256),
                ClientChange(codeBinding: .nonce), ClientChange(authenticationMethod: "client_secret_basic"),
                ClientChange(authenticationMethod: "none"),
                ClientChange(profile: ClientProfileChange(origins: ["https://app.example"])),
                ClientChange(tokens: TokenSettingsChange(group: "apps")),
            ]
            var set = try JSON(parsing: marked.set)
            if case .object(let members) = set, case .array(let keys)? = members["keys"],
                case .object(var key)? = keys.first
            {
                key["alg"] = .string("RS256")
                set = .object(["keys": .array([.object(key)])])
            }
            changes.append(ClientChange(keySet: set.text))
            let before = try await f.provider.clients.client(bank.id)
            for change in changes {
                await #expect(throws: OAuthError(.invalidRequest), "\(change)") {
                    _ = try await f.provider.clients.change(bank.id, change)
                }
            }
            #expect(try await f.provider.clients.client(bank.id) == before)
            // The demo bank shares a secret with the server.
            await #expect(throws: OAuthError(.invalidRequest)) {
                _ = try await f.provider.clients.change(
                    f.bank.client.id, ClientChange(profile: ClientProfileChange(security: .fapi2)))
            }
        }
    }
}
