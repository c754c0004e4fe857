import Foundation
package import GRDB
import GRDBSQLite
package import JOSE
import Records
package import _Primitives

extension [UInt8] {
    /// The bytes as SQLite stores them.
    var blob: Data { Data(self) }
}

/// The table whose changes the library reports to a cache: the table of the clients.
enum ObservedTable {
    /// The name of the table.
    static let name = "oauth_client"
}

/// The present row of a statement, read directly from SQLite's memory. Each requested value is copied once, and other
/// columns are not copied. (A row of the library is a copy of every column, with a dictionary of the column names.)
///
/// A row is valid as long as some code holds it. The statement ends when the row is released. A step or a read cannot
/// return a row, because a row is not `Sendable`.
package final class StoredRow {
    private let statement: Statement
    private let pointer: OpaquePointer

    /// Makes the row that `statement` has reached.
    fileprivate init(_ statement: Statement) {
        self.statement = statement
        self.pointer = statement.sqliteStatement
    }

    deinit {
        // The error of a failed step was thrown where the step failed.
        _ = sqlite3_reset(self.pointer)
    }
}

/// Reading by position. Every column of the database has one type (`STRICT`), so another type is the work of another
/// program.
extension StoredRow {
    /// Returns the type of the value in a column. Throws `corrupt` if the statement selects no such column.
    private func kind(_ index: Int) throws -> CInt {
        guard (0..<sqlite3_column_count(self.pointer)).contains(CInt(index)) else {
            throw StoreError(.corrupt, "a row without column \(index)")
        }
        return sqlite3_column_type(self.pointer, CInt(index))
    }

    /// Returns the bytes of a column. Throws `corrupt` if the column holds another type.
    package func bytes(_ index: Int) throws -> [UInt8] {
        guard let bytes = try self.optionalBytes(index) else {
            throw StoreError(.corrupt, "column \(index) holds no bytes")
        }
        return bytes
    }

    /// Returns the bytes of a column; `nil` for NULL. Throws `corrupt` if the column holds another type.
    package func optionalBytes(_ index: Int) throws -> [UInt8]? {
        switch try self.kind(index) {
        case SQLITE_NULL: return nil
        case SQLITE_BLOB:
            // SQLite returns no address for an empty value.
            let start = sqlite3_column_blob(self.pointer, CInt(index))
            let count = Int(sqlite3_column_bytes(self.pointer, CInt(index)))
            return Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
        default: throw StoreError(.corrupt, "column \(index) holds no bytes")
        }
    }

    /// Returns the text of a column.
    package func text(_ index: Int) throws -> String {
        guard let text = try self.optionalText(index) else {
            throw StoreError(.corrupt, "column \(index) holds no text")
        }
        return text
    }

    /// Returns the text of a column; `nil` for NULL. Throws `corrupt` if the column holds another type.
    package func optionalText(_ index: Int) throws -> String? {
        switch try self.kind(index) {
        case SQLITE_NULL: return nil
        case SQLITE_TEXT:
            let start = sqlite3_column_text(self.pointer, CInt(index))
            let count = Int(sqlite3_column_bytes(self.pointer, CInt(index)))
            return String(decoding: UnsafeBufferPointer(start: start, count: start == nil ? 0 : count), as: UTF8.self)
        default: throw StoreError(.corrupt, "column \(index) holds no text")
        }
    }

    /// Returns the whole number of a column, in the range of `Value`.
    package func integer<Value: FixedWidthInteger>(_ index: Int, as type: Value.Type = Value.self) throws -> Value {
        guard let number = try self.optionalInteger(index, as: type) else {
            throw StoreError(.corrupt, "column \(index) holds no number of its range")
        }
        return number
    }

    /// Returns the number of a column; `nil` for NULL. Throws `corrupt` if the column holds another type, or a number
    /// outside the range of `Value`.
    package func optionalInteger<Value: FixedWidthInteger>(_ index: Int, as type: Value.Type = Value.self) throws
        -> Value?
    {
        let kind = try self.kind(index)
        guard kind != SQLITE_NULL else { return nil }
        guard kind == SQLITE_INTEGER, let value = Value(exactly: sqlite3_column_int64(self.pointer, CInt(index))) else {
            throw StoreError(.corrupt, "column \(index) holds no number of its range")
        }
        return value
    }

    /// Returns the signature algorithm of a column.
    package func algorithm(_ index: Int) throws -> JWSAlgorithm {
        guard let algorithm = JWSAlgorithm(rawValue: try self.text(index)) else {
            throw StoreError(.corrupt, "column \(index) holds no algorithm")
        }
        return algorithm
    }

    /// Returns the moment of a column.
    package func moment(_ index: Int) throws -> Timestamp { Timestamp(milliseconds: try self.integer(index)) }

    /// Returns the moment of a column; `nil` for NULL.
    package func optionalMoment(_ index: Int) throws -> Timestamp? {
        try self.optionalInteger(index).map { Timestamp(milliseconds: $0) }
    }
}

/// Reading by name, for a row whose statement names its columns: a few columns, or the columns behind a whole record.
extension StoredRow {
    /// Returns the position of the column with that name.
    private func position(of name: String) throws -> Int {
        let position = name.withCString { name in
            (0..<sqlite3_column_count(self.pointer)).first { strcmp(sqlite3_column_name(self.pointer, $0), name) == 0 }
        }
        guard let position else { throw StoreError(.corrupt, "a row without \(name)") }
        return Int(position)
    }

    package func bytes(_ name: String) throws -> [UInt8] { try self.bytes(try self.position(of: name)) }

    package func optionalBytes(_ name: String) throws -> [UInt8]? {
        try self.optionalBytes(try self.position(of: name))
    }

    package func text(_ name: String) throws -> String { try self.text(try self.position(of: name)) }

    package func optionalText(_ name: String) throws -> String? { try self.optionalText(try self.position(of: name)) }

    package func integer<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
        try self.integer(try self.position(of: name), as: type)
    }

    package func optionalInteger<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self) throws
        -> Value?
    {
        try self.optionalInteger(try self.position(of: name), as: type)
    }

    /// Returns the value of a column, of any type.
    package func value(_ name: String) throws -> DatabaseValue {
        let index = try self.position(of: name)
        switch try self.kind(index) {
        case SQLITE_NULL: return .null
        case SQLITE_INTEGER: return try self.integer(index, as: Int64.self).databaseValue
        case SQLITE_TEXT: return try self.text(index).databaseValue
        default: return try self.bytes(index).blob.databaseValue
        }
    }

    package func flag(_ name: String) throws -> Bool { try self.integer(name, as: Int.self) == 1 }

    package func moment(_ name: String) throws -> Timestamp { try self.moment(try self.position(of: name)) }

    package func optionalMoment(_ name: String) throws -> Timestamp? {
        try self.optionalMoment(try self.position(of: name))
    }
}

extension Database {
    /// Returns the first row of a query; `nil` if the query has no rows.
    package func row(_ sql: String, _ values: [(any DatabaseValueConvertible)?] = []) throws -> StoredRow? {
        try self.next(of: self.statement(sql, values))
    }

    /// Calls `read` for every row of a query, and returns the results in the query's order. The query stands on the row
    /// while `read` runs, so `read` changes no table of the query.
    package func rows<Value>(
        _ sql: String, _ values: [(any DatabaseValueConvertible)?] = [], _ read: (StoredRow) throws -> Value
    ) throws -> [Value] {
        let statement = try self.statement(sql, values)
        guard let row = try self.next(of: statement) else { return [] }
        var values = [try read(row)]
        while try self.isOnRow(statement) { values.append(try read(row)) }
        return values
    }

    /// Runs a statement that returns no rows.
    ///
    /// The library's own function boxes each value and informs the observers of the database. Both cost more than many
    /// statements do. This function informs no observer, so statements on the ``ObservedTable`` use the library's
    /// function.
    package func run(_ sql: String, _ values: [(any DatabaseValueConvertible)?] = []) throws {
        assert(!sql.contains(ObservedTable.name), "nobody is told of a change of clients: \(sql)")
        let statement = try self.statement(sql, values)
        // SQLite has copies of the values.
        defer { sqlite3_clear_bindings(statement.sqliteStatement) }
        while try self.isOnRow(statement) {}
    }

    /// Returns a prepared statement with a value in each of its places.
    private func statement(_ sql: String, _ values: [(any DatabaseValueConvertible)?]) throws -> Statement {
        let statement = try self.freeStatement(sql)
        let pointer = statement.sqliteStatement
        // The library leaves a finished statement as is, and resets the statement at the next use. Until then the
        // statement takes no values. The error of a failed statement was thrown when the statement failed.
        _ = sqlite3_reset(pointer)
        guard Int(sqlite3_bind_parameter_count(pointer)) == values.count else {
            throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "a statement has not as many places as values")
        }
        var place: CInt = 0
        for value in values {
            place += 1
            let code = value?.bind(to: pointer, at: place) ?? sqlite3_bind_null(pointer, place)
            guard code == SQLITE_OK else {
                throw DatabaseError(resultCode: ResultCode(rawValue: code), message: self.lastErrorMessage)
            }
        }
        return statement
    }

    /// Returns a prepared statement that stands on no row.
    private func freeStatement(_ sql: String) throws -> Statement {
        let statement = try self.cachedStatement(sql: sql)
        guard sqlite3_stmt_busy(statement.sqliteStatement) != 0 else { return statement }
        return try self.makeStatement(sql: sql)
    }

    private func next(of statement: Statement) throws -> StoredRow? {
        try self.isOnRow(statement) ? StoredRow(statement) : nil
    }

    /// Moves to the next row, and returns `true` if a row follows.
    private func isOnRow(_ statement: Statement) throws -> Bool {
        let code = sqlite3_step(statement.sqliteStatement)
        if code == SQLITE_ROW { return true }
        defer { _ = sqlite3_reset(statement.sqliteStatement) }
        guard code == SQLITE_DONE else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: self.lastErrorMessage)
        }
        return false
    }
}
