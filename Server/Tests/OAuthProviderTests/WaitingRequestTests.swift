import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, section 3.1.2.3: requests that wait for another tab (decision 93)")
struct WaitingRequestTests {
    /// What the request came to, judged once more: `waits`, `sign-in`, `consent`, `too many`, `page`, `code`, or the error
    /// that the client is told.
    private func judged(
        _ f: ProviderFixture, _ request: String, _ session: SessionSecret?, browser: BrowserSecret? = nil
    ) async throws -> String {
        let answer = try await f.provider.authorizations.answer(
            request: request, browser: browser ?? f.browser, by: session, source: "a", address: "192.0.2.9")
        switch answer {
        case nil: return "waits"
        case .signIn: return "sign-in"
        case .consent: return "consent"
        case .tooMany: return "too many"
        case .page: return "page"
        case .client(let answer):
            let fields = try ProviderFixture.fields(of: answer)
            return fields["code"] == nil ? fields["error"] ?? "" : "code"
        }
    }

    @Test("a request is answered by the session of its browser as if it came now, once, with its own nonce and state")
    func answered() async throws {
        try await ProviderFixture.run { f in
            let waiting = try await f.begin(["nonce": "n-waiting", "state": "waiting"])
            #expect(try await !f.provider.authorizations.isAnswered(request: waiting, browser: f.browser, by: nil))
            #expect(try await self.judged(f, waiting, nil) == "waits")
            let session = try await f.signIn().session
            f.clock.advance(.seconds(9))
            #expect(try await f.provider.authorizations.isAnswered(request: waiting, browser: f.browser, by: session))
            #expect(
                try await f.provider.authorizations.isAnswered(request: waiting, browser: f.browser, by: session),
                "free")

            let answer = try await f.provider.authorizations.answer(
                request: waiting, browser: f.browser, by: session, source: "a", address: "192.0.2.9")
            guard case .client(let client)? = answer else {
                Issue.record("\(String(describing: answer))")
                return
            }
            let fields = try ProviderFixture.fields(of: client)
            #expect(fields["state"] == "waiting" && fields["iss"] == ProviderFixture.issuer)
            let code = try #require(fields["code"])
            let body = try #require(try await f.token(code).body)
            let claims = try f.claims(body.requiredString("id_token"), type: "JWT")
            #expect(claims.members["nonce"] == .string("n-waiting"))
            let told = try await f.store.auditEntries(after: 0, limit: 100).map(\.event)
                .filter { $0.kind == .init(rawValue: "signed-in-by-session") }
            #expect(told.map(\.address) == ["192.0.2.9"])

            #expect(try await self.judged(f, waiting, session) == "waits", "of any number one is answered")
            #expect(try await !f.provider.authorizations.isAnswered(request: waiting, browser: f.browser, by: session))
        }
    }

    @Test(
        "a session that would not answer the request if it came now leaves it waiting",
        arguments: [
            ["prompt": "login"], ["prompt": "select_account"], ["prompt": "create"], ["max_age": "0"],
            ["max_age": "9"], ["acr_values": "urn:two"], ["login_hint": "account-b"],
        ])
    func waitsOn(wish: [String: String]) async throws {
        let levels = [AssuranceWord("urn:two", levels: ["urn:y"])]
        try await ProviderFixture.run(levels: levels) { f in
            let waiting = try await f.begin(wish.mapValues { $0 })
            let session = try await f.signIn().session
            f.clock.advance(.seconds(10))
            #expect(try await !f.provider.authorizations.isAnswered(request: waiting, browser: f.browser, by: session))
            #expect(try await self.judged(f, waiting, session) == "waits")
            #expect(try await f.provider.authorizations.pending(request: waiting, browser: f.browser) != nil)
            // It is answered by what its own page comes to.
            f.authenticate(waiting, acr: "urn:y")
            guard
                case .signedIn = try await f.provider.authorizations.complete(
                    request: waiting, browser: f.browser, session: session)
            else {
                Issue.record("not signed in")
                return
            }
        }
    }

    @Test("the session of another person than the hinted one, of another browser, or one that ended, answers nothing")
    func anotherPerson() async throws {
        try await ProviderFixture.run { f in
            let own = try await f.tokens(account: "account-a")
            let hinted = try await f.begin(["id_token_hint": own.id])
            let waiting = try await f.begin()
            let other = try await f.signIn(account: "account-b").session
            #expect(try await self.judged(f, hinted, other) == "waits")
            #expect(try await self.judged(f, waiting, other, browser: BrowserSecret()) == "waits")
            let unknown = try #require(SessionSecret(cookie: BrowserSecret().cookieValue))
            #expect(try await self.judged(f, waiting, unknown) == "waits")
            f.people.lock("account-b")
            #expect(try await self.judged(f, waiting, other) == "waits")
        }
    }

    @Test("where its person has to agree first, they are asked in the session that they have")
    func consent() async throws {
        try await ProviderFixture.run { f in
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256, party: .third))
            let asked = try await f.provider.authorizations.authorize(
                f.query(client: shop), browser: f.browser, session: nil, source: "a", address: nil)
            guard case .signIn(let waiting, _) = asked else {
                Issue.record("\(asked)")
                return
            }
            let session = try await f.signIn().session
            let answer = try await f.provider.authorizations.answer(
                request: waiting, browser: f.browser, by: session, source: "a", address: nil)
            guard case .consent(let request, shop.client.id)? = answer else {
                Issue.record("\(String(describing: answer))")
                return
            }
            #expect(
                try await f.provider.authorizations.pending(request: waiting, browser: f.browser) == nil,
                "the one before")
            let question = try await f.provider.authorizations.consentQuestion(
                request: request, browser: f.browser, session: session)
            #expect(question?.clientName == "Shop")
            #expect(try await self.judged(f, request, session) == "waits", "it waits for a word, and not for a session")
            let decided = try await f.provider.authorizations.decide(
                request: request, browser: f.browser, session: session, isGranted: true, address: nil)
            guard case .client(let client) = decided else {
                Issue.record("\(decided)")
                return
            }
            #expect(try ProviderFixture.fields(of: client)["code"] != nil)
        }
    }

    @Test("it comes out of the budget of sign-ins that begin, and a request that is over it waits on")
    func budget() async throws {
        var limits = Limits()
        (limits.signInBurst, limits.signInsPerMinute) = (3, 1)
        try await ProviderFixture.run(limits: limits) { f in
            let (first, second) = (try await f.begin(), try await f.begin())
            let session = try await f.signIn().session
            #expect(try await self.judged(f, first, session) == "too many")
            f.clock.advance(.seconds(60))
            #expect(try await self.judged(f, second, session) == "code")
            #expect(try await self.judged(f, first, session) == "too many")
            f.clock.advance(.seconds(60))
            #expect(try await self.judged(f, first, session) == "code")
        }
    }
}
