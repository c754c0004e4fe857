import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("What services have of a person that lasts (decision 28; threat model, Staying signed in unseen)")
struct AccountGrantsTests {
    private static let scope = "openid profile offline_access"

    /// A client that may renew its tokens.
    private static func mail(_ f: ProviderFixture, _ name: String = "Mail") async throws -> RegisteredClient {
        try await f.provider.clients.register(
            name: name, redirectURIs: [ProviderFixture.address],
            settings: ClientSettings(idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"]))
    }

    private static func tokens(
        _ f: ProviderFixture, _ client: RegisteredClient, account: String = "account-a"
    ) async throws -> (access: String, refresh: String) {
        let signedIn = try await f.signIn(["client_id": client.client.id, "scope": Self.scope], account: account)
        let body = try #require(
            try await f.provider.grants.answer(header: f.basic(client), body: f.form(signedIn.code)).body)
        return (try body.requiredString("access_token"), try body.requiredString("refresh_token"))
    }

    private static func renew(_ f: ProviderFixture, _ client: RegisteredClient, _ token: String) async throws
        -> ProviderAnswer
    {
        let form: Parameters = ["grant_type": "refresh_token", "refresh_token": token]
        return try await f.provider.grants.answer(header: f.basic(client), body: form.encoded)
    }

    private static func trail(_ f: ProviderFixture, _ kind: String) async throws -> [AuditEvent] {
        try await f.store.auditEntries(after: 0, limit: 99).map(\.event).filter { $0.kind.rawValue == kind }
    }

    private static func grants(_ f: ProviderFixture, limits: Limits = Limits()) -> AccountGrants {
        AccountGrants(store: f.store, limits: limits, time: f.clock.source)
    }

    @Test func theyAreListedWithWhatThePersonRecognisesThemByAlsoAfterASignOut() async throws {
        try await ProviderFixture.run { f in
            let mail = try await Self.mail(f)
            let start = f.clock.source.now()
            let given = try await Self.tokens(f, mail)
            for session in try await f.provider.sessions.running(ofAccount: "account-a") {
                #expect(try await f.store.endSession(session.id, audit: AuditEvent(.accountRenamed, at: start)))
            }
            let first = try #require(try await Self.grants(f).lasting(ofAccount: "account-a").first)
            #expect(first.clientName == "Mail" && first.client == mail.client.id && first.scope == Self.scope)
            #expect(first.since == start && first.usedAt == nil)
            #expect(first.expiresAt == start + Limits().oauth.refreshTokenLifetime)
            f.clock.advance(.seconds(3600))
            #expect(try await Self.renew(f, mail, given.refresh).status == 200)
            let used = try await Self.grants(f).lasting(ofAccount: "account-a")
            #expect(used.map(\.usedAt) == [start + .seconds(3600)] && used.map(\.since) == [start])
            #expect(try await Self.grants(f).lasting(ofAccount: "account-b").isEmpty)
        }
    }

    @Test func aGrantThatIsTakenBackIsWorthNothingAtOnceAndNoOther() async throws {
        try await ProviderFixture.run { f in
            let mail = try await Self.mail(f)
            let kept = try await Self.tokens(f, mail)
            f.clock.advance(.seconds(1))
            let taken = try await Self.tokens(f, mail)
            let grants = Self.grants(f)
            let id = try #require(try await grants.lasting(ofAccount: "account-a").first?.id)
            #expect(try await grants.end(.grant(id), ofAccount: "account-b") == 0)
            #expect(try await grants.end(.grant("never"), ofAccount: "account-a") == 0)
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(taken.access)").status == 200)
            #expect(try await grants.end(.grant(id), ofAccount: "account-a") == 1)
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(taken.access)").status == 401)
            #expect(try await Self.renew(f, mail, taken.refresh).error == "invalid_grant")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(kept.access)").status == 200)
            #expect(try await Self.renew(f, mail, kept.refresh).status == 200)
            let events = try await Self.trail(f, "grants-ended")
            #expect(events.map(\.detail) == ["grant=\(id)"] && events.map(\.accountID) == ["account-a"])
            #expect(events.map(\.actor) == [nil])
        }
    }

    @Test func anOperatorTakesAllOfAServiceBackAndThenEverything() async throws {
        try await ProviderFixture.run { f in
            let (mail, calendar) = (try await Self.mail(f), try await Self.mail(f, "Calendar"))
            let (first, second) = (try await Self.tokens(f, mail), try await Self.tokens(f, calendar))
            let other = try await Self.tokens(f, mail, account: "account-b")
            let grants = Self.grants(f)
            #expect(try await grants.end(.client(mail.client.id), ofAccount: "account-a", by: "root") == 1)
            #expect(try await Self.renew(f, mail, first.refresh).error == "invalid_grant")
            #expect(try await Self.renew(f, calendar, second.refresh).status == 200)
            #expect(try await grants.end(.all, ofAccount: "account-a", by: "root") == 1)
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(second.access)").status == 401)
            #expect(try await Self.renew(f, mail, other.refresh).status == 200)
            let events = try await Self.trail(f, "grants-ended")
            #expect(events.map(\.detail) == ["client=\(mail.client.id)", "all"])
            #expect(events.map(\.actor) == ["root", "root"])
        }
    }

    @Test func pastTheBoundTheOldestOfTheServiceAndThePersonEndsAndTheTrailSaysSo() async throws {
        var limits = Limits()
        limits.oauth.lastingGrantsPerClient = 2
        try await ProviderFixture.run(limits: limits) { f in
            let (mail, calendar) = (try await Self.mail(f), try await Self.mail(f, "Calendar"))
            let elsewhere = try await Self.tokens(f, calendar)
            let another = try await Self.tokens(f, mail, account: "account-b")
            var given: [String] = []
            for _ in 0..<3 {
                f.clock.advance(.seconds(1))
                given.append(try await Self.tokens(f, mail).refresh)
            }
            #expect(try await Self.renew(f, mail, given[0]).error == "invalid_grant")
            for token in given.dropFirst() { #expect(try await Self.renew(f, mail, token).status == 200) }
            #expect(try await Self.renew(f, calendar, elsewhere.refresh).status == 200)
            #expect(try await Self.renew(f, mail, another.refresh).status == 200)
            let events = try await Self.trail(f, "grant-displaced")
            #expect(events.map(\.actor) == [mail.client.id] && events.map(\.accountID) == ["account-a"])
        }
    }

    @Test func theListIsBounded() async throws {
        try await ProviderFixture.run { f in
            let mail = try await Self.mail(f)
            for _ in 0..<3 { _ = try await Self.tokens(f, mail) }
            var limits = Limits()
            limits.activityRows = 2
            #expect(try await Self.grants(f, limits: limits).lasting(ofAccount: "account-a").count == 2)
        }
    }

    @Test func anOperatorSignsAPersonOutOfEveryBrowser() async throws {
        try await ProviderFixture.run { f in
            let first = try await f.tokens()
            let second = try await f.tokens()
            let others = try await f.tokens(account: "account-b")
            #expect(try await f.provider.sessions.endAll(ofAccount: "account-a", by: "root") == 2)
            #expect(try await f.provider.sessions.endAll(ofAccount: "account-a", by: "root") == 0)
            for ended in [first, second] {
                #expect(try await f.provider.sessions.session(ended.session) == nil)
                #expect(try await f.provider.userinfo.answer(header: "Bearer \(ended.access)").status == 401)
            }
            #expect(try await f.provider.sessions.session(others.session) != nil)
            let events = try await Self.trail(f, "session-revoked")
            #expect(events.map(\.detail) == ["all"] && events.map(\.actor) == ["root"])
        }
    }

    @Test func whoWasApprovedBeforeALockIsNotLetInAfterIt() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            f.authenticate(request)
            f.clock.advance(.seconds(1))
            for isLocked in [true, false] {
                let event = AuditEvent(.accountRenamed, at: f.clock.source.now())
                #expect(try await f.store.setAccountLocked(isLocked, id: "account-a", audit: event))
            }
            var refusals: [ProviderRefusal] = []
            let answer = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil
            ) {
                refusals.append($0)
            }
            guard case .refused(.redirect(let address)) = answer else {
                Issue.record("let in: \(answer)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "access_denied")
            #expect(refusals.map(\.code) == ["access_denied"])
            f.clock.advance(.seconds(1))
            _ = try await f.signIn()
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").count == 1)
        }
    }
}
