import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient

@Suite("Parity sign-in D3.1, D5.1, F006: whether something is kept is asked without the person")
struct SilentQueryTests {
    /// What an app can have kept, in the order of its question.
    enum Kept: CaseIterable, Sendable {
        case nothing, session, guardedSession, guardedPassword

        var answer: SignIn.Kept {
            switch self {
            case .nothing: .nothing
            case .session: .session
            case .guardedSession: .guardedSession
            case .guardedPassword: .guardedPassword
            }
        }
    }

    /// A device that keeps that, whose person gives up in every dialog.
    private func world(_ kept: Kept) async throws -> SignInWorld {
        var world = SignInWorld()
        if kept == .session { world.configuration.keeping = .onThisDevice }
        switch kept {
        case .nothing: break
        case .session, .guardedSession: _ = try await world.signedIn()
        case .guardedPassword:
            await world.server.addAccount("alice", password: "lantern street 9")
            try await world.start().withPassword(username: "alice", password: "lantern street 9") { true }
        }
        for _ in 0..<10 { world.device.sensor.feel(.cancelled) }
        await world.server.forgetRequests()
        return world
    }

    @Test("the answer is there without a dialog, a reading or a request", arguments: Kept.allCases)
    func query(kept: Kept) async throws {
        let world = try await self.world(kept)
        let stored = world.device.storage.snapshot
        for set in [Array("enrolled".utf8), Array("another".utf8), nil] {
            world.device.sensor.enroll(set)
            for isUnplugged in [false, true] {
                world.device.sensor.unplug(isUnplugged)
                let app = try await world.start()
                #expect(try app.kept == kept.answer)
                #expect(try app.wantsBiometrics == (kept == .guardedSession || kept == .guardedPassword ? true : nil))
                #expect(await !app.isSignedIn)
            }
        }
        let keys = SensorGuardedKeys(storage: world.device.storage, sensor: world.device.sensor)
        #expect(try keys.contains("sign-in-session") == (kept == .guardedSession))
        #expect(try keys.contains("sign-in-credentials") == (kept == .guardedPassword))
        #expect(world.device.sensor.prompts.isEmpty)
        #expect(await world.server.requests.isEmpty)
        #expect(world.device.storage.snapshot == stored, "asking changes nothing")
    }

    @Test("a device whose sensor knows somebody is told from one whose does not without a reading")
    func enrolled() async throws {
        let sensor = ScriptedSensor()
        sensor.feel(.cancelled, .cancelled)
        let keys = SensorGuardedKeys(storage: InMemoryStorage(), sensor: sensor)
        #expect(try await keys.isEnrolled())
        sensor.enroll(nil)
        #expect(try await !keys.isEnrolled())
        #expect(sensor.prompts.isEmpty)
    }

    @Test("where nothing is kept for this app, nobody is asked for the finger that another one's lies behind")
    func notKept() async throws {
        for kept in [Kept.guardedSession, .guardedPassword] {
            var world = try await self.world(kept)
            world.configuration = SignInConfiguration(
                baseURL: SignInWorld.address, clientID: "another", redirectURI: "com.example.another:/back")
            let app = try await world.start()
            #expect(try app.kept == .nothing)
            #expect(await signInError { try await app.restore() } == .notSignedIn)
            #expect(await signInError { try await app.withSavedPassword() } == .notSignedIn)
            #expect(world.device.sensor.prompts.isEmpty)
            #expect(await world.server.requests.isEmpty)
        }
    }
}
