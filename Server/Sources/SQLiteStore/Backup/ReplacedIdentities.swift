import GRDB
import Records

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
            .serviceChanged, query: { try Self.changed(.services, by: .server, $0) },
            { try EditableTable.services.carryOver($0) }),
        ReplacedStep(
            .organisationChanged, query: { try Self.changed(.organisations, by: .server, $0) },
            { try EditableTable.organisations.carryOver($0) }),
        ReplacedStep(
            .rolesChanged, query: { try Self.roles(changedByServer: true, $0) },
            {
                try Self.carryOver(
                    [("service_roles", "service"), ("organisation_member", "organisation")], Self.roleChanges, $0)
            }),
        ReplacedStep(
            .personalInformationChanged, query: { try Self.values(changedByServer: true, $0) },
            { try Self.carryOver([("personal_value", nil), ("account_email", nil)], Self.valueChanges, $0) }),
        Self.services(.serviceAdded, missingIn: "main", of: "replaced"),
        Self.organisations(.organisationAdded, missingIn: "main", of: "replaced"),
        ReplacedStep(.serviceChangedOutside, query: { try Self.changed(.services, by: .somebodyElse, $0) }),
        ReplacedStep(.organisationChangedOutside, query: { try Self.changed(.organisations, by: .somebodyElse, $0) }),
        ReplacedStep(.accountChangedOutside, query: { try Self.roles(changedByServer: false, $0) }),
        ReplacedStep(.accountChangedOutside, query: { try Self.values(changedByServer: false, $0) }),
    ]

    /// The entries for changed roles or memberships of an account.
    private static let roleChanges: [AuditEvent.Kind] = [
        .roleAssigned, .roleRevoked, .rolesReset, .memberAdded, .memberRemoved, .inviteAccepted, .accountMerged,
    ]
    /// The entries for changed values or addresses of an account.
    private static let valueChanges: [AuditEvent.Kind] = [
        .personalValueAdded, .personalValueChanged, .personalValueRemoved, .additionalEmailAdded,
        .additionalEmailChanged, .additionalEmailRemoved, .accountMerged,
    ]

    private static func isThere(_ db: Database) throws -> Bool {
        try !ReplacedRows.columns(of: "service", db).isEmpty
    }

    private static func changed(_ table: EditableTable, by author: EditableTable.Author, _ db: Database) throws
        -> String?
    {
        try Self.isThere(db) ? try table.changed(by: author, db) : nil
    }

    /// Returns a step for the services of one database that the other does not have. Only services whose client is in
    /// the other database count: a service deleted with its client is not named again.
    private static func services(
        _ kind: RestoreReport.Change.Kind, missingIn other: String, of schema: String, _ statements: [String] = []
    ) -> ReplacedStep {
        ReplacedStep(
            kind,
            query: { db in
                guard try Self.isThere(db) else { return nil }
                return """
                    SELECT item.id AS id, client.name AS name FROM \(schema).service AS item
                    JOIN \(schema).oauth_client AS client ON client.id = item.id
                    WHERE item.id NOT IN (SELECT id FROM \(other).service)
                    AND item.id IN (SELECT id FROM \(other).oauth_client) ORDER BY item.id
                    """
            }, { _ in statements })
    }

    private static func organisations(
        _ kind: RestoreReport.Change.Kind, missingIn other: String, of schema: String, _ statements: [String] = []
    ) -> ReplacedStep {
        ReplacedStep(
            kind,
            query: { db in
                guard try Self.isThere(db) else { return nil }
                return """
                    SELECT id, name FROM \(schema).organisation
                    WHERE id NOT IN (SELECT id FROM \(other).organisation) ORDER BY name
                    """
            }, { _ in statements })
    }

    /// Returns a query for the accounts of both databases whose roles or memberships differ. If the profile of a
    /// service was changed, that change explains different roles at the service. Services and organisations that only
    /// one of the databases has are not compared, since their existence is already a difference.
    private static func roles(changedByServer isTold: Bool, _ db: Database) throws -> String? {
        let isServers = ReplacedRows.told([.serviceChanged], where: "entry.detail = service")
        func roles(_ schema: String) -> String {
            """
            (SELECT group_concat(service || ' ' || roles, ' ') FROM
                (SELECT service, roles FROM \(schema).service_roles WHERE account_id = ours.id
                    AND service IN (SELECT id FROM main.service) AND service IN (SELECT id FROM replaced.service)
                    \(isTold ? "" : "AND NOT \(isServers)") ORDER BY service))
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
        return try Self.accounts(
            where: [roles, memberships].map { "\($0("main")) IS NOT \($0("replaced"))" }, toldBy: Self.roleChanges,
            isTold,
            db)
    }

    /// Returns a query for the accounts of both databases whose values or further addresses differ.
    private static func values(changedByServer isTold: Bool, _ db: Database) throws -> String? {
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
        return try Self.accounts(
            where: [values, addresses].map { "\($0("main")) IS NOT \($0("replaced"))" }, toldBy: Self.valueChanges,
            isTold,
            db)
    }

    private static func accounts(
        where differences: [String], toldBy kinds: [AuditEvent.Kind], _ isTold: Bool, _ db: Database
    ) throws -> String? {
        guard try Self.isThere(db) else { return nil }
        return """
            SELECT ours.id AS id, ours.username AS name FROM main.account AS ours
            WHERE ours.id IN (SELECT id FROM replaced.account)
            AND \(isTold ? "" : "NOT ")\(ReplacedRows.told(kinds, where: "entry.account_id = ours.id"))
            AND (\(differences.joined(separator: " OR "))) ORDER BY ours.number
            """
    }

    /// Returns the statements that copy the rows of accounts with an entry in the trail. `owner` is the column, and the
    /// table, of a row's second owner beside the account. A row without an existing owner is not copied.
    private static func carryOver(
        _ tables: [(name: String, owner: String?)], _ kinds: [AuditEvent.Kind], _ db: Database
    ) throws -> [String] {
        let accounts = """
            account_id IN (SELECT id FROM main.account) AND account_id IN (
                SELECT account_id FROM replaced.audit WHERE number > (SELECT max(number) FROM main.audit)
                    AND kind IN (\(kinds.map { "'\($0)'" }.joined(separator: ", "))))
            """
        return try tables.flatMap { table, owner in
            // A number of one database may belong to another row in the other database.
            let columns = try ReplacedRows.columns(of: table, db).filter { !$0.utf8.elementsEqual("number".utf8) }
                .joined(separator: ", ")
            let isOwned = owner.map { " AND \($0) IN (SELECT id FROM main.\($0))" } ?? ""
            return [
                "DELETE FROM main.\(table) WHERE \(accounts)",
                """
                INSERT INTO main.\(table) (\(columns))
                SELECT \(columns) FROM replaced.\(table) WHERE \(accounts)\(isOwned)
                ORDER BY \(owner == nil ? "number" : "account_id")
                """,
            ]
        }
    }
}
