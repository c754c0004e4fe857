/// The storage of a sign-in: named values of an app that survive the end of the process, a reboot and a power cut.
///
/// The storage differs from ``SecureStorage``, which a single process owns: an app, its extensions and its background
/// tasks use this storage at the same time.
///
/// Duties of an implementation:
/// - Values stay on this device: they are in no backup, and nothing brings them to another device.
/// - Values are encrypted at rest and bound to their name, so that a value cannot be put in another value's place.
/// - ``write(_:to:)`` returns only once the value would survive a power cut. A crash in between leaves the old value or
///   the new value, never a part. Killing the app must not sign the person out; this depends on the rule.
/// - A value that one process has written can be read by the others.
/// - While the operating system protects the data, for example on a device that was not unlocked since its start, all
///   three functions throw ``StorageError`` `locked`. An implementation never reports an existing value as missing: the
///   SDK would begin again, and the existing value would be lost.
/// - The storage accepts values of 64 KiB, and names of letters, digits and `-`.
public protocol SignInStorage: Sendable {
    /// `true` if this is a store for development, whose values can be taken from the device's disk.
    var isDevelopmentStore: Bool { get }

    /// Returns the value of the name, or `nil` if no value exists. Throws ``StorageError``.
    func read(_ name: String) throws -> [UInt8]?

    /// Sets the value of the name durably. Throws ``StorageError``; the storage then holds the old value or the new
    /// value.
    func write(_ value: [UInt8], to name: String) throws

    /// Removes the value of the name durably; does nothing if no value exists. Throws ``StorageError``.
    func remove(_ name: String) throws

    /// Runs `body` while no other body runs under the same lock name, in this process or in another process with the
    /// same storage. The function waits as long as necessary. The lock of a killed process is free again.
    ///
    /// Throws ``StorageError``, `CancellationError` if the task was cancelled while waiting, and the errors of `body`.
    func withLock<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async throws -> Value
}

/// A mark that is gone when the app was removed from the device. The mark identifies the first start after an install,
/// because secure storage may outlive the app: Apple's Keychain remains after the removal.
public protocol InstallationMark: Sendable {
    /// Returns `true` if the app has been started since its installation.
    ///
    /// Throws ``StorageError``: `locked` while the operating system protects the data, so that the answer is unknown.
    /// `false` deletes the kept data, so an app that is launched in the background before the first unlock must not
    /// return `false`.
    func isSet() throws -> Bool

    /// Notes durably that the app has been started. Throws ``StorageError``.
    func set() throws
}
