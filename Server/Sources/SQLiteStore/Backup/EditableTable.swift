import Records

/// The statements about the columns of a table that the server changes (``EditableColumns``).
struct EditableTable: Sendable {
    let columns: EditableColumns
    /// The column by which people recognise a row.
    let title: String
    /// The SQL condition for an `entry` about the row `theirs`.
    let isAbout: String

    static let clients = EditableTable(columns: .clients, title: "name", isAbout: Self.beginsWithID)
    static let providers = EditableTable(columns: .providers, title: "title", isAbout: Self.beginsWithID)
    static let services = EditableTable(columns: .services, title: "id", isAbout: "entry.detail = theirs.id")
    static let organisations = EditableTable(
        columns: .organisations, title: "name", isAbout: "entry.detail = theirs.id")
    static let accounts = EditableTable(
        columns: .accounts, title: "username", isAbout: "entry.account_id = theirs.id")

    /// The SQL condition for an entry whose detail is the row's identifier, or begins with it.
    private static let beginsWithID =
        "(entry.detail = theirs.id OR substr(entry.detail, 1, length(theirs.id) + 1) = theirs.id || ' ')"

    private var name: String { self.columns.table }

    /// Returns a query for the rows of both databases that differ through `author`: identifier and title.
    func changed(by author: BackupDifference.Author, _ shared: SharedColumns) -> String {
        let explained = self.columns.carried(shared).map { column in
            """
            (ours.\(column.name) IS NOT theirs.\(column.name)
                AND \(ReplacedRows.told(column.entries, by: author, where: self.isAbout)))
            """
        }
        let others = self.columns.unexplained(shared, by: author).map { "ours.\($0) IS NOT theirs.\($0)" }
        // Without a column to compare, no row differs.
        return """
            SELECT ours.id AS id, ours.\(self.title) AS name FROM main.\(self.name) AS ours
            JOIN replaced.\(self.name) AS theirs ON theirs.id = ours.id
            WHERE \((explained + others + ["FALSE"]).joined(separator: " OR ")) ORDER BY ours.rowid
            """
    }

    /// Returns the statements that copy the server's changes.
    func carryOver(_ shared: SharedColumns) -> [String] {
        self.columns.carried(shared).flatMap { column in
            func update(_ value: String) -> String {
                """
                UPDATE OR IGNORE main.\(self.name) AS ours SET \(column.name) = \(value)
                FROM replaced.\(self.name) AS theirs
                WHERE theirs.id = ours.id AND ours.\(column.name) IS NOT theirs.\(column.name)
                    AND \(ReplacedRows.told(column.entries, by: .server, where: self.isAbout))
                """
            }
            // A row may have another row's former value, so a unique column first gets a random value.
            return (column.isUnique ? [update("randomblob(32)")] : []) + [update("theirs.\(column.name)")]
        }
    }
}
