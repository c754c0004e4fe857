import Countersign
import CountersignTestKit
import Foundation
import Testing

@testable import FirstApp

@Suite("Threat model, A found phone, and the app's session on it: an app made of the guide to signing in")
struct SignInListingTests {
    private actor Screen: SignInScreen {
        private(set) var shown: [String] = []
        private(set) var hasFields = false
        func wantsFingerNextTime() async -> Bool { true }
        func show(_ sentence: String) async { self.shown.append(sentence) }
        func showFields() async { self.hasFields = true }
    }

    private let device: VirtualSignInDevice
    private let configuration: SignInConfiguration
    private let screen = Screen()

    init() throws {
        let address = try #require(URL(string: "https://id.example.com"))
        self.device = VirtualSignInDevice(baseURL: address)
        self.configuration = SignInConfiguration(
            baseURL: address, clientID: "health", redirectURI: "com.example.health:/signed-in")
    }

    @Test("Sign a person in: it is made, and nothing is kept")
    func made() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "listings-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let signIn = try await makeSignIn(folder: folder, sensor: ScriptedSensor())
        #expect(try signIn.kept == .nothing)
    }

    @Test("Sign a person in: the browser first, the finger from then on, and a finger that is not theirs is told")
    func opened() async throws {
        let first = try await self.device.start(self.configuration)
        try await open(first, on: self.screen)
        #expect(await first.isSignedIn)
        let next = try await self.device.start(self.configuration)
        self.device.sensor.feel(.cancelled, .noMatch(hint: ""), .match)
        try await open(next, on: self.screen)
        #expect(await self.screen.shown.isEmpty, "who gives up is told nothing")
        try await open(next, on: self.screen)
        #expect(
            await self.screen.shown == ["The finger or the face was not recognised. Try again, or sign in otherwise."])
        try await open(next, on: self.screen)
        #expect(await next.isSignedIn)
        #expect(self.device.browser.opened.count == 1)
    }

    @Test("Sign a person in: a saved password that is wrong now leads to the fields")
    func fields() async throws {
        await self.device.server.addAccount("alice", password: "lantern street 9")
        let first = try await self.device.start(self.configuration)
        try await first.withPassword(username: "alice", password: "lantern street 9") { true }
        await self.device.server.addAccount("alice", password: "another")
        let next = try await self.device.start(self.configuration)
        self.device.sensor.feel(.match)
        try await open(next, on: self.screen)
        #expect(await self.screen.hasFields)
    }

    @Test("Sign a person in: a page that could not be signed in is open, and the person is told")
    func page() async throws {
        let signIn = try await self.device.start(self.configuration)
        try await openRecords(with: signIn, on: self.screen)
        #expect(await self.screen.shown == ["You are not signed in on this page."])
        #expect(self.device.webViews.views.first?.loads.count == 1)
    }

    @Test("Sign a person in: without a network the person is told what is done and what is not")
    func left() async throws {
        let signIn = try await self.device.start(self.configuration)
        try await signIn.withBrowser()
        await self.device.server.reachable(false)
        try await leave(signIn, on: self.screen)
        #expect(
            await self.screen.shown == ["You are signed out here. The server hears of it when the network is back."])
        #expect(await !signIn.isSignedIn)
    }
}
