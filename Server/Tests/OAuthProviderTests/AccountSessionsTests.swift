import FreshStores
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("A person's signed-in browsers (threat model, Staying signed in unseen)")
struct AccountSessionsTests {
    @Test func aSignInIsListedWithWhatThePersonRecognisesItBy() async throws {
        try await ProviderFixture.run { f in
            let start = f.clock.source.now()
            let request = try await f.begin()
            f.outcomes.record(
                AuthenticationOutcome(
                    account: "account-a", authenticatedAt: start, acr: "urn:x", amr: ["pin"],
                    browser: "Firefox on Mac", address: "192.0.2.7"), request: request, browser: f.browser)
            f.clock.advance(.seconds(5))
            _ = try await f.provider.authorizations.complete(request: request, browser: f.browser, session: nil)
            let listed = try await f.provider.sessions.running(ofAccount: "account-a")
            let session = try #require(listed.first)
            #expect(listed.count == 1)
            #expect(session.services.map(\.name) == ["Demo Bank"])
            #expect(session.services.map(\.origin) == ["https://bank.example"])
            #expect(session.browser == "Firefox on Mac" && session.address == "192.0.2.7")
            #expect(session.authenticatedAt == start && session.usedAt == start + .seconds(5))
            #expect(session.expiresAt == start + .seconds(5) + Limits().sessionLifetime)
            #expect(try await f.provider.sessions.running(ofAccount: "account-b").isEmpty)
        }
    }

    @Test func aSecondServiceJoinsTheSession() async throws {
        try await ProviderFixture.run { f in
            let shop = try await f.provider.clients.register(name: "Shop", redirectURIs: [ProviderFixture.address])
            let session = try await f.signIn().session
            f.clock.advance(.seconds(9))
            _ = try await f.provider.authorizations.authorize(
                f.query(client: shop), browser: f.browser, session: session, source: "a", address: nil)
            let listed = try await f.provider.sessions.running(ofAccount: "account-a")
            #expect(listed.map { $0.services.map(\.name) } == [["Shop", "Demo Bank"]])
            #expect(listed.first?.usedAt == f.clock.source.now())
        }
    }

    @Test func theIdleAndTheAbsoluteEndTakeASessionOffTheList() async throws {
        var limits = Limits()
        limits.sessionLifetime = .seconds(100)
        limits.oauth.sessionIdleLifetime = .seconds(60)
        try await ProviderFixture.run(limits: limits) { f in
            let session = try await f.signIn().session
            f.clock.advance(.seconds(59))
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").count == 1)
            _ = try await f.provider.authorizations.authorize(
                f.query(), browser: f.browser, session: session, source: "a", address: nil)
            f.clock.advance(.seconds(40))
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").count == 1)
            f.clock.advance(.seconds(1))
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").isEmpty)
            _ = try await f.signIn()
            f.clock.advance(.seconds(60))
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").isEmpty)
        }
    }

    @Test func theListIsBounded() async throws {
        var limits = Limits()
        limits.activityRows = 2
        try await ProviderFixture.run(limits: limits) { f in
            for _ in 0..<3 { _ = try await f.signIn() }
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").count == 2)
        }
    }

    @Test func aRevokedSessionAndItsTokensAreDeadAtOnceAndNoOthers() async throws {
        try await ProviderFixture.run { f in
            let revoked = try await f.tokens()
            let id = try #require(try await f.provider.sessions.running(ofAccount: "account-a").first?.id)
            let kept = try await f.tokens()
            #expect(try await f.provider.sessions.end(id, ofAccount: "account-a"))
            #expect(try await f.provider.sessions.session(revoked.session) == nil)
            let answer = try await f.provider.userinfo.answer(header: "Bearer \(revoked.access)")
            #expect(answer.status == 401 && answer.error == "invalid_token")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(kept.access)").status == 200)
            guard
                case .signIn = try await f.provider.authorizations.authorize(
                    f.query(), browser: f.browser, session: revoked.session, source: "a", address: nil)
            else {
                Issue.record("the browser is still signed in")
                return
            }
            let event = try #require(
                try await f.store.auditEntries(after: 0, limit: 100).map(\.event).first {
                    $0.kind.rawValue == "session-revoked"
                })
            #expect(event.accountID == "account-a" && event.detail == id)
        }
    }

    @Test func nobodyEndsAnotherPersonsSession() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            let id = try #require(try await f.provider.sessions.running(ofAccount: "account-a").first?.id)
            #expect(try await f.provider.sessions.end(id, ofAccount: "account-b") == false)
            #expect(try await f.provider.sessions.end("unknown", ofAccount: "account-a") == false)
            #expect(try await f.provider.sessions.session(session) != nil)
        }
    }

    @Test("A sweep ends although before each of its steps another authentication ends.")
    func sweepEnds() async throws {
        try await ProviderFixture.run { f in
            let count = 3
            for _ in 0..<count { _ = try await f.signIn() }
            f.clock.advance(.seconds(30 * 60))
            #expect(try await f.provider.sweep() == count, "the grants")
            for session in try await f.provider.sessions.running(ofAccount: "account-a") {
                f.hooks.atNext(.authorizationSweep) {
                    let isEnded = try await f.provider.sessions.end(session.id, ofAccount: "account-a")
                    #expect(isEnded)
                }
            }
            for _ in 0..<count {
                #expect(try await f.provider.sweep() == 1, "the authentication, whose session has just ended")
            }
            #expect(try await f.provider.sweep() == 0)
        }
    }
}
