import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite(
    "OpenID Connect Discovery 1.0, section 4, RFC 6749 as a client, and what operators say of other providers (decision 45)"
)
struct UpstreamProviderTests {
    private func refusal(_ place: UpstreamPlace) async throws -> UpstreamRefusal? {
        let answer = try await place.provider.authorizations.authorize(
            place.f.query(), browser: place.f.browser, session: nil, source: "a", address: nil)
        guard case .signIn(let request, _) = answer,
            case .refused(let refusal)? = try await place.signIns.begin(
                "up", request: request, browser: place.f.browser, source: "a")?.step
        else { return nil }
        return refusal
    }

    // MARK: Discovery

    @Test("a discovery document that is another's, or lacks something, sends nobody anywhere")
    func discovery() async throws {
        for (name, value, reason) in [
            ("issuer", JSON.string("https://up.example/"), "of another issuer"), ("issuer", nil, "names no issuer"),
            ("issuer", .string("https://evil.example"), "of another issuer"),
            ("token_endpoint", nil, "lacks"), ("authorization_endpoint", nil, "lacks"), ("jwks_uri", nil, "lacks"),
            ("token_endpoint", .string("http://up.example/token"), "token_endpoint is not https"),
            ("jwks_uri", .integer(1), "jwks_uri is not https"),
            ("userinfo_endpoint", .string("com.example.app:/me"), "userinfo_endpoint is not https"),
        ] as [(String, JSON?, String)] {
            try await UpstreamPlace.run { place async throws in
                place.upstream.change { $0.discovery[name] = value }
                let refusal = try #require(try await self.refusal(place))
                #expect(refusal.code == .failed && refusal.reason.contains(reason), "\(refusal.reason)")
            }
        }
    }

    @Test("one that cannot be reached is tried once a minute, and taken from before for a day")
    func unreachable() async throws {
        try await UpstreamPlace.run { place async throws in
            place.upstream.change { $0.failure = OutgoingCallError("there is no connection to it") }
            for _ in 0..<3 {
                let refusal = try #require(try await self.refusal(place))
                #expect(refusal.reason.contains("there is no connection to it"))
            }
            #expect(place.upstream.calls == ["openid-configuration"])
            place.upstream.change { $0.failure = nil }
            place.f.clock.advance(.seconds(60))
            #expect(try await self.refusal(place) == nil)
            place.upstream.change { $0.failure = OutgoingCallError("gone") }
            place.f.clock.advance(.seconds(24 * 60 * 60))
            #expect(try await self.refusal(place) == nil)
            place.f.clock.advance(.seconds(5 * 60))
            #expect(try await self.refusal(place)?.reason.contains("gone") == true)
        }
    }

    // MARK: Userinfo

    @Test(
        "of somebody new the userinfo is asked where the ID token has no address, and has to be about the same person")
    func userinfo() async throws {
        for (subject, email, isRight) in [
            ("person-1", nil, true), ("person-2", nil, false), (nil, nil, false), ("person-2", "a@up.example", true),
        ] as [(String?, String?, Bool)] {
            try await UpstreamPlace.run({ $0.newcomers = .created }) { place async throws in
                place.upstream.change { state in
                    state.userinfo = ["email": .string("pat@up.example")]
                    state.userinfo["sub"] = subject.map(JSON.string)
                }
                let step = try await place.goThere(claims: ["email": email.map(JSON.string)]).step
                #expect((step == .finished) == isRight)
                #expect(try await place.account() != nil || !isRight)
                #expect(place.upstream.calls.contains("userinfo") == (email == nil))
            }
        }
        // Whoever is known, or gets no account, is nobody whose profile is looked at.
        try await UpstreamPlace.run { place async throws in
            #expect(try await place.goThere().step == .unknownPerson)
            #expect(place.upstream.calls.contains("userinfo") == false)
        }
    }

    // MARK: OAuth 2.0 alone

    @Test("a provider without OpenID Connect says by its userinfo who it is, and nothing of how it knows")
    func oauth2() async throws {
        for (claim, value, subject) in [
            ("id", JSON.integer(4711), "4711"), ("login", .string("octo"), "octo"),
        ] {
            try await UpstreamPlace.run(
                kind: .oauth2,
                {
                    $0.newcomers = .created
                    $0.subjectClaim = claim
                    $0.scopes = ["read:user"]
                }
            ) { place async throws in
                let trip = try await place.leave(["prompt": "select_account"])
                #expect(trip["scope"] == "read:user" && trip["code_challenge"] != "" && trip["state"] != "")
                #expect(trip["nonce"] == "" && trip["prompt"] == "")
                place.upstream.change { state in
                    state.claims = [:]
                    state.challenge = trip["code_challenge"]
                    state.userinfo = [claim: value, "name": .string("Octo"), "acr": .string("their:mfa=1")]
                }
                #expect(try await place.comeBack(trip, ["iss": nil])?.step == .finished)
                let claims = try await place.claims(trip.request)
                #expect(try claims.string("acr") == "urn:low" && claims.strings("amr") == [])
                #expect(try await place.account(subject) != nil)
                #expect(place.upstream.calls == ["token", "userinfo"])
            }
        }
    }

    @Test("what a provider without OpenID Connect can have wrong")
    func wrongOAuth2() async throws {
        let changes: [@Sendable (inout SimulatedProvider.State) -> Void] = [
            { $0.userinfo = ["name": .string("Octo")] }, { $0.userinfo = ["sub": .string("")] },
            { $0.userinfo = ["sub": .bool(true)] }, { $0.accessToken = nil }, { $0.accessToken = "two words" },
            { $0.tokenAnswer = OutgoingAnswer(status: 200, body: Array(#"{"error":"bad_verification_code"}"#.utf8)) },
        ]
        for change in changes {
            try await UpstreamPlace.run(kind: .oauth2, { $0.newcomers = .created }) { place async throws in
                let trip = try await place.leave()
                place.upstream.change { state in
                    state.challenge = trip["code_challenge"]
                    state.userinfo = ["sub": .string("octo")]
                    change(&state)
                }
                guard case .refused(let refusal)? = try await place.comeBack(trip, ["iss": nil])?.step else {
                    Issue.record("not refused")
                    return
                }
                #expect(refusal.code == .failed)
            }
        }
        // It says nothing of when, nor more than is usual of how.
        try await UpstreamPlace.run(kind: .oauth2, { $0.newcomers = .created }) { place async throws in
            for (wishes, isUnmet) in [(["max_age": "9"], false), (["acr_values": "urn:high"], true)] {
                let trip = try await place.leave(wishes)
                place.upstream.change { state in
                    state.challenge = trip["code_challenge"]
                    state.userinfo = ["sub": .string("octo")]
                }
                let step = try await place.comeBack(trip, ["iss": nil])?.step
                switch step {
                case .refused(let refusal)?: #expect(!isUnmet && refusal.code == .stale)
                case .unmet(let answer)?:
                    #expect(isUnmet)
                    #expect(try ProviderFixture.fields(of: answer)["error"] == "unmet_authentication_requirements")
                default: Issue.record("\(String(describing: step))")
                }
            }
        }
    }

    // MARK: Who this server is there

    @Test("it shows who it is in the way that the operator says")
    func authentication() async throws {
        for method in UpstreamProvider.Authentication.allCases {
            try await UpstreamPlace.run({
                $0.newcomers = .created
                $0.authentication = method
                if !method.needsSecret { $0.secret = nil }
            }) { place async throws in
                #expect(try await place.goThere().step == .finished)
                let (form, header) = try #require(try place.upstream.exchange)
                #expect((header != nil) == (method == .secretBasic))
                #expect((form["client_id"] == "our-client") == (method != .secretBasic))
                #expect(form["client_secret"] == (method == .secretPost ? "s3cret:&" : nil))
                #expect((form["client_assertion"] != nil) == (method == .privateKeyJWT))
                guard let assertion = form["client_assertion"] else { return }
                #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
                // Whoever has this server's public keys can verify it.
                let keys = try JWKSet(parsing: JSON.object(place.provider.keys.keySet).serialized)
                let claims = try JWTClaims(UnverifiedJWS(compact: assertion).verified(by: keys, allowing: [.es256]))
                #expect(claims.issuer == "our-client" && claims.subject == "our-client")
                #expect(claims.audience == [SimulatedProvider.issuer] && claims.members["jti"] != nil)
                #expect(claims.expiration == place.f.clock.source.now() + .seconds(120))
            }
        }
    }

    // MARK: Settings

    private static let wrong: [(name: String, change: @Sendable (inout UpstreamChange) -> Void)] = [
        ("an empty client", { $0.clientID = "" }), ("a client of two words", { $0.clientID = "a b" }),
        ("a secret that is missing", { $0.secret = nil }),
        ("a secret that nothing needs", { $0.authentication = UpstreamProvider.Authentication.none }),
        ("an empty secret", { $0.secret = SecretBytes(utf8: "") }),
        ("a long secret", { $0.secret = SecretBytes([UInt8](repeating: 65, count: 513)) }),
        ("no scope openid", { $0.scopes = ["profile"] }), ("a scope of two words", { $0.scopes = ["openid", "a b"] }),
        ("many scopes", { $0.scopes = ["openid"] + (1...32).map { "s\($0)" } }),
        ("an unknown level", { $0.levels = [.init(theirs: "a", ours: "urn:none")] }),
        ("a level without a word", { $0.levels = [.init(theirs: "", ours: "urn:low")] }),
        ("a level of two words", { $0.levels = [.init(theirs: "a b", ours: "urn:low")] }),
        ("an unknown usual level", { $0.usualLevel = "aal2" }),
        ("a title of two lines", { $0.title = "a\nb" }), ("an empty title", { $0.title = "" }),
        ("a domain in capitals", { $0.emailDomains = ["People.example"] }),
        ("an empty domain", { $0.emailDomains = [""] }),
        ("an empty subject claim", { $0.subjectClaim = "" }),
        (
            "addresses that are discovered",
            { $0.endpoints = .init(authorization: "https://a/", token: "https://a/", userinfo: "https://a/") }
        ),
    ]

    @Test("settings that do not go together are refused, at the start and later", arguments: wrong.indices)
    func wrongSettings(index: Int) async throws {
        try await UpstreamPlace.run { place async throws in
            var change = UpstreamChange()
            change.clientID = "c"
            change.secret = SecretBytes(utf8: "s")
            Self.wrong[index].change(&change)
            let wrong = change
            await #expect(throws: OAuthError(.invalidRequest), "\(Self.wrong[index].name)") {
                _ = try await place.providers.add(
                    name: "new", kind: .openID, issuer: "https://new.example", wrong, by: "operator")
            }
            #expect(try await place.providers.all().map(\.name) == ["up"])
        }
    }

    @Test("a name, an issuer and addresses that cannot be")
    func wrongNames() async throws {
        try await UpstreamPlace.run { place async throws in
            var change = UpstreamChange()
            change.clientID = "c"
            change.secret = SecretBytes(utf8: "s")
            let right = change
            for name in ["", "Staff", "1a", "a_b", "a/b", "a:b", String(repeating: "a", count: 33), "ä"] {
                await #expect(throws: OAuthError(.invalidRequest), "\(name)") {
                    _ = try await place.providers.add(
                        name: name, kind: .openID, issuer: "https://new.example", right, by: "operator")
                }
            }
            for issuer in ["http://new.example", "https://new.example/?a=b", "https://new.example/#a", "new", ""] {
                await #expect(throws: OAuthError(.invalidRequest), "\(issuer)") {
                    _ = try await place.providers.add(name: "new", kind: .openID, issuer: issuer, right, by: "operator")
                }
            }
            for endpoints in [
                nil,
                UpstreamProvider.Endpoints(authorization: "https://a/", token: "http://a/", userinfo: "https://a/"),
            ] {
                var change = right
                change.endpoints = endpoints
                let wrong = change
                await #expect(throws: OAuthError(.invalidRequest)) {
                    _ = try await place.providers.add(
                        name: "new", kind: .oauth2, issuer: "https://new.example", wrong, by: "operator")
                }
            }
            await #expect(throws: StoreError(.conflict, "")) {
                _ = try await place.providers.add(
                    name: "up", kind: .openID, issuer: "https://new.example", right, by: "operator")
            }
        }
    }

    @Test("what is changed is in the trail by its name, and counts for the next who comes")
    func changes() async throws {
        try await UpstreamPlace.run { place async throws in
            #expect(try await place.trail("provider-added").map(\.detail) == ["up"])
            var change = UpstreamChange()
            change.newcomers = .created
            change.secret = SecretBytes(utf8: "another")
            let changed = try #require(try await place.providers.change("up", change, by: "operator"))
            #expect(changed.newcomers == .created && changed.title == "Staff accounts")
            #expect(try await place.providers.change("gone", change, by: "operator") == nil)
            _ = try await place.providers.change("up", change, by: "operator")
            let told = try await place.trail("provider-changed")
            #expect(told.map(\.detail) == ["up authentication,newcomers"] && told[0].actor == "operator")
            #expect(try await place.goThere().step == .finished)
            #expect(try place.upstream.exchange?.authorization == "Basic b3VyLWNsaWVudDphbm90aGVy")
            var wrong = UpstreamChange()
            wrong.usualLevel = "aal2"
            let refused = wrong
            await #expect(throws: OAuthError(.invalidRequest)) {
                _ = try await place.providers.change("up", refused, by: "operator")
            }
            // Without a secret there is none to keep.
            var open = UpstreamChange()
            open.authentication = UpstreamProvider.Authentication.none
            #expect(try await place.providers.change("up", open, by: "operator")?.secret == nil)
        }
    }

    @Test("a client is let in by a word that is a provider's, whether there is one yet, and by no other")
    func words() async throws {
        try await UpstreamPlace.run { place async throws in
            let id = place.f.bank.client.id
            for word in ["provider:up", "provider:later", "provider:a-1"] {
                let changed = try await place.provider.clients.change(id, ClientChange(signInMethods: [word, "phone"]))
                #expect(changed?.settings.signInMethods == [word, "phone"])
            }
            for word in ["provider", "provider:", "provider:Up", "provider:a b", "Provider:up", "upstream:up"] {
                await #expect(throws: OAuthError(.invalidRequest), "\(word)") {
                    _ = try await place.provider.clients.change(id, ClientChange(signInMethods: [word]))
                }
            }
        }
    }
}
