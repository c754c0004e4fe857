import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("Decision 118: an authentication in an app raises the session that the app shows")
struct RaisedSessionTests {
    private static let levels = [
        AssuranceWord("urn:low", levels: ["urn:low", "urn:high"]), AssuranceWord("urn:high", levels: ["urn:high"]),
    ]

    private static func further(_ f: ProviderFixture, account: String = "account-a", acr: String)
        -> FurtherAuthentication
    {
        FurtherAuthentication(
            account: account, device: nil, at: f.clock.source.now(), acr: acr, amr: ["pin", "mfa"])
    }

    private static func run(_ body: (ProviderFixture) async throws -> Void) async throws {
        try await ProviderFixture.run(levels: Self.levels, body)
    }

    /// Returns the new secret of a raised session.
    private static func secret(_ raised: RaisedSession) throws -> SessionSecret {
        guard case .raised(let secret) = raised else {
            throw StoreError(.notFound, "not raised: \(raised)")
        }
        return secret
    }

    @Test("An authentication that is at least as sure counts from then on, and the session has a new secret")
    func raises() async throws {
        for acr in ["urn:low", "urn:high"] {
            try await Self.run { f in
                let former = try await f.signIn(acr: "urn:low").session
                let before = try #require(try await f.provider.sessions.running(ofAccount: "account-a").first)
                f.clock.advance(.seconds(60))
                let raised = try await f.provider.authorizations.raise(former, by: Self.further(f, acr: acr))
                let secret = try Self.secret(raised)
                #expect(secret != former)
                #expect(try await f.provider.sessions.session(former) == nil, "the former secret opens nothing")
                let session = try #require(try await f.provider.sessions.session(secret))
                #expect(session.acr == acr && session.amr == ["pin", "mfa"] && session.id == before.id)
                #expect(session.authenticatedAt == f.clock.source.now())
                let after = try await f.provider.sessions.running(ofAccount: "account-a")
                #expect(after.map(\.id) == [before.id] && after[0].expiresAt == before.expiresAt)
                let isMet = try await f.answer(["acr_values": "urn:high", "prompt": "none"], session: secret) == "code"
                #expect(isMet == (acr == "urn:high"), "the client gets what the session is worth")
            }
        }
    }

    @Test("An authentication that is less sure takes nothing from the session, and the secret stays")
    func lesser() async throws {
        try await Self.run { f in
            let secret = try await f.signIn(acr: "urn:high").session
            for acr in ["urn:low", "urn:unknown"] {
                #expect(try await f.provider.authorizations.raise(secret, by: Self.further(f, acr: acr)) == .kept)
            }
            #expect(try await f.provider.sessions.session(secret)?.acr == "urn:high")
        }
    }

    @Test("Another account's authentication and an ended session raise nothing")
    func others() async throws {
        try await Self.run { f in
            let secret = try await f.signIn(acr: "urn:low").session
            let other = Self.further(f, account: "account-c", acr: "urn:high")
            #expect(try await f.provider.authorizations.raise(secret, by: other) == .ended)
            #expect(try await f.provider.sessions.session(secret)?.acr == "urn:low")
            try await f.endSessions()
            let own = Self.further(f, acr: "urn:high")
            #expect(try await f.provider.authorizations.raise(secret, by: own) == .ended)
        }
    }

    @Test("Of many authentications at once with one secret exactly one raises the session")
    func atOnce() async throws {
        try await Self.run { f in
            let secret = try await f.signIn(acr: "urn:low").session
            let (authorizations, further) = (f.provider.authorizations, Self.further(f, acr: "urn:high"))
            let count = try await withThrowingTaskGroup(of: RaisedSession.self) { group in
                for _ in 0..<20 { group.addTask { try await authorizations.raise(secret, by: further) } }
                return try await group.reduce(into: 0) { if case .raised = $1 { $0 += 1 } }
            }
            #expect(count == 1)
        }
    }
}
