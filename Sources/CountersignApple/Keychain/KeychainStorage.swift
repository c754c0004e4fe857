public import Countersign
import _Primitives

/// The storage of the operations in the Keychain. The process that opens the storage has it for itself.
///
/// The values are readable from the first unlock after a start on, stay on this device, and outlive the app: an app that
/// is installed again finds its accounts. An app that does not want its accounts back forgets them at its first start
/// (`LocalData.forget(_:)`).
public final class KeychainStorage: SecureStorage {
    private let values: KeychainValues
    /// Held as long as the storage is open.
    private let lock: FileLock

    /// Always `false`: the key of the values is in the Secure Enclave.
    public var isDevelopmentStore: Bool { false }

    /// Opens the storage. `lockPath` is a file in a folder of the app alone.
    ///
    /// Throws ``StorageError``: `inUse` while another process has the storage.
    package init(_ keychain: any Keychain, service: String, lockPath: String) throws {
        guard let lock = try FileLock(taking: lockPath) else {
            throw StorageError(.inUse, "another process has the storage open")
        }
        self.lock = lock
        self.values = KeychainValues(keychain, service: service)
    }

    /// Returns the value with the name; see `SecureStorage`.
    public func read(_ name: String) throws -> [UInt8]? { try self.values.read(name) }
    /// Sets a value durably; see `SecureStorage`.
    public func write(_ value: [UInt8], to name: String) throws { try self.values.write(value, to: name) }
    /// Removes a value durably; see `SecureStorage`.
    public func remove(_ name: String) throws { try self.values.remove(name) }
}

/// The storage of a sign-in in the Keychain, for an app with its extensions, or for the apps of one maker.
///
/// All processes that share the storage have the same access group of the Keychain and the same folder for locks, in an
/// app group. The system ends an app that is suspended while it holds a lock in an app group; the lock is then free
/// again.
public struct SharedKeychainStorage: SignInStorage {
    private let values: KeychainValues
    private let lockFolder: String

    /// Always `false`: the key of the values is in the Secure Enclave.
    public var isDevelopmentStore: Bool { false }

    /// Opens the storage. `lockFolder` is a folder that exists.
    package init(_ keychain: any Keychain, service: String, lockFolder: String) {
        self.values = KeychainValues(keychain, service: service)
        self.lockFolder = lockFolder
    }

    /// Returns the value with the name; see `SignInStorage`.
    public func read(_ name: String) throws -> [UInt8]? { try self.values.read(name) }
    /// Sets a value durably; see `SignInStorage`.
    public func write(_ value: [UInt8], to name: String) throws { try self.values.write(value, to: name) }
    /// Removes a value durably; see `SignInStorage`.
    public func remove(_ name: String) throws { try self.values.remove(name) }

    /// Runs `body` alone under the name; see `SignInStorage`. The lock is a kernel lock on a file of this name.
    ///
    /// Throws ``StorageError`` `unavailable` for a name with other characters than letters, digits and `-`.
    public func withLock<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async throws
        -> Value
    {
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isInName) else {
            throw StorageError(.unavailable, "not a name of a lock")
        }
        let path = "\(self.lockFolder)/\(name).lock"
        // The kernel can wait only by blocking a thread, and nobody could cancel such a wait.
        var lock = try FileLock(taking: path)
        while lock == nil {
            try await Task.sleep(for: .milliseconds(20))
            lock = try FileLock(taking: path)
        }
        try Task.checkCancellation()
        defer { withExtendedLifetime(lock) {} }
        return try await body()
    }

    private static func isInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
