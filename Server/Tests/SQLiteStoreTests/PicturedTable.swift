import SQLStore
import Sealing
import Synchronization

/// A table whose rows are compared.
struct PicturedTable {
    /// The query of the rows. The first column is a text of the values that are not sealed.
    private let query: SQLText
    private let sealed: [SealedColumn]

    /// All tables of the schema. Each store of this process has the same schema.
    private static let all = Mutex<[PicturedTable]?>(nil)

    /// Returns all rows of a database as texts. A sealed value is opened, because two seals of a value differ.
    static func picture(of db: SQLConnection, _ sealing: Sealing) throws -> Set<String> {
        let tables = try Self.all.withLock { all in
            if let all { return all }
            let tables = try Self.tables(db)
            all = tables
            return tables
        }
        return try tables.reduce(into: []) { rows, table in
            rows.formUnion(try db.rows(table.query) { try table.text(of: $0, sealing) })
        }
    }

    private static func tables(_ db: SQLConnection) throws -> [PicturedTable] {
        let names = try db.rows(
            """
            SELECT name, wr FROM pragma_table_list
            WHERE schema = 'main' AND type = 'table' AND name <> 'sqlite_schema'
            """
        ) { (name: try $0.text("name"), hasNumbers: try $0.integer("wr", as: Int.self) == 0) }
        return try names.map { name, hasNumbers in
            let sealed = SealedColumn.all.filter { $0.table == name }
            let columns = try db.texts("SELECT name FROM pragma_table_info(?)", [name])
                .filter { column in !sealed.contains { $0.name == column } }.map { #""\#($0)""# }
            let values = (columns + (hasNumbers ? ["rowid"] : [])).map { "quote(\($0))" }
            let text = (["'\(name)'"] + values).joined(separator: " || ', ' || ")
            let selections = ["\(text) AS picture"] + sealed.map(\.selection)
            return PicturedTable(
                query: .once("SELECT \(selections.joined(separator: ", ")) FROM \"\(name)\""), sealed: sealed)
        }
    }

    private func text(of row: SQLRow, _ sealing: Sealing) throws -> String {
        try self.sealed.reduce(into: try row.text(0)) { text, column in
            guard let bytes = try row.optionalBytes(column.name) else { return }
            let name = try column.rowName(of: row)
            // Some tests keep values that nobody sealed.
            let opened = (try? sealing.open(bytes, purpose: column.purpose, row: name)) ?? bytes
            text += ", \(column.name): \(opened)"
        }
    }
}
