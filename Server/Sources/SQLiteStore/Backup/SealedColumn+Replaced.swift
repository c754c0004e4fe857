import GRDB
import Records
import SQLStore
import Sealing
import _Primitives

extension SealedColumn {
    /// Copies the values of another database that are equal but sealed differently. Values that differ afterwards were
    /// changed.
    static func align(_ db: Database, with schema: String, _ shared: SharedColumns, _ sealing: Sealing) throws {
        for column in Self.all where shared.meets(.column(ExactText(column.name), of: column.table)) {
            try column.align(db, schema, sealing)
        }
    }

    private func align(_ db: Database, _ schema: String, _ sealing: Sealing) throws {
        let connection = try SQLConnection(db)
        let same = try connection.rows(
            .composed(
                """
                SELECT \(self.selection), theirs.\(self.name) AS other FROM main.\(self.table)
                JOIN \(schema).\(self.table) AS theirs ON theirs.\(self.key) = \(self.table).\(self.key)
                WHERE \(self.table).\(self.name) <> theirs.\(self.name)
                """)
        ) { row -> (key: SQLValue, value: SQLValue)? in
            let rowName = try self.rowName(of: row)
            guard let ours = try? sealing.open(row.bytes(self.name), purpose: self.purpose, row: rowName),
                let theirs = try? sealing.open(row.bytes("other"), purpose: self.purpose, row: rowName),
                constantTimeEqual(ours, theirs)
            else { return nil }
            return (try row.value(self.key), try row.value("other"))
        }
        for (key, value) in same.compactMap(\.self) {
            try connection.run(
                .composed("UPDATE main.\(self.table) SET \(self.name) = ? WHERE \(self.key) = ?"), [value, key])
        }
    }
}
