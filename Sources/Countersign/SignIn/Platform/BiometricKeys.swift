public import UAFClient
public import _Primitives

/// Which fingers or faces open what is guarded.
public enum BiometricGuard: String, Hashable, Sendable, CaseIterable {
    /// Those that are enrolled when it is kept. One that is added or removed later ends it: whoever knows the device's
    /// passcode can add a finger, and has nothing by that.
    case currentSet
    /// Any that is enrolled when it is opened.
    case anySet
}

/// Short secrets that the device gives out only for a finger or a face.
///
/// What the SDK guards it encrypts under a key whose private half is kept here, so it can be of any length and be renewed
/// without asking the person, while what is kept here is short: some devices take no more than 384 bytes.
///
/// Duties of an implementation:
/// - A secret leaves by ``release(_:_:)`` alone, and only after a match that the operating system has judged.
/// - Secrets stay on this device, are gone when it has no passcode any more, and are in no backup.
/// - ``isEnrolled()``, ``contains(_:)`` and ``keep(_:as:guardedBy:)`` show nothing to the person.
public protocol BiometricKeys: Sendable {
    /// Whether a finger or a face is enrolled, so that there is something to guard with. Throws ``SensorError``.
    func isEnrolled() async throws -> Bool

    /// Keeps a secret of at most 384 bytes in the place of an earlier one of that name, durably.
    ///
    /// Throws ``StorageError``, and ``SensorError`` where the device does not say what is enrolled.
    func keep(_ secret: SecretBytes, as name: String, guardedBy guardian: BiometricGuard) async throws

    /// Whether there is a secret of that name, opened or not: no dialog, no sensor. Throws ``StorageError``.
    func contains(_ name: String) throws -> Bool

    /// Has the operating system ask for a finger or a face, once, in a dialog that shows `prompt`.
    ///
    /// Throws ``StorageError``, ``SensorError``, and `CancellationError` when the task is cancelled.
    func release(_ name: String, _ prompt: SystemPrompt) async throws -> BiometricRelease

    /// Removes the secret of that name, durably; nothing happens where there is none. Throws ``StorageError``.
    func remove(_ name: String) throws
}

/// What came of asking for a guarded secret.
public enum BiometricRelease: Sendable, Equatable {
    /// The secret, after a match.
    case released(SecretBytes)
    /// The person gave up. The secret stays.
    case cancelled
    /// Not an enrolled finger or face, or unreadable; `hint` is the device's advice in plain words. The secret stays.
    case noMatch(hint: String)
    /// Too many misses: the person unlocks the sensor with the device's own passcode. The secret stays.
    case lockedOut
    /// The enrolled fingers or faces are others than those that it was kept for. The secret is gone.
    case changed
    /// There is no such secret.
    case missing
}
