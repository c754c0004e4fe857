import GRDB
package import Records
import SQLStore
import _Primitives

extension SQLiteDatabase {
    /// The ring boundary: turns SQLite's errors into ``StoreError``. A step's own errors pass unchanged. `fullDisk` is
    /// the reason of an error that stands for a full disk.
    package static func translated(_ error: any Error, fullDisk: String = StoreError.diskIsFull) -> any Error {
        ResultCode(of: error).map { StoreError($0, fullDisk: fullDisk) } ?? error
    }
}

extension ResultCode {
    /// Makes the result code of an error of a connection, or of the library; `nil` for any other error.
    init?(of error: any Error) {
        switch error {
        case let error as SQLError: self.init(rawValue: error.code)
        case let error as DatabaseError: self = error.extendedResultCode
        default: return nil
        }
    }
}

extension StoreError {
    /// The reason that nothing can be written. Other code names the folder if it knows the folder.
    package static let diskIsFull = "the disk is full"

    /// Makes the error that stands for a result code of SQLite.
    fileprivate init(_ code: ResultCode, fullDisk: String) {
        let reason = "SQLite \(code.rawValue)"
        switch code.primaryResultCode {
        case .SQLITE_CONSTRAINT: self.init(.conflict, reason)
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: self.init(.corrupt, reason)
        case .SQLITE_FULL: self.init(.unavailable, fullDisk)
        default: self.init(.unavailable, reason)
        }
    }

    /// Returns the error with the folder that has no room, if the disk is full. Any other error is returned unchanged.
    package func naming(folder: String) -> StoreError {
        guard self.reason.hasSameBytes(as: Self.diskIsFull) else { return self }
        return StoreError(.unavailable, "the disk of \(folder) is full (SQLite \(ResultCode.SQLITE_FULL.rawValue))")
    }
}
