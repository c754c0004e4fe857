public import Countersign
import Foundation
import UAFClient
public import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A store for development of what a sign-in keeps: files as those of ``EncryptedFileStorage``, with the key beside them,
/// that several processes of one app use at once.
///
/// Its folder is its own: another process that wants it as an ``EncryptedFileStorage`` is refused.
public final class AppFileStorage: SignInStorage {
    private let files: EncryptedFileStorage
    private let directory: String

    /// Always true: see ``EncryptedFileStorage``.
    public var isDevelopmentStore: Bool { true }

    /// Opens the store in a folder, which is made with its key where it is not there yet.
    ///
    /// Throws ``StorageError``: `inUse` while a process has the folder for itself, `corrupt` where values are there without
    /// their key, `unavailable` where the key file can be read by others or the disk fails.
    public convenience init(directory: String, random: RandomSource = .system) throws {
        try self.init(
            directory: directory, keptKey: .inFile(EncryptedFileStorage.keyFile(in: directory)), random: random)
    }

    init(directory: String, keptKey: KeptKey, random: RandomSource) throws {
        self.files = try EncryptedFileStorage(
            directory: directory, keptKey: keptKey, isShared: true, random: random)
        self.directory = directory
    }

    /// The value of that name; see ``SignInStorage``.
    public func read(_ name: String) throws -> [UInt8]? { try self.files.read(name) }
    /// Sets a value durably; see ``SignInStorage``.
    public func write(_ value: [UInt8], to name: String) throws { try self.files.write(value, to: name) }
    /// Removes a value durably; see ``SignInStorage``.
    public func remove(_ name: String) throws { try self.files.remove(name) }
    /// Removes every value, durably; the key stays.
    public func removeAll() throws { try self.files.removeAll() }

    /// Runs `body` alone under that name; see ``SignInStorage``. The lock is the kernel's, on a file of that name.
    public func withLock<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async throws
        -> Value
    {
        try EncryptedFileStorage.checkName(name)
        let file = try EncryptedFileStorage.lockFile("\(self.directory)/\(name).lock")
        defer { close(file) }
        // The kernel has no waiting but that of a thread, which nobody could cancel.
        while try !EncryptedFileStorage.take(file) { try await Task.sleep(for: .milliseconds(20)) }
        try Task.checkCancellation()
        return try await body()
    }
}

/// A mark in a file, among the app's own files that go with it.
public struct FileInstallationMark: InstallationMark {
    private let path: String

    /// A mark at a path: not in the folder of a store that outlives the app.
    public init(path: String) { self.path = path }

    /// Whether the file is there. Throws ``StorageError`` `locked` where its folder cannot be looked into.
    public func isSet() throws -> Bool {
        if access(self.path, F_OK) == 0 { return true }
        guard [ENOENT, ENOTDIR].contains(errno) else {
            throw StorageError(.locked, "the mark of the installation cannot be read: error \(errno)")
        }
        return false
    }

    /// Makes the file, and its folder.
    public func set() throws {
        let folder = EncryptedFileStorage.folder(of: self.path)
        try EncryptedFileStorage.makeDirectory(folder)
        try EncryptedFileStorage.replace(self.path, with: [], in: folder, interruption: { _ in })
    }
}
