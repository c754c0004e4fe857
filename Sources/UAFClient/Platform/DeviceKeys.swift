public import UAF
public import _Primitives

/// Keys for signatures (ECDSA on P-256 with SHA-256), and for agreements, that the device makes, keeps and uses.
///
/// Devices are of two kinds. Where a key lies in a file, the person is verified first, and the key is opened then. A Secure
/// Enclave or a TPM lets nobody have the key, and verifies the person as a part of each signature.
/// ``verifiesWhileSigning`` says which it is; what calls this looks at nothing else.
///
/// Duties of an implementation:
/// - No private key leaves it: what it gives out of one is a handle, which is of no use to anybody else.
/// - ``make(_:owner:lock:)`` returns only once the key survives a power cut, or is whole within its handle.
/// - A key signs only for who shows its access token, and only opened by what its lock wants; nothing tells a damaged
///   handle from another's.
/// - Making, deleting and relocking are short, ask nobody, and may come from any thread; they may block for the disk or the
///   chip. A signature may take as long as the person does.
public protocol DeviceKeys: Sendable {
    /// What protects the keys against whoever has the device, or a copy of its storage: it chooses the models' AAIDs.
    var keyStore: AuthenticatorModel.KeyStore { get }

    /// Whether a signature itself has the person verified: the operating system's dialog shows while it waits, and a wrong
    /// PIN is found out by it. Without, ``check(_:of:unlocking:)`` finds that out before, and the operating system has been
    /// asked when a signature is wanted.
    var verifiesWhileSigning: Bool { get }

    /// Makes a key. `owner` is whose it is, in the words of who uses it, for a device that keeps such a name.
    ///
    /// Throws ``DeviceKeyError`` `noRoom` and ``StorageError``; no key is left then.
    func make(_ name: DeviceKeyName, owner: String, lock: KeyLock) throws -> NewDeviceKey

    /// Whether a key opens, as far as that can be told without a signature: where keys verify while they sign, it does.
    ///
    /// Throws ``DeviceKeyError`` (`wrongSecret`, `closed`, `gone`) and ``StorageError``.
    func check(_ handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) throws

    /// Signs: the two numbers of the signature, 32 bytes each (UAF Registry, ALG_SIGN_SECP256R1_ECDSA_SHA256_RAW).
    ///
    /// Throws ``DeviceKeyError``, of which `unverified` where it has asked the operating system; ``SensorError``,
    /// ``StorageError``, and `CancellationError` when the task is cancelled.
    func sign(_ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) async throws
        -> [UInt8]

    /// Attests a key by signing what is said of it; as ``sign(_:with:of:unlocking:)`` otherwise. Throws ``DeviceKeyError``
    /// `unattested` for a type that it has nothing for.
    func attest(
        _ message: [UInt8], as type: AttestationType, with handle: [UInt8], of name: DeviceKeyName,
        unlocking: KeyUnlock
    ) async throws -> Attestation

    /// Puts another secret in the place of the one that opens a key, and returns the handle from now on. The old one holds
    /// until the new handle is kept. Throws as ``check(_:of:unlocking:)`` does.
    func relock(_ handle: [UInt8], of name: DeviceKeyName, from old: SecretBytes, to new: SecretBytes) throws -> [UInt8]

    /// Makes a key for agreements (ECDH on P-256), which nothing locks. Throws as ``make(_:owner:lock:)`` does.
    func makeAgreementKey(_ name: DeviceKeyName) throws -> NewDeviceKey

    /// What a key for agreements agrees on with a point of P-256, uncompressed: the coordinate x, 32 bytes. Throws
    /// ``DeviceKeyError``: `closed`, also for what is no such point, and `gone`; and ``StorageError``.
    func agree(with point: [UInt8], by handle: [UInt8], of name: DeviceKeyName) throws -> SecretBytes

    /// Deletes a key for good; nothing happens where there is none. Throws ``StorageError``.
    func delete(_ handle: [UInt8], of name: DeviceKeyName) throws
}

extension DeviceKeys {
    /// By the key itself (basic surrogate, UAF Authenticator Commands 1.1): what a device without an attestation key can.
    public func attest(
        _ message: [UInt8], as type: AttestationType, with handle: [UInt8], of name: DeviceKeyName,
        unlocking: KeyUnlock
    ) async throws -> Attestation {
        guard type == .basicSurrogate else { throw DeviceKeyError.unattested }
        return Attestation(
            type: type, signature: try await self.sign(message, with: handle, of: name, unlocking: unlocking))
    }
}

/// What names a key of the device, and who may use it.
public struct DeviceKeyName: Hashable, Sendable {
    /// What kind of key it is, such as the AAID of its model: the same for all of its kind.
    public let kind: String
    /// Which one of its kind: unguessable, and never used for another key.
    public let id: [UInt8]
    /// What whoever uses the key has to show (UAF's KHAccessToken): 32 bytes.
    public let accessToken: [UInt8]

    /// A name.
    public init(kind: String, id: [UInt8], accessToken: [UInt8]) {
        self.kind = kind
        self.id = id
        self.accessToken = accessToken
    }
}

/// What a key is locked by, for its life.
public enum KeyLock: Sendable {
    /// By nothing: it signs for whoever has the device.
    case none
    /// By a secret that a person types, after the work that makes guessing it slow.
    case secret(SecretBytes)
    /// By what the operating system judges: its finger, face or passcode. With `endingWithEnrolment` the key ends when
    /// another set is enrolled; with `allowingPasscode` the device's passcode may take the place of finger or face.
    case system(AuthenticatorModel.Factor, endingWithEnrolment: Bool, allowingPasscode: Bool)
}

/// What opens a key for one signature.
public enum KeyUnlock: Sendable {
    /// Nothing is needed.
    case none
    /// The secret that the person has typed, after the same work as for the lock.
    case secret(SecretBytes)
    /// The operating system. Keys that verify while they sign have it ask now, in a dialog that shows this; for the others
    /// it has said yes.
    case system(SystemPrompt)
}

/// A key that was just made.
public struct NewDeviceKey: Sendable {
    /// What the device finds the key by again, or the key itself under its lock. Kept with what is known of the key.
    public let handle: [UInt8]
    /// The public half: an uncompressed point on P-256 (SEC 1, 65 bytes).
    public let publicKey: [UInt8]

    /// A key.
    public init(handle: [UInt8], publicKey: [UInt8]) {
        self.handle = handle
        self.publicKey = publicKey
    }
}

/// Why a key was not made or has not signed.
public enum DeviceKeyError: Error, Hashable, Sendable {
    /// The secret is another one.
    case wrongSecret
    /// It does not open: damaged, another's, or not for this access token.
    case closed
    /// The key is gone for good, such as with the fingers that were enrolled when it was made.
    case gone
    /// There is no room for another key.
    case noRoom
    /// It cannot attest so.
    case unattested
    /// The operating system was asked, and has not said yes: the reading is none that matches.
    case unverified(BiometricReading)
}
