import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D2.4, D3.1, D3.4, D3.6, F006 to F008: what a finger guards")
struct GuardedKeysTests {
    private let storage = InMemoryStorage()
    private let sensor = ScriptedSensor()
    private let secret = SecretBytes(Array("thirty-two bytes of a secret key".utf8))
    private var keys: SensorGuardedKeys { SensorGuardedKeys(storage: self.storage, sensor: self.sensor) }

    private func release() async throws -> BiometricRelease {
        try await self.keys.release("a", SystemPrompt(reason: "why"))
    }

    @Test("a secret is given out after a match alone; whether there is one, nobody is asked")
    func match() async throws {
        #expect(try await self.keys.isEnrolled())
        #expect(try !self.keys.contains("a"))
        try await self.keys.keep(self.secret, as: "a", guardedBy: .currentSet)
        #expect(try self.keys.contains("a") && !self.keys.contains("b"))
        #expect(self.sensor.readingCount == 0)
        self.sensor.feel(.match)
        #expect(try await self.release() == .released(self.secret))
        #expect(self.sensor.prompts == [SystemPrompt(reason: "why")])
        #expect(self.sensor.passcodeAllowed == [false], "the device's passcode is no finger")
        #expect(try await self.keys.release("b", SystemPrompt()) == .missing)
    }

    @Test("giving up, another finger and a locked sensor are three answers, and the secret stays")
    func refusals() async throws {
        try await self.keys.keep(self.secret, as: "a", guardedBy: .currentSet)
        self.sensor.feel(.cancelled, .noMatch(hint: "dry"), .lockedOut, .match)
        #expect(try await self.release() == .cancelled)
        #expect(try await self.release() == .noMatch(hint: "dry"))
        #expect(try await self.release() == .lockedOut)
        #expect(try await self.release() == .released(self.secret))
    }

    @Test("another set of fingers ends it, before anybody is asked, and also where it changes while they are")
    func changed() async throws {
        for isWhileAsked in [false, true] {
            self.sensor.enroll(Array("first".utf8))
            try await self.keys.keep(self.secret, as: "a", guardedBy: .currentSet)
            if isWhileAsked {
                let sensor = self.sensor
                let asking = Task { try await self.release() }
                while sensor.readingCount == 0 { await Task.yield() }
                sensor.enroll(Array("second".utf8))
                sensor.feel(.match)
                #expect(try await asking.value == .changed)
            } else {
                self.sensor.enroll(Array("second".utf8))
                #expect(try await self.release() == .changed)
                #expect(self.sensor.readingCount == 0)
            }
            #expect(try !self.keys.contains("a"))
            #expect(try await self.release() == .missing)
        }
    }

    @Test("another set of fingers is told also where the secret cannot be removed, and the next release removes it")
    func changedOnFullDisk() async throws {
        try await self.keys.keep(self.secret, as: "a", guardedBy: .currentSet)
        self.sensor.enroll(Array("second".utf8))
        self.storage.refuseWrites(true)
        #expect(try await self.release() == .changed)
        #expect(try self.keys.contains("a"))
        self.storage.refuseWrites(false)
        #expect(try await self.release() == .changed)
        #expect(try !self.keys.contains("a") && self.sensor.readingCount == 0)
    }

    @Test("a secret for any set outlives a finger more, and no set at all ends it")
    func anySet() async throws {
        try await self.keys.keep(self.secret, as: "a", guardedBy: .anySet)
        self.sensor.enroll(Array("second".utf8))
        self.sensor.feel(.match)
        #expect(try await self.release() == .released(self.secret))
        self.sensor.enroll(nil)
        #expect(try await self.release() == .changed)
    }

    @Test("where nobody is enrolled there is nothing to guard by")
    func nobody() async throws {
        self.sensor.enroll(nil)
        #expect(try await !self.keys.isEnrolled())
        await #expect(throws: StorageError(.unavailable, "")) {
            try await self.keys.keep(self.secret, as: "a", guardedBy: .currentSet)
        }
        #expect(self.storage.snapshot.isEmpty)
    }
}
