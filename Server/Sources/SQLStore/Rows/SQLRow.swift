import Foundation
package import JOSE
import Records
package import _Primitives

/// The present row of a statement, read directly from the database's memory. Each requested value is copied once, and
/// other columns are not copied.
///
/// A row is valid as long as some code holds it. The statement ends when the row is released. A step or a read cannot
/// return a row, because a row is not `Sendable`.
package final class SQLRow {
    let statement: SQLConnection.Begun
    private let connection: SQLConnection

    /// Makes the row on which `statement` stands after each of its steps.
    init(of statement: SQLConnection.Begun, _ connection: SQLConnection) {
        self.statement = statement
        self.connection = connection
    }

    deinit { self.connection.end(self.statement) }

    private var pointer: OpaquePointer { self.statement.pointer }
}

/// Reading by position. Every column of the database has one type (`STRICT`), so another type is the work of another
/// program.
extension SQLRow {
    /// Returns the type of the value in a column. Throws `corrupt` if the statement selects no such column.
    private func kind(_ index: Int) throws -> CInt {
        guard (0..<self.connection.driver.columnCount(self.pointer)).contains(CInt(index)) else {
            throw StoreError(.corrupt, "a row without column \(index)")
        }
        return self.connection.driver.kind(self.pointer, CInt(index))
    }

    /// Copies a value that begins at `start`. The row ends its statement, and so the value's place, not before the copy
    /// is made. An empty value can have no address. Throws `unavailable` if a value that is not empty has no address:
    /// the database has no memory for the value.
    private func content<Value>(
        _ index: Int, at start: UnsafeRawPointer?, _ copy: (UnsafeRawBufferPointer) -> Value
    ) throws -> Value {
        try withExtendedLifetime(self) {
            let count = Int(self.connection.driver.size(self.pointer, CInt(index)))
            guard start != nil || count == 0 else {
                throw StoreError(.unavailable, "no memory for the value of column \(index)")
            }
            return copy(UnsafeRawBufferPointer(start: start, count: count))
        }
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
        case SQLDriver.Kind.null: return nil
        case SQLDriver.Kind.bytes:
            return try self.content(index, at: self.connection.driver.bytes(self.pointer, CInt(index))) { Array($0) }
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
        case SQLDriver.Kind.null: return nil
        case SQLDriver.Kind.text:
            let start = self.connection.driver.text(self.pointer, CInt(index)).map { UnsafeRawPointer($0) }
            return try self.content(index, at: start) { String(decoding: $0, as: UTF8.self) }
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
        guard kind != SQLDriver.Kind.null else { return nil }
        guard kind == SQLDriver.Kind.integer,
            let value = Value(exactly: self.connection.driver.integer(self.pointer, CInt(index)))
        else {
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
extension SQLRow {
    /// Returns the position of the column with that name.
    private func position(of name: String) throws -> Int {
        let position = name.withCString { name in
            (0..<self.connection.driver.columnCount(self.pointer)).first { index in
                self.connection.driver.columnName(self.pointer, index).map { strcmp($0, name) == 0 } ?? false
            }
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
    package func value(_ name: String) throws -> SQLValue {
        let index = try self.position(of: name)
        switch try self.kind(index) {
        case SQLDriver.Kind.null: return .null
        case SQLDriver.Kind.integer: return .integer(try self.integer(index))
        case SQLDriver.Kind.text: return .text(try self.text(index))
        default: return .bytes(try self.bytes(index))
        }
    }

    package func flag(_ name: String) throws -> Bool { try self.integer(name, as: Int.self) == 1 }

    package func moment(_ name: String) throws -> Timestamp { try self.moment(try self.position(of: name)) }

    package func optionalMoment(_ name: String) throws -> Timestamp? {
        try self.optionalMoment(try self.position(of: name))
    }
}

/// Queries of one value: the value is in the first column.
extension SQLConnection {
    /// Returns `true` if the first row of a query says so; `false` if the query has no rows.
    package func isTrue(_ text: SQLText, _ values: SQLValues = []) throws -> Bool {
        try self.number(text, values).map { $0 != 0 } ?? false
    }

    /// Returns the number of the first row; `nil` if the query has no rows, and for NULL.
    package func number(_ text: SQLText, _ values: SQLValues = []) throws -> Int? {
        try self.row(text, values)?.optionalInteger(0)
    }

    /// Returns the text of the first row; `nil` if the query has no rows, and for NULL.
    package func text(_ text: SQLText, _ values: SQLValues = []) throws -> String? {
        try self.row(text, values)?.optionalText(0)
    }

    /// Returns the bytes of the first row; `nil` if the query has no rows, and for NULL.
    package func bytes(_ text: SQLText, _ values: SQLValues = []) throws -> [UInt8]? {
        try self.row(text, values)?.optionalBytes(0)
    }

    /// Returns the texts of all rows.
    package func texts(_ text: SQLText, _ values: SQLValues = []) throws -> [String] {
        try self.rows(text, values) { try $0.text(0) }
    }
}
