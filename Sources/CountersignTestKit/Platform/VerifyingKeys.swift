import Crypto
import Foundation
public import UAF
public import UAFClient
public import _Primitives

/// Keys as a Secure Enclave or a TPM has them, in memory: none is ever given out, and the person is verified as a part of
/// each signature. A wrong PIN is found out by it, and the operating system asks while it waits.
// Safe to share: every access to the state is within `lock`, which nobody waits in.
public final class VerifyingKeys: DeviceKeys, @unchecked Sendable {
    private struct Entry {
        let name: DeviceKeyName
        let key: P256.Signing.PrivateKey
        let lock: KeyLock
    }

    private let lock = NSLock()
    private var entries: [[UInt8]: Entry] = [:]
    private var isFull = false
    private let fingerprintSensor: any BiometricSensor
    private let faceSensor: any BiometricSensor
    private let devicePasscode: any DevicePasscode

    /// What the device says that it is.
    public let keyStore: AuthenticatorModel.KeyStore

    /// An empty device, whose operating system judges by these.
    public init(
        keyStore: AuthenticatorModel.KeyStore = .file, fingerprintSensor: any BiometricSensor = ScriptedSensor(),
        faceSensor: any BiometricSensor = ScriptedSensor(), devicePasscode: any DevicePasscode = ScriptedPasscode()
    ) {
        self.keyStore = keyStore
        self.fingerprintSensor = fingerprintSensor
        self.faceSensor = faceSensor
        self.devicePasscode = devicePasscode
    }

    /// How many keys there are.
    public var count: Int { self.lock.withLock { self.entries.count } }

    /// Every key is gone, as after the fingers of a Secure Enclave have changed.
    public func lose() { self.lock.withLock { self.entries = [:] } }

    /// Whether there is no room for a further key.
    public func refuseKeys(_ isFull: Bool) { self.lock.withLock { self.isFull = isFull } }

    /// A signature is where the person is verified.
    public var verifiesWhileSigning: Bool { true }

    /// Makes a key.
    public func make(_ name: DeviceKeyName, owner: String, lock: KeyLock) throws -> NewDeviceKey {
        let key = P256.Signing.PrivateKey()
        let handle = RandomSource.system.bytes(16)
        try self.lock.withLock {
            guard !self.isFull else { throw DeviceKeyError.noRoom }
            self.entries[handle] = Entry(name: name, key: key, lock: lock)
        }
        return NewDeviceKey(handle: handle, publicKey: Array(key.publicKey.x963Representation))
    }

    /// Says nothing: a signature will.
    public func check(_ handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) throws {}

    /// Has the person verified, and signs.
    public func sign(_ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock)
        async throws
        -> [UInt8]
    {
        let entry = try self.entry(handle, name)
        switch (entry.lock, unlocking) {
        case (.none, .none): break
        case (.secret(let secret), .secret(let typed)):
            guard secret == typed else { throw DeviceKeyError.wrongSecret }
        case (.system(let factor, _, let allowingPasscode), .system(let prompt)):
            let reading = try await self.reading(factor, prompt, allowingPasscode)
            guard reading == .match else { throw DeviceKeyError.unverified(reading) }
        default: throw DeviceKeyError.closed
        }
        return Array(try entry.key.signature(for: message).rawRepresentation)
    }

    /// Another secret for the same key, under another handle.
    public func relock(_ handle: [UInt8], of name: DeviceKeyName, from old: SecretBytes, to new: SecretBytes) throws
        -> [UInt8]
    {
        let entry = try self.entry(handle, name)
        guard case .secret(let secret) = entry.lock else { throw DeviceKeyError.closed }
        guard secret == old else { throw DeviceKeyError.wrongSecret }
        let other = RandomSource.system.bytes(16)
        self.lock.withLock { self.entries[other] = Entry(name: name, key: entry.key, lock: .secret(new)) }
        return other
    }

    /// Deletes a key.
    public func delete(_ handle: [UInt8], of name: DeviceKeyName) { self.lock.withLock { self.entries[handle] = nil } }

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
