import CTSS
import Crypto
import Dispatch
public import UAF
public import UAFClient
public import _Primitives

/// Keys in a TPM 2.0, over tpm2-tss ([decision
/// 131](https://github.com/countersign/countersign/blob/main/docs/decisions/0131-keys-in-a-tpm.md)).
///
/// The chip makes each key and never gives the key out. A handle has the key encrypted for this chip, under a parent key
/// that the chip makes again at each use. Nothing stays in the chip, so the number of keys has no limit, and a deleted
/// handle is a deleted key.
///
/// The chip judges a PIN or a password. Wrong ones count in the chip's own lock (dictionary attack protection), which
/// all protected keys of the machine share, and which no copy of old storage sets back. The chip is never asked if the
/// next wrong secret would lock the chip: the key then fails with ``UAFClient/DeviceKeyError`` `lockedOut`. Fingers,
/// faces and the device's passcode are judged by the operating system, in software.
///
/// Errors beside those of ``UAFClient/DeviceKeys``: ``UAFClient/StorageError`` `unsupported` from
/// ``init(tcti:fingerprintSensor:faceSensor:devicePasscode:)``, and later `unavailable` if the chip does not answer. A
/// typed secret that the chip was not asked about is ``UAFClient/DeviceKeyError`` `uncounted`.
///
/// tpm2-tss itself writes refused commands to the standard error, without secrets. The environment variable
/// `TSS2_LOG=all+NONE` prevents this.
public struct TPMKeys: DeviceKeys {
    /// The chip of the machine, behind the kernel's resource manager. The user needs the right to open the device, on
    /// Debian by the group `tss`.
    public static let machineChip = "device:/dev/tpmrm0"

    /// One conversation with a chip at a time: a chip without a resource manager answers one caller, and has room for
    /// the objects of one use.
    private static let queue = DispatchQueue(label: "countersign.tpm")

    private let place: String
    private let fingerprintSensor: (any BiometricSensor)?
    private let faceSensor: (any BiometricSensor)?
    private let devicePasscode: (any DevicePasscode)?

    /// Finds the chip, and has the chip make the parent of all keys once.
    ///
    /// Throws ``UAFClient/StorageError`` `unsupported`: no chip answers, or the owner's hierarchy of the chip has a
    /// password or is switched off.
    ///
    /// - Parameters:
    ///   - tcti: The place of the chip, as a configuration of tpm2-tss: the name of a way to chips, a colon, and values
    ///     of that way, for example `swtpm:path=/run/chip`.
    ///   - fingerprintSensor: The sensor that the keys ask before a signature by finger.
    ///   - faceSensor: The sensor that the keys ask before a signature by face.
    ///   - devicePasscode: The passcode that the keys ask for before a signature by passcode.
    public init(
        tcti: String = Self.machineChip, fingerprintSensor: (any BiometricSensor)? = nil,
        faceSensor: (any BiometricSensor)? = nil, devicePasscode: (any DevicePasscode)? = nil
    ) throws {
        self.place = tcti
        self.fingerprintSensor = fingerprintSensor
        self.faceSensor = faceSensor
        self.devicePasscode = devicePasscode
        do {
            try Self.queue.sync {
                try Chip.talking(at: tcti) { chip in _ = try chip.primary(TPM2B_PUBLIC(.parent)) }
            }
        } catch ChipFailure.absent {
            throw StorageError(.unsupported, "no TPM 2.0 answers at \(tcti)")
        } catch let failure as ChipFailure {
            throw StorageError(.unsupported, "the TPM makes no parent of keys: \(failure)")
        }
    }

    /// `tpm`
    public var keyStore: AuthenticatorModel.KeyStore { .tpm }

    /// `true`: the chip finds out a wrong PIN as a part of the signature.
    public var verifiesWhileSigning: Bool { true }

    /// Creates a key in the chip, for signatures. The handle has the key, encrypted for the chip. The name of the owner
    /// is not stored.
    ///
    /// Throws ``UAFClient/StorageError`` `unavailable`.
    public func make(_ name: DeviceKeyName, owner: String, lock: KeyLock) throws -> NewDeviceKey {
        let secret: SecretBytes? = if case .secret(let secret) = lock { secret } else { nil }
        return try self.make(name, .signing, StoredLock(lock), secret)
    }

    /// Creates a key in the chip, for agreements. The chip signs nothing with the key. Throws as
    /// ``make(_:owner:lock:)``.
    public func makeAgreementKey(_ name: DeviceKeyName) throws -> NewDeviceKey {
        try self.make(name, .agreement, .none, nil)
    }

    /// Checks nothing, because the chip checks the secret when the key signs.
    public func check(_ handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) throws {}

    /// Has the operating system verify the person if the key's lock says so, and has the chip verify the secret and
    /// sign.
    public func sign(_ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock)
        async throws -> [UInt8]
    {
        let digest = Array(SHA256.hash(data: message))
        return try await self.using(handle, name, unlocking) { chip, key, session in
            try chip.sign(digest, with: key, in: session)
        }
    }

    /// Has the chip certify that a key is in the chip: TPM2_Certify by a key of the chip that signs statements of the
    /// chip alone. Unlocks the key as ``sign(_:with:of:unlocking:)``, and throws the same errors.
    ///
    /// Each access token, and with it each service, gets a certification by another key of the chip. No server of this
    /// product takes certifications, because the certification alone does not prove that the certifying key is a chip's.
    /// A party that knows this from elsewhere, for example by TPM2_ActivateCredential with the chip's endorsement key,
    /// judges the certification by ``TPMCertification/isOf(_:over:)``.
    ///
    /// - Parameter message: Data that the certification is bound to, such as a challenge.
    public func certify(
        _ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock
    ) async throws -> TPMCertification {
        let digest = Array(SHA256.hash(data: message))
        let token = Array(SHA256.hash(data: Array("countersign attestation in a TPM/1".utf8) + name.accessToken))
        let publicArea = try KeyHandle(handle).publicArea
        return try await self.using(handle, name, unlocking) { chip, key, session in
            let attestation = try chip.primary(TPM2B_PUBLIC(.attestation, salt: token))
            let certified = try chip.certify(key, by: attestation.object, over: digest, in: session)
            return TPMCertification(
                statement: certified.statement, signature: certified.signature,
                attestationKey: attestation.publicArea.point, publicArea: Array(publicArea.dropFirst(2)))
        }
    }

    /// Returns a handle of the same key under another secret. The former handle still opens to the former secret, in
    /// this chip alone.
    public func relock(_ handle: [UInt8], of name: DeviceKeyName, from old: SecretBytes, to new: SecretBytes) throws
        -> [UInt8]
    {
        let stored = try KeyHandle(handle)
        guard stored.lock == .secret else { throw DeviceKeyError.closed }
        let privateArea = try self.onChip(judging: true) { chip in
            try chip.keepLastTry()
            let parent = try Self.parent(of: stored, in: chip)
            let (publicArea, privateArea) = try stored.areas(of: name, for: .signing)
            let session = try chip.session(saltedFor: parent)
            let key = try chip.load(publicArea, privateArea, secret: name.secret(old), under: parent)
            return try chip.changeSecret(of: key, to: name.secret(new), under: parent, in: session).serialized
        }
        return KeyHandle(
            lock: stored.lock, parentName: stored.parentName, publicArea: stored.publicArea, privateArea: privateArea
        ).bytes
    }

    /// Agrees on a secret in the chip (TPM2_ECDH_ZGen).
    public func agree(with point: [UInt8], by handle: [UInt8], of name: DeviceKeyName) throws -> SecretBytes {
        guard (try? P256.KeyAgreement.PublicKey(x963Representation: point)) != nil else { throw DeviceKeyError.closed }
        let stored = try KeyHandle(handle)
        guard stored.lock == .none else { throw DeviceKeyError.closed }
        return try self.onChip(judging: false) { chip in
            let (key, session) = try Self.load(stored, name, .agreement, nil, in: chip)
            return try chip.agree(with: point, by: key, in: session)
        }
    }

    /// Does nothing, because the key was in its handle.
    public func delete(_ handle: [UInt8], of name: DeviceKeyName) {}
}

// MARK: - Uses of a key

extension TPMKeys {
    private func make(_ name: DeviceKeyName, _ purpose: KeyPurpose, _ lock: StoredLock, _ secret: SecretBytes?) throws
        -> NewDeviceKey
    {
        try self.onChip(judging: false) { chip in
            let parent = try chip.primary(TPM2B_PUBLIC(.parent)).object
            // The chip's lock counts wrong secrets that a person has chosen. Nobody guesses the others.
            let template = TPM2B_PUBLIC(purpose, policy: name.binding(lock), isGuessable: secret != nil)
            let made = try chip.create(
                template, secret: name.secret(secret), under: parent, in: try chip.session(saltedFor: parent))
            let handle = KeyHandle(
                lock: lock, parentName: try chip.name(of: parent), publicArea: made.publicArea.serialized,
                privateArea: made.privateArea.serialized)
            return NewDeviceKey(handle: handle.bytes, publicKey: made.publicArea.point)
        }
    }

    /// Verifies the person by the operating system if the key's lock says so, and runs `body` with the key in the chip.
    private func using<Value: Sendable>(
        _ handle: [UInt8], _ name: DeviceKeyName, _ unlocking: KeyUnlock,
        _ body: @escaping @Sendable (Chip, Chip.Object, _ session: Chip.Object) throws -> Value
    ) async throws -> Value {
        let stored = try KeyHandle(handle)
        // A key of another name asks nobody.
        _ = try stored.areas(of: name, for: .signing)
        var typed: SecretBytes?
        switch (stored.lock, unlocking) {
        case (.none, .none): break
        case (.secret, .secret(let secret)): typed = secret
        case (.system(let factor, let allowingPasscode), .system(let prompt)):
            let reading = try await self.reading(factor, prompt, allowingPasscode)
            guard reading == .match else { throw DeviceKeyError.unverified(reading) }
        default: throw DeviceKeyError.closed
        }
        try Task.checkCancellation()
        let secret = typed
        return try await withCheckedThrowingContinuation { continuation in
            Self.queue.async {
                continuation.resume(
                    with: Result {
                        try self.talking(judging: secret != nil) { chip in
                            if secret != nil { try chip.keepLastTry() }
                            let (key, session) = try Self.load(stored, name, .signing, secret, in: chip)
                            return try body(chip, key, session)
                        }
                    })
            }
        }
    }

    /// Puts a key into the chip, and takes its parent out again.
    private static func load(
        _ stored: KeyHandle, _ name: DeviceKeyName, _ purpose: KeyPurpose, _ typed: SecretBytes?, in chip: Chip
    ) throws -> (key: Chip.Object, session: Chip.Object) {
        let (publicArea, privateArea) = try stored.areas(of: name, for: purpose)
        let parent = try Self.parent(of: stored, in: chip)
        let session = try chip.session(saltedFor: parent)
        let key = try chip.load(publicArea, privateArea, secret: name.secret(typed), under: parent)
        try chip.flush(parent)
        return (key, session)
    }

    /// Puts the parent of a key into the chip. Throws ``UAFClient/DeviceKeyError`` `gone` if the chip has another parent
    /// by now: the machine's owner has cleared the chip, or the storage was taken to another machine.
    private static func parent(of stored: KeyHandle, in chip: Chip) throws -> Chip.Object {
        let parent = try chip.primary(TPM2B_PUBLIC(.parent)).object
        guard try chip.name(of: parent) == stored.parentName else { throw DeviceKeyError.gone }
        return parent
    }

    private func onChip<Value>(judging isJudging: Bool, _ body: (Chip) throws -> Value) throws -> Value {
        try Self.queue.sync { try self.talking(judging: isJudging, body) }
    }

    /// Runs `body` in a conversation with the chip, and names failures of the chip as failures of keys. `isJudging`
    /// says if the chip judges a typed secret.
    private func talking<Value>(judging isJudging: Bool, _ body: (Chip) throws -> Value) throws -> Value {
        var wasAsked = false
        do {
            return try Chip.talking(at: self.place) { chip in
                defer { wasAsked = chip.wasAsked }
                return try body(chip)
            }
        } catch let failure as ChipFailure {
            let reason: String
            switch failure {
            case .wrongSecret where wasAsked: throw isJudging ? DeviceKeyError.wrongSecret : .closed
            case .wrongSecret: reason = "the owner's hierarchy of the TPM has a password"
            case .lockedOut: throw DeviceKeyError.lockedOut
            case .foreignKey: throw DeviceKeyError.closed
            case .absent: reason = "the TPM does not answer"
            case .other(let answer): reason = "the TPM has answered 0x\(String(answer, radix: 16))"
            }
            let error = StorageError(.unavailable, reason)
            // A chip that was asked may have judged the secret, and nobody can tell.
            guard isJudging, !wasAsked else { throw error }
            throw DeviceKeyError.uncounted(error)
        }
    }

    private func reading(_ factor: AuthenticatorModel.Factor, _ prompt: SystemPrompt, _ allowingPasscode: Bool)
        async throws -> BiometricReading
    {
        guard factor == .devicePasscode else {
            guard let sensor = factor == .face ? self.faceSensor : self.fingerprintSensor else {
                throw SensorError.disconnected
            }
            return try await sensor.read(prompt, allowingDevicePasscode: allowingPasscode)
        }
        guard let devicePasscode else { throw SensorError.disconnected }
        return switch try await devicePasscode.ask(prompt) {
        case .match: .match
        case .cancelled: .cancelled
        case .lockedOut: .lockedOut
        }
    }
}
