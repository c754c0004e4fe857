import GRDB
import Records

/// Queries about the database that a restore replaces, attached as `replaced`.
enum ReplacedRows {
    /// Returns the SQL condition that an entry of one of these kinds came after the backup.
    static func told(_ kinds: [AuditEvent.Kind], where condition: String = "1") -> String {
        """
        EXISTS (SELECT 1 FROM replaced.audit AS entry WHERE entry.number > (SELECT max(number) FROM main.audit)
            AND entry.kind IN (\(kinds.map { "'\($0)'" }.joined(separator: ", "))) AND \(condition))
        """
    }

    /// Returns the SQL condition that this database has no key of the algorithm of a row of `replaced.oauth_key`, and
    /// of its face if both databases have the column.
    static func hasNoKey(_ db: Database) throws -> String {
        let names = try Self.columns(of: "oauth_key", db).contains("face") ? "(algorithm, face)" : "(algorithm)"
        return "\(names) NOT IN (SELECT \(names.dropFirst().dropLast()) FROM main.oauth_key)"
    }

    /// Returns the columns that a table has in both databases. One database may be older.
    static func columns(of table: String, _ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT name FROM pragma_table_info(?1, 'main')
                WHERE name IN (SELECT name FROM pragma_table_info(?1, 'replaced')) ORDER BY cid
                """, arguments: [table])
    }
}

/// One kind of difference: the query that finds the difference, and the statements for keeping the later state in
/// force.
struct ReplacedStep: Sendable {
    let kind: RestoreReport.Change.Kind
    /// Returns the query; `nil` if one of the databases is too old for such a difference.
    let query: @Sendable (Database) throws -> String?
    let statements: @Sendable (Database) throws -> [String]

    init(
        _ kind: RestoreReport.Change.Kind, _ query: String,
        _ statements: @escaping @Sendable (Database) throws -> [String] = { _ in [] }
    ) {
        self.init(kind, query: { _ in query }, statements)
    }

    init(
        _ kind: RestoreReport.Change.Kind, query: @escaping @Sendable (Database) throws -> String?,
        _ statements: @escaping @Sendable (Database) throws -> [String] = { _ in [] }
    ) {
        self.kind = kind
        self.query = query
        self.statements = statements
    }
}
