import Records

/// Compares passwords and second factors with the database before the restore.
///
/// Changes since the backup stay in force: otherwise an abandoned password and a spent recovery code would be valid
/// again.
enum ReplacedPasswords {
    private static let tables = ["password", "totp", "recovery_code"]

    /// The changes by the server, which stay in force.
    static let step = ReplacedStep(
        .passwordChanged, of: .table("password"), Self.changed(by: .server),
        { shared in
            let accounts = ReplacedRows.ofToldAccount(AuditEvent.Kind.passwordChanges)
            return Self.tables.reversed().map { "DELETE FROM main.\($0) WHERE \(accounts)" }
                + Self.tables.map { ReplacedRows.copy($0, shared, where: accounts) }
        })

    /// The changes by somebody else.
    static let stepOutside = ReplacedStep(
        .accountChangedOutside, of: .table("password"), Self.changed(by: .somebodyElse))

    /// Returns a query for the accounts of both databases whose passwords differ through `author`: identifier and title.
    private static func changed(by author: BackupDifference.Author) -> String {
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
        let isChanged = ReplacedRows.told(
            AuditEvent.Kind.passwordChanges, by: author, where: "entry.account_id = ours.id")
        return """
            SELECT ours.id AS id, ours.username AS name FROM main.account AS ours
            WHERE ours.id IN (SELECT id FROM replaced.account) AND \(isChanged)
            AND (\(differences.joined(separator: " OR ")) OR \(codes("main")) IS NOT \(codes("replaced")))
            ORDER BY ours.number
            """
    }
}
