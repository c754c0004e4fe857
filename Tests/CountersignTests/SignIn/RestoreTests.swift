import Countersign
import CountersignTestKit
import Foundation
import OAuth
import Synchronization
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D5, F031, F032: a session comes back")
struct RestoreTests {
    @Test(
        "a session behind a finger opens after a restart, with one question and one request",
        arguments: SignInWorld.Face.allCases)
    func biometric(face: SignInWorld.Face) async throws {
        let world = SignInWorld(face)
        _ = try await world.signedIn()
        await world.server.forgetRequests()
        let app = try await world.start()
        #expect(try app.kept == .guardedSession)
        #expect(world.device.sensor.readingCount == 0, "whether there is one is asked silently")
        world.device.sensor.feel(.match)
        try await app.restore(prompt: SystemPrompt(reason: "Open your records"))
        #expect(await app.isSignedIn)
        #expect(world.device.sensor.prompts.map(\.reason) == ["Open your records"])
        #expect(world.device.sensor.passcodeAllowed == [false])
        // One that was refused for its nonce, where the server wants another one of each process.
        #expect(await world.renewals() == 1)
        // What is kept now opens again.
        let next = try await world.start()
        world.device.sensor.feel(.match)
        try await next.restore()
        #expect(await world.renewals() == 2)
    }

    @Test("a session on the device opens without a question", arguments: SignInWorld.Face.allCases)
    func silent(face: SignInWorld.Face) async throws {
        var world = SignInWorld(face)
        world.configuration.keeping = .onThisDevice
        _ = try await world.signedIn()
        let app = try await world.start()
        #expect(try app.kept == .session)
        try await app.restore()
        #expect(await app.isSignedIn)
        #expect(world.device.sensor.readingCount == 0)
    }

    @Test("where nothing is kept, nobody is asked and nothing is sent")
    func nothing() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        #expect(try app.kept == .nothing)
        #expect(await signInError { try await app.restore() } == .notSignedIn)
        #expect(world.device.sensor.readingCount == 0)
        #expect(await world.server.requests.isEmpty)
    }

    @Test("giving up, another finger and a locked sensor are three things, and the token stays")
    func refusals() async throws {
        let world = SignInWorld()
        _ = try await world.signedIn()
        let before = world.device.storage.snapshot
        let app = try await world.start()
        await world.server.forgetRequests()
        let endings: [(BiometricReading, SignInError.Code)] = [
            (.cancelled, .cancelled), (.noMatch(hint: "wipe it"), .biometricsNotMatched),
            (.lockedOut, .biometricsLockedOut),
        ]
        for (reading, code) in endings {
            world.device.sensor.feel(reading)
            #expect(await signInError { try await app.restore() } == code)
        }
        world.device.sensor.unplug()
        #expect(await signInError { try await app.restore() } == .biometricsUnavailable)
        world.device.sensor.unplug(false)
        #expect(world.device.storage.snapshot == before)
        #expect(await world.server.requests.isEmpty)
        world.device.sensor.feel(.match)
        try await app.restore()
        #expect(await app.isSignedIn)
    }

    @Test("a changed set of fingers wipes what was kept for the one before")
    func changed() async throws {
        let world = SignInWorld()
        _ = try await world.signedIn()
        world.device.sensor.enroll(Array("another".utf8))
        let app = try await world.start()
        await world.server.forgetRequests()
        world.device.sensor.feel(.match)
        #expect(await signInError { try await app.restore() } == .biometricsChanged)
        #expect(world.device.sensor.readingCount == 0, "nobody is asked in vain")
        #expect(try app.kept == .nothing)
        #expect(await world.server.requests.isEmpty)
        #expect(Set(world.device.storage.snapshot.keys) == ["sign-in-choice"])
        #expect(await signInError { try await app.restore() } == .notSignedIn)
    }

    @Test("where the app chose any set, a finger more changes nothing")
    func anySet() async throws {
        var world = SignInWorld()
        world.configuration.keeping = .behindBiometrics(.anySet)
        _ = try await world.signedIn()
        world.device.sensor.enroll(Array("another".utf8))
        world.device.sensor.feel(.match)
        let app = try await world.start()
        try await app.restore()
        #expect(await app.isSignedIn)
    }

    @Test("twenty callers at once make one question and one renewal", arguments: SignInWorld.Face.allCases)
    func oneInFlight(face: SignInWorld.Face) async throws {
        let world = SignInWorld(face)
        _ = try await world.signedIn()
        let app = try await world.start()
        world.device.sensor.feel(.match)
        // Whoever asked the person once more would be told that they gave up.
        for _ in 1..<20 { world.device.sensor.feel(.cancelled) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await app.restore() } }
            try await group.waitForAll()
        }
        #expect(world.device.sensor.readingCount == 1)
        #expect(await world.renewals() == 1)
        // And when its time is over while it runs.
        world.device.clock.advance(by: .seconds(300))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask { _ = try await app.authorization(method: "GET", url: SignInWorld.address) }
            }
            try await group.waitForAll()
        }
        #expect(await world.renewals() == 2)
        #expect(world.device.sensor.readingCount == 1, "what runs is renewed without a question")
    }

    @Test("of twenty that want a token at once one asks the server, once", arguments: SignInWorld.Face.allCases)
    func oneRequest(face: SignInWorld.Face) async throws {
        var world = SignInWorld(face)
        world.configuration.keeping = .onThisDevice
        let allCame = Latch()
        let clock = CountingClock(world.device.clock)
        var platform = world.device.platform
        platform.clock = clock
        let app = try await SignIn(world.configuration, platform: platform, transport: world.server)
        try await app.withBrowser()
        world.device.clock.advance(by: .seconds(300))
        await world.server.forgetRequests()
        // The server answers nobody before all of them have found their token's time over.
        await world.server.intercept { _ in
            await allCame.pass()
            return nil
        }
        clock.when(read: 20) { Task { await allCame.open() } }
        let fields = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 {
                group.addTask { try await app.authorization(method: "GET", url: SignInWorld.address)[0].value }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(await world.server.requests.map { "\($0.method) \($0.url.path())" } == ["POST \(world.refreshPath)"])
        #expect(fields.count == 20 && Set(fields).count == 1, "all of them have what came of it")
    }

    /// A clock that knows how often it was asked how long the device has been running.
    private final class CountingClock: DeviceClock {
        private struct State {
            var missing = 0
            var action: (@Sendable () -> Void)?
        }

        private let clock: FakeClock
        private let state = Mutex(State())

        init(_ clock: FakeClock) { self.clock = clock }

        /// Does `action` when it was asked so many times more.
        func when(read count: Int, _ action: @escaping @Sendable () -> Void) {
            self.state.withLock { $0 = State(missing: count, action: action) }
        }

        func now() -> Timestamp { self.clock.now() }
        func uptime() -> Duration {
            let action = self.state.withLock { state in
                state.missing -= 1
                return state.missing == 0 ? state.action : nil
            }
            action?()
            return self.clock.uptime()
        }
        var bootIdentifier: String { self.clock.bootIdentifier }
        func sleep(for duration: Duration) async throws { try await self.clock.sleep(for: duration) }
    }

    @Test("a token that a back end refuses is renewed once, however many requests it was refused to")
    func refusedByBackEnd() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        let url = SignInWorld.address
        let refused = try await app.authorization(method: "GET", url: url)[0].value
        let fields = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 {
                group.addTask { try await app.authorization(method: "GET", url: url, insteadOf: refused)[0].value }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(fields.count == 1 && !fields.contains(refused))
        #expect(await world.renewals() == 1)
        // Whoever comes late with it gets what there is.
        #expect(try await fields.contains(app.authorization(method: "GET", url: url, insteadOf: refused)[0].value))
        #expect(await world.renewals() == 1)
    }

    @Test("a proof is for one request, has the back end's nonce where it asks for one, and names the token")
    func proofs() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        let url = try #require(URL(string: "https://health.example.com/records?of=alice"))
        let fields = try await app.authorization(method: "POST", url: url, nonce: "back-end")
        #expect(fields.map(\.name) == ["Authorization", "DPoP"])
        let token = String(fields[0].value.dropFirst("DPoP ".count))
        let proof = try DPoPProof(
            verifying: [fields[1].value], method: "POST",
            target: #require(TargetURI("https://health.example.com/records")), accessToken: token,
            within: ValidityWindow(now: world.device.clock.now(), skew: .zero, longest: .seconds(1)),
            nonceEnd: { $0 == "back-end" ? world.device.clock.now() : nil })
        #expect(await world.server.sessions.first?.thumbprint == proof.thumbprint.text)
    }

    @Test("processes of one app renew one after the other, and each with what the last one has left")
    func processes() async throws {
        var world = SignInWorld()
        world.configuration.keeping = .onThisDevice
        _ = try await world.signedIn()
        let apps = [try await world.start(), try await world.start(), try await world.start()]
        for round in 0..<5 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for app in apps {
                    group.addTask {
                        if round == 0 {
                            try await app.restore()
                        } else {
                            _ = try await app.authorization(method: "GET", url: SignInWorld.address)
                        }
                    }
                }
                try await group.waitForAll()
            }
            world.device.clock.advance(by: .seconds(300))
        }
        #expect(await world.server.sessions.map(\.isActive) == [true], "no token was shown that was past")
        #expect(await world.renewals() == 15)
    }

    @Test("behind a finger, a process whose session another one has renewed asks again and shows no old token")
    func guardedProcesses() async throws {
        let world = SignInWorld()
        let first = try await world.signedIn()
        let second = try await world.start()
        world.device.sensor.feel(.match, .match)
        try await second.restore()
        world.device.clock.advance(by: .seconds(300))
        let url = SignInWorld.address
        #expect(await signInError { _ = try await first.authorization(method: "GET", url: url) } == .renewedElsewhere)
        try await first.restore()
        _ = try await first.authorization(method: "GET", url: url)
        #expect(await world.server.sessions.map(\.isActive) == [true])
    }

    @Test("an access token is renewed before its end, by a clock that nobody can set")
    func clocks() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        let url = SignInWorld.address
        // The wall clock is moved: nothing has happened.
        world.device.clock.moveWall(by: .seconds(-86_400 * 400))
        _ = try await app.authorization(method: "GET", url: url)
        world.device.clock.moveWall(by: .seconds(86_400 * 800))
        _ = try await app.authorization(method: "GET", url: url)
        #expect(await world.renewals() == 0)
        world.device.clock.moveWall(by: .seconds(-86_400 * 400))
        world.device.clock.advance(by: .seconds(280))
        _ = try await app.authorization(method: "GET", url: url)
        #expect(await world.renewals() == 0)
        world.device.clock.advance(by: .seconds(10))
        _ = try await app.authorization(method: "GET", url: url)
        #expect(await world.renewals() == 1)
    }

    @Test("what the server does not take any more is deleted, and what it cannot answer is not")
    func refusedByServer() async throws {
        for face in SignInWorld.Face.allCases {
            let world = SignInWorld(face)
            _ = try await world.signedIn()
            await world.server.reachable(false)
            let app = try await world.start()
            world.device.sensor.feel(.match, .match, .match)
            #expect(await signInError { try await app.restore() } == .networkError)
            #expect(try app.kept == .guardedSession)
            await world.server.reachable(true)
            await world.server.intercept { _ in TransportResponse(status: 503, headers: [], body: []) }
            #expect(await signInError { try await app.restore() } == .networkError)
            #expect(try app.kept == .guardedSession)
            await world.server.intercept(nil)
            await world.server.end(try #require(await world.server.sessions.first).id)
            #expect(await signInError { try await app.restore() } == .sessionEnded)
            #expect(try app.kept == .nothing)
            #expect(Set(world.device.storage.snapshot.keys) == ["sign-in-choice"])
        }
    }

    @Test("the app hears that the session is over, also where the device cannot forget it; the next try forgets it")
    func refusedOnFullDisk() async throws {
        let world = SignInWorld()
        _ = try await world.signedIn()
        let app = try await world.start()
        await world.server.end(try #require(await world.server.sessions.first).id)
        world.device.sensor.feel(.match, .match)
        world.device.storage.refuseWrites(true)
        #expect(await signInError { try await app.restore() } == .sessionEnded)
        #expect(await !app.isSignedIn)
        world.device.storage.refuseWrites(false)
        #expect(await signInError { try await app.restore() } == .sessionEnded)
        #expect(try app.kept == .nothing)
    }

    @Test("a token of any length goes behind a finger whose device takes 384 bytes")
    func longTokens() async throws {
        let world = SignInWorld()
        var platform = world.device.platform
        platform.biometricKeys = ShortSecrets(
            keys: SensorGuardedKeys(storage: world.device.storage, sensor: world.device.sensor))
        let first = try await SignIn(world.configuration, platform: platform, transport: world.server)
        try await first.withBrowser { true }
        #expect(try #require(await world.server.sessions.first).isActive)
        let app = try await SignIn(world.configuration, platform: platform, transport: world.server)
        world.device.sensor.feel(.match)
        try await app.restore()
        #expect(await world.renewals() == 1)
    }

    /// A device that takes no more than some devices do.
    private struct ShortSecrets: BiometricKeys {
        let keys: SensorGuardedKeys

        func keep(_ secret: SecretBytes, as name: String, guardedBy guardian: BiometricGuard) async throws {
            guard secret.count <= 384 else { throw StorageError(.unavailable, "too long") }
            try await self.keys.keep(secret, as: name, guardedBy: guardian)
        }
        func isEnrolled() async throws -> Bool { try await self.keys.isEnrolled() }
        func contains(_ name: String) throws -> Bool { try self.keys.contains(name) }
        func release(_ name: String, _ prompt: SystemPrompt) async throws -> BiometricRelease {
            try await self.keys.release(name, prompt)
        }
        func remove(_ name: String) throws { try self.keys.remove(name) }
    }
}
