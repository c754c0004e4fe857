import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

extension ProviderFixture {
    /// Keeps a finished sign-in, as the last step of a method does.
    func finish(_ request: String, by method: String, account: String = "account-a") async throws {
        let now = self.clock.source.now()
        let isFinished = try await self.store.advance(
            PasswordSignInStep(
                to: PasswordSignInRecord(
                    request: request, accountID: account, needsSecondFactor: false, needsNewPassword: false),
                finishing: FinishedSignInRecord(
                    request: request, method: method, account: account, at: now - .seconds(5), acr: "urn:\(method)",
                    amr: [method], browser: "A browser", address: "192.0.2.7", finishedAt: now)))
        #expect(isFinished)
    }
}

/// A method whose outcomes are stored, of which the provider knows nothing else.
private struct StoredOutcomes: SignInMethod {
    let name: String
    let finished: FinishedSignIns

    func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome? {
        try await self.finished.outcome(request: request, by: self)
    }
}

@Suite("Decision 109: a method whose outcome is stored writes one row, and the row is checked")
struct FinishedSignInTests {
    /// Runs with two methods whose outcomes are stored, and a method whose outcomes leave no row.
    private static func run(
        _ body: (ProviderFixture, OpenIDProvider, _ rowless: RecordedOutcomes) async throws -> Void
    ) async throws {
        try await ProviderFixture.run { f in
            let rowless = RecordedOutcomes(name: "rowless")
            let finished = FinishedSignIns(store: f.store, limits: Limits(), time: f.clock.source)
            let provider = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store,
                methods: [
                    StoredOutcomes(name: "first", finished: finished),
                    StoredOutcomes(name: "second", finished: finished), rowless,
                ], people: f.people, time: f.clock.source)
            try await f.letIn(by: ["first", "second", "rowless"])
            try await body(f, provider, rowless)
        }
    }

    @Test("The outcome of a finished sign-in is the row's, in the order of the methods, and is used once")
    func outcome() async throws {
        try await Self.run { f, provider, _ in
            let request = try await f.begin()
            let unknown = try await provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            #expect(unknown == .page(OAuthError(.invalidRequest)), "nothing was shown")
            try await f.finish(request, by: "second")
            try await f.finish(request, by: "first")
            let now = f.clock.source.now()
            guard
                case .signedIn(_, _, "first") = try await provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("not signed in")
                return
            }
            let sessions = try await f.store.sessions(
                account: "account-a", at: now, idleSince: now - .seconds(1), limit: 9, services: 9)
            let authentication = try #require(sessions.first?.session.authentication)
            #expect(sessions.count == 1)
            #expect(authentication.account == "account-a" && authentication.method == "first")
            #expect(authentication.at == now - .seconds(5) && authentication.acr == "urn:first")
            #expect(authentication.amr == ["first"] && authentication.browser == "A browser")
            #expect(authentication.address == "192.0.2.7")
            let again = try await provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            #expect(again == .page(OAuthError(.invalidRequest)))
        }
    }

    @Test("A finished sign-in signs nobody in after the lifetime of an outcome, or in another browser")
    func lifetime() async throws {
        try await Self.run { f, provider, _ in
            let request = try await f.begin()
            try await f.finish(request, by: "first")
            let stranger = try await provider.authorizations.complete(
                request: request, browser: BrowserSecret(), session: nil)
            #expect(stranger == .page(OAuthError(.invalidRequest)))
            f.clock.advance(Limits().outcomeLifetime)
            let late = try await provider.authorizations.complete(request: request, browser: f.browser, session: nil)
            #expect(late == .page(OAuthError(.invalidRequest)))
        }
    }

    @Test("An outcome without a finished sign-in of its method and account signs nobody in")
    func noRow() async throws {
        try await Self.run { f, provider, rowless in
            for (method, account) in [("first", "account-a"), ("rowless", "account-b")] {
                let request = try await f.begin()
                try await f.finish(request, by: method, account: account)
                try await f.letIn(by: ["rowless"])
                rowless.record(
                    AuthenticationOutcome(
                        account: "account-a", authenticatedAt: f.clock.source.now(), acr: "urn:x", amr: []),
                    request: request, browser: f.browser)
                let answer = try await provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
                guard case .refused = answer else {
                    Issue.record("\(answer)")
                    continue
                }
            }
        }
    }
}
