import Foundation
import Records

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An exclusive lock on the data folder. The system releases the lock when the process ends, however the process ends.
final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Locks the folder, and makes the folder if it does not exist. Throws `locked` or `unavailable`.
    init(folder: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(.unavailable, "cannot make the folder \(folder)")
        }
        let path = folder + "/lock"
        // Root may run a command before the server's first start, and the server must be able to open the file
        // afterwards.
        let made = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        self.descriptor = made >= 0 ? made : open(path, O_RDWR | O_CLOEXEC)
        guard self.descriptor >= 0 else { throw StoreError(.unavailable, "cannot open \(path)") }
        if made >= 0 { try Owner.give(made, ofFolder: folder) }
        guard flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw StoreError(.locked, "another process uses the data folder \(folder)")
        }
    }

    /// Makes a file that only its owner can read, if the file does not exist. The database's other files take their
    /// mode from this file.
    func makePrivateFile(_ path: String) throws {
        let file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StoreError(.unavailable, "cannot open \(path)") }
        _ = Foundation.close(file)
    }

    /// Releases the lock on the folder.
    func release() { flock(self.descriptor, LOCK_UN) }

    deinit { _ = Foundation.close(self.descriptor) }
}
