import Records
import _Primitives

/// Compares services of personalised identities, organisations, and the accounts' data of both, with the database
/// before the restore.
///
/// Otherwise a role or a membership removed since the backup would grant access again, and services would receive a
/// value deleted by its owner.
enum ReplacedIdentities {
    static let steps: [ReplacedStep] = [
        Self.services(
            .serviceRemoved, missingIn: "replaced", of: "main",
            ["DELETE FROM main.service WHERE id NOT IN (SELECT id FROM replaced.service)"]),
        Self.organisations(
            .organisationRemoved, missingIn: "replaced", of: "main",
            ["DELETE FROM main.organisation WHERE id NOT IN (SELECT id FROM replaced.organisation)"]),
        ReplacedStep(
            .serviceChanged, of: Self.need, query: { EditableTable.services.changed(by: .server, $0) },
            { EditableTable.services.carryOver($0) }),
        ReplacedStep(
            .organisationChanged, of: Self.need, query: { EditableTable.organisations.changed(by: .server, $0) },
            { EditableTable.organisations.carryOver($0) }),
        ReplacedStep(
            .rolesChanged, of: Self.need, Self.roles(changedBy: .server),
            { shared in
                Self.carryOver("service_roles", owner: "service", AuditEvent.Kind.roleChanges, shared)
                    + Self.carryOver("organisation_member", owner: "organisation", AuditEvent.Kind.roleChanges, shared)
            }),
        ReplacedStep(
            .personalInformationChanged, of: Self.need, Self.values(changedBy: .server),
            { shared in
                Self.carryOver("personal_value", AuditEvent.Kind.personalInformationChanges, shared)
                    + Self.carryOver("account_email", AuditEvent.Kind.personalInformationChanges, shared)
            }),
        Self.services(.serviceAdded, missingIn: "main", of: "replaced"),
        Self.organisations(.organisationAdded, missingIn: "main", of: "replaced"),
        ReplacedStep(
            .serviceChangedOutside, of: Self.need, query: { EditableTable.services.changed(by: .somebodyElse, $0) }),
        ReplacedStep(
            .organisationChangedOutside, of: Self.need,
            query: { EditableTable.organisations.changed(by: .somebodyElse, $0) }),
        // The change of a service's profile explains different roles at the service.
        ReplacedStep(
            .accountChangedOutside, of: Self.need,
            Self.roles(
                changedBy: .somebodyElse,
                at: ReplacedRows.told([.serviceChanged], by: .somebodyElse, where: "entry.detail = service"))),
        ReplacedStep(.accountChangedOutside, of: Self.need, Self.values(changedBy: .somebodyElse)),
    ]

    /// The table that came with the tables of all these differences.
    private static let need = SharedColumns.Need.table("service")

    /// Returns a step for the services of one database that the other does not have. Only services whose client is in
    /// the other database count: a service deleted with its client is not named again.
    private static func services(
        _ kind: BackupDifference, missingIn other: String, of schema: String, _ statements: [String] = []
    ) -> ReplacedStep {
        ReplacedStep(
            kind, of: Self.need,
            """
            SELECT item.id AS id, client.name AS name FROM \(schema).service AS item
            JOIN \(schema).oauth_client AS client ON client.id = item.id
            WHERE item.id NOT IN (SELECT id FROM \(other).service)
            AND item.id IN (SELECT id FROM \(other).oauth_client) ORDER BY item.id
            """, { _ in statements })
    }

    private static func organisations(
        _ kind: BackupDifference, missingIn other: String, of schema: String, _ statements: [String] = []
    ) -> ReplacedStep {
        ReplacedStep(
            kind, of: Self.need,
            """
            SELECT id, name FROM \(schema).organisation
            WHERE id NOT IN (SELECT id FROM \(other).organisation) ORDER BY name
            """, { _ in statements })
    }

    /// Returns a query for the accounts of both databases whose roles or memberships differ, with the roles at the
    /// services that meet `condition`. Services and organisations that only one of the databases has are not compared,
    /// since their existence is already a difference.
    private static func roles(changedBy author: BackupDifference.Author, at condition: String = "1") -> String {
        func roles(_ schema: String) -> String {
            """
            (SELECT group_concat(service || ' ' || roles, ' ') FROM
                (SELECT service, roles FROM \(schema).service_roles WHERE account_id = ours.id
                    AND service IN (SELECT id FROM main.service) AND service IN (SELECT id FROM replaced.service)
                    AND \(condition) ORDER BY service))
            """
        }
        func memberships(_ schema: String) -> String {
            """
            (SELECT group_concat(organisation, ' ') FROM
                (SELECT organisation FROM \(schema).organisation_member WHERE account_id = ours.id
                    AND organisation IN (SELECT id FROM main.organisation)
                    AND organisation IN (SELECT id FROM replaced.organisation) ORDER BY organisation))
            """
        }
        return Self.accounts(differingIn: [roles, memberships], AuditEvent.Kind.roleChanges, by: author)
    }

    /// Returns a query for the accounts of both databases whose values or further addresses differ.
    private static func values(changedBy author: BackupDifference.Author) -> String {
        func values(_ schema: String) -> String {
            """
            (SELECT group_concat(id || ' ' || attribute || is_primary || is_verified || hex(alias) || hex(value), ' ')
                FROM (SELECT * FROM \(schema).personal_value WHERE account_id = ours.id ORDER BY id))
            """
        }
        func addresses(_ schema: String) -> String {
            """
            (SELECT group_concat(id || ' ' || is_verified || hex(address), ' ')
                FROM (SELECT * FROM \(schema).account_email WHERE account_id = ours.id ORDER BY id))
            """
        }
        return Self.accounts(
            differingIn: [values, addresses], AuditEvent.Kind.personalInformationChanges, by: author)
    }

    /// Returns a query for the accounts of both databases for which one of the values differs between the two schemas.
    private static func accounts(
        differingIn values: [(_ schema: String) -> String], _ kinds: [AuditEvent.Kind],
        by author: BackupDifference.Author
    ) -> String {
        let differences = values.map { "\($0("main")) IS NOT \($0("replaced"))" }
        return """
            SELECT ours.id AS id, ours.username AS name FROM main.account AS ours
            WHERE ours.id IN (SELECT id FROM replaced.account)
            AND \(ReplacedRows.told(kinds, by: author, where: "entry.account_id = ours.id"))
            AND (\(differences.joined(separator: " OR "))) ORDER BY ours.number
            """
    }

    /// Returns the statements that copy the rows of accounts with an entry in the trail. `owner` is the column, and the
    /// table, of a row's second owner beside the account. A row without an existing owner is not copied.
    private static func carryOver(
        _ table: String, owner: String, _ kinds: [AuditEvent.Kind], _ shared: SharedColumns
    ) -> [String] {
        Self.carryOver(
            table, kinds, shared, where: "\(owner) IN (SELECT id FROM main.\(owner))", orderedBy: "account_id")
    }

    /// Returns the statements that copy the rows of accounts with an entry in the trail.
    private static func carryOver(
        _ table: String, _ kinds: [AuditEvent.Kind], _ shared: SharedColumns, where condition: String = "1",
        orderedBy order: String = "number"
    ) -> [String] {
        let accounts = ReplacedRows.ofToldAccount(kinds)
        // A number of one database may belong to another row in the other database.
        let columns = shared.columns(of: table, except: ["number"]).joined(separator: ", ")
        return [
            "DELETE FROM main.\(table) WHERE \(accounts)",
            """
            INSERT INTO main.\(table) (\(columns))
            SELECT \(columns) FROM replaced.\(table) WHERE \(accounts) AND \(condition) ORDER BY \(order)
            """,
        ]
    }
}
