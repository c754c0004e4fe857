public import UAFClient
public import _Primitives

/// The fingers or faces that open guarded data.
public enum BiometricGuard: String, Hashable, Sendable, CaseIterable {
    /// The fingers or faces that are enrolled when the data is stored. Adding or removing a finger or face later ends
    /// the access: an attacker who knows the device's passcode can add a finger, but gains nothing.
    case currentSet
    /// Any finger or face that is enrolled when the data is opened.
    case anySet
}

/// A store for short secrets that the device releases only for a finger or a face.
///
/// The SDK encrypts guarded data to a key whose private half is kept in this store. The data can therefore be of any
/// length and be renewed without asking the person, while the stored secret is short: some devices accept at most 384
/// bytes.
///
/// Duties of an implementation:
/// - A secret leaves only through ``release(_:_:)``, and only after a match that the operating system has checked.
/// - Secrets stay on this device, are gone when the device has no passcode any more, and are in no backup.
/// - ``isEnrolled()``, ``contains(_:)`` and ``keep(_:as:guardedBy:)`` show nothing to the person.
public protocol BiometricKeys: Sendable {
    /// Returns `true` if a finger or a face is enrolled, so that data can be guarded. Throws ``SensorError``.
    func isEnrolled() async throws -> Bool

    /// Stores a secret of at most 384 bytes durably, in place of an earlier secret of the same name.
    ///
    /// Throws ``StorageError``, and ``SensorError`` if the device does not report the enrolled fingers or faces.
    func keep(_ secret: SecretBytes, as name: String, guardedBy guardian: BiometricGuard) async throws

    /// Returns `true` if a secret of the name exists, opened or not. The function uses no dialog and no sensor. Throws
    /// ``StorageError``.
    func contains(_ name: String) throws -> Bool

    /// Asks the operating system for a finger or a face, once, in a dialog that shows `prompt`.
    ///
    /// Throws ``StorageError``, ``SensorError``, and `CancellationError` when the task is cancelled.
    func release(_ name: String, _ prompt: SystemPrompt) async throws -> BiometricRelease

    /// Removes the secret of the name durably; does nothing if no such secret exists. Throws ``StorageError``.
    func remove(_ name: String) throws
}

/// The result of asking for a guarded secret.
public enum BiometricRelease: Sendable, Equatable {
    /// The secret, after a match.
    case released(SecretBytes)
    /// The person gave up. The secret stays.
    case cancelled
    /// The finger or face is not enrolled, or was unreadable; `hint` is the device's advice in plain words. The secret
    /// stays.
    case noMatch(hint: String)
    /// The sensor is locked after too many failed readings. The person unlocks the sensor with the device's own
    /// passcode. The secret stays.
    case lockedOut
    /// The enrolled fingers or faces have changed since the secret was stored. The secret is gone.
    case changed
    /// No such secret exists.
    case missing
}
