import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, section 5.3: userinfo")
struct UserinfoTests {
    @Test func theProfileIsGivenWhereItWasAskedFor() async throws {
        try await ProviderFixture.run { f in
            let subject = JSON.string(f.provider.keys.subject(ofAccount: "account-a", client: f.bank.client.id))
            var answer = try await f.provider.userinfo.answer(header: "Bearer \(try await f.tokens().access)")
            #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
            #expect(
                answer.body == [
                    "sub": subject, "preferred_username": .string("alice"), "name": .string("Alice Example"),
                ])
            let bare = try await f.tokens(["scope": "openid"]).access
            answer = try await f.provider.userinfo.answer(header: "Bearer \(bare)")
            #expect(answer.body == ["sub": subject])
            let unnamed = try await f.tokens(account: "account-b").access
            answer = try await f.provider.userinfo.answer(header: "bearer \(unnamed)")
            #expect(answer.body?["name"] == nil && answer.body?["preferred_username"] == .string("bob"))
        }
    }

    @Test("the e-mail address is given where it was asked for and is there, and says whether anybody vouches for it")
    func email() async throws {
        try await ProviderFixture.run { f in
            func answer(_ account: String, _ scope: String) async throws -> JSONObject {
                let tokens = try await f.tokens(["scope": scope], account: account)
                // OpenID Connect Core 1.0, section 5.4: beside an access token the claims come from here alone.
                #expect(try f.claims(tokens.id, type: "JWT").members["email"] == nil)
                return try #require(try await f.provider.userinfo.answer(header: "Bearer \(tokens.access)").body)
            }
            let bob = try await answer("account-b", "openid email")
            #expect(bob["email"] == .string("bob@post.example") && bob["email_verified"] == .bool(false))
            #expect(bob["preferred_username"] == nil)
            let carol = try await answer("account-c", "openid email profile")
            #expect(carol["email"] == .string("carol@post.example") && carol["email_verified"] == .bool(true))
            for (account, scope) in [("account-a", "openid email"), ("account-c", "openid profile")] {
                let body = try await answer(account, scope)
                #expect(body["email"] == nil && body["email_verified"] == nil)
            }
            let claims = try f.provider.discovery.strings("claims_supported") ?? []
            #expect(Set(["email", "email_verified"]).isSubset(of: claims))
        }
    }

    @Test(
        "names, picture, language, time zone and the moment of the last change are given for the scope profile, where they are there"
    )
    func profile() async throws {
        try await ProviderFixture.run { f in
            let claims: JSONObject = [
                "given_name": .string("Dora"), "family_name": .string("Example"), "middle_name": .string("M."),
                "picture": .string("https://pictures.example/d.png"), "locale": .string("de-CH"),
                "zoneinfo": .string("Europe/Zurich"),
            ]
            let moment = f.clock.source.now()
            f.people.set(
                Person(
                    username: "dora", displayName: nil, profile: PersonProfile(claims), updatedAt: moment),
                account: "account-c")
            let tokens = try await f.tokens(["scope": "openid profile"], account: "account-c")
            var body = try #require(try await f.provider.userinfo.answer(header: "Bearer \(tokens.access)").body)
            for (name, value) in claims.members { #expect(body[name] == value, "\(name)") }
            #expect(body["updated_at"] == .integer(moment.seconds))
            let bare = try await f.tokens(["scope": "openid email"], account: "account-c")
            body = try #require(try await f.provider.userinfo.answer(header: "Bearer \(bare.access)").body)
            #expect(body.members.map(\.name) == ["sub"])
            // In the ID token where the client names them, and there alone.
            let named = try await f.tokens(
                ["scope": "openid", "claims": #"{"id_token": {"given_name": null, "updated_at": null}}"#],
                account: "account-c")
            let told = try f.claims(named.id, type: "JWT").members
            #expect(told["given_name"] == .string("Dora") && told["updated_at"] == .integer(moment.seconds))
            #expect(told["family_name"] == nil)
            #expect(try f.claims(tokens.id, type: "JWT").members["given_name"] == nil)
            let known = try f.provider.discovery.strings("claims_supported") ?? []
            #expect(Set(claims.members.map(\.name) + ["updated_at"]).isSubset(of: known))
        }
    }

    @Test("the token may come in a form (RFC 6750, section 2.2), and in one place alone")
    func inAForm() async throws {
        try await ProviderFixture.run { f in
            let access = try await f.tokens().access
            let form: Parameters = ["access_token": access]
            let told = try await f.provider.userinfo.answer(header: nil, body: form.encoded, method: "POST")
            #expect(told.status == 200)
            let byHeader = try await f.provider.userinfo.answer(header: "Bearer \(access)")
            #expect(told.body == byHeader.body)
            let both = try await f.provider.userinfo.answer(
                header: "Bearer \(access)", body: form.encoded, method: "POST")
            #expect(both.status == 400 && both.error == "invalid_request")
            for body in [
                "access_token=x", "access_token=\(access)A", "access_token=a%20b", "access_token=", "other=1", "",
            ] {
                let answer = try await f.provider.userinfo.answer(header: nil, body: body, method: "POST")
                #expect(answer.status == 401 && answer.error == "invalid_token", "\(body)")
            }
            for body in ["access_token=\(access)&access_token=\(access)", "access_token=%zz"] {
                let answer = try await f.provider.userinfo.answer(header: nil, body: body, method: "POST")
                #expect(answer.status == 400 && answer.error == "invalid_request", "\(body)")
            }
        }
    }

    @Test("a token that is bound to a key does not come in a form, with a proof or without")
    func boundInAForm() async throws {
        try await ProviderFixture.run { f in
            let key = try KeyHolder()
            let access = try await f.access(boundTo: key)
            let form: Parameters = ["access_token": access]
            for proofs in [[], [try await key.proof(f, of: access, method: "POST")]] {
                let answer = try await f.provider.userinfo.answer(
                    header: nil, body: form.encoded, method: "POST", proofs: proofs)
                #expect(answer.status == 401 && answer.error == "invalid_token")
            }
        }
    }

    private func expectRefusal(_ f: ProviderFixture, _ header: String?) async throws {
        let answer = try await f.provider.userinfo.answer(header: header)
        #expect(answer.status == 401 && answer.error == "invalid_token")
        let challenge = try #require(answer.header("WWW-Authenticate"))
        #expect(challenge.hasPrefix("Bearer realm=\"https://id.example\", error=\"invalid_token\""))
    }

    @Test func whatIsNoAccessTokenIsRefused() async throws {
        try await ProviderFixture.run { f in
            let tokens = try await f.tokens()
            try await self.expectRefusal(f, nil)
            try await self.expectRefusal(f, f.basic())
            try await self.expectRefusal(f, "Bearer x")
            try await self.expectRefusal(f, "Bearer \(tokens.access)x")
            // Our own tokens of other kinds.
            try await self.expectRefusal(f, "Bearer \(tokens.id)")
            try await self.expectRefusal(f, "Bearer \(try f.deviceToken())")
            try await self.expectRefusal(
                f, "Bearer \(try f.provider.tokens.sign(["aud": .string("x")], type: "at+jwt"))")
        }
    }

    @Test func anotherProvidersTokenIsRefused() async throws {
        try await ProviderFixture.run { f in
            try await ProviderFixture.run { other in
                let foreign = try await other.tokens().access
                try await self.expectRefusal(f, "Bearer \(foreign)")
            }
        }
    }

    @Test func anAccessTokenEnds() async throws {
        try await ProviderFixture.run { f in
            let access = try await f.tokens().access
            f.clock.advance(.milliseconds(299_999))
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 200)
            f.clock.advance(.milliseconds(1))
            try await self.expectRefusal(f, "Bearer \(access)")
        }
    }

    @Test func aRevokedSessionsTokenIsRefusedAtOnce() async throws {
        try await ProviderFixture.run { f in
            let first = try await f.tokens()
            try await f.endSessions()
            try await self.expectRefusal(f, "Bearer \(first.access)")
            let second = try await f.tokens()
            f.people.lock("account-a")
            try await self.expectRefusal(f, "Bearer \(second.access)")
        }
    }

    @Test func signingOutEndsTheToken() async throws {
        try await ProviderFixture.run { f in
            let tokens = try await f.tokens()
            let answer = try await f.provider.sessions.logout("", session: tokens.session, confirmed: true)
            #expect(answer == .signedOut)
            try await self.expectRefusal(f, "Bearer \(tokens.access)")
        }
    }
}
