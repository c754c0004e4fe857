import GRDB
import Store

/// What is asked of the database that a restore replaces, attached as `replaced`.
enum ReplacedRows {
    /// Whether an entry of one of these kinds came after the backup, in SQL.
    static func told(_ kinds: [AuditEvent.Kind], where condition: String = "1") -> String {
        """
        EXISTS (SELECT 1 FROM replaced.audit AS entry WHERE entry.number > (SELECT max(number) FROM main.audit)
            AND entry.kind IN (\(kinds.map { "'\($0)'" }.joined(separator: ", "))) AND \(condition))
        """
    }

    /// Whether there is no key here of the algorithm, and of the face where that is known, of a row of `replaced.oauth_key`,
    /// in SQL.
    static func hasNoKey(_ db: Database) throws -> String {
        let names = try Self.columns(of: "oauth_key", db).contains("face") ? "(algorithm, face)" : "(algorithm)"
        return "\(names) NOT IN (SELECT \(names.dropFirst().dropLast()) FROM main.oauth_key)"
    }

    /// The columns that a table has in both databases, one of which may be older.
    static func columns(of table: String, _ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT name FROM pragma_table_info(?1, 'main')
                WHERE name IN (SELECT name FROM pragma_table_info(?1, 'replaced')) ORDER BY cid
                """, arguments: [table])
    }
}

/// One kind of difference: how it is found, and how it is kept in force.
struct ReplacedStep: Sendable {
    let kind: RestoreReport.Change.Kind
    /// `nil` where one of the databases is too old to have such a difference.
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
