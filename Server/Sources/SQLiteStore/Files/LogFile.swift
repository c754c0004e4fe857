import Foundation
import GRDB
import GRDBSQLite
import Store

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The write-ahead log beside a database's file. It stays when the store is closed, so that the next start writes
/// nothing: an operator must be able to start a server whose disk is full.
package final class LogFile: Sendable {
    private let descriptor: CInt

    /// Opens the log of an open database for ``synchronize()``. Throws `unavailable`.
    init(of databasePath: String) throws {
        // No lock of SQLite's lies on this file, which would be gone when it is closed here.
        self.descriptor = open(Self.path(of: databasePath), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard self.descriptor >= 0 else { throw FileFailure.storeError("cannot open the log of \(databasePath)") }
    }

    deinit { close(self.descriptor) }

    /// Where the log of a database is: SQLite has it beside the file itself, where a link leads to that.
    private static func path(of databasePath: String) -> String {
        guard let file = realpath(databasePath, nil) else { return databasePath + "-wal" }
        defer { free(file) }
        return String(cString: file) + "-wal"
    }

    /// Makes everything durable that was written before. Blocks. Throws `unavailable`: what the log has may be lost then,
    /// and the system says so only once.
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

    /// Makes everything durable that is in the log of a database now, where there is one. Throws `unavailable`.
    static func synchronize(of databasePath: String) throws {
        guard access(Self.path(of: databasePath), F_OK) == 0 else { return }
        try LogFile(of: databasePath).synchronize()
    }

    /// Writes a log once more over itself, before a database is opened with it, and makes it durable.
    ///
    /// After a disk has failed, the system may have bytes in its memory, and give them to whoever reads, that are not on the
    /// disk and that it does not write any more. What comes after such a hole would be lost with it when the power goes.
    /// It needs no room on the disk, and after a store was closed there is hardly anything. Throws `unavailable`.
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

    /// The log's header. A log that has nothing after it is an empty one, to SQLite as to the library, which would write
    /// into one that is gone or has no bytes at all.
    private static let headerCount = 32

    /// Takes the steps out of a log once they all are in the database's file, so that a file which somebody copies over
    /// that one later does not get them. Shortening a file needs no room on the disk.
    static func empty(of databasePath: String) {
        let path = self.path(of: databasePath)
        var status = stat()
        guard stat(path, &status) == 0, status.st_size > self.headerCount else { return }
        truncate(path, off_t(self.headerCount))
    }
}

extension Database {
    /// Lets the log of `schema` stay where it is when the last connection goes.
    func keepLogFile(of schema: String = "main") throws {
        var isKept: CInt = 1
        guard sqlite3_file_control(self.sqliteConnection, schema, SQLITE_FCNTL_PERSIST_WAL, &isKept) == SQLITE_OK else {
            throw StoreError(.unavailable, "the database does not keep its log")
        }
    }

}
