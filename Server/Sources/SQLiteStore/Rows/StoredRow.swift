import Foundation
package import GRDB
import GRDBSQLite
package import JOSE
import Store
package import _Primitives

extension [UInt8] {
    /// The bytes as SQLite stores them.
    var blob: Data { Data(self) }
}

/// The row that a statement stands on, read where SQLite has it: a value is copied once, and nothing of a column that
/// nobody asks for. (A row of the library's is a copy of every column, with a dictionary of their names.)
///
/// It is good for as long as somebody holds it, and ends the statement then. What a step or a read gives back cannot hold
/// one, since it is not `Sendable`.
package final class StoredRow {
    private let statement: Statement
    private let pointer: OpaquePointer

    /// The row that `statement` has come to.
    fileprivate init(_ statement: Statement) {
        self.statement = statement
        self.pointer = statement.sqliteStatement
    }

    deinit {
        // What a failed step has said was thrown where it failed.
        _ = sqlite3_reset(self.pointer)
    }
}

/// Reading by places. Every column of the database is of one type (`STRICT`), so another type is a file that somebody
/// else has written.
extension StoredRow {
    /// The kind of value that a column holds. Throws `corrupt` where the statement selects no such column.
    private func kind(_ index: Int) throws -> CInt {
        guard (0..<sqlite3_column_count(self.pointer)).contains(CInt(index)) else {
            throw StoreError(.corrupt, "a row without column \(index)")
        }
        return sqlite3_column_type(self.pointer, CInt(index))
    }

    /// The bytes of a column. Throws `corrupt` where it holds something else.
    package func bytes(_ index: Int) throws -> [UInt8] {
        guard let bytes = try self.optionalBytes(index) else {
            throw StoreError(.corrupt, "column \(index) holds no bytes")
        }
        return bytes
    }

    /// The bytes of a column that may be empty.
    package func optionalBytes(_ index: Int) throws -> [UInt8]? {
        switch try self.kind(index) {
        case SQLITE_NULL: return nil
        case SQLITE_BLOB:
            // SQLite has no address for no bytes.
            let start = sqlite3_column_blob(self.pointer, CInt(index))
            let count = Int(sqlite3_column_bytes(self.pointer, CInt(index)))
            return Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
        default: throw StoreError(.corrupt, "column \(index) holds no bytes")
        }
    }

    /// The text of a column.
    package func text(_ index: Int) throws -> String {
        guard let text = try self.optionalText(index) else {
            throw StoreError(.corrupt, "column \(index) holds no text")
        }
        return text
    }

    /// The text of a column that may be empty.
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

    /// The whole number of a column, in the range of `Value`.
    package func integer<Value: FixedWidthInteger>(_ index: Int, as type: Value.Type = Value.self) throws -> Value {
        guard let number = try self.optionalInteger(index, as: type) else {
            throw StoreError(.corrupt, "column \(index) holds no number of its range")
        }
        return number
    }

    /// The number of a column that may be empty.
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

    /// The signature algorithm of a column.
    package func algorithm(_ index: Int) throws -> JWSAlgorithm {
        guard let algorithm = JWSAlgorithm(rawValue: try self.text(index)) else {
            throw StoreError(.corrupt, "column \(index) holds no algorithm")
        }
        return algorithm
    }

    /// The moment of a column.
    package func moment(_ index: Int) throws -> Timestamp { Timestamp(milliseconds: try self.integer(index)) }

    /// The moment of a column that may be empty.
    package func optionalMoment(_ index: Int) throws -> Timestamp? {
        try self.optionalInteger(index).map { Timestamp(milliseconds: $0) }
    }
}

/// Reading by names, of a row whose statement says what it selects: a few columns, or what stands behind a whole record.
extension StoredRow {
    /// Where the column of that name stands.
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

    /// What a column holds, whatever that is.
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
    /// The first row that a query gives.
    package func row(_ sql: String, _ values: [(any DatabaseValueConvertible)?] = []) throws -> StoredRow? {
        try self.next(of: self.statement(sql, values))
    }

    /// What is made of every row that a query gives, in its order. `read` is called while the query stands on the row, so
    /// it changes no table of it.
    package func rows<Value>(
        _ sql: String, _ values: [(any DatabaseValueConvertible)?] = [], _ read: (StoredRow) throws -> Value
    ) throws -> [Value] {
        let statement = try self.statement(sql, values)
        guard let row = try self.next(of: statement) else { return [] }
        var values = [try read(row)]
        while try self.isOnRow(statement) { values.append(try read(row)) }
        return values
    }

    /// Does a statement that gives no rows.
    ///
    /// The library's own way to do one boxes each value and tells whoever watches the database, which costs more than many a
    /// statement does. Nobody is told here, so what ``KnownClients`` watches is written in the library's way.
    package func run(_ sql: String, _ values: [(any DatabaseValueConvertible)?] = []) throws {
        assert(!sql.contains(KnownClients.table), "nobody is told of a change of clients: \(sql)")
        let statement = try self.statement(sql, values)
        // SQLite has copies of the values.
        defer { sqlite3_clear_bindings(statement.sqliteStatement) }
        while try self.isOnRow(statement) {}
    }

    /// A prepared statement with a value in each of its places.
    private func statement(_ sql: String, _ values: [(any DatabaseValueConvertible)?]) throws -> Statement {
        let statement = try self.freeStatement(sql)
        let pointer = statement.sqliteStatement
        // The library leaves a statement that it has done as it ended, and resets it when it does it again: until then it takes
        // no values. What failed was said when it failed.
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

    /// A prepared statement on whose row nobody stands.
    private func freeStatement(_ sql: String) throws -> Statement {
        let statement = try self.cachedStatement(sql: sql)
        guard sqlite3_stmt_busy(statement.sqliteStatement) != 0 else { return statement }
        return try self.makeStatement(sql: sql)
    }

    private func next(of statement: Statement) throws -> StoredRow? {
        try self.isOnRow(statement) ? StoredRow(statement) : nil
    }

    /// Goes on to the next row. Whether there is one.
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
