import Countersign
import CountersignTestKit
import Foundation
import OAuth
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D6.4 to D6.14, F036, F054, F055: the web in the app")
struct WebViewTests {
    private let world: SignInWorld
    private let page = URL(string: "https://id.example.com/records")!
    private var views: [VirtualWebView] { self.world.device.webViews.views }

    init() {
        var world = SignInWorld(.signInService)
        world.configuration.webViews = WebViewSites(
            application: "health-web", hosts: ["id.example.com"], cookiePrefix: "health_")
        self.world = world
    }

    @Test("a view has the cookies of a session before its page is loaded, and then the page is told")
    func signedIn() async throws {
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        await self.world.server.forgetRequests()
        let opened = try await app.webView(self.page, displayTitle: "Records", useSSO: true)
        #expect(opened.isSignedIn && opened.failure == nil)
        let exchanges = await self.world.server.requests
        #expect(exchanges.count == 1)
        let request = try #require(exchanges.first)
        #expect(request.method == "POST" && request.url.path() == "/v0/sign_in/token" && request.url.query() == nil)
        let form = try Parameters(parsing: String(decoding: request.body, as: UTF8.self))
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange")
        #expect(form["subject_token_type"] == "urn:ietf:params:oauth:token-type:access_token")
        #expect(form["actor_token_type"] == "urn:x-oath:params:oauth:token-type:device-secret")
        #expect(form["client_id"] == "health-web")
        #expect(form["actor_token"] == (await self.world.server.sessions.first?.deviceSecret))
        let view = try #require(self.views.first)
        #expect(view.displayTitle == "Records")
        #expect(view.loads.map(\.url) == [self.page])
        let load = try #require(view.loads.first)
        #expect(Set(load.cookieNames) == ["health_access_token", "health_anti_csrf_token", "health_info_token"])
        let hint = load.session.hint(at: self.page)
        #expect(hint?.name == "hasSession" && hint?.value == "true")
        for cookie in view.cookies {
            #expect(cookie.isSecure && cookie.isSameSite)
            #expect(cookie.isHTTPOnly == (cookie.name != "health_info_token"))
        }
        #expect(view.cookies.first { $0.name == "health_refresh_token" }?.path == "/v0/sign_in/refresh")
    }

    @Test("every view has cookies of its own, and so has one that is loaded again")
    func fresh() async throws {
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        let first = try await app.webView(self.page, displayTitle: "One", useSSO: true)
        _ = try await app.webView(self.page, displayTitle: "Two", useSSO: true)
        _ = try await app.reload(first)
        let values = self.views.map { view in view.cookies.first { $0.name == "health_access_token" }?.value }
        #expect(values.count == 2 && Set(values).count == 2 && !values.contains(nil))
        #expect(await self.world.server.webSessions.count == 3)
        #expect(self.views[0].cookies.count == 4, "those of before are gone")
        #expect(self.views[0].loads.count == 2)
    }

    @Test("after a restart by finger the device's secret opens sessions as before")
    func afterRestart() async throws {
        _ = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        let app = try await self.world.start()
        self.world.device.sensor.feel(.match)
        try await app.restore()
        #expect(try await app.webView(self.page, displayTitle: "Records", useSSO: true).isSignedIn)
    }

    @Test("without useSSO nothing is fetched, no cookie is set, and no page is told anything")
    func withoutSSO() async throws {
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        await self.world.server.forgetRequests()
        let opened = try await app.webView(self.page, displayTitle: "Records")
        #expect(!opened.isSignedIn && opened.failure == nil)
        #expect(await self.world.server.requests.isEmpty)
        let view = try #require(self.views.first)
        #expect(view.cookies.isEmpty)
        #expect(view.loads.first?.session.hint(at: self.page) == nil)
    }

    @Test(
        "a page of no configured host, or in the clear, is opened signed out, and nothing is fetched for it",
        arguments: [
            "https://evil.example.com/", "http://id.example.com/", "https://id.example.com.evil.example/",
            "https://id.example.com:8443/", "https://alice@id.example.com/", "https://sub.id.example.com/",
        ])
    func otherHosts(address: String) async throws {
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        await self.world.server.forgetRequests()
        let url = try #require(URL(string: address))
        let opened = try await app.webView(url, displayTitle: "Elsewhere", useSSO: true)
        #expect(!opened.isSignedIn && opened.failure?.code == .misconfigured)
        #expect(await self.world.server.requests.isEmpty)
        #expect(self.views.first?.cookies.isEmpty == true)
        #expect(self.views.first?.loads.first?.session.hint(at: self.page) == nil)
    }

    @Test("where a page leads elsewhere, that page is told nothing")
    func redirects() async throws {
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        _ = try await app.webView(self.page, displayTitle: "Records", useSSO: true)
        let session = try #require(self.views.first?.loads.first).session
        for address in ["https://evil.example.com/", "http://id.example.com/", "https://id.example.com@evil.example/"] {
            #expect(session.hint(at: try #require(URL(string: address))) == nil)
        }
        #expect(session.hint(at: try #require(URL(string: "https://id.example.com/other"))) != nil)
    }

    /// What the sign-in service can answer that is no session.
    struct Answer: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let cookies: [String]
        var status = 200

        private static let good = [
            "health_access_token=a; Path=/; Secure; HttpOnly", "health_anti_csrf_token=c; Path=/; Secure; HttpOnly",
            "health_info_token=i; Path=/; Secure",
        ]

        private static func with(_ index: Int, _ field: String) -> [String] {
            var cookies = self.good
            cookies[index] = field
            return cookies
        }

        static let all = [
            Answer(testDescription: "no cookies", cookies: []),
            Answer(testDescription: "no access token", cookies: Array(Self.good.dropFirst())),
            Answer(testDescription: "no anti-CSRF token", cookies: [Self.good[0], Self.good[2]]),
            Answer(testDescription: "no info token", cookies: Array(Self.good.dropLast())),
            Answer(
                testDescription: "an empty one", cookies: Self.with(0, "health_access_token=; Path=/; Secure; HttpOnly")
            ),
            Answer(
                testDescription: "another prefix", cookies: Self.good.map { $0.replacing("health_", with: "other_") }),
            Answer(testDescription: "not Secure", cookies: Self.with(0, "health_access_token=a; Path=/; HttpOnly")),
            Answer(
                testDescription: "read by scripts", cookies: Self.with(1, "health_anti_csrf_token=c; Path=/; Secure")),
            Answer(
                testDescription: "of another domain",
                cookies: Self.with(0, "health_access_token=a; Path=/; Domain=evil.example; Secure; HttpOnly")),
            Answer(
                testDescription: "of all of com",
                cookies: Self.with(0, "health_access_token=a; Path=/; Domain=com; Secure; HttpOnly")),
            Answer(
                testDescription: "for another path than the page's",
                cookies: Self.with(0, "health_access_token=a; Path=/elsewhere; Secure; HttpOnly")),
            Answer(
                testDescription: "for the folder of the request",
                cookies: Self.with(0, "health_access_token=a; Secure; HttpOnly")),
            Answer(
                testDescription: "for no path",
                cookies: Self.with(2, "health_info_token=i; Path=@evil.example/; Secure")),
            Answer(testDescription: "for an empty path", cookies: Self.with(2, "health_info_token=i; Path=; Secure")),
            Answer(testDescription: "twice", cookies: Self.good + [Self.good[0]]),
            Answer(testDescription: "refused", cookies: Self.good, status: 400),
            Answer(testDescription: "a fault", cookies: Self.good, status: 500),
        ]
    }

    @Test(
        "a session that is not whole is none: the view is empty, signed out, and the app is told", arguments: Answer.all
    )
    func notWhole(answer: Answer) async throws {
        let app = try await self.world.signedIn()
        await self.world.server.intercept { request in
            guard String(decoding: request.body, as: UTF8.self).contains("token-exchange") else { return nil }
            return TransportResponse(
                status: answer.status, headers: answer.cookies.map { ("Set-Cookie", $0) }, body: Array("{}".utf8))
        }
        let opened = try await app.webView(self.page, displayTitle: "Records", useSSO: true)
        #expect(!opened.isSignedIn && opened.failure != nil)
        let view = try #require(self.views.first)
        #expect(view.cookies.isEmpty)
        #expect(view.loads.map(\.url) == [self.page])
        #expect(view.loads.first?.session.hint(at: self.page) == nil)
    }

    @Test("a view whose store takes no cookies is signed out, whatever the server has given")
    func refusingStore() async throws {
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        self.world.device.webViews.refuseCookies(true)
        let opened = try await app.webView(self.page, displayTitle: "Records", useSSO: true)
        #expect(!opened.isSignedIn && opened.failure?.code == .protocolError)
        #expect(self.views.first?.loads.first?.session.hint(at: self.page) == nil)
    }

    @Test("a domain's cookies are the domain's, so that a renewal takes their place; the others are of one host alone")
    func domains() async throws {
        var world = self.world
        world.configuration.webViews = WebViewSites(
            application: "health-web", hosts: ["www.example.com", "app.example.com:8443", "www.example.org"],
            cookiePrefix: "health_")
        let app = try await world.signedIn()
        await world.server.intercept { request in
            guard String(decoding: request.body, as: UTF8.self).contains("token-exchange") else { return nil }
            let fields = [
                "health_access_token=a; Path=/; Domain=.Example.com; Secure; HttpOnly",
                "health_anti_csrf_token=c; Path=/; Secure; HttpOnly",
                "health_info_token=i; Path=/; Domain=example.com; Secure",
            ]
            return TransportResponse(status: 200, headers: fields.map { ("Set-Cookie", $0) }, body: Array("{}".utf8))
        }
        let page = try #require(URL(string: "https://www.example.com/records"))
        let opened = try await app.webView(page, displayTitle: "Records", useSSO: true)
        #expect(opened.isSignedIn && opened.failure == nil)
        let view = try #require(self.views.first)
        #expect(view.loads.first?.cookieNames == ["health_access_token", "health_info_token"])
        #expect(
            view.cookies.map { [$0.name, $0.host, $0.domain] } == [
                ["health_access_token", "id.example.com", "example.com"],
                ["health_anti_csrf_token", "id.example.com", nil],
                ["health_info_token", "id.example.com", "example.com"],
            ])
        for (host, count) in [
            ("www.example.com", 2), ("example.com", 2), ("id.example.com", 3), ("deep.id.example.com", 2),
            ("www.example.org", 0), ("badexample.com", 0),
        ] {
            let names = try await view.cookieNames(for: try #require(URL(string: "https://\(host)/")))
            #expect(names.count == count, "\(host)")
            let inTheClear = try await view.cookieNames(for: try #require(URL(string: "http://\(host)/")))
            #expect(inTheClear.isEmpty)
        }
    }

    @Test("a page that does not load leaves no cookies, the app is told, and it can be loaded again")
    func doesNotLoad() async throws {
        struct NoNetwork: Error {}
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        let views = self.world.device.webViews
        for (error, code) in [
            (NoNetwork(), SignInError.Code.networkError),
            (TransportError(.untrustedServer, "another name"), .untrustedServer),
        ] as [(any Error, SignInError.Code)] {
            views.failLoads(with: error)
            let opened = try await app.webView(self.page, displayTitle: "Records", useSSO: true)
            #expect(!opened.isSignedIn && opened.failure?.code == code)
            let view = try #require(views.views.last)
            #expect(view.cookies.isEmpty)
            views.failLoads(with: nil)
            let again = try await app.reload(opened)
            #expect(again.isSignedIn && view.cookies.count == 4)
        }
        views.failLoads(with: NoNetwork())
        let plain = try await app.webView(self.page, displayTitle: "Records")
        #expect(!plain.isSignedIn && plain.failure?.code == .networkError)
    }

    @Test("who cancels while the page loads leaves no cookies")
    func cancelled() async throws {
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        self.world.device.webViews.failLoads(with: CancellationError())
        await #expect(throws: CancellationError.self) {
            try await app.webView(self.page, displayTitle: "Records", useSSO: true)
        }
        #expect(await self.world.server.webSessions.count == 1)
        #expect(self.views.map(\.cookies.count) == [0])
    }

    @Test("a session without anything to renew with outlives a refused exchange, and ends with its access token")
    func nothingToRenewWith() async throws {
        let app = try await self.world.start()
        let server = self.world.server
        await server.intercept { _ in
            let body = #"{"access_token":"a","device_secret":"d","expires_in":300}"#
            return TransportResponse(status: 200, headers: [], body: Array(body.utf8))
        }
        try await app.withBrowser()
        await server.intercept { _ in TransportResponse(status: 400, headers: [], body: Array("{}".utf8)) }
        let opened = try await app.webView(self.page, displayTitle: "Records", useSSO: true)
        #expect(opened.failure?.code == .refused)
        #expect(await app.isSignedIn)
        let fields = try await app.authorization(method: "GET", url: self.page)
        let refused = try #require(fields.first).value
        #expect(
            await signInError { _ = try await app.authorization(method: "GET", url: self.page, insteadOf: refused) }
                == .sessionEnded)
        #expect(await app.isSignedIn)
        self.world.device.clock.advance(by: .seconds(300))
        #expect(await signInError { _ = try await app.authorization(method: "GET", url: self.page) } == .sessionEnded)
        #expect(await !app.isSignedIn)
    }

    @Test("nobody who is not signed in gets a session")
    func signedOut() async throws {
        let app = try await self.world.start()
        let opened = try await app.webView(self.page, displayTitle: "Records", useSSO: true)
        #expect(!opened.isSignedIn && opened.failure?.code == .notSignedIn)
        #expect(await self.world.server.requests.isEmpty)
    }

    @Test("an access token whose time is over is renewed once before a session is opened with it")
    func renewed() async throws {
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        self.world.device.clock.advance(by: .seconds(400))
        #expect(try await app.webView(self.page, displayTitle: "Records", useSSO: true).isSignedIn)
        #expect(await self.world.renewals() == 1)
    }

    /// A network that keeps one answer back: that with a session of the web.
    private struct LateSession: Transport {
        let server: VirtualSignInServer
        let came = Latch()
        let leaves = Latch()

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let answer = try await self.server.send(request)
            guard String(decoding: request.body, as: UTF8.self).contains("token-exchange") else { return answer }
            await self.came.open()
            await self.leaves.pass()
            return answer
        }
    }

    @Test("a session that comes after its person has signed out is put into no view, and no page is told of it")
    func late() async throws {
        let network = LateSession(server: self.world.server)
        let app = try await SignIn(
            self.world.configuration, platform: self.world.device.platform, transport: network)
        try await app.withBrowser()
        await self.world.server.setCookiePrefix("health_")
        async let opening = app.webView(self.page, displayTitle: "Records", useSSO: true)
        await network.came.pass()
        try await app.signOut()
        await network.leaves.open()
        let opened = try await opening
        #expect(!opened.isSignedIn && opened.failure?.code == .notSignedIn)
        #expect(self.views.allSatisfy { $0.cookies.isEmpty })
        #expect(self.views.allSatisfy { $0.loads.allSatisfy { $0.session.hint(at: self.page) == nil } })
    }

    @Test("who signs out leaves no view with a cookie, and the server ends what they stand for")
    func signOut() async throws {
        let app = try await self.world.signedIn()
        await self.world.server.setCookiePrefix("health_")
        _ = try await app.webView(self.page, displayTitle: "One", useSSO: true)
        _ = try await app.webView(self.page, displayTitle: "Two", useSSO: true)
        #expect(try await app.signOut())
        #expect(self.views.map(\.cookies.count) == [0, 0])
        #expect(await self.world.server.webSessions.map(\.isActive) == [false, false])
    }
}
