import GRDB
import Records

/// Compares passwords and second factors with the database before the restore.
///
/// Changes since the backup stay in force: otherwise an abandoned password and a spent recovery code would be valid
/// again.
enum ReplacedPasswords {
    private static let tables = ["password", "totp", "recovery_code"]

    /// Returns a query for the accounts of both databases whose passwords differ, through the server or through
    /// somebody else: identifier and title. `nil` if a database is too old to have passwords.
    static func changed(byServer isTold: Bool, _ db: Database) throws -> String? {
        guard try !ReplacedRows.columns(of: "password", db).isEmpty else { return nil }
        func codes(_ schema: String) -> String {
            """
            (SELECT group_concat(hex(code)) FROM
                (SELECT code FROM \(schema).recovery_code WHERE account_id = ours.id ORDER BY code))
            """
        }
        // A sealed value that nobody has resealed is the same in both databases.
        let differences = [("password", "hash"), ("totp", "secret")].map { table, column in
            """
            (SELECT \(column) FROM main.\(table) WHERE account_id = ours.id)
                IS NOT (SELECT \(column) FROM replaced.\(table) WHERE account_id = ours.id)
            """
        }
        let told = ReplacedRows.told(AuditEvent.Kind.passwordChanges, where: "entry.account_id = ours.id")
        return """
            SELECT ours.id AS id, ours.username AS name FROM main.account AS ours
            WHERE ours.id IN (SELECT id FROM replaced.account) AND \(isTold ? "" : "NOT ")\(told)
            AND (\(differences.joined(separator: " OR ")) OR \(codes("main")) IS NOT \(codes("replaced")))
            ORDER BY ours.number
            """
    }

    /// Returns the statements that copy the server's changes.
    static func carryOver(_ db: Database) throws -> [String] {
        let kinds = AuditEvent.Kind.passwordChanges.map { "'\($0)'" }.joined(separator: ", ")
        let accounts = """
            account_id IN (SELECT id FROM main.account) AND account_id IN (
                SELECT account_id FROM replaced.audit
                WHERE number > (SELECT max(number) FROM main.audit) AND kind IN (\(kinds)))
            """
        return Self.tables.reversed().map { "DELETE FROM main.\($0) WHERE \(accounts)" }
            + (try Self.tables.map { table in
                let columns = try ReplacedRows.columns(of: table, db).joined(separator: ", ")
                return
                    "INSERT INTO main.\(table) (\(columns)) SELECT \(columns) FROM replaced.\(table) WHERE \(accounts)"
            })
    }
}
