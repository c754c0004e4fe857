import Foundation
import SQLiteStore
import Sealing
import _Primitives

/// The file with the key-encryption keys.
///
/// Each key is 32 random bytes, as one line of base64url. Only the file's owner can read the file. The first key seals
/// everything. The keys below are former keys, as long as they still seal a value.
///
/// Without the keys nothing in the data folder can be opened. So the file never lies in the data folder, and never goes
/// into a backup of the folder.
struct KeyFile {
    let path: String
    /// The folder in which the service manager puts credentials. The copies may show the mode 0440: the group's bits
    /// then stand for an access list that lets in the service's user and nobody else.
    var credentialsFolder = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"]

    /// Reads the keys. If the file does not exist, makes the file with a new key, provided `mayCreate` says that no
    /// other key has sealed anything yet. Throws ``CommandFailure`` if the file lies in the data folder, cannot be read
    /// or made, or does not exist and may not be made.
    func keys(mayCreate: Bool, dataFolder: String, random: RandomSource = .system) throws -> KeyRing {
        // A link in the path, or a file that is a link, counts as its target. The file may still be missing.
        let folder = Self.resolved(dataFolder) + "/"
        let isInside = [Self.resolved(self.folder) + "/", Self.resolved(self.path)].contains { $0.hasPrefix(folder) }
        guard !isInside else {
            throw CommandFailure(
                .failed, "the key file \(self.path) lies in the data folder",
                remedy: "Keep it elsewhere (--key-file): a stolen or backed-up data folder must open nothing.")
        }
        if FileManager.default.fileExists(atPath: self.path) { return try self.read() }
        guard mayCreate else {
            throw CommandFailure(
                .failed,
                "the key file \(self.path) is not there, but \(dataFolder) holds a database sealed under a key",
                remedy: "Name the key file it was made with (--key-file), or another, empty data folder (--data).")
        }
        return try self.create(random: random)
    }

    /// Locks the file for this command; `nil` if the file does not exist yet.
    ///
    /// A command that changes the file, or relies on the file for minutes, needs the lock, so that the file stays as
    /// the command has read the file. Throws ``CommandFailure`` if another command has the lock. The system releases
    /// the lock when the process ends, however the process ends.
    func lock() throws -> KeyFileLock? {
        let path = Self.resolved(self.path)
        while true {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            let lock = KeyFileLock(descriptor: descriptor)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw CommandFailure(
                    .failed, "another command uses the key file \(self.path)", remedy: "Try again when it has ended.")
            }
            var (held, named) = (stat(), stat())
            // The command that had the lock before may have put another file in this place.
            guard fstat(descriptor, &held) == 0, stat(path, &named) == 0, held.st_ino == named.st_ino,
                held.st_dev == named.st_dev
            else { continue }
            return lock
        }
    }

    /// The moment of the file's last change; `nil` if the file does not exist.
    var changedAt: Timestamp? {
        var status = stat()
        guard stat(self.path, &status) == 0 else { return nil }
        return Timestamp(seconds: Int64(status.st_mtim.tv_sec))
    }

    private var folder: String { URL(fileURLWithPath: self.path).deletingLastPathComponent().path }

    private static func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

    private func read() throws -> KeyRing {
        let resolved = Self.resolved(self.path)
        let isCredential = self.credentialsFolder.map { resolved.hasPrefix(Self.resolved($0) + "/") } ?? false
        let attributes = try? FileManager.default.attributesOfItem(atPath: resolved)
        guard let mode = attributes?[.posixPermissions] as? Int, mode & (isCredential ? 0o037 : 0o077) == 0 else {
            throw CommandFailure(
                .failed, "the key file \(self.path) can be read by others",
                remedy: "chmod 600 \(self.path)")
        }
        guard let data = FileManager.default.contents(atPath: resolved) else {
            throw CommandFailure(.failed, "the key file \(self.path) cannot be read")
        }
        let keys = try String(decoding: data, as: UTF8.self).split(separator: "\n").map { line in
            guard let bytes = Base64URL.decode(line), let key = try? KeyEncryptionKey(bytes) else {
                throw self.holdsNoKey
            }
            return key
        }
        guard let newest = keys.first else { throw self.holdsNoKey }
        return KeyRing(newest, former: Array(keys.dropFirst()))
    }

    private var holdsNoKey: CommandFailure {
        CommandFailure(
            .failed, "the key file \(self.path) does not hold 32 bytes of base64url in each of its lines",
            remedy: "Restore it from where keys are kept; a new key does not open an old database.")
    }

    /// Replaces the keys in the file: completely, or not at all.
    func replace(by keys: KeyRing, random: RandomSource = .system) throws {
        let path = Self.resolved(self.path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw self.cannotBeMade() }
        let unnamed = "\(path).\(random.identifier())"
        defer { unlink(unnamed) }
        let handle = try self.newFile(unnamed)
        // The same people can read the new file as before: an operator changes the file, and the server reads the file.
        guard fchown(handle.fileDescriptor, status.st_uid, status.st_gid) == 0 else { throw self.cannotBeMade() }
        try self.write(keys, to: handle)
        guard rename(unnamed, path) == 0 else { throw self.cannotBeMade() }
        DataFolder.synchronizeFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    private func newFile(_ path: String) throws -> FileHandle {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw self.cannotBeMade() }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private func write(_ keys: KeyRing, to handle: FileHandle) throws {
        do {
            try handle.write(contentsOf: Data(keys.all.map { $0.text + "\n" }.joined().utf8))
            try handle.synchronize()
        } catch {
            throw CommandFailure(.failed, "the key file \(self.path) cannot be written: \(error)")
        }
    }

    /// Makes the file completely or not at all. The file gets its name once its bytes are on disk, and never replaces
    /// another file.
    private func create(random: RandomSource) throws -> KeyRing {
        let keys = KeyRing(KeyEncryptionKey(random: random))
        try? FileManager.default.createDirectory(
            atPath: self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let unnamed = "\(self.path).\(random.identifier())"
        defer { unlink(unnamed) }
        try self.write(keys, to: self.newFile(unnamed))
        guard link(unnamed, self.path) == 0 else {
            // Another process was first; the key of that process counts.
            if errno == EEXIST { return try self.read() }
            throw self.cannotBeMade()
        }
        DataFolder.synchronizeFolder(self.folder)
        return keys
    }

    private func cannotBeMade() -> CommandFailure {
        CommandFailure(
            .failed, "the key file \(self.path) cannot be made: \(String(cString: strerror(errno)))",
            remedy: "Name a place that this user can write to (--key-file).")
    }
}

/// The lock of a key file, held by one command alone.
final class KeyFileLock: Sendable {
    private let descriptor: Int32

    init(descriptor: Int32) { self.descriptor = descriptor }

    deinit {
        // A program that starts at this moment keeps the descriptor until the program begins, and would keep the lock
        // as long.
        flock(self.descriptor, LOCK_UN)
        _ = Foundation.close(self.descriptor)
    }
}

/// The folder that holds the database and the administration socket.
struct DataFolder {
    let path: String

    /// `true` if a database was made in the folder before.
    var holdsDatabase: Bool { FileManager.default.fileExists(atPath: self.databasePath) }

    var databasePath: String { self.path + "/countersign.sqlite" }

    /// The size of the database file in bytes.
    var databaseSize: Int64 {
        (try? FileManager.default.attributesOfItem(atPath: self.databasePath)[.size] as? Int64) ?? 0
    }

    /// The size of the database on the disk in bytes, with the writes that are not in the database's file yet.
    var databaseBytes: Int64 {
        ["", "-wal", "-shm"].reduce(0) { sum, ending in
            let size = try? FileManager.default.attributesOfItem(atPath: self.databasePath + ending)[.size] as? Int64
            return sum + (size ?? 0)
        }
    }

    /// The file that keeps the moment of the last backup.
    private var lastBackupPath: String { self.path + "/last-backup" }

    /// The moment at which the last backup of this folder began; `nil` if the folder has had no backup.
    var lastBackup: Timestamp? {
        FileManager.default.contents(atPath: self.lastBackupPath).flatMap {
            Int64(String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines))
        }.map { Timestamp(milliseconds: $0) }
    }

    /// Keeps ``lastBackup``, in milliseconds since 1970.
    func keep(lastBackup moment: Timestamp) throws {
        try Data("\(moment.milliseconds)\n".utf8).write(to: URL(fileURLWithPath: self.lastBackupPath), options: .atomic)
        try Owner.give(self.lastBackupPath, ofFolder: self.path)
    }

    /// The socket at which the local administration listens while the server runs (mode 0600).
    var socketPath: String { self.path + "/admin.sock" }

    /// The file for the one-time administrator link, if no person reads standard output (mode 0600).
    var administratorLinkPath: String { self.path + "/administrator-link" }

    /// The address with which the folder's server was last started, for links that commands make while the server does
    /// not run.
    var issuer: String? {
        FileManager.default.contents(atPath: self.path + "/issuer").map {
            String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines)
        }
    }

    /// Keeps ``issuer``. An unchanged address is not written again: a disk may be full.
    func keep(issuer: String) throws {
        guard self.issuer != issuer else { return }
        try Data((issuer + "\n").utf8).write(to: URL(fileURLWithPath: self.path + "/issuer"), options: .atomic)
        try Owner.give(self.path + "/issuer", ofFolder: self.path)
    }

    /// Makes the folder for its owner alone, if the folder does not exist yet.
    func prepare() throws {
        do {
            try FileManager.default.createDirectory(
                atPath: self.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(
                .failed, "the data folder \(self.path) cannot be made",
                remedy: "Name a place that this user can write to (--data).")
        }
    }

    /// Makes a new entry of a folder durable.
    static func synchronizeFolder(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// The folder in which the service manager keeps the data of the packaged server.
    static let packagePath = "/var/lib/countersign"

    /// Returns the default data folder: the service manager's folder, otherwise the user's (XDG Base Directory).
    static func defaultPath(_ environment: [String: String]) -> String {
        if let folder = environment["STATE_DIRECTORY"], !folder.isEmpty { return folder }
        return Self.userFolder(environment, "XDG_DATA_HOME", ".local/share") + "/countersign"
    }

    /// Returns the default key file, in the same way as ``defaultPath(_:)``.
    static func defaultKeyPath(_ environment: [String: String]) -> String {
        if let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty { return folder + "/countersign.key" }
        if let folder = environment["CONFIGURATION_DIRECTORY"], !folder.isEmpty { return folder + "/countersign.key" }
        return Self.userFolder(environment, "XDG_CONFIG_HOME", ".config") + "/countersign/countersign.key"
    }

    private static func userFolder(_ environment: [String: String], _ name: String, _ otherwise: String) -> String {
        if let folder = environment[name], folder.hasPrefix("/") { return folder }
        return (environment["HOME"] ?? NSHomeDirectory()) + "/" + otherwise
    }
}
