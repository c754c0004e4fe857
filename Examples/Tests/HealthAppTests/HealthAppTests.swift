import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient

@testable import HealthApp

@Suite("Parity sign-in D4 to D6: the health app, button by button")
struct HealthAppTests {
    private actor Screen: HealthScreen {
        private(set) var places: [HealthApp.Place] = []
        private(set) var said: [String] = []
        private(set) var questions = 0
        private let wantsFinger: Bool
        init(wantsFinger: Bool = true) { self.wantsFinger = wantsFinger }
        func show(_ place: HealthApp.Place) async { self.places.append(place) }
        func say(_ sentence: String) async { self.said.append(sentence) }
        func wantsFingerNextTime() async -> Bool {
            self.questions += 1
            return self.wantsFinger
        }
    }

    private let site = URL(string: "https://www.health.example:8444")!
    private let device = VirtualSignInDevice(baseURL: URL(string: "https://www.health.example:8444")!)
    private let screen = Screen()

    /// A start of the app.
    private func start(on screen: Screen? = nil, withSite: Bool = true) async throws -> HealthApp {
        let settings = HealthSettings(
            service: self.device.server.baseURL, app: "health-app", site: withSite ? self.site : nil, folder: "")
        await self.device.server.setCookiePrefix("health_")
        let signIn = try await self.device.start(makeConfiguration(settings))
        let app = HealthApp(signIn: signIn, screen: screen ?? self.screen, site: settings.site)
        await app.appOpens()
        return app
    }

    /// Types into the fields, and presses the button below them.
    @MainActor
    private static func type(_ password: String, into app: HealthApp) async {
        app.fields.username = "alice"
        app.fields.password = password
        await app.fieldsSubmitted()
    }

    @Test("the first time with the browser, from then on with a finger, and nobody is asked twice")
    func opens() async throws {
        let first = try await self.start()
        await first.signInTapped()
        #expect(await self.screen.places == [.signIn(fields: false), .home])
        #expect(await self.screen.questions == 1)
        self.device.sensor.feel(.cancelled, .noMatch(hint: ""), .match)
        for place in [HealthApp.Place.signIn(fields: false), .signIn(fields: false), .home] {
            _ = try await self.start()
            #expect(await self.screen.places.last == place)
        }
        #expect(
            await self.screen.said == ["The finger or the face was not recognised. Try again, or sign in otherwise."])
        #expect(self.device.browser.opened.count == 1)
        #expect(await self.screen.questions == 1)
    }

    @Test("who wants no finger signs in with the browser each time")
    func withoutFinger() async throws {
        let screen = Screen(wantsFinger: false)
        await (try await self.start(on: screen)).signInTapped()
        await (try await self.start(on: screen)).signInTapped()
        #expect(await screen.places == [.signIn(fields: false), .home, .signIn(fields: false), .home])
        #expect(await screen.questions == 1)
        #expect(self.device.browser.opened.count == 2)
    }

    @Test("an app without pages may take a name and a password; a wrong one leads back to the fields")
    func password() async throws {
        await self.device.server.addAccount("alice", password: "lantern street 9")
        let app = try await self.start(withSite: false)
        #expect(await self.screen.places == [.signIn(fields: true)])
        await Self.type("", into: app)
        #expect(await self.device.server.requests.isEmpty)
        await Self.type("wrong", into: app)
        #expect(await self.screen.places.last == .signIn(fields: true))
        #expect(await self.screen.said == ["The name or the password is wrong. Type both again."])
        #expect(await app.fields.password.isEmpty)
        await Self.type("lantern street 9", into: app)
        #expect(await app.fields.password.isEmpty)
        #expect(await self.screen.places.last == .home)
        self.device.sensor.feel(.match)
        _ = try await self.start(withSite: false)
        #expect(await self.screen.places.last == .home)
    }

    @Test("a personal page is signed in, another is not, and one that could not be is said to be so")
    func pages() async throws {
        let app = try await self.start()
        await app.signInTapped()
        await app.pageTapped("records", title: "Your records", isPersonal: true)
        await app.pageTapped("", title: "Health", isPersonal: false)
        let views = self.device.webViews.views
        #expect(views.map { $0.cookies.count } == [4, 0])
        #expect(views.map { $0.loads.map(\.url.path) } == [["/records"], ["/"]])
        #expect(await self.screen.said.isEmpty)
        self.device.webViews.failLoads(with: TransportError(.unreachable, "no network"))
        await app.pageTapped("records", title: "Your records", isPersonal: true)
        #expect(
            await self.screen.said == [
                "The page has not loaded. It is tried once more.", "You are not signed in on this page. Try again.",
            ])
        #expect(self.device.webViews.views[2].cookies.isEmpty)
    }

    @Test("signing out empties the pages that are open, with and without a network")
    func signsOut() async throws {
        let app = try await self.start()
        await app.signInTapped()
        await app.pageTapped("records", title: "Your records", isPersonal: true)
        await self.device.server.reachable(false)
        await app.signOutTapped()
        #expect(self.device.webViews.views[0].cookies.isEmpty)
        #expect(await self.screen.places.last == .signIn(fields: false))
        #expect(
            await self.screen.said == ["You are signed out here. The server hears of it when the network is back."])
        await self.device.server.reachable(true)
        await app.signInTapped()
        await app.signOutTapped()
        #expect(await self.screen.said.count == 1)
    }

    @Test("the switch in the settings puts the session behind a finger, and forgets it with the app")
    func switched() async throws {
        let screen = Screen(wantsFinger: false)
        let app = try await self.start(on: screen)
        await app.signInTapped()
        await app.fingerSwitched(true)
        #expect(try app.signIn.kept == .guardedSession)
        await app.fingerSwitched(false)
        #expect(try app.signIn.kept == .nothing)
    }
}
