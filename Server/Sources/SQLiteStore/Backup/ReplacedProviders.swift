import GRDB
import Records

/// Compares other providers, and the accounts connected with them, with the database before the restore.
///
/// Otherwise an ended connection would grant access again, and so would a removed provider.
enum ReplacedProviders {
    static let steps: [ReplacedStep] = [
        Self.step(
            .providerRemoved, "upstream_provider", "title", missingIn: "replaced", of: "main",
            ["DELETE FROM main.upstream_provider WHERE id NOT IN (SELECT id FROM replaced.upstream_provider)"]),
        ReplacedStep(
            .providerChanged, query: { try EditableTable.providers.changed(by: .server, $0) },
            { try EditableTable.providers.carryOver($0) }),
        Self.step(
            .identityUnlinked, "upstream_link", "provider", missingIn: "replaced", of: "main",
            ["DELETE FROM main.upstream_link WHERE id NOT IN (SELECT id FROM replaced.upstream_link)"]),
        Self.step(.providerAdded, "upstream_provider", "title", missingIn: "main", of: "replaced"),
        Self.step(.identityLinked, "upstream_link", "provider", missingIn: "main", of: "replaced"),
    ]

    /// Returns a step for the rows of one database that the other does not have. Connections count only if both
    /// databases have the account and the provider: a connection deleted with its owner is not named again.
    private static func step(
        _ kind: RestoreReport.Change.Kind, _ table: String, _ title: String, missingIn other: String,
        of schema: String, _ statements: [String] = []
    ) -> ReplacedStep {
        let owners =
            table == "upstream_link"
            ? """
             AND item.account_id IN (SELECT id FROM \(other).account)
            AND item.provider IN (SELECT id FROM \(other).upstream_provider)
            """ : ""
        return ReplacedStep(
            kind,
            query: { db in
                guard try !ReplacedRows.columns(of: table, db).isEmpty else { return nil }
                return """
                    SELECT item.id AS id, item.\(title) AS name FROM \(schema).\(table) AS item
                    WHERE item.id NOT IN (SELECT id FROM \(other).\(table))\(owners) ORDER BY item.created_at, item.id
                    """
            }, { _ in statements })
    }
}
