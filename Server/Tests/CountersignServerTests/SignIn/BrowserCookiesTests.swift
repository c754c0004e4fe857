import Countersign
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@Suite("RFC 6265: the cookies of a browser")
struct BrowserCookiesTests {
    @Test func loopbackCookiesHaveNoPrefixAndNoSecure() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let answer = try await TestBrowser(client).get(party.authorizeAddress())
            let cookie = try #require(answer.headers[.setCookie])
            #expect(
                cookie.contains(
                    /^countersign_browser=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax$/))
        }
    }

    @Test func cookiesOverTLSAreBoundToTheHost() async throws {
        let server = try await ServerFixture(issuer: "https://id.example.com")
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let answer = try await TestBrowser(client).get(party.authorizeAddress())
            let cookie = try #require(answer.headers[.setCookie])
            #expect(
                cookie.contains(
                    /^__Host-countersign_browser=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=34560000; Secure; HttpOnly; SameSite=Lax$/
                ))
            #expect(answer.headers[.strictTransportSecurity] == "max-age=31536000")
        }
    }

    @Test func browserThatIsKnownKeepsItsCookie() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            _ = try await browser.get(party.authorizeAddress())
            let first = browser.cookies
            _ = try await browser.get(party.authorizeAddress())
            #expect(browser.cookies == first)
        }
    }

    @Test("A cookie that is none of ours gets a new one", arguments: ["x", "", String(repeating: "A", count: 44)])
    func foreignCookieIsReplaced(value: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let answer = try await client.execute(
                uri: party.authorizeAddress(), method: .get, headers: [.cookie: "countersign_browser=\(value)"])
            #expect(answer.status == .seeOther)
            #expect(answer.headers[.setCookie] != nil)
        }
    }

    @Test func twoCookiesOfOneNameCountAsNone() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let browser = TestBrowser(client)
            let (request, _) = try await server.signInPage(browser, try await server.relyingParty())
            let value = try #require(browser.cookies["countersign_browser"])
            let planted = String(repeating: "A", count: 43)
            let one = try await client.execute(
                uri: "/sign-in?request=\(request)", method: .get,
                headers: [.cookie: "other=1; countersign_browser=\(value)"])
            #expect(one.status == .ok)
            let two = try await client.execute(
                uri: "/sign-in?request=\(request)", method: .get,
                headers: [.cookie: "countersign_browser=\(value); countersign_browser=\(planted)"])
            #expect(two.status == .notFound)
        }
    }

    @Test("What Unicode holds for a semicolon separates no cookies, and a mark behind one hides none")
    func cookiesAreSeparatedByBytes() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let browser = TestBrowser(client)
            let (request, _) = try await server.signInPage(browser, try await server.relyingParty())
            let cookie = "countersign_browser=\(try #require(browser.cookies["countersign_browser"]))"
            for (cookies, isKnown) in [
                ("a=b; \(cookie)", true), ("a=b\u{37E} \(cookie)", false), ("\(cookie);\u{301}", true),
                ("\(cookie)\u{37E}", false),
            ] {
                let answer = try await client.execute(
                    uri: "/sign-in?request=\(request)", method: .get, headers: [.cookie: cookies])
                #expect((answer.status == .ok) == isKnown, "\(cookies)")
            }
        }
    }

    @Test func signingInGivesAnotherSessionEachTime() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            var sessions: [String] = []
            for _ in 0..<2 {
                let authorize = try await browser.get(party.authorizeAddress("&prompt=login"))
                let request = try #require(authorize.redirectParameters["request"])
                let page = try await browser.get("/sign-in?request=\(request)")
                _ = try await phone.authenticate(try server.typedPayload(page))
                let completed = try await browser.get("/sign-in/complete?request=\(request)")
                let line = try #require(completed.headers[.setCookie])
                #expect(line.contains(/^countersign_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/))
                sessions.append(try #require(browser.cookies["countersign_session"]))
                server.clock.advance(by: .seconds(1))
            }
            #expect(sessions[0] != sessions[1])
        }
    }

    @Test(
        "The phone is told the browser in words of our own",
        arguments: [
            ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140 Safari/537.36 Edg/140", "Edge on Windows"),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19 Safari/604.1", "Safari on iPhone"),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 15_0) Gecko/20100101 Firefox/140.0", "Firefox on Mac"),
            ("Mozilla/5.0 (Linux; Android 16) Chrome/140 Mobile Safari/537.36", "Chrome on Android"),
            ("curl/8 <script>", "a browser"), (String(repeating: "Chrome/", count: 200), "a browser"),
        ])
    func browserIsNamed(userAgent: String, words: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client, userAgent: userAgent)
            let (_, page) = try await server.signInPage(browser, try await server.relyingParty())
            _ = try await phone.authenticate(try server.typedPayload(page))
            #expect(phone.person.asked.compactMap(\.requester).first?.browser == words)
        }
    }
}
