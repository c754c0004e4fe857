public import UAF
public import _Primitives

/// Keys that the device makes, stores and uses, for signatures (ECDSA on P-256 with SHA-256) and for agreements.
///
/// Devices are of two kinds. If a key is in a file, the person is verified first, and then the key is opened. A Secure
/// Enclave or a TPM never releases the key, and verifies the person as a part of each signature.
/// ``verifiesWhileSigning`` distinguishes the two kinds; callers check nothing else.
///
/// Duties of an implementation:
/// - No private key leaves the implementation. A handle is useless for anybody else.
/// - ``make(_:owner:lock:)`` returns only after the key would survive a power cut, or if the handle contains the whole
///   key.
/// - A key signs only for a caller that shows the key's access token, and only after an unlock that fits the key's
///   lock. Nothing distinguishes a damaged handle from the handle of another key.
/// - Making, deleting and relocking are short, ask no person, and may come from any thread; they may block for the disk
///   or the chip. A signature may take as long as the person needs.
public protocol DeviceKeys: Sendable {
    /// The key store, which protects the keys against a holder of the device or of a copy of its storage. The key store
    /// determines the AAIDs of the models.
    var keyStore: AuthenticatorModel.KeyStore { get }

    /// `true` if a signature itself verifies the person.
    ///
    /// The operating system's dialog then shows while the signature waits, and the signature finds out a wrong PIN. If
    /// `false`, ``check(_:of:unlocking:)`` finds out a wrong PIN before, and the operating system was already asked
    /// before the signature.
    var verifiesWhileSigning: Bool { get }

    /// Creates a key. `owner` is the user's name for the owner, for a device that stores such a name.
    ///
    /// Throws ``DeviceKeyError`` `noRoom` and ``StorageError``; no key remains then.
    func make(_ name: DeviceKeyName, owner: String, lock: KeyLock) throws -> NewDeviceKey

    /// Checks that a key opens, as far as possible without a signature. Keys that verify while they sign always pass.
    ///
    /// Throws ``DeviceKeyError`` (`wrongSecret`, `lockedOut`, `uncounted`, `closed`, `gone`) and ``StorageError``.
    func check(_ handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) throws

    /// Signs a message. Returns the two numbers of the signature, 32 bytes each (UAF Registry,
    /// ALG_SIGN_SECP256R1_ECDSA_SHA256_RAW).
    ///
    /// Throws ``DeviceKeyError``, with `unverified` if the key has asked the operating system. Also throws
    /// ``SensorError``, ``StorageError``, and `CancellationError` if the task is cancelled.
    func sign(_ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) async throws
        -> [UInt8]

    /// Attests a key by signing the statement about the key; otherwise as ``sign(_:with:of:unlocking:)``. Throws
    /// ``DeviceKeyError`` `unattested` for a type that the implementation does not support.
    func attest(
        _ message: [UInt8], as type: AttestationType, with handle: [UInt8], of name: DeviceKeyName,
        unlocking: KeyUnlock
    ) async throws -> Attestation

    /// Replaces the secret that opens a key, and returns the new handle.
    ///
    /// The old handle stays valid until the new handle is stored. Throws as ``check(_:of:unlocking:)``.
    func relock(_ handle: [UInt8], of name: DeviceKeyName, from old: SecretBytes, to new: SecretBytes) throws -> [UInt8]

    /// Creates a key for agreements (ECDH on P-256), without a lock. Throws as ``make(_:owner:lock:)``.
    func makeAgreementKey(_ name: DeviceKeyName) throws -> NewDeviceKey

    /// Returns the secret that a key agrees on with a point of P-256, uncompressed: the coordinate x, 32 bytes.
    ///
    /// Throws ``DeviceKeyError``: `closed`, also for bytes that are not such a point, and `gone`. Also throws
    /// ``StorageError``.
    func agree(with point: [UInt8], by handle: [UInt8], of name: DeviceKeyName) throws -> SecretBytes

    /// Deletes a key permanently; does nothing if the key does not exist. Throws ``StorageError``.
    func delete(_ handle: [UInt8], of name: DeviceKeyName) throws
}

extension DeviceKeys {
    /// Attests with the key itself (basic surrogate, UAF Authenticator Commands 1.1), for a device without an
    /// attestation key.
    public func attest(
        _ message: [UInt8], as type: AttestationType, with handle: [UInt8], of name: DeviceKeyName,
        unlocking: KeyUnlock
    ) async throws -> Attestation {
        guard type == .basicSurrogate else { throw DeviceKeyError.unattested }
        return Attestation(
            type: type, signature: try await self.sign(message, with: handle, of: name, unlocking: unlocking))
    }
}

/// The name of a device's key, with the right to use the key.
public struct DeviceKeyName: Hashable, Sendable {
    /// The kind of key, such as the AAID of its model: the same for all keys of the kind.
    public let kind: String
    /// The identifier within the kind: unguessable, and never used for another key.
    public let id: [UInt8]
    /// The access token that a user of the key has to show (UAF's KHAccessToken): 32 bytes.
    public let accessToken: [UInt8]

    /// Creates a name.
    public init(kind: String, id: [UInt8], accessToken: [UInt8]) {
        self.kind = kind
        self.id = id
        self.accessToken = accessToken
    }
}

/// The lock of a key, for the key's life.
public enum KeyLock: Sendable {
    /// No lock: the key signs for every holder of the device.
    case none
    /// A secret that a person types, after the work that slows down guessing.
    case secret(SecretBytes)
    /// The operating system's verification of finger, face or passcode.
    ///
    /// With `endingWithEnrolment` the key ends when another set is enrolled. With `allowingPasscode` the device's
    /// passcode may replace finger or face.
    case system(AuthenticatorModel.Factor, endingWithEnrolment: Bool, allowingPasscode: Bool)
}

/// The unlock of a key for one signature.
public enum KeyUnlock: Sendable {
    /// No unlock.
    case none
    /// The secret that the person has typed, after the same work as for the lock.
    case secret(SecretBytes)
    /// The operating system's verification.
    ///
    /// For keys that verify while they sign, the operating system asks now, in a dialog with this prompt. For other
    /// keys the operating system has already agreed.
    case system(SystemPrompt)
}

/// A new key.
public struct NewDeviceKey: Sendable {
    /// The data with which the device finds the key, or the key itself under its lock. The caller stores the handle
    /// with the record of the key.
    public let handle: [UInt8]
    /// The public half: an uncompressed point on P-256 (SEC 1, 65 bytes).
    public let publicKey: [UInt8]

    /// Creates a key from its parts.
    public init(handle: [UInt8], publicKey: [UInt8]) {
        self.handle = handle
        self.publicKey = publicKey
    }
}

/// The reason why a key was not made or has not signed.
public enum DeviceKeyError: Error, Hashable, Sendable {
    /// The secret is wrong.
    case wrongSecret
    /// The key store judges no secret for some time, after wrong ones by any program of the device. The secret was not
    /// judged, and the store's time, not the person, ends this lock.
    case lockedOut
    /// The key store has failed before it judged the secret, or after it found the secret right. The attempt counts for
    /// nothing, and the operation ends with the error of the store.
    case uncounted(StorageError)
    /// The key does not open: damaged, another key's handle, or the wrong access token.
    case closed
    /// The key is gone permanently, for example with the fingers that were enrolled at its creation.
    case gone
    /// The device has no room for another key.
    case noRoom
    /// The device does not support this attestation.
    case unattested
    /// The operating system was asked and did not agree. The reading is never a match.
    case unverified(BiometricReading)
}

extension DeviceKeyError {
    /// `true` if the key store has not found the secret wrong, so that the person's attempt is given back.
    var takesNoAttempt: Bool {
        switch self {
        case .lockedOut, .uncounted: true
        case .wrongSecret, .closed, .gone, .noRoom, .unattested, .unverified: false
        }
    }
}
