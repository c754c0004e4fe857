import Foundation
import Records

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file of mode 0600 that is written under a temporary name.
///
/// The process holds a lock on the file while it writes. So a draft of a killed process differs from a draft that
/// another process is writing. (SQLite uses another kind of lock, and this lock does not hinder SQLite.)
final class DraftFile {
    let path: String
    /// The handle that appends to the file.
    let handle: FileHandle

    var folder: String { (self.path as NSString).deletingLastPathComponent }

    /// Makes the file. Throws ``StoreError/Code/unavailable`` if the file cannot be made, or if the name is taken.
    init(path: String) throws {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileFailure.storeError("cannot make \(path)") }
        self.path = path
        self.handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        // Another process could take the file for abandoned between the two calls.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_nlink == 1 else {
            throw FileFailure.storeError("cannot lock \(path)")
        }
    }

    /// Makes the written bytes durable: they are on disk when this returns.
    func synchronize() throws {
        guard fsync(self.handle.fileDescriptor) == 0 else {
            throw FileFailure.storeError("cannot make \(self.path) durable")
        }
    }

    /// Gives the file its final name, durably. A link never replaces a file that somebody made meanwhile. Throws
    /// ``StoreError/Code/conflict`` if there is a file of that name.
    func publish(as path: String) throws {
        guard link(self.path, path) == 0 else {
            if errno == EEXIST { throw Self.nameIsTaken(path) }
            throw FileFailure.storeError("cannot make \(path)")
        }
        try Folder.synchronize((path as NSString).deletingLastPathComponent)
    }

    /// Makes a draft of the file `path`, in the same folder, after removing the abandoned drafts of that file. Throws
    /// ``StoreError/Code/conflict`` if there is a file at `path`.
    static func begin(_ path: String, name: String) throws -> DraftFile {
        var status = stat()
        guard lstat(path, &status) != 0 else { throw Self.nameIsTaken(path) }
        Self.removeAbandoned(
            in: (path as NSString).deletingLastPathComponent,
            prefix: (path as NSString).lastPathComponent + ".", suffix: Self.ending)
        return try DraftFile(path: "\(path).\(name)\(Self.ending)")
    }

    private static let ending = ".partial"

    private static func nameIsTaken(_ path: String) -> StoreError {
        StoreError(.conflict, "there is a file at \(path)")
    }

    /// Removes the file, if the file still has its draft name.
    func remove() { Self.unlinkAll(self.path) }

    private static func unlinkAll(_ path: String) { for suffix in ["", "-journal"] { unlink(path + suffix) } }

    /// Removes this user's abandoned drafts: the files that no process has locked. An empty `folder` stands for the
    /// present folder.
    static func removeAbandoned(in folder: String, prefix: String, suffix: String) {
        let folder = folder.isEmpty ? "." : folder
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where name.hasPrefix(prefix) && name.hasSuffix(suffix) && name.count > prefix.count + suffix.count {
            let path = "\(folder)/\(name)"
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            self.unlinkAll(path)
        }
    }
}
