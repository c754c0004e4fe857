import Countersign
import CountersignTestKit
import Foundation
import Testing

@testable import FirstApp

/// A screen that answers yes, and records the shown sentences.
actor TestScreen: SignInScreen {
    private(set) var sentences: [String] = []
    func wantsFingerNextTime() async -> Bool { true }
    func show(_ sentence: String) async { self.sentences.append(sentence) }
    func showFields() async {}
}

@Suite("The app signs a person in") struct AppSignInTests {
    let device = VirtualSignInDevice(baseURL: URL(string: "https://id.example.com")!, cookiePrefix: "health_")
    let screen = TestScreen()

    var configuration: SignInConfiguration {
        var configuration = SignInConfiguration(
            baseURL: self.device.server.baseURL, application: "health", redirectURI: "com.example.health:/signed-in")
        configuration.webViews = WebViewSites(
            application: "health-web", hosts: ["www.health.example.com"], cookiePrefix: "health_")
        return configuration
    }

    @Test("by the browser first, and by the finger from then on; their page is theirs") func signedIn() async throws {
        let first = try await self.device.start(self.configuration)
        try await open(first, on: self.screen)
        try await openRecords(with: first, on: self.screen)
        #expect(await self.screen.sentences.isEmpty, "the page is signed in")
        #expect(self.device.webViews.views.map(\.displayTitle) == ["Your records"])
        // The app starts again the next day. The test moves the clock in place of waiting.
        self.device.clock.advance(by: .seconds(86_400))
        self.device.sensor.feel(.match)
        let next = try await self.device.start(self.configuration)
        try await open(next, on: self.screen)
        #expect(await next.isSignedIn && self.device.browser.opened.count == 1)
    }

    @Test("and who closes the browser, or has no network, is not signed in") func notSignedIn() async throws {
        let app = try await self.device.start(self.configuration)
        self.device.browser.onVisit { _, _ in nil }
        try await open(app, on: self.screen)
        #expect(await self.screen.sentences.isEmpty, "who gives up is told nothing")
        let server = self.device.server
        self.device.browser.onVisit { try await server.signedIn($0, $1) }
        await server.reachable(false)
        try await open(app, on: self.screen)
        #expect(await self.screen.sentences == ["The server does not answer. Try again."])
        #expect(await !app.isSignedIn)
    }
}
