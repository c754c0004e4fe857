import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Logging
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import _Primitives

@Suite("No page is a dead end: each leads back to its service or to a new try, with a number")
struct EndingPagesTests {
    private static let home = "https://bank.example/start"

    /// Runs a test of a browser at the sign-in page of a service whose home is registered, or not.
    private func atSignIn(
        home: String? = Self.home, limits: Limits = Limits(),
        _ test: @escaping @Sendable (ServerFixture, TestBrowser, RelyingParty, TestResponse) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            let party = try await server.relyingParty(home: home)
            let browser = TestBrowser(client)
            try await test(server, browser, party, try await server.signInPage(browser, party).page)
        }
    }

    /// The page of an error: for people, with a number, and with these words.
    private func expect(_ page: TestResponse, _ status: HTTPResponse.Status, _ words: String...) throws {
        #expect(page.status == status)
        #expect(page.headers[.contentType] == "text/html; charset=utf-8")
        #expect(page.text.contains("data-testid=\"error\""))
        #expect(page.text.firstMatch(of: #/<code>[0-9A-Z]{4}-[0-9A-Z]{4}</code>/#) != nil)
        for words in words { #expect(page.text.contains(words), "\(words)") }
        // One apostrophe, in the pages' own words and in the reasons that they show.
        let shown = page.text.replacing(#/<(style|script)\b[\s\S]*?<\/\1>|<[^>]*>/#, with: " ")
        #expect(!shown.contains("'") && !shown.contains("&#39;") && !shown.contains("&apos;"), "\(shown)")
    }

    /// An address of another page of the sign-in that a page belongs to.
    private func address(_ path: String, _ page: TestResponse) throws -> String {
        let here = try page.attribute("href", of: "new-code")
        return path + here.dropFirst("/sign-in/wait".count)
    }

    @Test("A sign-in that has run out: a page without scripts, a finished one, another tab, before and after the sweep")
    func runOut() async throws {
        try await self.atSignIn { server, browser, _, page in
            server.clock.advance(by: Limits().authorizationRequestLifetime + .seconds(1))
            for isSwept in [false, true] {
                if isSwept { try await server.assembly.provider.sweep() }
                for path in ["/sign-in", "/sign-in/wait", "/sign-in/complete"] {
                    let ended = try await browser.get(try self.address(path, page))
                    try self.expect(
                        ended, .notFound, "This sign-in has run out", "Go back to Demo Bank and start again.",
                        ">Go to Demo Bank<")
                    #expect(try ended.attribute("href", of: "link") == Self.home)
                }
            }
        }
    }

    @Test("A service without a registered home is named, and nothing is linked")
    func withoutHome() async throws {
        try await self.atSignIn(home: nil) { server, browser, _, page in
            server.clock.advance(by: Limits().authorizationRequestLifetime + .seconds(1))
            let ended = try await browser.get(try self.address("/sign-in", page))
            try self.expect(ended, .notFound, "Go back to Demo Bank and start again.")
            #expect(!ended.text.contains("data-testid=\"link\""))
        }
    }

    @Test(
        "An address that names a service of its own making names nobody, and leads nowhere",
        arguments: [
            "nobody", "https%3A%2F%2Fevil.example%2F", "Evil%20Bank", "%22%3E%3Cscript%3E", "a&client=b",
        ])
    func madeUpService(client: String) async throws {
        try await self.atSignIn { _, browser, _, _ in
            let ended = try await browser.get("/sign-in?request=made-up&client=\(client)")
            #expect(ended.text.contains("Go back to the service and start again."))
            #expect(!ended.text.contains("data-testid=\"link\""))
            for text in ["evil", "Evil", "<script>", "nobody"] { #expect(!ended.text.contains(text)) }
        }
    }

    @Test("A browser that has lost its cookie is told so, and which host needs one")
    func lostCookie() async throws {
        try await self.atSignIn { _, browser, _, page in
            for path in ["/sign-in", "/sign-in/wait", "/sign-in/complete"] {
                browser.forgetCookies()
                let ended = try await browser.get(try self.address(path, page))
                try self.expect(
                    ended, .notFound, "This browser does not know the sign-in", "Go back to Demo Bank and start again.",
                    "allow cookies for localhost:8080")
                #expect(try ended.attribute("href", of: "link") == Self.home)
            }
        }
    }

    @Test("A sign-in that was cancelled leads back to its service, from the back button and from a second click")
    func cancelled() async throws {
        try await self.atSignIn { _, browser, _, page in
            let form = page.text.matches(of: #/name="(request|client)" value="([^"]*)"/#).prefix(2)
                .map { "\($0.1)=\($0.2)" }.joined(separator: "&")
            #expect(try await browser.post("/sign-in/cancel", form: form).status == .seeOther)
            for ended in [
                try await browser.get(try self.address("/sign-in", page)),
                try await browser.post("/sign-in/cancel", form: form),
            ] {
                try self.expect(ended, .notFound, "Go back to Demo Bank and start again.")
                #expect(try ended.attribute("href", of: "link") == Self.home)
            }
        }
    }

    @Test("The back button after a sign-in shows that it is finished, and leads to the service")
    func finished() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty(home: Self.home)
            let browser = TestBrowser(client)
            let (_, page) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let waited = try await browser.get(try self.address("/sign-in/wait", page))
            let completion = try #require(waited.headers[.location])
            #expect(completion == (try self.address("/sign-in/complete", page)))
            #expect(try await browser.get(completion).status == .seeOther)
            for path in ["/sign-in", "/sign-in/complete"] {
                let back = try await browser.get(try self.address(path, page))
                #expect(try back.attribute("data-state", of: "state") == "completed")
                #expect(try back.attribute("href", of: "home") == Self.home)
            }
            // Another service's name in the address adds nothing to a sign-in that is not its own.
            let other = try await server.assembly.provider.clients.register(
                name: "Other", redirectURIs: ["https://other.example/in"], clientURI: "https://other.example/",
                settings: ClientSettings(idTokenAlgorithm: .es256))
            let address = try self.address("/sign-in", page).replacing(party.id, with: other.client.id)
            #expect(try await !browser.get(address).text.contains("other.example"))
        }
    }

    @Test("A sign-in that the phone ended offers another try and the way back, with a number")
    func deniedOnThePhone() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            let (_, page) = try await server.signInPage(browser, try await server.relyingParty())
            phone.person.script.reactions[.pin] = .cancels
            phone.person.script.reactions[.authenticator] = .cancels
            await #expect(throws: OperationError.self) {
                try await phone.authenticate(try server.typedPayload(page))
            }
            let denied = try await browser.get(try self.address("/sign-in/wait", page))
            #expect(denied.text.firstMatch(of: #/<code>[0-9A-Z]{4}-[0-9A-Z]{4}</code>/#) != nil)
            #expect(denied.text.contains("data-testid=\"cancel\""))
            let again = try await browser.get(try denied.attribute("href", of: "retry"))
            #expect(try again.attribute("data-state", of: "state") == "waiting")
            #expect(again.text.firstMatch(of: #/<code>[0-9A-Z]{4}-[0-9A-Z]{4}</code>/#) == nil)
        }
    }

    @Test(
        "The number on the page of a sign-in that ended finds the line that says how, by which code, and for which service",
        arguments: [
            ("denied", "The person declined on the phone, client error code 3."),
            ("expired", "Its time was over before the phone and the browser were done, or it was given up."),
            ("failed", "It failed on the phone, or the phone's answer was refused, UAF status code 1498."),
        ])
    func endingIsExplained(state: String, reason: String) async throws {
        var limits = Limits()
        limits.ceremonyLifetime = .seconds(300)
        let server = try await ServerFixture(limits: limits)
        let party = try await server.relyingParty()
        let shown = Mutex("")
        let lines = try await server.requestLines { client in
            let phone = try await server.enrolledPhone(state == "failed" ? WrongSignatures(client: client) : client)
            let browser = TestBrowser(client)
            let (_, page) = try await server.signInPage(browser, party)
            if state == "denied" {
                phone.person.script.reactions[.pin] = .cancels
                phone.person.script.reactions[.authenticator] = .cancels
            }
            if state == "expired" {
                server.clock.advance(by: .seconds(301))
            } else {
                await #expect(throws: OperationError.self) {
                    try await phone.authenticate(try server.typedPayload(page))
                }
            }
            let ended = try await browser.get(try self.address("/sign-in/wait", page))
            #expect(try ended.attribute("data-state", of: "state") == state)
            let match = ended.text.firstMatch(of: #/<code>([0-9A-Z]{4}-[0-9A-Z]{4})<\/code>/#)
            shown.withLock { $0 = match.map { String($0.1) } ?? "" }
        }
        let line = try #require(lines.first { $0["reference"]?.description == shown.withLock { $0 } })
        #expect(line["error"]?.description == "sign-in-\(state)" && line["client"]?.description == party.id)
        #expect(line["reason"]?.description == reason)
    }

    @Test("The reason that a page shows is printed as the page's own words are")
    func apostrophe() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await client.execute(
                uri: "nowhere", method: .get, headers: [.accept: "text/html"])
            #expect(answer.text.contains("A request’s address is a path of this server."))
        }
    }

    @Test("A continuation that came to another browser says what to do there")
    func anotherBrowser() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let (_, page) = try await server.signInPage(
                TestBrowser(client), try await server.relyingParty(home: Self.home))
            let link = try page.attribute("href", of: "same-device-link")
            let result = try await phone.authenticate(try OutOfBandPayload(link: link))
            let continuation = try #require(result.location?.absoluteString)
            let ended = try await TestBrowser(client).get(continuation)
            try self.expect(
                ended, .forbidden, "Go on in Chrome on Linux",
                "open the address of this page in Chrome on Linux now.",
                "If you did not begin it, or somebody sent you the link, close this page",
                ">Copy the address of this page<", ">Go to Demo Bank<")
            #expect(try ended.attribute("href", of: "link") == Self.home)
            #expect(!ended.text.contains(try #require(continuation.split(separator: "=").last)))
            // Of what nobody was given, or what has been used, nothing is known, and nobody is named.
            server.clock.advance(by: server.assembly.configuration.limits.continuationLifetime)
            try self.expect(
                try await TestBrowser(client).get(continuation), .notFound, "This sign-in has run out",
                "Go back to the service and start again.")
        }
    }

    @Test("Too many sign-ins: the same address again, and the service where there is a form to send anew")
    func tooMany() async throws {
        var limits = Limits()
        limits.signInBurst = 1
        try await self.atSignIn(limits: limits) { _, browser, party, _ in
            let refused = try await browser.get(party.authorizeAddress())
            try self.expect(refused, .tooManyRequests, "then try again.", ">Try again<")
            #expect(try refused.attribute("href", of: "link") == "")
            let query = try #require(party.authorizeAddress().split(separator: "?").last)
            let form = try await browser.post("/oauth2/authorize", form: String(query))
            try self.expect(form, .tooManyRequests, "go back to Demo Bank and start again.")
            #expect(try form.attribute("href", of: "link") == Self.home)
        }
    }

    @Test("A request that its service has made wrongly: the way back, and the reason for those who can mend it")
    func wrongRequest() async throws {
        try await self.atSignIn { _, browser, party, _ in
            let address = party.authorizeAddress()
            let elsewhere = try await browser.get(address.replacing("callback", with: "elsewhere"))
            try self.expect(
                elsewhere, .badRequest, "Go back to Demo Bank and start again.",
                "For the people who run the service: The redirect address is not registered for this client.")
            #expect(try elsewhere.attribute("href", of: "link") == Self.home)
            let unknown = try await browser.get(address.replacing(party.id, with: "nobody"))
            try self.expect(
                unknown, .badRequest, "Go back to the service and start again.",
                "For the people who run the service: The client is not known here.")
            #expect(!unknown.text.contains("data-testid=\"link\""))
            let logout = try await browser.get(
                "/oauth2/logout?client_id=\(party.id)&post_logout_redirect_uri=https%3A%2F%2Fevil.example%2F")
            try self.expect(logout, .badRequest, "Go back to Demo Bank and start again.")
            #expect(try logout.attribute("href", of: "link") == Self.home)
            #expect(!logout.text.contains("evil"))
            let incomplete = try await browser.get("/sign-in?client=\(party.id)")
            try self.expect(
                incomplete, .badRequest, "This address is not complete", "Go back to Demo Bank and start again.")
        }
    }

    @Test("A server that fails, or cannot read or write: a new try, or the way back")
    func failing() async throws {
        try await self.atSignIn { server, browser, _, page in
            let wait = try self.address("/sign-in/wait", page)
            await server.database.close()
            let busy = try await browser.get(wait)
            try self.expect(busy, .serviceUnavailable, "The server is busy", ">Try again<")
            #expect(try busy.attribute("href", of: "link") == "")
        }
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            let (_, page) = try await server.signInPage(browser, try await server.relyingParty(home: Self.home))
            _ = try await phone.authenticate(try server.typedPayload(page))
            server.hooks.failNext(.completion, with: StoreError(.corrupt, "as the test wants it"))
            let failed = try await browser.get(try self.address("/sign-in/complete", page))
            try self.expect(
                failed, .internalServerError, "Something went wrong", "Go back to Demo Bank and start again.")
            #expect(try failed.attribute("href", of: "link") == Self.home)
        }
    }

    @Test(
        "What is no page is told to people as one, and to programs as a document",
        arguments: [
            ("/sign-in/cancel", 405, "This address is no page"), ("/oauth2/token", 405, "This address is no page"),
            ("/nowhere", 404, "There is no page here"),
            ("/sign-in?request=\(String(repeating: "a", count: 9000))", 414, "This request cannot be answered"),
        ])
    func noPage(path: String, status: Int, words: String) async throws {
        try await self.atSignIn { _, browser, _, _ in
            let page = try await browser.get(path, headers: [.accept: "text/html,*/*;q=0.8"])
            try self.expect(page, .init(code: status), words, "Go back to where you came from and try again.")
            let document = try await browser.get(path, headers: [.accept: "application/json"])
            #expect(document.status.code == status)
            #expect(document.headers[.contentType] == "application/problem+json")
            #expect(
                page.headers[.allow] == document.headers[.allow] && (page.headers[.allow] != nil) == (status == 405))
        }
    }
}
