import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D4.12 to D4.16, F003, F004, F033, F035: what is kept, where the person agrees")
struct BiometricChoiceTests {
    @Test("who says yes is asked once, and the token lies behind their finger")
    func yes() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        let asked = Counter()
        let storage = world.device.storage
        try await app.withBrowser {
            await asked.add()
            // The server has said yes before anybody is asked, and nothing is kept before the person has answered.
            #expect(storage.snapshot["sign-in-session"] == nil)
            return true
        }
        #expect(await asked.count == 1)
        #expect(try app.wantsBiometrics == true)
        #expect(try app.kept == .guardedSession)
        let session = try #require(await world.server.sessions.first)
        #expect(!world.stored.contains(session.head), "reading without biometrics gives nothing")
        let access = try await app.authorization(method: "GET", url: SignInWorld.address)[0].value.dropFirst(5)
        #expect(!world.stored.contains(access), "the access token lives in memory only")
        try await app.withBrowser {
            await asked.add()
            return false
        }
        #expect(await asked.count == 1)
        #expect(try app.kept == .guardedSession)
        // Nobody's finger was wanted for any of it.
        #expect(world.device.sensor.readingCount == 0)
    }

    @Test("who says no is asked once, and nothing is kept")
    func no() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        let asked = Counter()
        for _ in 0..<2 {
            try await app.withBrowser {
                await asked.add()
                return false
            }
        }
        #expect(await asked.count == 1)
        #expect(try app.wantsBiometrics == false)
        #expect(await app.isSignedIn)
        let next = try await world.start()
        #expect(try next.kept == .nothing)
        let sessions = await world.server.sessions
        #expect(!sessions.isEmpty)
        for session in sessions { #expect(!world.stored.contains(session.head)) }
    }

    @Test("a device without enrolled fingers asks nobody, and asks once there are some")
    func notEnrolled() async throws {
        let world = SignInWorld()
        world.device.sensor.enroll(nil)
        let app = try await world.start()
        let asked = Counter()
        try await app.withBrowser {
            await asked.add()
            return true
        }
        #expect(await asked.count == 0)
        #expect(try app.wantsBiometrics == nil)
        #expect(try app.kept == .nothing)
        world.device.sensor.enroll(Array("now".utf8))
        try await app.withBrowser {
            await asked.add()
            return true
        }
        #expect(await asked.count == 1)
        #expect(try app.kept == .guardedSession)
    }

    @Test("the choice can be changed while the session runs")
    func changed() async throws {
        let world = SignInWorld()
        let app = try await world.signedIn()
        try await app.setBiometrics(false)
        #expect(try app.kept == .nothing)
        #expect(await app.isSignedIn)
        try await app.setBiometrics(true)
        #expect(try app.kept == .guardedSession)
        let next = try await world.start()
        world.device.sensor.feel(.match)
        try await next.restore()
        #expect(await next.isSignedIn)
    }

    @Test("who says no before signing in leaves nothing behind the finger, and a yes leaves it as it is")
    func changedSignedOut() async throws {
        let world = SignInWorld()
        _ = try await world.signedIn()
        let app = try await world.start()
        try await app.setBiometrics(true)
        #expect(try app.kept == .guardedSession)
        try await app.setBiometrics(false)
        #expect(try app.kept == .nothing && app.wantsBiometrics == false)
        #expect(!world.device.storage.snapshot.keys.contains { $0.hasPrefix("guarded-") })
        #expect(await signInError { try await app.restore() } == .notSignedIn)
        #expect(world.device.sensor.readingCount == 0)
    }

    @Test("a session that lies behind no finger survives the no of a person who is not signed in")
    func unguardedStays() async throws {
        var world = SignInWorld()
        world.configuration.keeping = .onThisDevice
        _ = try await world.signedIn()
        world.configuration.keeping = .behindBiometrics(.currentSet)
        let app = try await world.start()
        try await app.setBiometrics(false)
        #expect(try app.kept == .session)
        try await app.restore()
        #expect(await app.isSignedIn)
    }

    @Test(
        "a no also ends the guard that an earlier configuration has put a session behind",
        arguments: [SignInConfiguration.Keeping.onThisDevice, .inMemory], [false, true])
    func guardedBefore(keeping: SignInConfiguration.Keeping, isSignedIn: Bool) async throws {
        var world = SignInWorld()
        _ = try await world.signedIn()
        world.configuration.keeping = keeping
        let app = try await world.start()
        if isSignedIn {
            world.device.sensor.feel(.match)
            try await app.restore()
        }
        try await app.setBiometrics(true)
        #expect(try app.kept == .guardedSession)
        try await app.setBiometrics(false)
        #expect(await app.isSignedIn == isSignedIn)
        #expect(try app.kept == (isSignedIn && keeping == .onThisDevice ? .session : .nothing))
        #expect(!world.device.storage.snapshot.keys.contains { $0.hasPrefix("guarded-") })
        guard try app.kept == .session else { return }
        let next = try await world.start()
        try await next.restore()
        #expect(await next.isSignedIn)
        #expect(world.device.sensor.readingCount == 1)
    }

    @Test("a choice leaves a session that is kept without a question as it is", arguments: [true, false])
    func choiceAlone(areWanted: Bool) async throws {
        var world = SignInWorld()
        world.configuration.keeping = .onThisDevice
        let app = try await world.signedIn()
        let before = world.device.storage.snapshot["sign-in-session"]
        try await app.setBiometrics(areWanted)
        #expect(world.device.storage.snapshot["sign-in-session"] == before)
        #expect(try app.kept == .session && app.wantsBiometrics == areWanted)
    }

    @Test("the device secret is an item of its own, survives the app's end, and is new at each sign-in")
    func deviceSecret() async throws {
        for face in SignInWorld.Face.allCases {
            let world = SignInWorld(face)
            let app = try await world.signedIn()
            func kept() -> String? {
                guard let bytes = world.device.storage.snapshot["sign-in-device-secret"],
                    case .object(let object)? = try? JSON(parsing: bytes), case .string(let text)? = object["secret"]
                else { return nil }
                return text
            }
            let first = try #require(await world.server.sessions.last?.deviceSecret)
            #expect(kept() == first)
            let next = try await world.start()
            world.device.sensor.feel(.match)
            try await next.restore()
            #expect(kept() == first, "a renewal leaves it as it is")
            try await app.withBrowser()
            let second = try #require(await world.server.sessions.last?.deviceSecret)
            #expect(second != first && kept() == second)
        }
    }

    @Test("the first start after an install wipes what an earlier one has left, and no later start does")
    func firstStart() async throws {
        let world = SignInWorld()
        _ = try await world.signedIn()
        #expect(try await world.start().kept == .guardedSession)
        world.device.installation.reinstall()
        let app = try await world.start()
        #expect(world.device.storage.snapshot.isEmpty)
        #expect(try app.kept == .nothing && app.wantsBiometrics == nil)
        try await app.withBrowser { true }
        #expect(try await world.start().kept == .guardedSession)
    }

    @Test("a wipe that fails is done at the next start")
    func wipeFails() async throws {
        let world = SignInWorld()
        _ = try await world.signedIn()
        world.device.installation.reinstall()
        world.device.storage.refuseWrites(true)
        #expect(await signInError { _ = try await world.start() } == .storageError)
        world.device.storage.refuseWrites(false)
        _ = try await world.start()
        #expect(world.device.storage.snapshot.isEmpty)
    }
}
