import CountersignTestKit
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Threat model, Guessing a PIN: another PIN or password for the same key")
struct SecretChangeTests {
    private static let models = [Device.pin, Device.password]

    /// What a person answers, one after the other, and what they were told.
    private actor Answers {
        private var olds: [String]
        private(set) var statuses: [AuthenticatorProtectionStatus] = []
        private(set) var refusals: [SecretRefusal?] = []
        init(_ olds: [String]) { self.olds = olds }

        func next(_ status: AuthenticatorProtectionStatus, _ lastError: SecretRefusal?) throws -> SecretChange {
            self.statuses.append(status)
            self.refusals.append(lastError)
            guard !self.olds.isEmpty else { throw UserVerificationError.cancelled }
            return SecretChange(old: SecretBytes(utf8: self.olds.removeFirst()), new: SecretBytes(utf8: "864209"))
        }
    }

    private func change(_ device: Device, _ name: KeyName, _ answers: Answers) async throws {
        try await device.module.changeSecret(of: name) { try await answers.next($0, $1) }
    }

    @Test("Afterwards only the new one opens the key, and the key counts on", arguments: models)
    func changed(model: AuthenticatorModel) async throws {
        let device = try Device()
        let name = try await device.register(model).name
        _ = try await device.sign(name)
        try await self.change(device, name, Answers(["135790"]))
        let again = try device.reopened()
        let person = TestPerson(pins: ["135790", "864209"])
        #expect(try await again.sign(name, person: person).signCounter == 2)
        #expect(await person.refusals == [nil, .wrong])
    }

    @Test("A wrong old one is a try like any other, up to the lock", arguments: models)
    func wrongOld(model: AuthenticatorModel) async throws {
        let device = try Device()
        let name = try await device.register(model).name
        let answers = Answers(["000000", "135790"])
        try await self.change(device, name, answers)
        #expect(await answers.refusals == [nil, .wrong])
        #expect(
            await answers.statuses == [.unlocked, .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0)])
        #expect(try await device.module.protectionStatus(of: name) == .unlocked)
        let waiting = Answers(["1", "2", "3", "864209"])
        #expect(await failure { try await self.change(device, name, waiting) } == OperationFailure(.userCancelled, ""))
        #expect(await waiting.refusals == [nil, .wrong, .wrong, .wrong, .coolingDown])
        for seconds in [60, 180] {
            device.clock.advance(by: .seconds(seconds))
            _ = await failure { try await self.change(device, name, Answers(["4"])) }
        }
        #expect(try await device.module.protectionStatus(of: name) == .lockedOut)
        let locked = Answers(["864209"])
        #expect(await failure { try await self.change(device, name, locked) } == OperationFailure(.userLockout, ""))
        #expect(await locked.statuses.isEmpty)
    }

    @Test("A key without a secret, or none at all, is refused without asking")
    func noSecret() async throws {
        let device = try Device()
        let finger = try await device.register(Device.fingerprint).name
        let gone = KeyName(aaid: Device.pin.aaid, keyID: try KeyID([UInt8](repeating: 1, count: 32)))
        for name in [finger, gone] {
            let answers = Answers(["135790"])
            #expect(
                await failure { try await self.change(device, name, answers) }
                    == OperationFailure(.authenticatorAccessDenied, ""))
            #expect(await answers.statuses.isEmpty)
        }
    }

    @Test("Wherever the process dies, the old one or the new one opens the key")
    func killed() async throws {
        struct Killed: Error {}
        var opened: Set<String> = []
        for writes in 0..<4 {
            let device = try Device()
            let name = try await device.register(Device.pin).name
            let survived = Countdown(writes)
            device.storage.interruptAfterWrite { _ in if survived.isOver() { throw Killed() } }
            _ = try? await self.change(device, name, Answers(["135790"]))
            for secret in ["135790", "864209"] {
                if (try? await device.reopened().sign(name, person: TestPerson(pins: [secret]))) != nil {
                    opened.insert(secret)
                    // Exactly one of them.
                    let other = secret == "135790" ? "864209" : "135790"
                    await #expect(throws: OperationFailure.self) {
                        try await device.reopened().sign(name, person: TestPerson(pins: [other]))
                    }
                }
            }
        }
        #expect(opened == ["135790", "864209"])
    }

    @Test("Where the change cannot be written, the old one still holds")
    func fullDisk() async throws {
        let device = try Device()
        let name = try await device.register(Device.password).name
        device.storage.interruptAfterWrite { [storage = device.storage] _ in storage.refuseWrites(true) }
        await #expect(throws: StorageError(.unavailable, "")) {
            try await self.change(device, name, Answers(["135790"]))
        }
        device.storage.interruptAfterWrite(nil)
        device.storage.refuseWrites(false)
        _ = try await device.sign(name)
    }

    @Test("A signature that was asked for before the change needs the new one after it")
    func changedMeanwhile() async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        let person = TestPerson(pins: ["135790", "864209"])
        let changes = Answers(["135790"])
        await person.beforePin {
            try? await device.module.changeSecret(of: name) { try await changes.next($0, $1) }
        }
        _ = try await device.sign(name, person: person)
        #expect(await person.refusals == [nil, .wrong])
    }
}
