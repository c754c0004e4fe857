import Crypto
import Foundation
public import UAF
public import UAFClient
public import _Primitives

/// Keys in memory that behave like keys of a Secure Enclave or a TPM. No key is ever released, and each signature
/// verifies the person: it finds out a wrong PIN, or waits for the operating system's question. No key ends by itself
/// after a change of fingers: a test calls ``lose()``.
// Safe to share: every access to the state is within `lock`, and nothing waits within `lock`.
public final class VerifyingKeys: DeviceKeys, @unchecked Sendable {
    private struct Entry {
        let name: DeviceKeyName
        let key: P256.Signing.PrivateKey
        let lock: KeyLock
    }

    private let lock = NSLock()
    private var entries: [[UInt8]: Entry] = [:]
    private var agreements: [[UInt8]: (name: DeviceKeyName, key: P256.KeyAgreement.PrivateKey)] = [:]
    /// The remaining room for keys.
    private var room = Int.max
    /// The reason why no secret is judged; `nil` if secrets are judged.
    private var refusal: DeviceKeyError?
    private let fingerprintSensor: any BiometricSensor
    private let faceSensor: any BiometricSensor
    private let devicePasscode: any DevicePasscode

    /// The key store that the device declares.
    public let keyStore: AuthenticatorModel.KeyStore

    /// Creates an empty device whose operating system verifies with these sensors and this passcode.
    public init(
        keyStore: AuthenticatorModel.KeyStore = .file, fingerprintSensor: any BiometricSensor = ScriptedSensor(),
        faceSensor: any BiometricSensor = ScriptedSensor(), devicePasscode: any DevicePasscode = ScriptedPasscode()
    ) {
        self.keyStore = keyStore
        self.fingerprintSensor = fingerprintSensor
        self.faceSensor = faceSensor
        self.devicePasscode = devicePasscode
    }

    /// The number of keys.
    public var count: Int { self.lock.withLock { self.entries.count + self.agreements.count } }

    /// Deletes every key, like a Secure Enclave after a change of fingers.
    public func lose() {
        self.lock.withLock {
            self.entries = [:]
            self.agreements = [:]
        }
    }

    /// Deletes the keys without a lock, such as a device's own keys.
    public func loseUnlocked() {
        self.lock.withLock {
            self.entries = self.entries.filter { if case .none = $0.value.lock { false } else { true } }
            self.agreements = [:]
        }
    }

    /// Refuses further keys after the next `count` keys, or accepts keys again.
    public func refuseKeys(_ isFull: Bool, after count: Int = 0) {
        self.lock.withLock { self.room = isFull ? count : .max }
    }

    /// Judges no secrets, like a TPM after wrong secrets of any program, or judges secrets again.
    public func lockSecrets(_ isLocked: Bool) { self.lock.withLock { self.refusal = isLocked ? .lockedOut : nil } }

    /// Fails with `error` before a secret is judged, like a TPM that does not answer; `nil` ends the failures.
    public func failBeforeSecrets(_ error: StorageError?) {
        self.lock.withLock { self.refusal = error.map { .uncounted($0) } }
    }

    /// `true`: a signature verifies the person.
    public var verifiesWhileSigning: Bool { true }

    /// Creates a key.
    public func make(_ name: DeviceKeyName, owner: String, lock: KeyLock) throws -> NewDeviceKey {
        let key = P256.Signing.PrivateKey()
        let handle = RandomSource.system.bytes(16)
        try self.lock.withLock {
            guard self.room > 0 else { throw DeviceKeyError.noRoom }
            self.room -= 1
            self.entries[handle] = Entry(name: name, key: key, lock: lock)
        }
        return NewDeviceKey(handle: handle, publicKey: Array(key.publicKey.x963Representation))
    }

    /// Checks nothing, because the signature will check the key.
    public func check(_ handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) throws {}

    /// Verifies the person, and signs.
    public func sign(_ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock)
        async throws
        -> [UInt8]
    {
        let entry = try self.entry(handle, name)
        switch (entry.lock, unlocking) {
        case (.none, .none): break
        case (.secret(let secret), .secret(let typed)):
            try self.checkLock()
            guard secret == typed else { throw DeviceKeyError.wrongSecret }
        case (.system(let factor, _, let allowingPasscode), .system(let prompt)):
            let reading = try await self.reading(factor, prompt, allowingPasscode)
            guard reading == .match else { throw DeviceKeyError.unverified(reading) }
        default: throw DeviceKeyError.closed
        }
        return Array(try entry.key.signature(for: message).rawRepresentation)
    }

    /// Returns another handle for the same key under another secret.
    public func relock(_ handle: [UInt8], of name: DeviceKeyName, from old: SecretBytes, to new: SecretBytes) throws
        -> [UInt8]
    {
        let entry = try self.entry(handle, name)
        guard case .secret(let secret) = entry.lock else { throw DeviceKeyError.closed }
        try self.checkLock()
        guard secret == old else { throw DeviceKeyError.wrongSecret }
        let other = RandomSource.system.bytes(16)
        self.lock.withLock { self.entries[other] = Entry(name: name, key: entry.key, lock: .secret(new)) }
        return other
    }

    /// Creates a key for agreements.
    public func makeAgreementKey(_ name: DeviceKeyName) throws -> NewDeviceKey {
        let key = P256.KeyAgreement.PrivateKey()
        let handle = RandomSource.system.bytes(16)
        try self.lock.withLock {
            guard self.room > 0 else { throw DeviceKeyError.noRoom }
            self.room -= 1
            self.agreements[handle] = (name, key)
        }
        return NewDeviceKey(handle: handle, publicKey: Array(key.publicKey.x963Representation))
    }

    /// Agrees on a secret.
    public func agree(with point: [UInt8], by handle: [UInt8], of name: DeviceKeyName) throws -> SecretBytes {
        guard let (own, key) = self.lock.withLock({ self.agreements[handle] }) else { throw DeviceKeyError.gone }
        guard own == name, let other = try? P256.KeyAgreement.PublicKey(x963Representation: point),
            let secret = try? key.sharedSecretFromKeyAgreement(with: other)
        else { throw DeviceKeyError.closed }
        return SecretBytes(secret.withUnsafeBytes { Array($0) })
    }

    /// Deletes a key.
    public func delete(_ handle: [UInt8], of name: DeviceKeyName) {
        self.lock.withLock {
            self.entries[handle] = nil
            self.agreements[handle] = nil
        }
    }

    private func checkLock() throws {
        if let refusal = self.lock.withLock({ self.refusal }) { throw refusal }
    }

    private func entry(_ handle: [UInt8], _ name: DeviceKeyName) throws -> Entry {
        guard let entry = self.lock.withLock({ self.entries[handle] }) else { throw DeviceKeyError.gone }
        guard entry.name == name else { throw DeviceKeyError.closed }
        return entry
    }

    private func reading(_ factor: AuthenticatorModel.Factor, _ prompt: SystemPrompt, _ allowingPasscode: Bool)
        async throws -> BiometricReading
    {
        switch factor {
        case .fingerprint: try await self.fingerprintSensor.read(prompt, allowingDevicePasscode: allowingPasscode)
        case .face: try await self.faceSensor.read(prompt, allowingDevicePasscode: allowingPasscode)
        default:
            switch try await self.devicePasscode.ask(prompt) {
            case .match: .match
            case .cancelled: .cancelled
            case .lockedOut: .lockedOut
            }
        }
    }
}
