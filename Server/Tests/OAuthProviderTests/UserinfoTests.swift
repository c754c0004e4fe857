import JOSE
import OAuth
import OAuthProvider
import Store
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, section 5.3: userinfo")
struct UserinfoTests {
    @Test func theProfileIsGivenWhereItWasAskedFor() async throws {
        try await ProviderFixture.run { f in
            let subject = JSON.string(f.provider.subject(ofAccount: "account-a", client: f.bank.client.id))
            var answer = try await f.provider.userinfo(header: "Bearer \(try await f.tokens().access)")
            #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
            #expect(
                answer.body == [
                    "sub": subject, "preferred_username": .string("alice"), "name": .string("Alice Example"),
                ])
            let bare = try await f.tokens(["scope": "openid"]).access
            answer = try await f.provider.userinfo(header: "Bearer \(bare)")
            #expect(answer.body == ["sub": subject])
            let unnamed = try await f.tokens(account: "account-b").access
            answer = try await f.provider.userinfo(header: "bearer \(unnamed)")
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
                return try #require(try await f.provider.userinfo(header: "Bearer \(tokens.access)").body)
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

    private func expectRefusal(_ f: ProviderFixture, _ header: String?) async throws {
        let answer = try await f.provider.userinfo(header: header)
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
            try await self.expectRefusal(f, "Bearer \(try f.provider.sign(["aud": .string("x")], type: "at+jwt"))")
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
            #expect(try await f.provider.userinfo(header: "Bearer \(access)").status == 200)
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
            let answer = try await f.provider.logout("", session: tokens.session, confirmed: true)
            #expect(answer == .signedOut)
            try await self.expectRefusal(f, "Bearer \(tokens.access)")
        }
    }
}
