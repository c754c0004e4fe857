import Countersign
import CountersignApple
import Crypto
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decisions 59, 132: keys in the Secure Enclave")
struct EnclaveKeysTests {
    private let chip = MemoryChip()
    private let person = ScriptedPerson()
    private let name = DeviceKeyName(
        kind: "C516#3001", id: [UInt8](repeating: 1, count: 32), accessToken: [UInt8](repeating: 2, count: 32))
    private let message = Array("message".utf8)

    private var keys: EnclaveKeys { EnclaveKeys(self.chip, self.person) }

    private func isSigned(_ signature: [UInt8], by key: NewDeviceKey) throws -> Bool {
        let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKey)
        return publicKey.isValidSignature(
            try P256.Signing.ECDSASignature(rawRepresentation: signature), for: self.message)
    }

    private func sign(_ key: NewDeviceKey, _ unlock: KeyUnlock, of name: DeviceKeyName? = nil) async throws -> [UInt8] {
        try await self.keys.sign(self.message, with: key.handle, of: name ?? self.name, unlocking: unlock)
    }

    @Test("a lock is a condition of the key: usage, set, passcode, and the state of the device")
    func access() {
        let current = KeyLock.system(.fingerprint, endingWithEnrolment: true, allowingPasscode: false)
        #expect(KeyAccess(KeyLock.none) == KeyAccess(.afterFirstUnlock, .nobody))
        #expect(KeyAccess(.secret(SecretBytes([1]))) == KeyAccess(.whenUnlocked, .nobody))
        #expect(KeyAccess(current) == KeyAccess(.whilePasscodeIsSet, .currentBiometry))
        #expect(
            KeyAccess(.system(.face, endingWithEnrolment: false, allowingPasscode: false))
                == KeyAccess(.whilePasscodeIsSet, .anyBiometry))
        #expect(
            KeyAccess(.system(.face, endingWithEnrolment: false, allowingPasscode: true))
                == KeyAccess(.whilePasscodeIsSet, .anyBiometryOrPasscode))
        // Whoever knows the passcode can enrol a finger.
        #expect(
            KeyAccess(.system(.face, endingWithEnrolment: true, allowingPasscode: true))
                == KeyAccess(.whilePasscodeIsSet, .currentBiometry))
        #expect(
            KeyAccess(.system(.devicePasscode, endingWithEnrolment: true, allowingPasscode: false))
                == KeyAccess(.whilePasscodeIsSet, .passcode))
        for factor in [AuthenticatorModel.Factor.pin, .password, .devicePossession] {
            #expect(KeyAccess(.system(factor, endingWithEnrolment: false, allowingPasscode: false)) == nil)
        }
    }

    @Test("the keys are the Secure Enclave's and verify while they sign")
    func kind() {
        #expect(self.keys.keyStore == .secureEnclave)
        #expect(self.keys.verifiesWhileSigning)
    }

    @Test("a model says truly who judges: software a PIN or a password, the Secure Enclave the rest")
    func matcher() {
        for factor in AuthenticatorModel.Factor.allCases {
            let info = AuthenticatorModel(factor: factor, keyStore: .secureEnclave).info
            #expect(info.keyProtection == [.hardware, .tee])
            #expect(info.matcherProtection == ([.pin, .password].contains(factor) ? .software : .tee))
        }
    }

    @Test("a key without a lock signs and asks nobody")
    func silent() async throws {
        let key = try self.keys.make(self.name, owner: "alice", lock: .none)
        #expect(try self.isSigned(try await self.sign(key, .none), by: key))
        #expect(self.person.questions.isEmpty)
    }

    @Test("a right secret signs, a wrong one is found out, and the handle alone is worth nothing")
    func secret() async throws {
        let key = try self.keys.make(self.name, owner: "alice", lock: .secret(SecretBytes([1, 2])))
        try self.keys.check(key.handle, of: self.name, unlocking: .secret(SecretBytes([9])))
        #expect(try self.isSigned(try await self.sign(key, .secret(SecretBytes([1, 2]))), by: key))
        await #expect(throws: DeviceKeyError.wrongSecret) { try await self.sign(key, .secret(SecretBytes([1, 3]))) }
        await #expect(throws: DeviceKeyError.closed) { try await self.sign(key, .none) }
        await #expect(throws: DeviceKeyError.closed) { try await self.sign(key, .system(SystemPrompt())) }
    }

    @Test("a chip that fails takes no try for a right secret, and a wrong secret is found out still")
    func failingChip() async throws {
        let key = try self.keys.make(self.name, owner: "alice", lock: .secret(SecretBytes([1, 2])))
        self.chip.refuse(SystemRefusal(.security, -25_308))
        await #expect(throws: DeviceKeyError.uncounted(StorageError(.locked, ""))) {
            try await self.sign(key, .secret(SecretBytes([1, 2])))
        }
        await #expect(throws: DeviceKeyError.wrongSecret) { try await self.sign(key, .secret(SecretBytes([1, 3]))) }
        self.chip.refuse(nil)
        #expect(try self.isSigned(try await self.sign(key, .secret(SecretBytes([1, 2]))), by: key))
    }

    @Test("a changed secret needs no new key, and the former handle stays good for the former secret")
    func relock() async throws {
        let old = SecretBytes([1])
        let new = SecretBytes([2])
        let key = try self.keys.make(self.name, owner: "", lock: .secret(old))
        #expect(throws: DeviceKeyError.wrongSecret) {
            try self.keys.relock(key.handle, of: self.name, from: new, to: old)
        }
        let handle = try self.keys.relock(key.handle, of: self.name, from: old, to: new)
        let changed = NewDeviceKey(handle: handle, publicKey: key.publicKey)
        #expect(try self.isSigned(try await self.sign(changed, .secret(new)), by: key))
        await #expect(throws: DeviceKeyError.wrongSecret) { try await self.sign(changed, .secret(old)) }
        #expect(try self.isSigned(try await self.sign(key, .secret(old)), by: key))
        let silent = try self.keys.make(self.name, owner: "", lock: .none)
        #expect(throws: DeviceKeyError.closed) {
            try self.keys.relock(silent.handle, of: self.name, from: old, to: new)
        }
    }

    @Test("a handle opens for its own name and access token alone, and not after damage")
    func bound() async throws {
        let key = try self.keys.make(self.name, owner: "", lock: .none)
        let others = [
            DeviceKeyName(kind: "C516#3002", id: self.name.id, accessToken: self.name.accessToken),
            DeviceKeyName(kind: self.name.kind, id: [3], accessToken: self.name.accessToken),
            DeviceKeyName(kind: self.name.kind, id: self.name.id, accessToken: [3]),
        ]
        for other in others {
            await #expect(throws: DeviceKeyError.closed) { try await self.sign(key, .none, of: other) }
        }
        for index in key.handle.indices {
            var damaged = key.handle
            damaged[index] ^= 1
            await #expect(throws: DeviceKeyError.closed) {
                try await self.keys.sign(self.message, with: damaged, of: self.name, unlocking: .none)
            }
        }
        await #expect(throws: DeviceKeyError.closed) {
            try await self.keys.sign(self.message, with: [], of: self.name, unlocking: .none)
        }
    }

    @Test("a copy of the handle is worth nothing at another device's chip")
    func otherDevice() async throws {
        let key = try self.keys.make(self.name, owner: "", lock: .none)
        let thief = EnclaveKeys(MemoryChip(), self.person)
        await #expect(throws: DeviceKeyError.gone) {
            try await thief.sign(self.message, with: key.handle, of: self.name, unlocking: .none)
        }
    }

    @Test("the chip signs only with the approval that the key demands, with the app's words in the dialog")
    func approval() async throws {
        let lock = KeyLock.system(.face, endingWithEnrolment: false, allowingPasscode: true)
        let key = try self.keys.make(self.name, owner: "", lock: lock)
        let prompt = SystemPrompt(reason: "Pay", fallbackTitle: "Passcode", cancelTitle: "No")
        #expect(try self.isSigned(try await self.sign(key, .system(prompt)), by: key))
        #expect(self.person.questions.map(\.demand) == [.anyBiometryOrPasscode])
        #expect(self.person.questions.map(\.prompt) == [prompt])
        await #expect(throws: DeviceKeyError.closed) { try await self.sign(key, .none) }
        await #expect(throws: DeviceKeyError.closed) { try await self.sign(key, .secret(SecretBytes([1]))) }
    }

    private static let refusals: [(Int, BiometricReading)] = [
        (-1, .noMatch(hint: "")), (-2, .cancelled), (-8, .lockedOut),
    ]

    @Test("an answer without a match is told, and takes nothing away", arguments: Self.refusals)
    func unverified(code: Int, reading: UAFClient.BiometricReading) async throws {
        let lock = KeyLock.system(.fingerprint, endingWithEnrolment: true, allowingPasscode: false)
        let key = try self.keys.make(self.name, owner: "", lock: lock)
        self.person.refuse(code)
        await #expect(throws: DeviceKeyError.unverified(reading)) {
            try await self.sign(key, .system(SystemPrompt()))
        }
        #expect(try self.isSigned(try await self.sign(key, .system(SystemPrompt())), by: key))
    }

    @Test("a key that ends with its set is gone after another set, whatever number the chip gives")
    func changedSet() async throws {
        let lock = KeyLock.system(.fingerprint, endingWithEnrolment: true, allowingPasscode: false)
        let key = try self.keys.make(self.name, owner: "", lock: lock)
        self.person.enrol([2])
        for refusal in [SystemRefusal(.security, -25_293), SystemRefusal(.token, -2), SystemRefusal(.other, 1)] {
            self.chip.refuse(refusal)
            await #expect(throws: DeviceKeyError.gone) { try await self.sign(key, .system(SystemPrompt())) }
        }
        // A person who gives up is no sign of another set.
        self.person.refuse(-2)
        await #expect(throws: DeviceKeyError.unverified(.cancelled)) {
            try await self.sign(key, .system(SystemPrompt()))
        }
        // The name of the set alone ends no key: a new version of the system may name the same set otherwise.
        self.chip.refuse(nil)
        #expect(try self.isSigned(try await self.sign(key, .system(SystemPrompt())), by: key))
    }

    @Test("a key of any set outlives another set")
    func anySet() async throws {
        let lock = KeyLock.system(.fingerprint, endingWithEnrolment: false, allowingPasscode: false)
        let key = try self.keys.make(self.name, owner: "", lock: lock)
        self.person.enrol([2])
        #expect(try self.isSigned(try await self.sign(key, .system(SystemPrompt())), by: key))
        self.chip.refuse(SystemRefusal(.security, -25_293))
        await #expect(throws: DeviceKeyError.unverified(.noMatch(hint: ""))) {
            try await self.sign(key, .system(SystemPrompt()))
        }
    }

    @Test("a removed passcode, or fingers that were all removed, end a key of the operating system")
    func nothingEnrolled() async throws {
        let lock = KeyLock.system(.devicePasscode, endingWithEnrolment: true, allowingPasscode: false)
        let key = try self.keys.make(self.name, owner: "", lock: lock)
        for code in [-5, -7] {
            self.person.refuse(code)
            await #expect(throws: DeviceKeyError.gone) { try await self.sign(key, .system(SystemPrompt())) }
        }
    }

    @Test("a locked device and an unknown number lose nothing, and a missing sensor is told")
    func transient() async throws {
        let lock = KeyLock.system(.face, endingWithEnrolment: false, allowingPasscode: false)
        let key = try self.keys.make(self.name, owner: "", lock: lock)
        self.chip.refuse(SystemRefusal(.security, -25_308))
        await #expect(throws: StorageError(.locked, "")) { try await self.sign(key, .system(SystemPrompt())) }
        #expect(throws: StorageError(.locked, "")) { try self.keys.make(self.name, owner: "", lock: .none) }
        self.chip.refuse(SystemRefusal(.security, -50))
        await #expect(throws: StorageError(.unavailable, "")) { try await self.sign(key, .system(SystemPrompt())) }
        #expect(throws: StorageError(.unavailable, "")) { try self.keys.makeAgreementKey(self.name) }
        self.chip.refuse(nil)
        self.person.refuse(-6)
        await #expect(throws: SensorError.disconnected) { try await self.sign(key, .system(SystemPrompt())) }
        #expect(try self.isSigned(try await self.sign(key, .system(SystemPrompt())), by: key))
    }

    @Test("a question of a cancelled task ends with the cancellation")
    func cancelled() async throws {
        let lock = KeyLock.system(.face, endingWithEnrolment: false, allowingPasscode: false)
        let key = try self.keys.make(self.name, owner: "", lock: lock)
        let (keys, message, name) = (self.keys, self.message, self.name)
        self.person.refuse(-10)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await keys.sign(message, with: key.handle, of: name, unlocking: .system(SystemPrompt()))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("two keys agree on one secret, and a key for agreements signs nothing")
    func agreement() async throws {
        let other = DeviceKeyName(kind: "device", id: [7], accessToken: [8])
        let first = try self.keys.makeAgreementKey(self.name)
        let second = try self.keys.makeAgreementKey(other)
        let secret = try self.keys.agree(with: second.publicKey, by: first.handle, of: self.name)
        #expect(try self.keys.agree(with: first.publicKey, by: second.handle, of: other) == secret)
        #expect(secret.count == 32)
        await #expect(throws: DeviceKeyError.closed) { try await self.sign(first, .none) }
        let signing = try self.keys.make(self.name, owner: "", lock: .none)
        let noPoint = [4] + [UInt8](repeating: 1, count: 64)
        for (point, handle) in [([1, 2], first.handle), (noPoint, first.handle), (second.publicKey, signing.handle)] {
            #expect(throws: DeviceKeyError.closed) { try self.keys.agree(with: point, by: handle, of: self.name) }
        }
    }

    @Test("a key attests itself, and a deleted handle leaves nothing behind")
    func attested() async throws {
        let key = try self.keys.make(self.name, owner: "", lock: .none)
        let attestation = try await self.keys.attest(
            self.message, as: .basicSurrogate, with: key.handle, of: self.name, unlocking: .none)
        #expect(try self.isSigned(attestation.signature, by: key))
        await #expect(throws: DeviceKeyError.unattested) {
            try await self.keys.attest(
                self.message, as: .basicFull, with: key.handle, of: self.name, unlocking: .none)
        }
        self.keys.delete(key.handle, of: self.name)
    }
}
