import Crypto
import Foundation
public import UAFClient
public import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A store for development: one encrypted file for each value, and the key in a file beside the values.
///
/// The store survives crashes and power cuts, keeps other users of the machine out, and admits one process at a time.
/// The store does not protect against an attacker who can read the disk as the same user, because this attacker has the
/// key too. The store does not protect against an older copy of the folder either. Such protection needs hardware.
///
/// Each value is sealed with AES-GCM under a 256-bit key and bound to its name. A write creates a new file, syncs the
/// file, renames the file over the old file, and syncs the folder.
public final class EncryptedFileStorage: SecureStorage {
    /// A point in a write at which a test cuts the power.
    package enum Step: CaseIterable, Sendable {
        case temporaryFileWritten, temporaryFileSynced, renamed, folderSynced
    }

    private static let label = Array("countersign file storage/1".utf8)
    private static let suffix = ".sealed"
    /// The additional ending of a file's name until the file is complete.
    private static let unfinished = ".new"
    private static let maximumLength = 1 << 20

    private let directory: String
    private let key: SymmetricKey
    private let random: RandomSource
    private let lockFile: Int32
    /// The file that processes with a shared folder lock while they write; `nil` if one process has the folder for
    /// itself.
    private let writingFile: Int32?
    private let interruption: @Sendable (Step) throws -> Void
    private let writing = NSLock()

    /// Always `true`: see the type's description.
    public var isDevelopmentStore: Bool { true }

    /// Opens the store in a folder, and creates the folder and its key if necessary.
    ///
    /// The default `keyFile` is `key` in the folder. Throws ``StorageError``: `inUse` while another store, in this
    /// process or another, has the folder open, `corrupt` if values exist without their key, `unavailable` if other
    /// users can read the key file or the disk fails.
    public convenience init(directory: String, keyFile: String? = nil, random: RandomSource = .system) throws {
        try self.init(directory: directory, keyFile: keyFile, random: random, interruption: { _ in })
    }

    package convenience init(
        directory: String, keyFile: String? = nil, random: RandomSource = .system,
        interruption: @escaping @Sendable (Step) throws -> Void
    ) throws {
        try self.init(
            directory: directory, keptKey: .inFile(keyFile ?? Self.keyFile(in: directory)), isShared: false,
            random: random, interruption: interruption)
    }

    /// Opens the store.
    ///
    /// - Parameters:
    ///   - keptKey: The place of the key. The initializer reads the key on this thread, and creates the key if
    ///     necessary.
    ///   - isShared: `true` if several processes may have the folder open at once; their writes wait for each other.
    ///     `false` if this process has the folder for itself.
    ///
    /// Throws ``StorageError`` `inUse` if another store, in this process or another, has the folder open in the other
    /// way, or for itself; and the errors of reading and storing the key.
    init(
        directory: String, keptKey: KeptKey, isShared: Bool, random: RandomSource = .system,
        interruption: @escaping @Sendable (Step) throws -> Void = { _ in }
    ) throws {
        try Self.makeDirectory(directory)
        let lockFile = try Self.lockFile(directory + "/lock")
        guard flock(lockFile, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
            close(lockFile)
            throw StorageError(.inUse, "another process has the folder open")
        }
        var writingFile: Int32?
        do {
            if isShared { writingFile = try Self.lockFile(directory + "/writing") }
            // If two processes start at once, one of them makes the key. A process with a key never waits for a process
            // that is asking the person for the key.
            self.key =
                try Self.key(keptKey)
                ?? Self.whileHolding(writingFile) {
                    try Self.key(keptKey) ?? Self.newKey(keptKey, directory: directory, random: random)
                }
        } catch {
            close(lockFile)
            if let writingFile { close(writingFile) }
            throw error
        }
        self.writingFile = writingFile
        self.directory = directory
        self.random = random
        self.lockFile = lockFile
        self.interruption = interruption
    }

    deinit {
        // Closing alone is not enough: a process that this process is just starting would hold the lock until it has
        // become another program.
        flock(self.lockFile, LOCK_UN)
        close(self.lockFile)
        if let writingFile { close(writingFile) }
    }

    /// Returns the value with the name; see ``SecureStorage``.
    public func read(_ name: String) throws -> [UInt8]? {
        guard let sealed = try Self.contents(of: try self.path(name), limit: Self.maximumLength) else { return nil }
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let value = try? AES.GCM.open(box, using: self.key, authenticating: Self.label + Array(name.utf8))
        else { throw StorageError(.corrupt, "\(name) does not open") }
        return Array(value)
    }

    /// Sets a value durably; see ``SecureStorage``.
    public func write(_ value: [UInt8], to name: String) throws {
        let path = try self.path(name)
        guard value.count < Self.maximumLength - 64 else { throw StorageError(.unavailable, "\(name) is too long") }
        let nonce = try AES.GCM.Nonce(data: self.random.bytes(12))
        let sealed = try AES.GCM.seal(
            value, using: self.key, nonce: nonce, authenticating: Self.label + Array(name.utf8))
        guard let bytes = sealed.combined else { throw StorageError(.unavailable, "sealing failed") }
        try self.whileWriting {
            try Self.replace(path, with: Array(bytes), in: self.directory, interruption: self.interruption)
        }
    }

    /// Removes a value durably; see ``SecureStorage``.
    public func remove(_ name: String) throws {
        let path = try self.path(name)
        try self.whileWriting {
            var isChanged = false
            // The remains of an interrupted write go first: the file has the same name, and could otherwise still be
            // read.
            for file in [path + Self.unfinished, path] {
                guard unlink(file) == 0 else {
                    guard errno == ENOENT else { throw Self.failure("remove \(name)") }
                    continue
                }
                isChanged = true
            }
            if isChanged { try Self.syncDirectory(self.directory) }
        }
    }

    /// Removes every value, durably; the key stays. For the wiping of a phone.
    public func removeAll() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: self.directory)
        for ending in [Self.suffix + Self.unfinished, Self.suffix] {
            for name in names where name.hasSuffix(ending) { try self.remove(String(name.dropLast(ending.count))) }
        }
    }

    private func whileWriting(_ body: () throws -> Void) throws {
        try self.writing.withLock { try Self.whileHolding(self.writingFile, body) }
    }

    private func path(_ name: String) throws -> String {
        try Self.checkName(name)
        return "\(self.directory)/\(name)\(Self.suffix)"
    }

    /// Throws if a name could be another path.
    static func checkName(_ name: String) throws {
        let allowed = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: "_")
        }
        guard allowed, (1...128).contains(name.utf8.count) else {
            throw StorageError(.unavailable, "not a name of a value")
        }
    }
}

// MARK: - Files

extension EncryptedFileStorage {
    static func makeDirectory(_ path: String) throws {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            let parent = self.folder(of: path)
            guard errno == ENOENT, !parent.isEmpty, parent != path else { throw self.failure("make the folder") }
            try self.makeDirectory(parent)
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw self.failure("make the folder") }
        }
    }

    /// Opens a file for locking.
    static func lockFile(_ path: String) throws -> Int32 {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw self.failure("open a lock") }
        return file
    }

    /// Waits for a file's lock, on this thread.
    private static func wait(for file: Int32) throws {
        while flock(file, LOCK_EX) != 0 {
            guard errno == EINTR else { throw self.failure("take a lock") }
        }
    }

    /// Takes a file's lock if the lock is free; returns `false` otherwise.
    static func take(_ file: Int32) throws -> Bool {
        if flock(file, LOCK_EX | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK || errno == EINTR else { throw self.failure("take a lock") }
        return false
    }

    private static func whileHolding<Value>(_ file: Int32?, _ body: () throws -> Value) throws -> Value {
        guard let file else { return try body() }
        try self.wait(for: file)
        defer { flock(file, LOCK_UN) }
        return try body()
    }

    private static func key(_ kept: KeptKey) throws -> SymmetricKey? {
        guard let bytes = try kept.read() else { return nil }
        guard bytes.count == 32 else { throw StorageError(.corrupt, "the key has another length") }
        return bytes.withBytes { SymmetricKey(data: $0) }
    }

    /// Creates a key for a folder without values.
    private static func newKey(_ kept: KeptKey, directory: String, random: RandomSource) throws -> SymmetricKey {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        guard !names.contains(where: { $0.hasSuffix(self.suffix) }) else {
            throw StorageError(.corrupt, "there are values, but their key is gone: remove the folder to begin anew")
        }
        let bytes = SecretBytes(random.bytes(32))
        try kept.keep(bytes)
        return bytes.withBytes { SymmetricKey(data: $0) }
    }

    /// Returns the folder of a file.
    static func folder(of path: String) -> String { (path as NSString).deletingLastPathComponent }

    /// Returns the path of a folder's key, for a key inside the folder.
    static func keyFile(in directory: String) -> String { directory + "/key" }

    static func replace(
        _ path: String, with bytes: [UInt8], in directory: String, interruption: (Step) throws -> Void
    ) throws {
        let temporary = path + Self.unfinished
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw self.failure("open a new file") }
        do {
            defer { close(file) }
            var written = 0
            while written < bytes.count {
                let count = bytes[written...].withUnsafeBytes { Self.systemWrite(file, $0.baseAddress, $0.count) }
                guard count >= 0 || errno == EINTR else { throw self.failure("write") }
                written += max(0, count)
            }
            try interruption(.temporaryFileWritten)
            guard fsync(file) == 0 else { throw self.failure("sync a file") }
        }
        try interruption(.temporaryFileSynced)
        guard rename(temporary, path) == 0 else { throw self.failure("rename") }
        try interruption(.renamed)
        try self.syncDirectory(directory)
        try interruption(.folderSynced)
    }

    private static func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Glibc)
            Glibc.write(file, bytes, count)
        #elseif canImport(Musl)
            Musl.write(file, bytes, count)
        #else
            Darwin.write(file, bytes, count)
        #endif
    }

    private static func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        #if canImport(Glibc)
            Glibc.read(file, bytes, count)
        #elseif canImport(Musl)
            Musl.read(file, bytes, count)
        #else
            Darwin.read(file, bytes, count)
        #endif
    }

    private static func syncDirectory(_ path: String) throws {
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw self.failure("open the folder") }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw self.failure("sync the folder") }
    }

    static func contents(of path: String, limit: Int, isKey: Bool = false) throws -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw self.failure("open a file")
        }
        defer { close(file) }
        if isKey {
            var status = stat()
            guard fstat(file, &status) == 0 else { throw self.failure("look at the key file") }
            guard status.st_mode & 0o077 == 0, status.st_uid == geteuid() else {
                throw StorageError(.unavailable, "the key file can be read by others: chmod 600")
            }
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = buffer.withUnsafeMutableBytes { self.systemRead(file, $0.baseAddress, $0.count) }
            if count == 0 { return bytes }
            guard count > 0 || errno == EINTR else { throw self.failure("read") }
            bytes.append(contentsOf: buffer.prefix(max(0, count)))
            guard bytes.count <= limit else { throw StorageError(.corrupt, "a file is too long") }
        }
    }

    private static func failure(_ what: String) -> StorageError {
        StorageError(.unavailable, "cannot \(what): \(String(cString: strerror(errno)))")
    }
}

extension KeptKey {
    /// Returns a key in a file that only its owner can read.
    static func inFile(_ path: String) -> KeptKey {
        KeptKey(
            read: { try EncryptedFileStorage.contents(of: path, limit: 64, isKey: true).map { SecretBytes($0) } },
            keep: { key in
                let folder = EncryptedFileStorage.folder(of: path)
                try EncryptedFileStorage.makeDirectory(folder)
                try EncryptedFileStorage.replace(
                    path, with: key.withBytes { Array($0) }, in: folder, interruption: { _ in })
            })
    }
}
