import Countersign

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A kernel lock on a file. The lock is free when the last reference goes, and when the process ends.
package final class FileLock: Sendable {
    private let file: Int32

    /// Takes the lock of a file, and creates the file if necessary; `nil` if another holder has the lock.
    ///
    /// Throws ``StorageError``: `locked` while the operating system protects the folder, otherwise `unavailable`.
    package init?(taking path: String) throws {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw Self.failure("open") }
        self.file = file
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw Self.failure("take") }
            return nil
        }
    }

    deinit { close(self.file) }

    private static func failure(_ action: String) -> StorageError {
        let isProtected = errno == EPERM
        return StorageError(isProtected ? .locked : .unavailable, "cannot \(action) a lock: error \(errno)")
    }
}
