import GRDB
import Records
import SQLStore
import SQLiteStore
import Testing

@Suite("Decision 6: SQLite's result codes become the errors of the store")
struct SQLiteErrorsTests {
    @Test(
        "Each result code has its error, with the extended code as the reason",
        arguments: [
            (ResultCode.SQLITE_CONSTRAINT_UNIQUE, StoreError.Code.conflict, "SQLite 2067"),
            (.SQLITE_CORRUPT, .corrupt, "SQLite 11"), (.SQLITE_NOTADB, .corrupt, "SQLite 26"),
            (.SQLITE_FULL, .unavailable, "the disk is full"), (.SQLITE_BUSY, .unavailable, "SQLite 5"),
            (.SQLITE_IOERR_FSYNC, .unavailable, "SQLite 1034"),
        ])
    func codes(code: ResultCode, expected: StoreError.Code, reason: String) throws {
        let errors: [any Error] = [
            DatabaseError(resultCode: code), SQLError(code: code.rawValue, message: "no matter"),
        ]
        for error in errors {
            let error = try #require(SQLiteDatabase.translated(error) as? StoreError)
            #expect(error.code == expected)
            #expect(error.reason == reason)
            #expect(error.isStoresOwn == (expected != .conflict))
        }
    }

    @Test("A step's own error passes unchanged")
    func ownErrors() throws {
        let own = StoreError(.forbidden, "the account is locked")
        let error = try #require(SQLiteDatabase.translated(own, fullDisk: "no room") as? StoreError)
        #expect(error == own)
        #expect(error.reason == own.reason)
        #expect(!error.isStoresOwn)
    }

    @Test("A full disk is named by its folder, or by the words of the caller")
    func fullDisk() throws {
        let full = DatabaseError(resultCode: .SQLITE_FULL)
        let named = try #require(SQLiteDatabase.translated(full, fullDisk: "no room for the backup") as? StoreError)
        #expect(named.reason == "no room for the backup")
        #expect(named.naming(folder: "/data").reason == "no room for the backup")
        let error = try #require(SQLiteDatabase.translated(full) as? StoreError).naming(folder: "/data")
        #expect(error.code == .unavailable)
        #expect(error.reason == "the disk of /data is full (SQLite 13)")
    }
}
