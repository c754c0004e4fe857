import CountersignTPM
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 131: the chip's own lock")
struct ChipLockTests {
    private static func sign(_ keys: TPMKeys, _ key: NewDeviceKey, _ pin: SecretBytes) async throws -> [UInt8] {
        try await keys.sign(Sample.message, with: key.handle, of: Sample.name(), unlocking: .secret(pin))
    }

    @Test("Wrong secrets count in the chip, and the machine's last one is never taken: not even for the right secret")
    func lastTry() async throws {
        let chip = try EmulatedChip()
        let keys = try chip.keys()
        let key = try keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        for count in 1...2 {
            await #expect(throws: DeviceKeyError.wrongSecret) { try await Self.sign(keys, key, Sample.wrongPin) }
            #expect(try chip.countedFailures() == count)
        }
        for pin in [Sample.wrongPin, Sample.pin] {
            await #expect(throws: DeviceKeyError.lockedOut) { try await Self.sign(keys, key, pin) }
            #expect(throws: DeviceKeyError.lockedOut) {
                try keys.relock(key.handle, of: Sample.name(), from: pin, to: Sample.newPin)
            }
            await #expect(throws: DeviceKeyError.lockedOut) {
                try await keys.certify(
                    Sample.message, with: key.handle, of: Sample.name(), unlocking: .secret(pin))
            }
        }
        // The other keys of the machine can still be opened.
        #expect(try chip.countedFailures() == 2)
        #expect(try !chip.isLocked())
        try chip.unlock()
        #expect(key.hasSigned(Sample.message, try await Self.sign(keys, key, Sample.pin)))
    }

    @Test("A wrong secret of a changed PIN counts too, and a right one sets nothing back") func changes() async throws {
        let chip = try EmulatedChip()
        let keys = try chip.keys()
        let key = try keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        #expect(throws: DeviceKeyError.wrongSecret) {
            try keys.relock(key.handle, of: Sample.name(), from: Sample.wrongPin, to: Sample.newPin)
        }
        #expect(key.hasSigned(Sample.message, try await Self.sign(keys, key, Sample.pin)))
        #expect(try chip.countedFailures() == 1)
    }

    @Test("Keys without a secret do not take part: another chip lock leaves them open, and they count nothing")
    func withoutSecret() async throws {
        let chip = try EmulatedChip()
        let keys = try chip.keys()
        let key = try keys.make(Sample.name(), owner: "", lock: .none)
        let agreeing = try keys.makeAgreementKey(Sample.name(2))
        let secret = try keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        try chip.lockByAnotherProgram()
        #expect(try chip.isLocked())
        let signature = try await keys.sign(
            Sample.message, with: key.handle, of: Sample.name(), unlocking: .none)
        #expect(key.hasSigned(Sample.message, signature))
        #expect(try keys.agree(with: agreeing.publicKey, by: agreeing.handle, of: Sample.name(2)).count == 32)
        await #expect(throws: DeviceKeyError.lockedOut) { try await Self.sign(keys, secret, Sample.pin) }
    }

    @Test("A restart does not set the lock back") func restart() async throws {
        let chip = try EmulatedChip()
        let keys = try chip.keys()
        let key = try keys.make(Sample.name(), owner: "alice", lock: .secret(Sample.pin))
        for _ in 1...2 {
            await #expect(throws: DeviceKeyError.wrongSecret) { try await Self.sign(keys, key, Sample.wrongPin) }
        }
        try chip.command("tpm2_shutdown", "--clear")
        try chip.stop()
        try chip.start()
        await #expect(throws: DeviceKeyError.lockedOut) { try await Self.sign(keys, key, Sample.pin) }
        #expect(try chip.countedFailures() == 2)
    }
}

extension EmulatedChip {
    /// Locks the chip by wrong secrets of a key that is not the SDK's.
    func lockByAnotherProgram() throws {
        let file = { (name: String) in "\(self.folder)/\(name)" }
        try self.command("tpm2_createprimary", "-Q", "-c", file("p.ctx"))
        try self.command("tpm2_flushcontext", "--transient-object")
        try self.command(
            "tpm2_create", "-Q", "-C", file("p.ctx"), "-G", "ecc256", "-p", "right", "-u", file("k.pub"), "-r",
            file("k.priv"))
        try self.command("tpm2_flushcontext", "--transient-object")
        try self.command(
            "tpm2_load", "-Q", "-C", file("p.ctx"), "-u", file("k.pub"), "-r", file("k.priv"), "-c", file("k.ctx"))
        try self.command("tpm2_flushcontext", "--transient-object")
        try Data("message".utf8).write(to: URL(filePath: file("m")))
        for _ in 1...3 {
            try self.command(
                "tpm2_sign", "-Q", "-c", file("k.ctx"), "-p", "wrong", "-o", file("s"), file("m"), succeeds: false)
            try self.command("tpm2_flushcontext", "--transient-object")
        }
    }
}

@Suite("Decision 131: PINs of authenticators with keys in a TPM")
struct ChipModuleTests {
    private static let pin = AuthenticatorModel(factor: .pin, keyStore: .tpm)
    private static let appID = "linux:program:test"

    private let chip: EmulatedChip
    private let keys: TPMKeys
    private let clock = FakeClock()

    init() throws {
        self.chip = try EmulatedChip()
        self.keys = try self.chip.keys()
    }

    private func module(_ storage: InMemoryStorage) throws -> AuthenticatorModule {
        try AuthenticatorModule(
            platform: DevicePlatform(storage: storage, keys: self.keys, clock: self.clock),
            configuration: AuthenticatorModule.Configuration(
                callerID: try FacetID(Self.appID),
                pinHardening: PinHardening(rounds: 2, blockSize: 1, parallelism: 1)))
    }

    private static func register(_ module: AuthenticatorModule, _ model: AuthenticatorModel = Self.pin) async throws
        -> RegisteredKey
    {
        let key = try await module.register(
            model, appID: Self.appID, username: "alice", finalChallenge: "challenge",
            attestationType: .basicSurrogate, verification: Typist([]))
        try await module.notify(key.name, .ok)
        return key
    }

    private static func sign(_ module: AuthenticatorModule, _ name: KeyName, _ pins: String...) async throws -> UInt32 {
        let assertion = try await module.authenticate(
            name, appID: Self.appID, finalChallenge: "challenge", transaction: nil, verification: Typist(pins))
        return try AuthenticationAssertion(parsing: assertion.bytes).signedData.signCounter
    }

    @Test("A registration is attested by the new key itself, and a signature after a wrong PIN has the next counter")
    func register() async throws {
        let module = try self.module(InMemoryStorage())
        let key = try await Self.register(module)
        #expect(key.name.aaid.text == "C516#2001")
        #expect(try RegistrationAssertion(parsing: key.assertion.bytes).attestation.type == .basicSurrogate)
        #expect(try await Self.sign(module, key.name, "135790") == 1)
        #expect(try await Self.sign(module, key.name, "111111", "135790") == 2)
        #expect(try await module.protectionStatus(of: key.name) == .unlocked)
        let silent = try await Self.register(module, AuthenticatorModel(factor: .devicePossession, keyStore: .tpm))
        #expect(try await Self.sign(module, silent.name) == 1)
    }

    @Test("A change of the PIN keeps the key, and the former PIN opens it no more") func change() async throws {
        let module = try self.module(InMemoryStorage())
        let name = try await Self.register(module).name
        try await module.changeSecret(of: name) { _, _ in
            SecretChange(old: SecretBytes(utf8: "135790"), new: SecretBytes(utf8: "246802"))
        }
        #expect(try await Self.sign(module, name, "135790", "246802") == 1)
    }

    @Test("A chip that judges nothing takes none of the person's attempts, and the error names a lock that ends")
    func unjudged() async throws {
        let module = try self.module(InMemoryStorage())
        let name = try await Self.register(module).name
        try self.chip.lockByAnotherProgram()
        for _ in 1...6 {
            await #expect {
                try await Self.sign(module, name, "135790")
            } throws: { error in
                let failure = error as? OperationFailure
                return failure?.code == .userLockout && failure?.lockHolder == .keyStore
            }
        }
        #expect(try await module.protectionStatus(of: name) == .unlocked)
        try self.chip.unlock()
        #expect(try await Self.sign(module, name, "135790") > 1)
    }

    @Test("A chip that does not answer takes none of the person's attempts") func absent() async throws {
        let module = try self.module(InMemoryStorage())
        let name = try await Self.register(module).name
        try self.chip.stop()
        for _ in 1...6 {
            await #expect(throws: StorageError(.unavailable, "")) { try await Self.sign(module, name, "135790") }
        }
        #expect(try await module.protectionStatus(of: name) == .unlocked)
        try self.chip.start()
        #expect(try await Self.sign(module, name, "135790") > 1)
    }

    @Test("A copy of old storage brings the SDK's attempts back, and none of the chip's; and it has the old counter")
    func oldStorage() async throws {
        let storage = InMemoryStorage()
        let module = try self.module(storage)
        let name = try await Self.register(module).name
        let old = storage.snapshot
        #expect(try await Self.sign(module, name, "135790") == 1)
        // A thief with the copy, who restores the copy after each wrong PIN.
        var guesses = 0
        while guesses < 10 {
            let copy = try self.module(InMemoryStorage(old))
            do {
                _ = try await Self.sign(copy, name, "111111")
                Issue.record("a wrong PIN has signed")
            } catch let failure as OperationFailure {
                if failure.code == .userLockout { break }
            }
            guesses += 1
        }
        #expect(guesses == 2)
        #expect(try !self.chip.isLocked())
        // The old PIN of the copy opens the key once the chip judges again, and the counter gives the copy away.
        try self.chip.unlock()
        #expect(try await Self.sign(try self.module(InMemoryStorage(old)), name, "135790") == 1)
        #expect(try await Self.sign(module, name, "135790") == 2)
    }

    @Test("A copy of the storage is worth nothing on another machine") func otherMachine() async throws {
        let storage = InMemoryStorage()
        let name = try await Self.register(try self.module(storage)).name
        let other = try EmulatedChip()
        let module = try AuthenticatorModule(
            platform: DevicePlatform(
                storage: InMemoryStorage(storage.snapshot), keys: try other.keys(), clock: self.clock),
            configuration: AuthenticatorModule.Configuration(callerID: try FacetID(Self.appID)))
        await #expect {
            try await Self.sign(module, name, "135790")
        } throws: { ($0 as? OperationFailure)?.code == .keyDisappearedPermanently }
    }
}

/// A person who types PINs from a list, and then gives up.
private actor Typist: UserInteraction {
    private var pins: [String]

    init(_ pins: [String]) { self.pins = pins }

    func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes { SecretBytes(utf8: "135790") }

    func verifySecret(_ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?)
        async throws -> SecretBytes
    {
        guard !self.pins.isEmpty else { throw UserVerificationError.cancelled }
        return SecretBytes(utf8: self.pins.removeFirst())
    }

    func verifyBiometric(
        _ model: AuthenticatorModel, hint: String?,
        read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws -> BiometricReading { throw UserVerificationError.unavailable }

    func verifyDevicePasscode(
        _ model: AuthenticatorModel, ask: @escaping @Sendable (SystemPrompt) async throws -> DevicePasscodeReading
    ) async throws -> DevicePasscodeReading { throw UserVerificationError.unavailable }
}
