import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

@Suite("Decision 49: what one process of an app does, another one's session survives")
struct SeveralProcessesTests {
    private static let url = SignInWorld.address

    private static func world(_ keeping: SignInConfiguration.Keeping) -> SignInWorld {
        var world = SignInWorld()
        world.configuration.keeping = keeping
        return world
    }

    /// A process that has opened what another one keeps.
    private func second(_ world: SignInWorld) async throws -> SignIn {
        let app = try await world.start()
        world.device.sensor.feel(.match)
        try await app.restore()
        return app
    }

    /// Has something happen once, where the next renewal comes to the server.
    private func atRenewal(
        by server: VirtualSignInServer,
        _ happen: @escaping @Sendable (VirtualSignInServer, TransportRequest) async throws -> TransportResponse?
    ) async {
        await server.intercept { request in
            guard String(decoding: request.body, as: UTF8.self).contains("grant_type=refresh_token") else { return nil }
            await server.intercept(nil)
            return try await happen(server, request)
        }
    }

    @Test(
        "a renewal whose answer comes after another process has signed somebody in writes nothing over that",
        arguments: [SignInConfiguration.Keeping.behindBiometrics(.currentSet), .onThisDevice])
    func answeredLate(keeping: SignInConfiguration.Keeping) async throws {
        let world = Self.world(keeping)
        let first = try await world.signedIn()
        let second = try await self.second(world)
        world.device.clock.advance(by: .seconds(300))
        await self.atRenewal(by: world.server) { server, request in
            let answer = try await server.send(request)
            try await first.withBrowser { true }
            return answer
        }
        #expect(
            await signInError { _ = try await second.authorization(method: "GET", url: Self.url) } == .renewedElsewhere)
        #expect(await !second.isSignedIn)
        let renewals = try #require(await world.server.sessions.last).renewalCount
        world.device.sensor.feel(.match)
        try await second.restore()
        #expect(await second.isSignedIn)
        #expect(try #require(await world.server.sessions.last).renewalCount == renewals + 1)
    }

    @Test(
        "a refusal of what was signed out deletes nothing of who has signed in since",
        arguments: [SignInConfiguration.Keeping.behindBiometrics(.currentSet), .onThisDevice])
    func refusedLate(keeping: SignInConfiguration.Keeping) async throws {
        let world = Self.world(keeping)
        let first = try await world.signedIn()
        let second = try await self.second(world)
        world.device.clock.advance(by: .seconds(300))
        await self.atRenewal(by: world.server) { server, _ in
            try await first.signOut()
            await server.end(try #require(await server.sessions.first).id)
            try await first.withBrowser { true }
            return nil
        }
        #expect(
            await signInError { _ = try await second.authorization(method: "GET", url: Self.url) } == .sessionEnded)
        let third = try await self.second(world)
        #expect(await third.isSignedIn)
        #expect(world.device.storage.snapshot["sign-in-device-secret"] != nil)
    }

    @Test("who signs out between an answer and its record is signed out")
    func signedOutBetween() async throws {
        let world = Self.world(.onThisDevice)
        let storage = HookedStorage(world.device.storage)
        var platform = world.device.platform
        platform.storage = storage
        let app = try await SignIn(world.configuration, platform: platform, transport: world.server)
        try await app.withBrowser()
        world.device.clock.advance(by: .seconds(300))
        storage.once(before: "sign-in-record") { try await app.signOut() }
        #expect(await signInError { _ = try await app.authorization(method: "GET", url: Self.url) } == .notSignedIn)
        #expect(await !app.isSignedIn)
        #expect(try app.kept == .nothing)
    }

    @Test("who signs out while the session goes behind the finger is signed out")
    func signedOutWhileGuarding() async throws {
        let world = SignInWorld()
        let storage = HookedStorage(world.device.storage)
        var platform = world.device.platform
        platform.storage = storage
        let app = try await SignIn(world.configuration, platform: platform, transport: world.server)
        try await app.withBrowser { false }
        storage.once(before: "sign-in-record") { try await app.signOut() }
        #expect(await signInError { try await app.setBiometrics(true) } == .notSignedIn)
        #expect(await !app.isSignedIn)
        #expect(try app.kept == .nothing && app.wantsBiometrics == false)
    }

    @Test("a process that was overtaken puts no past token behind the finger", arguments: [true, false])
    func overtaken(areWanted: Bool) async throws {
        let world = SignInWorld()
        let first = try await world.signedIn()
        _ = try await self.second(world)
        #expect(await signInError { try await first.setBiometrics(areWanted) } == .renewedElsewhere)
        #expect(try first.wantsBiometrics == true)
        let third = try await self.second(world)
        #expect(await third.isSignedIn)
        #expect(await world.server.sessions.map(\.isActive) == [true])
    }

    @Test("what lies behind the finger already keeps its key")
    func guardedAlready() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        let key = world.device.storage.snapshot["guarded-sign-in-session"]
        try await app.setBiometrics(true)
        #expect(key != nil && world.device.storage.snapshot["guarded-sign-in-session"] == key)
    }

    @Test("a device without a sensor puts nothing behind one, and in the clear neither")
    func noSensor() async throws {
        let world = SignInWorld()
        var platform = world.device.platform
        platform.biometricKeys = nil
        let bare = try await SignIn(world.configuration, platform: platform, transport: world.server)
        try await bare.withBrowser()
        #expect(await signInError { try await bare.setBiometrics(true) } == .biometricsUnavailable)
        world.device.sensor.enroll(nil)
        let app = try await world.start()
        try await app.withBrowser()
        #expect(await signInError { try await app.setBiometrics(true) } == .biometricsUnavailable)
        #expect(try app.kept == .nothing && app.wantsBiometrics == nil)
        let sessions = await world.server.sessions
        #expect(!sessions.isEmpty)
        for session in sessions { #expect(!world.stored.contains(session.head)) }
    }

    @Test("a sign-out in a process that has opened nothing names what lies there in the clear")
    func signOutUnopened() async throws {
        for face in SignInWorld.Face.allCases {
            var world = SignInWorld(face)
            world.configuration.keeping = .onThisDevice
            _ = try await world.signedIn()
            let token = try #require(await world.server.sessions.first).head
            #expect(try await world.start().signOut())
            let bodies = await world.server.requests.map { String(decoding: $0.body, as: UTF8.self) }
            #expect(bodies.contains { $0.contains("token=\(token)") })
            #expect(await world.server.sessions.map(\.isActive) == [false])
        }
    }

    @Test("a sign-out that cannot name what lies behind the finger says so", arguments: SignInWorld.Face.allCases)
    func signOutLocked(face: SignInWorld.Face) async throws {
        let world = SignInWorld(face)
        _ = try await world.signedIn()
        #expect(try await !world.start().signOut())
        #expect(Set(world.device.storage.snapshot.keys) == ["sign-in-choice"])
    }

    @Test("a cancelled sign-out deletes everything, and a cancelled sign-in keeps what it was given")
    func cancelled() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        let signingIn = Task {
            try await app.withBrowser {
                withUnsafeCurrentTask { $0?.cancel() }
                return true
            }
        }
        try await signingIn.value
        #expect(signingIn.isCancelled)
        #expect(await app.isSignedIn)
        #expect(try app.kept == .guardedSession)
        _ = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await app.signOut()
        }.result
        #expect(await !app.isSignedIn)
        #expect(try app.kept == .nothing)
        #expect(Set(world.device.storage.snapshot.keys).subtracting(["sign-in-orders"]) == ["sign-in-choice"])
    }

    @Test("who is cancelled waits for a renewal no longer, and the others do", .timeLimit(.minutes(10)))
    func cancelledWaiting() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        world.device.clock.advance(by: .seconds(300))
        let (asked, answered) = (Latch(), Latch())
        await world.server.intercept { _ in
            await asked.open()
            await answered.pass()
            return nil
        }
        let waiting = Task { try await app.authorization(method: "GET", url: Self.url).count }
        let other = Task { try await app.authorization(method: "GET", url: Self.url).count }
        await asked.pass()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await answered.open()
        #expect(try await other.value == 2)
        #expect(await world.renewals() == 1)
    }

    @Test("a sign-in during which somebody signs out or in has its own key")
    func ownKey() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        let (server, browser) = (world.server, world.device.browser)
        browser.onVisit { address, back async throws in
            browser.onVisit { try await server.signedIn($0, $1) }
            try await app.signOut()
            let other = try await world.start()
            try await other.withBrowser()
            return try await server.signedIn(address, back)
        }
        try await app.withBrowser()
        #expect(try await app.authorization(method: "GET", url: Self.url).map(\.name) == ["Authorization", "DPoP"])
        world.device.clock.advance(by: .seconds(300))
        #expect(try await app.authorization(method: "GET", url: Self.url).map(\.name) == ["Authorization", "DPoP"])
        #expect(await Set(server.sessions.map(\.thumbprint)).count == 3)
    }

    @Test("a sign-in over another one ends that at the server, and takes its password away")
    func over() async throws {
        let world = SignInWorld()
        await world.server.addAccount("alice", password: "lantern street 9")
        let app = try await world.start()
        try await app.withPassword(username: "alice", password: "lantern street 9") { true }
        #expect(try app.kept == .guardedPassword)
        try await app.withBrowser()
        #expect(world.device.storage.snapshot["sign-in-credentials"] == nil)
        try await app.withBrowser()
        try await app.sendOrders()
        #expect(await world.server.sessions.map(\.isActive) == [false, false, true])
        #expect(world.device.storage.snapshot["sign-in-orders"] == nil)
    }

    @Test("an order that somebody else has answered stays, and is sent a few times more")
    func unheard() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        for status in [404, 400, 302] {
            await world.server.intercept { _ in TransportResponse(status: status, headers: [], body: []) }
            if status == 404 {
                #expect(try await !app.signOut())
            } else {
                #expect(await signInError { try await app.sendOrders() } == .networkError)
            }
            #expect(world.device.storage.snapshot["sign-in-orders"] != nil)
        }
        await world.server.intercept(nil)
        try await app.sendOrders()
        #expect(world.device.storage.snapshot["sign-in-orders"] == nil)
        #expect(await world.server.sessions.map(\.isActive) == [false])
        // What never gives the server's answer is given up.
        try await app.withBrowser()
        await world.server.intercept { _ in TransportResponse(status: 404, headers: [], body: []) }
        try await app.signOut()
        for _ in 0..<7 { _ = await signInError { try await app.sendOrders() } }
        #expect(world.device.storage.snapshot["sign-in-orders"] == nil)
    }

    @Test(
        "one value that cannot be read is none: the person signs in again, and out",
        arguments: [
            "sign-in-session", "guarded-sign-in-session", "sign-in-device-secret", "sign-in-credentials",
            "sign-in-orders", "sign-in-choice",
        ])
    func unreadable(name: String) async throws {
        let world = SignInWorld()
        let storage = HookedStorage(world.device.storage)
        var platform = world.device.platform
        platform.storage = storage
        platform.biometricKeys = SensorGuardedKeys(storage: storage, sensor: world.device.sensor)
        _ = try await world.signedIn()
        storage.spoil(name)
        let app = try await SignIn(world.configuration, platform: platform, transport: world.server)
        world.device.sensor.feel(.match)
        let error = await signInError { try await app.restore() }
        #expect(error == (name.hasSuffix("sign-in-session") ? .notSignedIn : nil))
        if error != nil { #expect(try app.kept == .nothing) }
        storage.spoil(name)
        try await app.withBrowser { true }
        #expect(await app.isSignedIn)
        storage.spoil(name)
        try await app.signOut()
        #expect(Set(world.device.storage.snapshot.keys).subtracting(["sign-in-choice"]).isEmpty)
    }

    @Test("what is kept for one server is shown to no other, nor for another app")
    func otherServer() async throws {
        var world = SignInWorld()
        world.configuration.keeping = .onThisDevice
        let app = try await world.signedIn()
        await world.server.reachable(false)
        try await app.signOut()
        await world.server.reachable(true)
        try await app.withBrowser()
        await world.server.reachable(false)
        let kept = world.device.storage.snapshot
        for isOtherServer in [true, false] {
            var configuration = world.configuration
            if isOtherServer {
                configuration.baseURL = try #require(URL(string: "https://other.example.com"))
            } else {
                configuration.clientID = "travel"
            }
            let stranger = VirtualSignInServer(baseURL: configuration.baseURL)
            let other = try await SignIn(configuration, platform: world.device.platform, transport: stranger)
            #expect(try other.kept == .nothing)
            #expect(await signInError { try await other.restore() } == .notSignedIn)
            try await other.sendOrders()
            #expect(await stranger.requests.isEmpty)
        }
        #expect(kept["sign-in-orders"] != nil || kept["sign-in-session"] != nil)
        #expect(world.device.storage.snapshot == kept)
    }

    @Test("a password that the server has not judged is not marked good by another one's yes", .timeLimit(.minutes(10)))
    func doubleTap() async throws {
        let world = SignInWorld()
        await world.server.addAccount("alice", password: "lantern street 9")
        await world.server.addAccount("bob", password: "lantern street 10", otp: "123456")
        let app = try await world.start()
        let (server, reached, judged) = (world.server, Latch(), Latch())
        let second = Mutexed<Task<Void, any Error>>()
        await server.intercept { request in
            guard request.url.path() == "/oauth2/challenge" else { return nil }
            await server.intercept(nil)
            await second.set(
                Task {
                    try await app.withPassword(
                        username: "bob", password: "lantern street 10",
                        secondFactor: { _ in
                            await reached.open()
                            await judged.pass()
                            return nil
                        })
                })
            await reached.pass()
            return nil
        }
        try await app.withPassword(username: "alice", password: "lantern street 9") { true }
        #expect(try app.kept == .nothing, "bob's was not judged")
        await judged.open()
        #expect(await signInError { try await second.value?.value } == .cancelled)
        #expect(world.device.storage.snapshot["sign-in-credentials"] == nil)
    }

    private actor Mutexed<Value: Sendable> {
        private(set) var value: Value?
        func set(_ value: Value) { self.value = value }
    }
}
