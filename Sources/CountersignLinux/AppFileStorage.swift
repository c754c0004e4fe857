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

/// A development store for the data of a sign-in: encrypted files like the files of ``EncryptedFileStorage``, with the
/// key beside the files. Several processes of one app can use the store at once.
///
/// The store needs its own folder. While a store of one of the two types has the folder open, the folder cannot be
/// opened as the other type.
public final class AppFileStorage: SignInStorage {
    private let files: EncryptedFileStorage
    private let directory: String

    /// Always `true`: see ``EncryptedFileStorage``.
    public var isDevelopmentStore: Bool { true }

    /// Opens the store in a folder, and creates the folder and its key if necessary.
    ///
    /// Throws ``StorageError``: `inUse` while a process has the folder for itself, `corrupt` if values exist without
    /// their key, `unavailable` if other users can read the key file or the disk fails.
    public convenience init(directory: String, random: RandomSource = .system) throws {
        try self.init(
            directory: directory, keptKey: .inFile(EncryptedFileStorage.keyFile(in: directory)), random: random)
    }

    init(directory: String, keptKey: KeptKey, random: RandomSource) throws {
        self.files = try EncryptedFileStorage(
            directory: directory, keptKey: keptKey, isShared: true, random: random)
        self.directory = directory
    }

    /// Returns the value with the name; see ``SignInStorage``.
    public func read(_ name: String) throws -> [UInt8]? { try self.files.read(name) }
    /// Sets a value durably; see ``SignInStorage``.
    public func write(_ value: [UInt8], to name: String) throws { try self.files.write(value, to: name) }
    /// Removes a value durably; see ``SignInStorage``.
    public func remove(_ name: String) throws { try self.files.remove(name) }
    /// Removes every value, durably; the key stays.
    public func removeAll() throws { try self.files.removeAll() }

    /// Runs `body` alone under the name; see ``SignInStorage``. The lock is a kernel lock on a file of this name.
    public func withLock<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async throws
        -> Value
    {
        try EncryptedFileStorage.checkName(name)
        let file = try EncryptedFileStorage.lockFile("\(self.directory)/\(name).lock")
        defer { close(file) }
        // The kernel can wait only by blocking a thread, and nobody could cancel such a wait.
        while try !EncryptedFileStorage.take(file) { try await Task.sleep(for: .milliseconds(20)) }
        try Task.checkCancellation()
        return try await body()
    }
}

/// An installation mark in a file, among the app's own files that disappear with the app.
public struct FileInstallationMark: InstallationMark {
    private let path: String

    /// Creates a mark at a path. The path must not be in the folder of a store that outlives the app.
    public init(path: String) { self.path = path }

    /// Returns `true` if the file exists. Throws ``StorageError`` `locked` if the folder cannot be read.
    public func isSet() throws -> Bool {
        if access(self.path, F_OK) == 0 { return true }
        guard [ENOENT, ENOTDIR].contains(errno) else {
            throw StorageError(.locked, "the mark of the installation cannot be read: error \(errno)")
        }
        return false
    }

    /// Creates the file, and its folder.
    public func set() throws {
        let folder = EncryptedFileStorage.folder(of: self.path)
        try EncryptedFileStorage.makeDirectory(folder)
        try EncryptedFileStorage.replace(self.path, with: [], in: folder, interruption: { _ in })
    }
}
