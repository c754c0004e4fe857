import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import OAuthProvider
import Records
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D4 to D6, F036, F055: an app with the SDK at the real sign-in service")
struct AppSignInServiceTests {
    private static let issuer = "https://api.va.example"

    /// The app of the diagrams on one device.
    private struct Scene: Sendable {
        let place: AppSignIn
        let device: VirtualSignInDevice
        let configuration: SignInConfiguration
        let page: URL

        init(_ place: AppSignIn) throws {
            let address = try #require(URL(string: AppSignInServiceTests.issuer))
            self.place = place
            self.device = VirtualSignInDevice(baseURL: address, clock: place.server.clock)
            var configuration = SignInConfiguration(
                baseURL: address, application: AppSignIn.app, redirectURI: AppSignIn.appAddress)
            configuration.webViews = WebViewSites(
                application: AppSignIn.web, hosts: ["api.va.example"], cookiePrefix: "vagov_")
            self.configuration = configuration
            self.page = try #require(URL(string: "https://api.va.example/v0/sign_in/introspect"))
            self.device.browser.onVisit { page, _ in
                let browser = TestBrowser(place.client)
                let choice = try await browser.get(page.absoluteString, headers: [.accept: "text/html"])
                let begun = try await browser.get(try choice.attribute("href", of: "by-password"))
                let request = try #require(begun.redirectParameters["request"], "\(begun.text)")
                let signedIn = try await browser.post(
                    "/sign-in/password",
                    form: PasswordPlace.form(
                        ["request": request, "username": "alice", "password": PasswordPlace.password]))
                return try await TwoServers.follow(browser, signedIn, at: AppSignInServiceTests.issuer)
                    .headers[.location]
            }
        }

        /// A process of the app.
        func start() async throws -> SignIn {
            try await SignIn(
                self.configuration, platform: self.device.platform,
                transport: RouterTransport(client: self.place.client))
        }

        /// Opens the page in a new view, and gives the value of its access cookie.
        func open(_ app: SignIn) async throws -> String {
            let opened = try await app.webView(self.page, displayTitle: "Records", useSSO: true)
            #expect(opened.isSignedIn, "\(String(describing: opened.failure))")
            let cookies = try #require(self.device.webViews.views.last).cookies
            return try #require(cookies.first { $0.name == "vagov_access_token" }).value
        }

        /// What the site says to a page with that cookie.
        func page(with cookie: String) async throws -> Int {
            try await self.place.get("introspect", cookies: ["vagov_access_token": cookie]).status.code
        }
    }

    private func withScene(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        try await AppSignIn.run(issuer: Self.issuer) { place in try await body(try Scene(place)) }
    }

    @Test("the person chooses on the page, comes back by finger, and opens pages that know them")
    func signsIn() async throws {
        try await self.withScene { scene in
            try await scene.start().withBrowser { true }
            let app = try await scene.start()
            #expect(try app.kept == .guardedSession)
            scene.device.sensor.feel(.match)
            try await app.restore()
            let cookie = try await scene.open(app)
            #expect(try await scene.page(with: cookie) == 200)
            let view = try #require(scene.device.webViews.views.last)
            #expect(view.cookies.count == 4)
            #expect(view.loads.first?.session.hint(at: scene.page)?.value == "true")
            #expect(view.loads.first?.cookieNames.contains("vagov_refresh_token") == false)
        }
    }

    @Test("two views have sessions of their own")
    func twoViews() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            try await app.withBrowser()
            let cookies = [try await scene.open(app), try await scene.open(app)]
            #expect(Set(try cookies.map { try AppTokens.session($0) }).count == 2)
            for cookie in cookies { #expect(try await scene.page(with: cookie) == 200) }
        }
    }

    @Test("signing out ends the views of this device, and those of another device go on")
    func signsOut() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            try await app.withBrowser()
            let cookies = [try await scene.open(app), try await scene.open(app)]
            let other = try Scene(scene.place)
            let elsewhere = try await other.start()
            try await elsewhere.withBrowser()
            let others = try await other.open(elsewhere)
            #expect(try await app.signOut())
            for cookie in cookies { #expect(try await scene.page(with: cookie) != 200) }
            #expect(try await scene.page(with: others) == 200)
        }
    }

    @Test("a new sign-in has a new secret, and the old one opens nothing with the new token")
    func newSecret() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            try await app.withBrowser()
            let old = try #require(scene.device.storage.snapshot["sign-in-device-secret"])
            try await app.withBrowser()
            #expect(scene.device.storage.snapshot["sign-in-device-secret"] != old)
            _ = try await scene.open(app)
            try scene.device.storage.write(old, to: "sign-in-device-secret")
            let opened = try await app.webView(scene.page, displayTitle: "Records", useSSO: true)
            #expect(!opened.isSignedIn && opened.failure?.code == .refused)
            #expect(scene.device.webViews.views.last?.cookies.isEmpty == true)
        }
    }

    @Test("killed after each step of a renewal, the app comes back a day later; after 45 days it does not")
    func killed() async throws {
        try await self.withScene { scene in
            try await scene.start().withBrowser { true }
            for step in 1..<4 {
                let app = try await scene.start()
                scene.device.sensor.feel(.match, .match)
                scene.device.storage.interrupt(afterWrites: step)
                try? await app.restore()
                scene.device.storage.interruptAfterWrite(nil)
                scene.place.server.clock.advance(by: .seconds(86_400))
                let next = try await scene.start()
                try await next.restore()
                #expect(await next.isSignedIn, "step \(step)")
            }
            scene.place.server.clock.advance(by: .seconds(46 * 86_400))
            let late = try await scene.start()
            scene.device.sensor.feel(.match)
            await #expect(throws: SignInError(.sessionEnded)) { try await late.restore() }
        }
    }
}
