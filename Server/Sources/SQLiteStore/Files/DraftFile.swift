import Foundation
import Store

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file of mode 0600 that is put together under a name of its own.
///
/// It is locked for as long as that takes: so what a process that was killed has left behind is told from what another one
/// is writing. (SQLite locks in another way, and is not hindered by it.)
final class DraftFile {
    let path: String
    /// For writing at its end.
    let handle: FileHandle

    var folder: String { (self.path as NSString).deletingLastPathComponent }

    /// Makes the file. Throws ``StoreError/Code/unavailable`` where that cannot be done, or something has the name.
    init(path: String) throws {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileFailure.storeError("cannot make \(path)") }
        self.path = path
        self.handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        // Another process could take it for abandoned between the two calls.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_nlink == 1 else {
            throw FileFailure.storeError("cannot lock \(path)")
        }
    }

    /// What was written is on disk when this returns.
    func synchronize() throws {
        guard fsync(self.handle.fileDescriptor) == 0 else {
            throw FileFailure.storeError("cannot make \(self.path) durable")
        }
    }

    /// Takes the name away, if it still has it.
    func remove() { Self.unlinkAll(self.path) }

    private static func unlinkAll(_ path: String) { for suffix in ["", "-journal"] { unlink(path + suffix) } }

    /// Removes this user's drafts that nobody works on any more. The folder of a bare name is the present one.
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
