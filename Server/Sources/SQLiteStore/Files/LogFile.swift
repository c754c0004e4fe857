import Foundation
import GRDB
import GRDBSQLite
import Records
import Settings

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The write-ahead log beside a database's file. The log stays when the store is closed, so that the next start writes
/// nothing: an operator must be able to start a server with a full disk.
package final class LogFile: Sendable {
    private let descriptor: CInt

    /// Opens the log of an open database for ``synchronize()``. Throws `unavailable`.
    init(of databasePath: String) throws {
        // SQLite holds no lock on this file. Closing the file here would release such a lock.
        self.descriptor = open(Self.path(of: databasePath), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard self.descriptor >= 0 else { throw FileFailure.storeError("cannot open the log of \(databasePath)") }
    }

    deinit { close(self.descriptor) }

    /// Returns the path of a database's log. SQLite puts the log beside the file itself, also if `databasePath` is a
    /// link.
    private static func path(of databasePath: String) -> String {
        guard let file = realpath(databasePath, nil) else { return databasePath + "-wal" }
        defer { free(file) }
        return String(cString: file) + "-wal"
    }

    /// Makes everything durable that was written before. Blocks. Throws `unavailable`: the contents of the log may be
    /// lost then, and the system reports the failure only once.
    package func synchronize() throws {
        var status: CInt
        repeat {
            #if canImport(Darwin)
                status = fcntl(self.descriptor, F_FULLFSYNC)
            #else
                status = fdatasync(self.descriptor)
            #endif
        } while status != 0 && errno == EINTR
        guard status == 0 else {
            throw FileFailure.storeError(
                "the store's log could not be made durable; see to the disk, then start the server again")
        }
    }

    /// Makes everything durable that is in the log of a database now, if the log exists. Throws `unavailable`.
    static func synchronize(of databasePath: String) throws {
        guard access(Self.path(of: databasePath), F_OK) == 0 else { return }
        try LogFile(of: databasePath).synchronize()
    }

    /// Writes a log once more over itself and makes it durable. Called before a database is opened with the log.
    ///
    /// After a disk has failed, the system may hold bytes in memory that are not on the disk and will never be written.
    /// Readers still receive these bytes. Data after such a hole would be lost with the hole when the power fails.
    /// Rewriting needs no room on the disk, and the log is nearly empty after a store was closed. Throws `unavailable`.
    static func rewrite(of databasePath: String) throws {
        let path = self.path(of: databasePath)
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return }
            throw FileFailure.storeError("cannot open \(path)")
        }
        defer { close(descriptor) }
        var piece = [UInt8](repeating: 0, count: Limits.Fixed.copyPieceBytes)
        var offset = 0
        while true {
            let count = piece.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            guard count > 0 else {
                guard count == 0 else { throw FileFailure.storeError("cannot read \(path)") }
                break
            }
            guard piece.withUnsafeBytes({ pwrite(descriptor, $0.baseAddress, count, off_t(offset)) }) == count else {
                throw FileFailure.storeError("cannot write \(path)")
            }
            offset += count
        }
        guard offset == 0 || fsync(descriptor) == 0 else { throw FileFailure.storeError("cannot make \(path) durable") }
    }

    /// The size of the log's header in bytes. SQLite and the library both treat a log with only a header as empty. The
    /// library would write into a log that is missing or has no bytes at all.
    private static let headerCount = 32

    /// Removes all steps from a log. The caller has made sure that every step is in the database's file. So a database
    /// file that somebody copies over this one later does not receive the steps. Shortening a file needs no room on the
    /// disk.
    static func empty(of databasePath: String) {
        let path = self.path(of: databasePath)
        var status = stat()
        guard stat(path, &status) == 0, status.st_size > self.headerCount else { return }
        truncate(path, off_t(self.headerCount))
    }
}

extension Database {
    /// Keeps the log of `schema` in its place when the last connection closes.
    func keepLogFile(of schema: String = "main") throws {
        var isKept: CInt = 1
        guard sqlite3_file_control(self.sqliteConnection, schema, SQLITE_FCNTL_PERSIST_WAL, &isKept) == SQLITE_OK else {
            throw StoreError(.unavailable, "the database does not keep its log")
        }
    }

}
