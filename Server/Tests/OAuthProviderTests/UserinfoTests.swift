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
