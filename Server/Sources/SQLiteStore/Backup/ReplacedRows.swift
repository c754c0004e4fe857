import GRDB
import Records
import _Primitives

/// Conditions about the database that a restore replaces, attached as `replaced`.
enum ReplacedRows {
    /// Returns the SQL condition that a difference is by `author`: an entry of one of these kinds came after the
    /// backup, or no such entry came.
    static func told(
        _ kinds: [AuditEvent.Kind], by author: BackupDifference.Author, where condition: String = "1"
    ) -> String {
        let isTold = """
            EXISTS (SELECT 1 FROM replaced.audit AS entry WHERE entry.number > (SELECT max(number) FROM main.audit)
                AND entry.kind IN (\(Self.list(kinds))) AND \(condition))
            """
        switch author {
        case .server: return isTold
        case .somebodyElse: return "NOT \(isTold)"
        }
    }

    /// Returns the SQL condition for a row of an account that both databases have, if an entry of one of these kinds
    /// came after the backup.
    static func ofToldAccount(_ kinds: [AuditEvent.Kind]) -> String {
        """
        account_id IN (SELECT id FROM main.account) AND account_id IN (
            SELECT account_id FROM replaced.audit
            WHERE number > (SELECT max(number) FROM main.audit) AND kind IN (\(Self.list(kinds))))
        """
    }

    /// Returns the SQL list of these kinds.
    private static func list(_ kinds: [AuditEvent.Kind]) -> String {
        kinds.map { "'\($0)'" }.joined(separator: ", ")
    }

    /// Returns the SQL condition that this database has no key of the algorithm of a row of `replaced.oauth_key`, and
    /// of its face if both databases have the column.
    static func hasNoKey(_ shared: SharedColumns) -> String {
        let names = shared.columns(of: "oauth_key", among: ["algorithm", "face"]).joined(separator: ", ")
        return "(\(names)) NOT IN (SELECT \(names) FROM main.oauth_key)"
    }

    /// Returns a statement that copies the rows of a table that meet `condition` and hurt no rule of uniqueness. The rows
    /// get numbers of their own.
    static func add(_ table: String, _ shared: SharedColumns, where condition: String = "1") -> String {
        let columns = shared.columns(of: table, except: ["number"]).joined(separator: ", ")
        return """
            INSERT OR IGNORE INTO main.\(table) (\(columns)) SELECT \(columns) FROM replaced.\(table) AS theirs
            WHERE \(condition)
            """
    }

    /// Returns a statement that copies all rows of a table that meet `condition`.
    static func copy(_ table: String, _ shared: SharedColumns, where condition: String = "1") -> String {
        let columns = shared.columns(of: table).joined(separator: ", ")
        return "INSERT INTO main.\(table) (\(columns)) SELECT \(columns) FROM replaced.\(table) WHERE \(condition)"
    }
}

extension SharedColumns {
    /// Reads the columns that each table has in this database and in the attached database `replaced`.
    init(_ db: Database) throws {
        let tables = try String.fetchAll(db, sql: "SELECT name FROM main.sqlite_schema WHERE type = 'table'")
        self.init(
            try tables.map { table in
                let columns = try String.fetchAll(
                    db,
                    sql: """
                        SELECT name FROM pragma_table_info(?1, 'main')
                        WHERE name IN (SELECT name FROM pragma_table_info(?1, 'replaced')) ORDER BY cid
                        """, arguments: [table])
                return (table, columns)
            })
    }
}

/// One kind of difference: the query that finds the difference, and the statements for keeping the later state in
/// force.
struct ReplacedStep: Sendable {
    let kind: BackupDifference
    /// The table or column that both databases need for such a difference.
    let need: SharedColumns.Need
    let query: @Sendable (SharedColumns) -> String
    let statements: @Sendable (SharedColumns) -> [String]

    init(
        _ kind: BackupDifference, of need: SharedColumns.Need = .nothing, _ query: String,
        _ statements: @escaping @Sendable (SharedColumns) -> [String] = { _ in [] }
    ) {
        self.init(kind, of: need, query: { _ in query }, statements)
    }

    init(
        _ kind: BackupDifference, of need: SharedColumns.Need = .nothing,
        query: @escaping @Sendable (SharedColumns) -> String,
        _ statements: @escaping @Sendable (SharedColumns) -> [String] = { _ in [] }
    ) {
        self.kind = kind
        self.need = need
        self.query = query
        self.statements = statements
    }
}

/// Rows of the replaced database that stay without being named as a difference.
struct ReplacedRemainder: Sendable {
    let treatment: BackupDifference.Treatment
    /// The table or column that both databases need for these rows.
    let need: SharedColumns.Need
    let statements: @Sendable (SharedColumns) -> [String]
}

extension Database {
    /// Runs statements in their order.
    func executeAll(_ statements: [String]) throws {
        for statement in statements { try self.execute(sql: statement) }
    }
}
