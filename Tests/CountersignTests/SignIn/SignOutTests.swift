import Countersign
import CountersignTestKit
import Foundation
import OAuth
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D6.11: signing out")
struct SignOutTests {
    @Test(
        "nothing is left on the device, and the server ends the session and the device's",
        arguments: SignInWorld.Face.allCases)
    func online(face: SignInWorld.Face) async throws {
        let world = SignInWorld(face)
        let app = try await world.signedIn()
        #expect(try await app.signOut())
        #expect(await !app.isSignedIn)
        #expect(try app.kept == .nothing)
        #expect(Set(world.device.storage.snapshot.keys) == ["sign-in-choice"])
        #expect(await world.server.sessions.map(\.isActive) == [false])
        let secret = try #require(await world.server.sessions.first?.deviceSecret)
        let bodies = await world.server.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.contains { $0.contains(secret) }, "the secret goes with it")
        #expect(await signInError { try await app.restore() } == .notSignedIn)
    }

    @Test("without a network everything is gone here at once, and the server hears of it when it is back")
    func offline() async throws {
        for face in SignInWorld.Face.allCases {
            let world = SignInWorld(face)
            let app = try await world.signedIn()
            await world.server.reachable(false)
            #expect(try await !app.signOut())
            #expect(await !app.isSignedIn)
            #expect(Set(world.device.storage.snapshot.keys) == ["sign-in-choice", "sign-in-orders"])
            #expect(await world.server.sessions.map(\.isActive) == [true])
            #expect(await signInError { try await app.sendOrders() } == .networkError)
            await world.server.reachable(true)
            try await app.sendOrders()
            #expect(await world.server.sessions.map(\.isActive) == [false])
            #expect(Set(world.device.storage.snapshot.keys) == ["sign-in-choice"])
            await world.server.forgetRequests()
            try await app.sendOrders()
            #expect(await world.server.requests.isEmpty)
        }
    }

    @Test("what is kept of a sign-out without a network renews nothing: its key is gone")
    func order() async throws {
        var world = SignInWorld()
        world.configuration.keeping = .onThisDevice
        let app = try await world.signedIn()
        let token = try #require(await world.server.sessions.first).head
        let record = try #require(world.device.storage.snapshot["sign-in-session"])
        await world.server.reachable(false)
        try await app.signOut()
        #expect(world.stored.contains(token), "the order is what is left")
        await world.server.reachable(true)
        // The key that the token is bound to is nowhere on the device any more.
        let kept = try JSON(parsing: record)
        guard case .object(let members) = kept, case .string(let key)? = members["proof_key"] else {
            Issue.record("the record has no key")
            return
        }
        #expect(!world.stored.contains(key))
        // Whoever has the device's storage now can withhold the order and put the token back, with a key of their own.
        try world.device.storage.remove("sign-in-orders")
        let other = String(decoding: record, as: UTF8.self).replacing(
            key, with: Base64URL.encode(RandomSource.system.bytes(32)))
        try world.device.storage.write(Array(other.utf8), to: "sign-in-session")
        let stolen = try await world.start()
        #expect(try stolen.kept == .session)
        #expect(await signInError { try await stolen.restore() } == .sessionEnded)
        #expect(await world.renewals() == 0)
        #expect(await !stolen.isSignedIn)
    }

    @Test("a renewal that is under way when the person signs out signs nobody in again")
    func underWay() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        world.device.clock.advance(by: .seconds(300))
        let server = world.server
        await server.intercept { request in
            guard String(decoding: request.body, as: UTF8.self).contains("refresh_token") else { return nil }
            await server.intercept(nil)
            try await app.signOut()
            return nil
        }
        let url = SignInWorld.address
        #expect(await signInError { _ = try await app.authorization(method: "GET", url: url) } != nil)
        #expect(await !app.isSignedIn)
        #expect(Set(world.device.storage.snapshot.keys) == ["sign-in-choice"])
    }

    @Test("a description and a mirror of the face show no token")
    func descriptions() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        var dumped = ""
        dump(app, to: &dumped)
        let shown = dumped + "\(app)" + String(reflecting: app)
        let session = try #require(await world.server.sessions.first)
        #expect(!shown.contains(session.head))
        #expect(!shown.contains(try #require(session.deviceSecret)))
    }
}
