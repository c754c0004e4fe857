import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D5.8, F032: an app that is killed at any moment comes back")
struct KilledAppTests {
    /// The process ends here.
    private struct Killed: Error {}

    /// Ends the process after so many more writes.
    private func kill(_ world: SignInWorld, afterWrites count: Int) {
        let left = Mutex(count)
        world.device.storage.interruptAfterWrite { _ in
            let isOver = left.withLock { left in
                left -= 1
                return left <= 0
            }
            if isOver { throw Killed() }
        }
    }

    /// A storage as the next process finds it.
    private func next(_ world: SignInWorld) async throws -> SignIn {
        world.device.storage.interruptAfterWrite(nil)
        await world.server.loseAnswers(0)
        world.device.sensor.feel(.match)
        return try await world.start()
    }

    @Test(
        "killed after each write of a renewal, or with its answer lost, the app comes back a day later",
        arguments: SignInWorld.Face.allCases,
        [SignInConfiguration.Keeping.behindBiometrics(.currentSet), .onThisDevice])
    func everyStep(face: SignInWorld.Face, keeping: SignInConfiguration.Keeping) async throws {
        for step in 0..<4 {
            var world = SignInWorld(face)
            world.configuration.keeping = keeping
            let first = try await world.signedIn()
            world.device.clock.advance(by: .seconds(300))
            if step == 0 {
                await world.server.loseAnswers(1)
            } else {
                self.kill(world, afterWrites: step)
            }
            _ = await signInError {
                _ = try await first.authorization(method: "GET", url: SignInWorld.address)
            }
            #expect(await world.renewals() == 1, "the server has given a new token")
            world.device.clock.advance(by: .seconds(86_400))
            let app = try await self.next(world)
            try await app.restore()
            #expect(await app.isSignedIn, "step \(step)")
            #expect(await world.server.sessions.map(\.isActive) == [true])
        }
    }

    @Test("whatever is killed, lost and refused in a hundred renewals, nobody is signed out", arguments: 0..<8)
    func anyRun(seed: UInt64) async throws {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func draw(_ bound: UInt64) -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state % bound
        }
        var world = SignInWorld(seed % 2 == 0 ? .openID : .signInService)
        if seed % 4 < 2 { world.configuration.keeping = .onThisDevice }
        var app = try await world.signedIn()
        for _ in 0..<100 {
            switch draw(6) {
            case 0: await world.server.loseAnswers(Int(draw(2)) + 1)
            case 1: self.kill(world, afterWrites: Int(draw(3)) + 1)
            case 2: world.device.storage.refuseWrites(true)
            case 3: await world.server.changeNonce()
            default: break
            }
            world.device.clock.advance(by: .seconds(Int64(draw(86_400))))
            _ = await signInError { _ = try await app.authorization(method: "GET", url: SignInWorld.address) }
            world.device.storage.refuseWrites(false)
            guard draw(2) == 0 else {
                // The process goes on, with what it remembers.
                world.device.storage.interruptAfterWrite(nil)
                await world.server.loseAnswers(0)
                if await !app.isSignedIn {
                    world.device.sensor.feel(.match)
                    try await app.restore()
                }
                continue
            }
            app = try await self.next(world)
            try await app.restore()
            try #require(await app.isSignedIn)
        }
        #expect(await world.server.sessions.map(\.isActive) == [true])
        #expect(await world.renewals() > 50)
    }

    @Test("where the new token cannot be written, the old one stays the one that counts")
    func fullDisk() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        world.device.storage.refuseWrites(true)
        for _ in 0..<3 {
            world.device.clock.advance(by: .seconds(300))
            _ = try await app.authorization(method: "GET", url: SignInWorld.address)
        }
        #expect(await world.renewals() == 3)
        world.device.storage.refuseWrites(false)
        let next = try await self.next(world)
        try await next.restore()
        #expect(await world.server.sessions.map(\.isActive) == [true])
    }

    @Test("a new token lies on the device before the old one is forgotten there")
    func order() async throws {
        var world = SignInWorld()
        world.configuration.keeping = .onThisDevice
        let app = try await world.signedIn()
        let old = try #require(await world.server.sessions.first).head
        let storage = world.device.storage
        let seen = Mutex<[String]>([])
        storage.interruptAfterWrite { name in
            guard name == "sign-in-session" else { return }
            let text = String(decoding: storage.snapshot[name] ?? [], as: UTF8.self)
            seen.withLock { $0.append(text) }
        }
        world.device.clock.advance(by: .seconds(300))
        _ = try await app.authorization(method: "GET", url: SignInWorld.address)
        let new = try #require(await world.server.sessions.first).head
        let texts = seen.withLock { $0 }
        #expect(texts.count == 2)
        #expect(texts.first.map { $0.contains(new) && $0.contains(old) } == true)
        #expect(texts.last.map { $0.contains(new) && !$0.contains(old) } == true)
    }

    @Test("an app that was killed while the browser was open says so at its next start, and begins anew")
    func openBrowser() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        #expect(try app.interruption == nil)
        let snapshot = Mutex<[String: [UInt8]]>([:])
        let storage = world.device.storage
        let server = world.server
        world.device.browser.onVisit { address, redirectURI in
            snapshot.withLock { $0 = storage.snapshot }
            return try await server.signedIn(address, redirectURI)
        }
        try await app.withBrowser()
        #expect(try app.interruption == nil, "it has come to its end")
        // The process that the browser would have come back to is gone.
        let killed = SignInWorld(
            storage: InMemoryStorage(snapshot.withLock { $0 }), clock: world.device.clock)
        killed.device.installation.set()
        let next = try await killed.start()
        #expect(try next.interruption == SignInError(.interrupted))
        #expect(try next.interruption?.errorDescription == "This app was closed while you signed in.")
        try await next.withBrowser()
        #expect(await next.isSignedIn)
        #expect(try next.interruption == nil)
        // Nobody is told of what was long ago.
        let later = SignInWorld(storage: InMemoryStorage(snapshot.withLock { $0 }), clock: world.device.clock)
        later.device.installation.set()
        world.device.clock.advance(by: .seconds(600))
        #expect(try await later.start().interruption == nil)
    }

    @Test("a browser that the person closes interrupts nothing") func closedBrowser() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        world.device.browser.onVisit { _, _ in nil }
        #expect(await signInError { try await app.withBrowser() } == .cancelled)
        #expect(try app.interruption == nil)
    }
}
