import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient

@Suite("Decision 56: what a later version of an app has kept of a sign-in")
struct NewerSessionTests {
    private static let name = "sign-in-session"

    /// An app that starts where a session is kept of another version than its own.
    private func start(version: String) async throws -> (SignInWorld, app: SignIn, kept: [UInt8]) {
        var world = SignInWorld()
        world.configuration.keeping = .onThisDevice
        _ = try await world.signedIn()
        let record = String(decoding: try #require(world.device.storage.snapshot[Self.name]), as: UTF8.self)
        let kept = Array(record.replacing("\"version\":1", with: "\"version\":\(version)").utf8)
        #expect(kept != Array(record.utf8))
        try world.device.storage.write(kept, to: Self.name)
        await world.server.forgetRequests()
        return (world, try await world.start(), kept)
    }

    @Test("it is no broken one: the app is told to be updated, nothing is sent, and it stays as it is")
    func newer() async throws {
        let (world, app, kept) = try await self.start(version: "2")
        #expect(await signInError { _ = try app.kept } == .storageNewer)
        #expect(await signInError { try await app.restore() } == .storageNewer)
        #expect(await !app.isSignedIn)
        #expect(await world.server.requests.isEmpty)
        #expect(world.device.storage.snapshot[Self.name] == kept)
    }

    @Test("one of no version is broken, and the next takes its place", arguments: ["0", "-1", "\"1\"", "1.5"])
    func broken(version: String) async throws {
        let (_, app, _) = try await self.start(version: version)
        #expect(try app.kept == .nothing)
        #expect(await signInError { try await app.restore() } == .notSignedIn)
        try await app.withBrowser { true }
        #expect(try app.kept == .session)
    }

    @Test("nobody is kept from signing in or out by it: what is kept then is of this version, or nothing")
    func replaced() async throws {
        let (_, app, _) = try await self.start(version: "2")
        try await app.withBrowser { true }
        #expect(await app.isSignedIn)
        #expect(try app.kept == .session)
        let (world, other, _) = try await self.start(version: "9007199254740991")
        // What it held cannot be named to the server, and the app is told so.
        #expect(try await !other.signOut())
        #expect(try other.kept == .nothing)
        #expect(world.device.storage.snapshot[Self.name] == nil)
    }
}
