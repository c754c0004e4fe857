package import _Primitives

/// The columns that a table has both in a backup and in the database that a restore replaces. One of the databases may
/// be older, and lack a column or the whole table.
package struct SharedColumns: Sendable {
    private let tables: [ExactText: [String]]

    /// Makes a value from the shared columns of each table, in the table's order.
    package init(_ tables: [(table: String, columns: [String])]) {
        self.tables = Dictionary(uniqueKeysWithValues: tables.map { (ExactText($0.table), $0.columns) })
    }

    /// A table or a column that a part of the restore needs in both databases. Without the table or column, the part
    /// has nothing to do.
    package enum Need: Sendable {
        /// Nothing that a database may lack: without its tables, the database is no store, and the restore fails.
        case nothing
        /// A table.
        case table(String)
        /// A column of a table.
        case column(ExactText, of: String)
    }

    /// Returns `true` if both databases have the needed table or column.
    package func meets(_ need: Need) -> Bool {
        switch need {
        case .nothing: true
        case .table(let table): !self.columns(of: table).isEmpty
        case .column(let column, let table): !self.columns(of: table, among: [column]).isEmpty
        }
    }

    /// Returns the shared columns of a table, in the table's order.
    package func columns(of table: String) -> [String] { self.tables[ExactText(table)] ?? [] }

    /// Returns the shared columns of a table that are in `names`.
    package func columns(of table: String, among names: Set<ExactText>) -> [String] {
        self.columns(of: table).filter { names.contains(ExactText($0)) }
    }

    /// Returns the shared columns of a table that are not in `names`.
    package func columns(of table: String, except names: Set<ExactText>) -> [String] {
        self.columns(of: table).filter { !names.contains(ExactText($0)) }
    }
}
