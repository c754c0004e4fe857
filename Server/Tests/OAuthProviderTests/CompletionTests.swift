import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 6749, section 4.1.2, and RFC 9207: authorization response")
struct CompletionTests {
    @Test func theClientGetsCodeStateAndIssuer() async throws {
        try await ProviderFixture.run { f in
            let redirect = try await f.signIn().redirect
            #expect(redirect.hasPrefix(ProviderFixture.address + "?code="))
            #expect(try ProviderFixture.parameter("code", of: redirect)?.utf8.count == 43)
            #expect(try ProviderFixture.parameter("state", of: redirect) == "st&te")
            #expect(try ProviderFixture.parameter("iss", of: redirect) == ProviderFixture.issuer)
        }
    }

    @Test func withoutAnOutcomeNobodyIsSignedIn() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            let answer = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            #expect(answer == .page(OAuthError(.invalidRequest)))
            // The page waits on, and the request can still be completed.
            f.authenticate(request)
            guard
                case .signedIn = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("not signed in")
                return
            }
        }
    }

    /// Decision 26: a way to sign in is a line in a list, and whatever it is, what comes of it are the same records.
    @Test func theMethodThatHasTheOutcomeIsTheOneThatIsKept() async throws {
        try await ProviderFixture.run { f in
            let (first, second) = (RecordedOutcomes(name: "first"), RecordedOutcomes(name: "second"))
            let provider = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store,
                methods: [first, second], people: f.people, time: f.clock.source)
            try await f.letIn(by: ["second", "first"])
            for (method, name) in [(second, "second"), (first, "first")] {
                let request = try await f.begin()
                let outcome = AuthenticationOutcome(
                    account: "account-a", authenticatedAt: f.clock.source.now(), acr: "urn:\(name)", amr: [name])
                method.record(outcome, request: request, browser: f.browser)
                try await f.finish(request, by: name)
                let answer = try await provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
                guard case .signedIn(_, let secret, method: name) = answer else {
                    Issue.record("\(answer)")
                    continue
                }
                #expect(try await provider.sessions.session(secret)?.acr == "urn:\(name)")
                let kept = try await f.store.sessions(
                    account: "account-a", at: f.clock.source.now(), idleSince: f.clock.source.now() - .seconds(1),
                    limit: 9, services: 9
                ).map(\.session.authentication)
                #expect(kept.contains { $0.method == name && $0.amr == [name] })
            }
        }
    }

    @Test("decision 33: a client takes the ways that it is registered with, whatever the person has shown")
    func aMethodThatTheClientDoesNotTakeSignsNobodyIn() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            #expect(
                try await f.provider.authorizations.pending(request: request, browser: f.browser)?.methods == ["phone"])
            f.authenticate(request)
            try await f.letIn(by: ["password"])
            #expect(
                try await f.provider.authorizations.pending(request: request, browser: f.browser)?.methods == [
                    "password"
                ])
            let refused = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            #expect(refused == .page(OAuthError(.invalidRequest)))
            try await f.letIn(by: ["password", "phone"])
            let answer = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            guard case .signedIn(_, let session, "phone") = answer else {
                Issue.record("\(answer)")
                return
            }
            // A session that another way has begun is none for a client that does not take that way.
            try await f.letIn(by: ["password"])
            let again = try await f.provider.authorizations.authorize(
                f.query(), browser: f.browser, session: session, source: "s", address: nil)
            guard case .signIn = again else {
                Issue.record("\(again)")
                return
            }
            try await f.letIn(by: ["phone"])
            let silent = try await f.provider.authorizations.authorize(
                f.query(), browser: f.browser, session: session, source: "s", address: nil)
            guard case .client = silent else {
                Issue.record("\(silent)")
                return
            }
        }
    }

    @Test(arguments: [[], ["phone", "phone"], ["word"], ["phone", "word"]])
    func waysThatThereAreNotAreRefused(ways: [String]) async throws {
        try await ProviderFixture.run { f in
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(f.bank.client.id, ClientChange(signInMethods: ways))
            }
            let kept = try await f.provider.clients.client(f.bank.client.id)
            #expect(kept?.settings.signInMethods == ["phone"])
        }
    }

    @Test func anotherBrowserCannotComplete() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            f.authenticate(request)
            let thief = try await f.provider.authorizations.complete(
                request: request, browser: BrowserSecret(), session: nil)
            #expect(thief == .page(OAuthError(.invalidRequest)))
            guard
                case .signedIn = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("the right browser was shut out")
                return
            }
        }
    }

    @Test func oneOfFiftyCompletionsSignsIn() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            f.authenticate(request)
            let count = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let answer = try await f.provider.authorizations.complete(
                            request: request, browser: f.browser, session: nil)
                        if case .signedIn = answer { return true }
                        return false
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(count == 1)
        }
    }

    @Test func theSessionIsNewAtEachSignIn() async throws {
        try await ProviderFixture.run { f in
            let first = try await f.signIn().session
            let second = try await f.signIn(["prompt": "login"], session: first).session
            #expect(first != second)
            #expect(try await f.provider.sessions.session(first) == nil)
            let session = try #require(try await f.provider.sessions.session(second))
            #expect(session.account == "account-a" && session.acr == "urn:x" && session.amr == ["pin", "hwk"])
            #expect(session.authenticatedAt == f.clock.source.now())
        }
    }

    @Test func aSessionThatSomebodyPlantedIsNotTakenOver() async throws {
        try await ProviderFixture.run { f in
            let planted = try #require(SessionSecret(cookie: RandomSource.system.token(byteCount: 32)))
            let signedIn = try await f.signIn(["prompt": "login"], session: planted)
            #expect(signedIn.session != planted)
            #expect(try await f.provider.sessions.session(planted) == nil)
        }
    }

    @Test func aLockedAccountIsNotSignedIn() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            f.authenticate(request)
            f.people.lock("account-a")
            let answer = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            guard case .refused(.redirect(let address)) = answer else {
                Issue.record("not a redirect: \(answer)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "access_denied")
            #expect(try await f.provider.authorizations.pending(request: request, browser: f.browser) == nil)
        }
    }

    @Test("cookies are 32 bytes in base64url", arguments: ["", "x", String(repeating: "=", count: 43)])
    func cookies(value: String) {
        #expect(BrowserSecret(cookie: value) == nil)
        #expect(SessionSecret(cookie: value) == nil)
    }

    @Test func cookiesComeBackAndAreNotShown() throws {
        let browser = BrowserSecret()
        #expect(BrowserSecret(cookie: browser.cookieValue) == browser)
        #expect(BrowserSecret(cookie: browser.cookieValue)?.digest == browser.digest)
        #expect(BrowserSecret() != browser)
        #expect("\(browser)" == "BrowserSecret")
        let session = try #require(SessionSecret(cookie: browser.cookieValue))
        #expect("\(session)" == "SessionSecret")
    }
}
