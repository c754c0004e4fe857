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
enum LogFile {
    /// The log's header. A log that has nothing after it is an empty one, to SQLite as to the library, which would write
    /// into one that is gone or has no bytes at all.
    private static let headerCount = 32

    /// Takes the steps out of a log once they all are in the database's file, so that a file which somebody copies over
    /// that one later does not get them. Shortening a file needs no room on the disk.
    static func empty(of databasePath: String) {
        let path = databasePath + "-wal"
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
