import CountersignTPM
import CountersignTestKit
import Crypto
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

/// Values of the tests: a key's name, and secrets as long as stretched ones.
enum Sample {
    static let message = Array("message".utf8)
    static let pin = SecretBytes([UInt8](repeating: 1, count: 32))
    static let wrongPin = SecretBytes([UInt8](repeating: 2, count: 32))
    static let newPin = SecretBytes([UInt8](repeating: 3, count: 32))

    static func name(_ id: UInt8 = 1, kind: String = "C516#2001", token: UInt8 = 7) -> DeviceKeyName {
        DeviceKeyName(
            kind: kind, id: [UInt8](repeating: id, count: 32), accessToken: [UInt8](repeating: token, count: 32))
    }
}

extension NewDeviceKey {
    /// `true` if the key has made a signature of a message.
    func hasSigned(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
        guard let key = try? P256.Signing.PublicKey(x963Representation: self.publicKey),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: message)
    }
}

@Suite("Decision 131: keys in a TPM 2.0")
struct TPMKeysTests {
    private let chip: EmulatedChip
    private let keys: TPMKeys

    init() throws {
        self.chip = try EmulatedChip()
        self.keys = try self.chip.keys()
    }

    private func signature(
        _ handle: [UInt8], _ name: DeviceKeyName = Sample.name(), _ unlock: KeyUnlock = .none
    ) async throws -> [UInt8] {
        try await self.keys.sign(Sample.message, with: handle, of: name, unlocking: unlock)
    }

    @Test("A key without a lock signs, again after a restart of the program and of the chip")
    func unlocked() async throws {
        #expect(self.keys.keyStore == .tpm && self.keys.verifiesWhileSigning)
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .none)
        #expect(key.hasSigned(Sample.message, try await self.signature(key.handle)))
        #expect(!key.hasSigned([1], try await self.signature(key.handle)))
        try self.chip.stop()
        try self.chip.start()
        let again = try self.chip.keys()
        let signature = try await again.sign(Sample.message, with: key.handle, of: Sample.name(), unlocking: .none)
        #expect(key.hasSigned(Sample.message, signature))
    }

    @Test("A key under a secret signs for the secret, and neither for another one nor for none")
    func secret() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        #expect(key.hasSigned(Sample.message, try await self.signature(key.handle, Sample.name(), .secret(Sample.pin))))
        await #expect(throws: DeviceKeyError.wrongSecret) {
            try await self.signature(key.handle, Sample.name(), .secret(Sample.wrongPin))
        }
        for unlock in [KeyUnlock.none, .system(SystemPrompt())] {
            await #expect(throws: DeviceKeyError.closed) { try await self.signature(key.handle, Sample.name(), unlock) }
        }
        #expect(key.hasSigned(Sample.message, try await self.signature(key.handle, Sample.name(), .secret(Sample.pin))))
    }

    @Test("A key opens to its own kind, name and access token alone, and no wrong name counts as a wrong secret")
    func names() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        for other in [Sample.name(2), Sample.name(kind: "C516#2002"), Sample.name(token: 8)] {
            await #expect(throws: DeviceKeyError.closed) {
                try await self.signature(key.handle, other, .secret(Sample.pin))
            }
            #expect(throws: DeviceKeyError.closed) {
                try self.keys.relock(key.handle, of: other, from: Sample.pin, to: Sample.newPin)
            }
        }
        #expect(try self.chip.countedFailures() == 0)
    }

    @Test("A damaged handle, a handle with another lock and an exchanged half of a key sign nothing")
    func damaged() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .none)
        for place in stride(from: 0, to: key.handle.count, by: 5) {
            var handle = key.handle
            handle[place] ^= 0x10
            await #expect(throws: DeviceKeyError.self, "byte \(place)") { try await self.signature(handle) }
        }
        for handle in [[], Array(key.handle.dropLast()), key.handle + [0], [UInt8](repeating: 1, count: 2000)] {
            await #expect(throws: DeviceKeyError.closed) { try await self.signature(handle) }
        }
        // The lock of a key under a secret is written over, as if the key had none.
        var locked = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin)).handle
        #expect(locked[1] == 1)
        locked[1] = 0
        await #expect(throws: DeviceKeyError.closed) { try await self.signature(locked) }
        // The public half of one key before the private half of another key of the same name.
        let other = try self.keys.make(Sample.name(), owner: "alice", lock: .none)
        let half = key.handle.count - 130
        #expect(key.handle.count == other.handle.count)
        await #expect(throws: DeviceKeyError.self) {
            try await self.signature(Array(key.handle[..<half] + other.handle[half...]))
        }
        #expect(try self.chip.countedFailures() == 0)
    }

    @Test("Two parties agree on the secret that P-256 gives, and no point beside the curve is taken")
    func agreement() throws {
        let key = try self.keys.makeAgreementKey(Sample.name())
        let ours = try P256.KeyAgreement.PublicKey(x963Representation: key.publicKey)
        for _ in 1...3 {
            let theirs = P256.KeyAgreement.PrivateKey()
            let secret = try self.keys.agree(
                with: Array(theirs.publicKey.x963Representation), by: key.handle, of: Sample.name())
            let expected = try theirs.sharedSecretFromKeyAgreement(with: ours).withUnsafeBytes { Array($0) }
            #expect(secret == SecretBytes(expected) && secret.count == 32)
        }
        let beside = [4] + [UInt8](repeating: 1, count: 64)
        for point in [[], beside, Array(key.publicKey.dropLast())] {
            #expect(throws: DeviceKeyError.closed) {
                try self.keys.agree(with: point, by: key.handle, of: Sample.name())
            }
        }
        #expect(throws: DeviceKeyError.closed) {
            try self.keys.agree(with: key.publicKey, by: key.handle, of: Sample.name(2))
        }
    }

    @Test("A key for signatures agrees on nothing, and a key for agreements signs nothing")
    func purposes() async throws {
        let signing = try self.keys.make(Sample.name(), owner: "", lock: .none)
        let agreeing = try self.keys.makeAgreementKey(Sample.name())
        #expect(throws: DeviceKeyError.closed) {
            try self.keys.agree(with: agreeing.publicKey, by: signing.handle, of: Sample.name())
        }
        await #expect(throws: DeviceKeyError.closed) { try await self.signature(agreeing.handle) }
        let locked = try self.keys.make(Sample.name(), owner: "", lock: .secret(Sample.pin))
        #expect(throws: DeviceKeyError.closed) {
            try self.keys.agree(with: agreeing.publicKey, by: locked.handle, of: Sample.name())
        }
        #expect(throws: DeviceKeyError.closed) {
            try self.keys.relock(signing.handle, of: Sample.name(), from: Sample.pin, to: Sample.newPin)
        }
    }

    @Test("Another secret opens the same key; a copy of the former handle opens to the former secret, in this chip")
    func relock() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        #expect(throws: DeviceKeyError.wrongSecret) {
            try self.keys.relock(key.handle, of: Sample.name(), from: Sample.wrongPin, to: Sample.newPin)
        }
        let handle = try self.keys.relock(key.handle, of: Sample.name(), from: Sample.pin, to: Sample.newPin)
        #expect(key.hasSigned(Sample.message, try await self.signature(handle, Sample.name(), .secret(Sample.newPin))))
        await #expect(throws: DeviceKeyError.wrongSecret) {
            try await self.signature(handle, Sample.name(), .secret(Sample.pin))
        }
        try self.chip.unlock()
        self.keys.delete(key.handle, of: Sample.name())
        #expect(key.hasSigned(Sample.message, try await self.signature(key.handle, Sample.name(), .secret(Sample.pin))))
        await #expect(throws: DeviceKeyError.wrongSecret) {
            try await self.signature(key.handle, Sample.name(), .secret(Sample.newPin))
        }
    }

    @Test("A key is gone in another chip, and in this chip after its owner has cleared the chip")
    func gone() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        let agreeing = try self.keys.makeAgreementKey(Sample.name())
        let other = try EmulatedChip()
        let elsewhere = try other.keys()
        await #expect(throws: DeviceKeyError.gone) {
            try await elsewhere.sign(
                Sample.message, with: key.handle, of: Sample.name(), unlocking: .secret(Sample.pin))
        }
        try self.chip.command("tpm2_clear")
        await #expect(throws: DeviceKeyError.gone) {
            try await self.signature(key.handle, Sample.name(), .secret(Sample.pin))
        }
        #expect(throws: DeviceKeyError.gone) {
            try self.keys.relock(key.handle, of: Sample.name(), from: Sample.pin, to: Sample.newPin)
        }
        #expect(throws: DeviceKeyError.gone) {
            try self.keys.agree(with: agreeing.publicKey, by: agreeing.handle, of: Sample.name())
        }
        #expect(try self.chip.occupiedPlaces() + other.occupiedPlaces() == 0)
    }

    @Test("Without a chip there are no keys; a chip that does not answer at present fails for now, and counts nothing")
    func missingChip() async throws {
        #expect(throws: StorageError(.unsupported, "")) { try TPMKeys(tcti: "swtpm:path=/tmp/no-such-chip") }
        #expect(throws: StorageError(.unsupported, "")) { try TPMKeys(tcti: "no-such-way:") }
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        try self.chip.stop()
        await #expect(throws: DeviceKeyError.uncounted(StorageError(.unavailable, ""))) {
            try await self.signature(key.handle, Sample.name(), .secret(Sample.pin))
        }
        #expect(throws: StorageError(.unavailable, "")) {
            try self.keys.make(Sample.name(), owner: "alice", lock: .none)
        }
        try self.chip.start()
        #expect(key.hasSigned(Sample.message, try await self.signature(key.handle, Sample.name(), .secret(Sample.pin))))
    }

    @Test("A chip whose owner has set a password for the hierarchy is none that keys are made in")
    func ownersPassword() throws {
        try self.chip.command("tpm2_changeauth", "-c", "owner", "secret")
        #expect(throws: StorageError(.unsupported, "")) { try self.chip.keys() }
        #expect(try self.chip.countedFailures() == 0)
    }

    @Test("A password that the owner sets later is no wrong secret of the person, and ends no key")
    func laterOwnersPassword() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        let silent = try self.keys.make(Sample.name(2), owner: "", lock: .none)
        try self.chip.command("tpm2_changeauth", "-c", "owner", "secret")
        let uncounted = DeviceKeyError.uncounted(StorageError(.unavailable, ""))
        await #expect(throws: uncounted) {
            try await self.signature(key.handle, Sample.name(), .secret(Sample.pin))
        }
        #expect(throws: uncounted) {
            try self.keys.relock(key.handle, of: Sample.name(), from: Sample.pin, to: Sample.newPin)
        }
        await #expect(throws: StorageError(.unavailable, "")) {
            try await self.signature(silent.handle, Sample.name(2))
        }
        try self.chip.command("tpm2_changeauth", "-c", "owner", "-p", "secret")
        #expect(key.hasSigned(Sample.message, try await self.signature(key.handle, Sample.name(), .secret(Sample.pin))))
        #expect(try self.chip.countedFailures() == 0)
    }

    @Test("A cancelled task signs nothing") func cancelled() async throws {
        let key = try self.keys.make(Sample.name(), owner: "alice", lock: .none)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await self.signature(key.handle)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

@Suite("Decision 131: the places of the chip, and many uses at once")
struct ChipPlacesTests {
    @Test("After each use, also a refused one, the chip is as empty as before") func emptied() async throws {
        let chip = try EmulatedChip()
        let keys = try chip.keys()
        #expect(try chip.occupiedPlaces() == 0)
        let key = try keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        let agreeing = try keys.makeAgreementKey(Sample.name())
        #expect(try chip.occupiedPlaces() == 0)
        _ = try await keys.sign(Sample.message, with: key.handle, of: Sample.name(), unlocking: .secret(Sample.pin))
        _ = try keys.agree(with: agreeing.publicKey, by: agreeing.handle, of: Sample.name())
        _ = try await keys.certify(Sample.message, with: key.handle, of: Sample.name(), unlocking: .secret(Sample.pin))
        _ = try keys.relock(key.handle, of: Sample.name(), from: Sample.pin, to: Sample.newPin)
        #expect(try chip.occupiedPlaces() == 0)
        await #expect(throws: DeviceKeyError.wrongSecret) {
            try await keys.sign(
                Sample.message, with: key.handle, of: Sample.name(), unlocking: .secret(Sample.wrongPin))
        }
        #expect(throws: DeviceKeyError.wrongSecret) {
            try keys.relock(key.handle, of: Sample.name(), from: Sample.wrongPin, to: Sample.newPin)
        }
        await #expect(throws: DeviceKeyError.self) {
            try await keys.sign(
                Sample.message, with: Array(key.handle.dropLast(8)) + [UInt8](repeating: 0, count: 8),
                of: Sample.name(), unlocking: .secret(Sample.pin))
        }
        #expect(try chip.occupiedPlaces() == 0)
    }

    @Test("Many keys and two programs use three places at once, and each gets its own signature")
    func concurrency() async throws {
        let chip = try EmulatedChip()
        let programs = [try chip.keys(), try chip.keys()]
        let made = try (1...4).map { id in
            (Sample.name(id), try programs[0].make(Sample.name(id), owner: "", lock: .secret(Sample.pin)))
        }
        let agreeing = try programs[1].makeAgreementKey(Sample.name())
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for round in UInt8(0)..<6 {
                for (name, key) in made {
                    group.addTask {
                        let message = [round] + name.id
                        let signature = try await programs[Int(round % 2)].sign(
                            message, with: key.handle, of: name, unlocking: .secret(Sample.pin))
                        return key.hasSigned(message, signature)
                    }
                }
                group.addTask {
                    try programs[Int(round % 2)].agree(
                        with: agreeing.publicKey, by: agreeing.handle, of: Sample.name()
                    ).count == 32
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(try chip.occupiedPlaces() == 0)
        #expect(try chip.countedFailures() == 0)
    }

    @Test("With no place left, a use fails for now; with room again, the key signs") func occupied() async throws {
        let chip = try EmulatedChip()
        let keys = try chip.keys()
        let key = try keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        for place in 1...3 { try chip.command("tpm2_createprimary", "-Q", "-c", "\(chip.folder)/\(place).ctx") }
        await #expect(throws: DeviceKeyError.uncounted(StorageError(.unavailable, ""))) {
            try await keys.sign(Sample.message, with: key.handle, of: Sample.name(), unlocking: .secret(Sample.pin))
        }
        #expect(try chip.occupiedPlaces() == 3)
        try chip.command("tpm2_flushcontext", "--transient-object")
        let signature = try await keys.sign(
            Sample.message, with: key.handle, of: Sample.name(), unlocking: .secret(Sample.pin))
        #expect(key.hasSigned(Sample.message, signature))
    }
}

@Suite("Decision 131: what the operating system judges for a key in a TPM")
struct SystemLockTests {
    @Test("Finger, face and passcode are asked for once before each signature, and only a match signs")
    func asked() async throws {
        let chip = try EmulatedChip()
        let (finger, face, passcode) = (ScriptedSensor(), ScriptedSensor(), ScriptedPasscode())
        let keys = try TPMKeys(
            tcti: chip.tcti, fingerprintSensor: finger, faceSensor: face, devicePasscode: passcode)
        for factor in [AuthenticatorModel.Factor.fingerprint, .face, .devicePasscode] {
            let key = try keys.make(
                Sample.name(), owner: "alice",
                lock: .system(factor, endingWithEnrolment: false, allowingPasscode: false))
            func signature() async throws -> [UInt8] {
                try await keys.sign(
                    Sample.message, with: key.handle, of: Sample.name(), unlocking: .system(SystemPrompt()))
            }
            let sensor = factor == .face ? face : finger
            if factor == .devicePasscode { passcode.answer(.match) } else { sensor.feel(.match) }
            #expect(key.hasSigned(Sample.message, try await signature()))
            if factor == .devicePasscode { passcode.answer(.lockedOut) } else { sensor.feel(.lockedOut) }
            await #expect(throws: DeviceKeyError.unverified(.lockedOut)) { try await signature() }
            await #expect(throws: DeviceKeyError.closed) {
                try await keys.sign(Sample.message, with: key.handle, of: Sample.name(), unlocking: .none)
            }
        }
        #expect(finger.readingCount == 2 && face.readingCount == 2)
    }

    @Test("A finger does not sign with the key of a face, and a machine without a sensor signs with neither")
    func bound() async throws {
        let chip = try EmulatedChip()
        let finger = ScriptedSensor()
        let keys = try TPMKeys(tcti: chip.tcti, fingerprintSensor: finger)
        let key = try keys.make(
            Sample.name(), owner: "alice", lock: .system(.face, endingWithEnrolment: true, allowingPasscode: false))
        func signature(_ handle: [UInt8]) async throws -> [UInt8] {
            try await keys.sign(Sample.message, with: handle, of: Sample.name(), unlocking: .system(SystemPrompt()))
        }
        await #expect(throws: SensorError.disconnected) { try await signature(key.handle) }
        var changed = key.handle
        #expect(changed[2] == UInt8(AuthenticatorModel.Factor.face.rawValue))
        changed[2] = UInt8(AuthenticatorModel.Factor.fingerprint.rawValue)
        await #expect(throws: DeviceKeyError.closed) { try await signature(changed) }
        changed = key.handle
        changed[3] = 1
        await #expect(throws: DeviceKeyError.closed) { try await signature(changed) }
        #expect(finger.readingCount == 0)
    }
}
