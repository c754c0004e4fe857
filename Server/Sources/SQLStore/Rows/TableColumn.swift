import JOSE
import Records
import _Primitives

/// The columns of a table, in the order of this program's statements. Rows are read and written by column names, so the
/// table's own column order after its migrations does not matter.
protocol TableColumn: CaseIterable, Hashable, RawRepresentable<Int>, Sendable {
    static var table: String { get }
}

extension TableColumn {
    /// The name in the table: `redirectURIs` is `redirect_uris`.
    var name: String {
        var name = ""
        var isAfterSmallLetter = false
        for letter in String(describing: self).unicodeScalars {
            let isCapital = letter.properties.isUppercase
            if isCapital, isAfterSmallLetter { name += "_" }
            // Column names are our own words.
            name += letter.properties.lowercaseMapping
            isAfterSmallLetter = !isCapital
        }
        return name
    }

    /// Returns the column list between SELECT and FROM.
    static func selected() -> String { Self.allCases.map { "\(Self.table).\($0.name)" }.joined(separator: ", ") }

    /// Returns a statement that adds a row of all columns, and does as `conflict` says if the row exists. The statement
    /// is kept in a static constant.
    static func inserted(_ conflict: String = "") -> SQLText {
        .once(
            """
            INSERT INTO \(Self.table) (\(Self.allCases.map(\.name).joined(separator: ", ")))
            VALUES (\(Self.allCases.map { _ in "?" }.joined(separator: ", "))) \(conflict)
            """)
    }

    /// Returns the values of a row in the order of the columns. A column without a value is NULL.
    static func row(_ values: [Self: (any SQLBindable)?]) -> SQLValues { Self.allCases.map { values[$0] ?? nil } }
}

extension SQLConnection {
    /// Adds a row by `statement`, which is ``TableColumn/inserted()``. A column without a value is NULL.
    func insert<Column: TableColumn>(_ values: [Column: (any SQLBindable)?], by statement: SQLText) throws {
        try self.run(statement, Column.row(values))
    }
}

/// Reading by column, for a row whose statement begins with ``TableColumn/selected()``.
extension SQLRow {
    func bytes(_ column: some TableColumn) throws -> [UInt8] { try self.bytes(column.rawValue) }

    func optionalBytes(_ column: some TableColumn) throws -> [UInt8]? { try self.optionalBytes(column.rawValue) }

    func text(_ column: some TableColumn) throws -> String { try self.text(column.rawValue) }

    func optionalText(_ column: some TableColumn) throws -> String? { try self.optionalText(column.rawValue) }

    func integer<Value: FixedWidthInteger>(_ column: some TableColumn, as type: Value.Type = Value.self) throws -> Value
    {
        try self.integer(column.rawValue, as: type)
    }

    func optionalInteger<Value: FixedWidthInteger>(
        _ column: some TableColumn, as type: Value.Type = Value.self
    ) throws -> Value? {
        try self.optionalInteger(column.rawValue, as: type)
    }

    func flag(_ column: some TableColumn) throws -> Bool { try self.integer(column.rawValue, as: Int.self) == 1 }

    func algorithm(_ column: some TableColumn) throws -> JWSAlgorithm { try self.algorithm(column.rawValue) }

    func moment(_ column: some TableColumn) throws -> Timestamp { try self.moment(column.rawValue) }

    func optionalMoment(_ column: some TableColumn) throws -> Timestamp? { try self.optionalMoment(column.rawValue) }
}

/// Reading by column, for a row in which another table's columns come before this table's columns.
struct RowPart<Column: TableColumn> {
    let row: SQLRow
    /// The position of the first column of ``TableColumn/selected()``.
    let start: Int

    func bytes(_ column: Column) throws -> [UInt8] { try self.row.bytes(self.start + column.rawValue) }

    func optionalBytes(_ column: Column) throws -> [UInt8]? {
        try self.row.optionalBytes(self.start + column.rawValue)
    }

    func text(_ column: Column) throws -> String { try self.row.text(self.start + column.rawValue) }

    func optionalText(_ column: Column) throws -> String? { try self.row.optionalText(self.start + column.rawValue) }

    func integer<Value: FixedWidthInteger>(_ column: Column, as type: Value.Type = Value.self) throws -> Value {
        try self.row.integer(self.start + column.rawValue)
    }

    func optionalInteger<Value: FixedWidthInteger>(
        _ column: Column, as type: Value.Type = Value.self
    ) throws -> Value? { try self.row.optionalInteger(self.start + column.rawValue) }

    func flag(_ column: Column) throws -> Bool { try self.integer(column, as: Int.self) == 1 }

    func moment(_ column: Column) throws -> Timestamp { try self.row.moment(self.start + column.rawValue) }

    func optionalMoment(_ column: Column) throws -> Timestamp? {
        try self.row.optionalMoment(self.start + column.rawValue)
    }
}
