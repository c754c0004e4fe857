import Records

/// Compares other providers, and the accounts connected with them, with the database before the restore.
///
/// Otherwise an ended connection would grant access again, and so would a removed provider.
enum ReplacedProviders {
    static let steps: [ReplacedStep] = [
        Self.providers(
            .providerRemoved, missingIn: "replaced", of: "main",
            ["DELETE FROM main.upstream_provider WHERE id NOT IN (SELECT id FROM replaced.upstream_provider)"]),
        ReplacedStep(
            .providerChanged, of: .table("upstream_provider"),
            query: { EditableTable.providers.changed(by: .server, $0) }, { EditableTable.providers.carryOver($0) }),
        Self.connections(
            .identityUnlinked, missingIn: "replaced", of: "main",
            ["DELETE FROM main.upstream_link WHERE id NOT IN (SELECT id FROM replaced.upstream_link)"]),
        Self.providers(.providerAdded, missingIn: "main", of: "replaced"),
        Self.connections(.identityLinked, missingIn: "main", of: "replaced"),
    ]

    /// Returns a step for the providers of one database that the other does not have.
    private static func providers(
        _ kind: BackupDifference, missingIn other: String, of schema: String, _ statements: [String] = []
    ) -> ReplacedStep {
        ReplacedStep(
            kind, of: .table("upstream_provider"),
            """
            SELECT item.id AS id, item.title AS name FROM \(schema).upstream_provider AS item
            WHERE item.id NOT IN (SELECT id FROM \(other).upstream_provider) ORDER BY item.created_at, item.id
            """, { _ in statements })
    }

    /// Returns a step for the connections of one database that the other does not have. Connections count only if both
    /// databases have the account and the provider: a connection deleted with its owner is not named again.
    private static func connections(
        _ kind: BackupDifference, missingIn other: String, of schema: String, _ statements: [String] = []
    ) -> ReplacedStep {
        ReplacedStep(
            kind, of: .table("upstream_link"),
            """
            SELECT item.id AS id, item.provider AS name FROM \(schema).upstream_link AS item
            WHERE item.id NOT IN (SELECT id FROM \(other).upstream_link)
            AND item.account_id IN (SELECT id FROM \(other).account)
            AND item.provider IN (SELECT id FROM \(other).upstream_provider) ORDER BY item.created_at, item.id
            """, { _ in statements })
    }
}
