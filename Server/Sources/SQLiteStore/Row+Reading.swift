import Foundation
import GRDB
import JOSE
import Store
import _Primitives

extension [UInt8] {
    /// The bytes as SQLite stores them.
    var blob: Data { Data(self) }
}

extension Row {
    /// The bytes of a column. Throws `corrupt` where it holds something else.
    func bytes(_ index: Int) throws -> [UInt8] {
        guard let data = Data.fromDatabaseValue(self[index]) else {
            throw StoreError(.corrupt, "column \(index) holds no bytes")
        }
        return Array(data)
    }

    /// The bytes of a column that may be empty.
    func optionalBytes(_ index: Int) throws -> [UInt8]? {
        let value: DatabaseValue = self[index]
        return value.isNull ? nil : try self.bytes(index)
    }

    /// The text of a column.
    func text(_ index: Int) throws -> String {
        guard let text = String.fromDatabaseValue(self[index]) else {
            throw StoreError(.corrupt, "column \(index) holds no text")
        }
        return text
    }

    /// The text of a column that may be empty.
    func optionalText(_ index: Int) throws -> String? {
        let value: DatabaseValue = self[index]
        return value.isNull ? nil : try self.text(index)
    }

    /// The whole number of a column, in the range of `Value`.
    func integer<Value: FixedWidthInteger>(_ index: Int, as type: Value.Type = Value.self) throws -> Value {
        guard let number = Int64.fromDatabaseValue(self[index]), let value = Value(exactly: number) else {
            throw StoreError(.corrupt, "column \(index) holds no number of its range")
        }
        return value
    }

    /// The number of a column that may be empty.
    func optionalInteger<Value: FixedWidthInteger>(_ index: Int, as type: Value.Type = Value.self) throws -> Value? {
        let value: DatabaseValue = self[index]
        return value.isNull ? nil : try self.integer(index, as: type)
    }

    /// The signature algorithm of a column.
    func algorithm(_ index: Int) throws -> JWSAlgorithm {
        guard let algorithm = JWSAlgorithm(rawValue: try self.text(index)) else {
            throw StoreError(.corrupt, "column \(index) holds no algorithm")
        }
        return algorithm
    }

    /// The moment of a column.
    func moment(_ index: Int) throws -> Timestamp { Timestamp(milliseconds: try self.integer(index)) }

    /// The moment of a column that may be empty.
    func optionalMoment(_ index: Int) throws -> Timestamp? {
        try self.optionalInteger(index).map { Timestamp(milliseconds: $0) }
    }
}

/// Reading by names, of a row whose statement says what it selects: a few columns, or what stands behind a whole record.
extension Row {
    /// Where the column of that name stands. GRDB's own look-up folds the letters of every name.
    private func position(of name: String) throws -> Int {
        guard let position = self.columnNames.enumerated().first(where: { $0.element == name })?.offset else {
            throw StoreError(.corrupt, "a row without \(name)")
        }
        return position
    }

    func bytes(_ name: String) throws -> [UInt8] { try self.bytes(try self.position(of: name)) }

    func optionalBytes(_ name: String) throws -> [UInt8]? { try self.optionalBytes(try self.position(of: name)) }

    func text(_ name: String) throws -> String { try self.text(try self.position(of: name)) }

    func optionalText(_ name: String) throws -> String? { try self.optionalText(try self.position(of: name)) }

    func integer<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
        try self.integer(try self.position(of: name), as: type)
    }

    func optionalInteger<Value: FixedWidthInteger>(_ name: String, as type: Value.Type = Value.self) throws -> Value? {
        try self.optionalInteger(try self.position(of: name), as: type)
    }

    func flag(_ name: String) throws -> Bool { try self.integer(name, as: Int.self) == 1 }

    func moment(_ name: String) throws -> Timestamp { try self.moment(try self.position(of: name)) }

    func optionalMoment(_ name: String) throws -> Timestamp? {
        try self.optionalMoment(try self.position(of: name))
    }
}
