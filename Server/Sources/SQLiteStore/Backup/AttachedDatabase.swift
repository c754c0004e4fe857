import Foundation
import GRDB
import GRDBSQLite
import Records

extension ReplacedDatabase {
    /// Attaches the database for reading alone: neither the restore nor a running server waits for the other.
    static func attach(_ path: String, to db: Database) throws {
        let unreserved = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#%;"))
        guard let name = path.addingPercentEncoding(withAllowedCharacters: unreserved) else {
            throw StoreError(.unavailable, "a path that cannot be named")
        }
        try db.execute(sql: "ATTACH DATABASE ? AS replaced", arguments: ["file:\(name)?mode=ro"])
        // An SQLite build without URI names would treat the name as the name of a new file.
        guard sqlite3_db_readonly(db.sqliteConnection, "replaced") == 1 else {
            throw StoreError(.unavailable, "the database is not open for reading alone")
        }
        try db.keepLogFile(of: "replaced")
    }
}

extension Incomparable {
    /// Returns the reason that an error of reading the replaced database stands for. Throws the error if the error is
    /// no fault of the replaced database.
    init(reading error: any Error) throws {
        switch error {
        case let reason as Incomparable: self = reason
        case let error as StoreError: try self.init(error)
        default:
            guard let code = ResultCode(of: error), code.primaryResultCode != .SQLITE_FULL else { throw error }
            self.init("it cannot be read (SQLite \(code.rawValue))")
        }
    }
}
