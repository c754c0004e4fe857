import Foundation
import Store

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The data folder, held by this process alone. The system lets the lock go when the process ends, however it ends.
final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Takes the folder, which is made where it does not exist. Throws `locked` or `unavailable`.
    init(folder: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(.unavailable, "cannot make the folder \(folder)")
        }
        let path = folder + "/lock"
        // A command that root runs comes before the server's first start: the server must be able to open the file, too.
        let made = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        self.descriptor = made >= 0 ? made : open(path, O_RDWR | O_CLOEXEC)
        guard self.descriptor >= 0 else { throw StoreError(.unavailable, "cannot open \(path)") }
        if made >= 0 { try Owner.give(made, ofFolder: folder) }
        guard flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw StoreError(.locked, "another process uses the data folder \(folder)")
        }
    }

    /// Makes a file that only its owner can read; the database's own files take their mode from it.
    func makePrivateFile(_ path: String) throws {
        let file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StoreError(.unavailable, "cannot open \(path)") }
        _ = Foundation.close(file)
    }

    /// Lets the folder go.
    func release() { flock(self.descriptor, LOCK_UN) }

    deinit { _ = Foundation.close(self.descriptor) }
}
