/// Named values of an app that survive the process, the reboot and the power cut: what a sign-in keeps.
///
/// It is not ``SecureStorage``, of which one process has the whole: an app, its extensions and its background tasks use this
/// one at once.
///
/// Duties of an implementation:
/// - Values stay on this device: they are in no backup, and nothing brings them to another device.
/// - Values are encrypted at rest and bound to their name, so that one cannot be put in another's place.
/// - ``write(_:to:)`` returns only once the value would survive a power cut, and a crash in between leaves the old value
///   or the new one, never a part. That nobody is signed out by an app that was killed rests on it.
/// - What one process has written the others read.
/// - While the operating system protects the data, as on a device that was not unlocked since its start, all three throw
///   ``StorageError`` `locked`. A value that is there is never said to be none: the SDK would begin anew, and what was there
///   would be lost.
/// - It takes values of 64 KiB, and names of letters, digits and `-`.
public protocol SignInStorage: Sendable {
    /// Whether this is a store for development, whose values a reader of the device's disk can take.
    var isDevelopmentStore: Bool { get }

    /// The value of that name, or `nil` where there is none. Throws ``StorageError``.
    func read(_ name: String) throws -> [UInt8]?

    /// Sets the value of that name, durably. Throws ``StorageError``; the old value is then still there, or the new one.
    func write(_ value: [UInt8], to name: String) throws

    /// Removes the value of that name, durably; nothing happens where there is none. Throws ``StorageError``.
    func remove(_ name: String) throws

    /// Runs `body` while nobody else runs one under that name, in this process or in another one that uses the storage. It
    /// waits for as long as that takes. The lock of a process that is killed is free again.
    ///
    /// Throws ``StorageError``, `CancellationError` where the task was cancelled while it waited, and what `body` throws.
    func withLock<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async throws -> Value
}

/// A mark that is gone when the app was removed from the device, where its secure storage may stay behind: Apple's Keychain
/// outlives the app that wrote into it. By it the first start after an install is known.
public protocol InstallationMark: Sendable {
    /// Whether the app has been started since it was installed.
    ///
    /// Throws ``StorageError``: `locked` while the operating system protects the data, so that nobody can tell. `false` wipes
    /// what is kept, so an app that is launched in the background before the first unlock must not answer it.
    func isSet() throws -> Bool

    /// Notes that it has, durably. Throws ``StorageError``.
    func set() throws
}
