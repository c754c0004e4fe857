import GRDB
import Records
import SQLStore
import Sealing
import _Primitives

/// The database that a restore replaces, attached to the restored database as `replaced`.
///
/// The database counts only if the file is complete, has the same key, and continues from the state of the backup
/// according to the audit trail. Any other database would differ in everything.
struct ReplacedDatabase {
    let sealing: Sealing

    /// Notes every difference of the kinds in ``BackupDifference``, and keeps the parts that must not be lost: the audit
    /// trail, the counters of keys, failed attempts, values that clients have shown, the root of activations, and the
    /// revocations unless `isKept` is `false`. A database that cannot be compared changes only the report.
    func compare(_ db: Database, keepsRevocations isKept: Bool, _ report: inout RestoreReport) throws {
        do {
            try self.checkComparable(db)
        } catch {
            report.comparison = .notComparable(reason: try Incomparable(reading: error).reason)
            return
        }
        let shared = try SharedColumns(db)
        try SealedColumn.align(db, with: "replaced", shared, self.sealing)
        // Accounts come before their devices, and devices before their keys: a row deleted with its owner is not named
        // again.
        let steps = Self.steps + ReplacedProviders.steps + ReplacedActivations.steps + ReplacedIdentities.steps
        for step in steps where shared.meets(step.need) {
            report.changes += try self.take(step, db, shared, keepsRevocations: isKept)
        }
        let remainders = [Self.deregistrations, Self.shownValues, Self.receiptKeys, ReplacedActivations.attempts]
        for rows in remainders where rows.treatment.isKept(revocationsAre: isKept) && shared.meets(rows.need) {
            try db.executeAll(rows.statements(shared))
        }
        try self.keepKeys(db)
        try ReplacedActivations.keepRoot(db, shared, self.sealing)
        report.comparison = .compared(
            counters: report.changes.count { $0.kind == .counterAdvanced },
            auditEntries: try self.keepAudit(db, shared))
    }

    /// Checks that the database can be compared. Throws ``Incomparable``, and the errors of reading the database.
    private func checkComparable(_ db: Database) throws {
        try Incomparable.check(try db.storeVersion(of: "replaced"), known: Migration.all.count)
        try SQLConnection(db).checkIntegrity(of: "replaced")
        let theirs = try StoreKeys(keys: self.sealing.keys).sealing(of: SQLConnection(db), schema: "replaced")
        try Incomparable.check(namesAreOurs: theirs.root == self.sealing.root)
        let isContinuation = try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM replaced.audit AS theirs JOIN main.audit AS ours
                    ON ours.number = theirs.number AND ours.code = theirs.code
                    WHERE ours.number = (SELECT max(number) FROM main.audit))
                """)
        try Incomparable.check(isContinuation: isContinuation)
        try Incomparable.check(try AuditRows(SQLConnection(db)).verifyAudit(self.sealing, of: "replaced"))
    }

    /// Returns the differences of a step, and keeps the later state in force if the kind of difference is kept.
    private func take(
        _ step: ReplacedStep, _ db: Database, _ shared: SharedColumns, keepsRevocations: Bool
    ) throws -> [RestoreReport.Change] {
        let isKept = step.kind.treatment.isKept(revocationsAre: keepsRevocations)
        let found = try SQLConnection(db).rows(.composed(step.query(shared))) { row in
            RestoreReport.Change(
                kind: step.kind, id: try row.text("id"), name: try self.name(of: step.kind, row), isKept: isKept)
        }
        if isKept, !found.isEmpty { try db.executeAll(step.statements(shared)) }
        return found
    }

    /// Keeps the former keys, because copied values stay sealed under their keys.
    private func keepKeys(_ db: Database) throws {
        for id in try SQLConnection(db).sealingKeys(of: "replaced") {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO main.sealing_key (number, id)
                    SELECT min(number) - 1, ? FROM main.sealing_key
                    """, arguments: [id])
        }
    }

    /// Keeps the later entries of the audit trail. Returns their number.
    private func keepAudit(_ db: Database, _ shared: SharedColumns) throws -> Int {
        let isLater = "number > (SELECT max(number) FROM main.audit) ORDER BY number"
        try db.execute(sql: ReplacedRows.copy("audit", shared, where: isLater))
        return db.changesCount
    }

    private func name(of kind: BackupDifference, _ row: SQLRow) throws -> String {
        // A damaged name must not keep the backup from being restored.
        func open(_ column: String, _ purpose: SealingPurpose, of id: String) throws -> String {
            let id = try row.text(id)
            return (try? self.sealing.openText(try row.bytes(column), purpose: purpose, row: id)) ?? id
        }
        switch kind.subject {
        case .account: return try open("name", .username, of: "id")
        case .device:
            let owner = try open("username", .username, of: "account_id")
            return "\(try open("name", .deviceName, of: "device_id")) of \(owner)"
        case .named: return try row.text("name")
        }
    }

    /// The answers to carried-out deregistrations for phones that lost the answer: the keys stay deleted, and the phones
    /// are told so.
    private static let deregistrations = ReplacedRemainder(
        treatment: .carriedOver, need: .table("deregistered_key")
    ) { shared in
        let isTold = ReplacedRows.told([.deregistered], by: .server, where: "entry.ceremony_id = theirs.id")
        return [
            (
                "ceremony",
                """
                \(CeremonyRecord.isCarriedOutDeregistration) AND id NOT IN (SELECT id FROM main.ceremony) AND \(isTold)
                """
            ),
            (
                "dispatch_token",
                """
                ceremony_id IN (SELECT id FROM main.ceremony) AND digest NOT IN (SELECT digest FROM main.dispatch_token)
                """
            ),
            (
                "deregistered_key",
                """
                ceremony_id IN (SELECT id FROM main.ceremony)
                AND ceremony_id NOT IN (SELECT ceremony_id FROM main.deregistered_key) ORDER BY number
                """
            ),
        ].map { ReplacedRows.add($0, shared, where: $1) }
    }

    /// The values that clients have shown since the backup, so no value counts a second time.
    private static let shownValues = ReplacedRemainder(treatment: .kept, need: .table("oauth_shown")) { shared in
        [ReplacedRows.add("oauth_shown", shared)]
    }

    /// The public keys of receipts that were signed since the backup: people and back ends have such receipts. The times
    /// of a key that both databases have are the later times, except that a key that signs has no end.
    private static let receiptKeys = ReplacedRemainder(treatment: .kept, need: .table("receipt_key")) { shared in
        [
            ReplacedRows.add("receipt_key", shared),
            """
            UPDATE main.receipt_key SET (signs_until, seen_since) = (
                SELECT signs_until, seen_since FROM replaced.receipt_key AS theirs
                WHERE theirs.id = main.receipt_key.id)
            WHERE id IN (SELECT id FROM replaced.receipt_key)
            """,
            // A restore that undoes revocations has the former key sign again.
            """
            UPDATE main.receipt_key SET signs_until = NULL
            WHERE id IN (SELECT id FROM main.oauth_key WHERE retired_at IS NULL)
            """,
        ]
    }

    /// The columns that describe a device, or a thing `item` on a device: the identifier, the device with its name, the
    /// owner with the user name.
    private static let shown = """
        item.id AS id, device.name AS name, device.id AS device_id, account.username AS username,
        account.id AS account_id
        """

    /// Returns a query for the devices of one database that the other does not have. A new device of a new owner is not
    /// named: only the owner is named.
    private static func devices(of schema: String, missingIn other: String) -> String {
        """
        SELECT \(Self.shown) FROM \(schema).device AS item JOIN \(schema).device AS device ON device.id = item.id
        JOIN \(schema).account AS account ON account.id = item.account_id
        WHERE item.id NOT IN (SELECT id FROM \(other).device)
        AND item.account_id IN (SELECT id FROM \(other).account) ORDER BY item.number
        """
    }

    /// Returns a query for the keys of one database that the other does not have. A new key of a new device is not
    /// named: only the device is named.
    private static func keys(of schema: String, missingIn other: String) -> String {
        """
        SELECT \(Self.shown) FROM \(schema).credential AS item
        JOIN \(schema).device AS device ON device.id = item.device_id
        JOIN \(schema).account AS account ON account.id = item.account_id
        WHERE item.id NOT IN (SELECT id FROM \(other).credential)
        AND item.device_id IN (SELECT id FROM \(other).device) ORDER BY item.number
        """
    }

    private static let steps: [ReplacedStep] = Self.changes + Self.additions + Self.changesOutside

    /// The changes that stay in force.
    private static let changes: [ReplacedStep] = [
        ReplacedStep(
            .accountDeleted,
            "SELECT id, username AS name FROM main.account WHERE id NOT IN (SELECT id FROM replaced.account)",
            { _ in
                ["DELETE FROM main.account WHERE id NOT IN (SELECT id FROM replaced.account)"]
                    + [("notice", "account_id"), ("oauth_subject", "account")].map { table, column in
                        "DELETE FROM main.\(table) WHERE \(column) NOT IN (SELECT id FROM main.account)"
                    }
            }),
        ReplacedStep(
            .accountLocked,
            """
            SELECT id, username AS name FROM main.account WHERE is_locked = 0
            AND id IN (SELECT id FROM replaced.account WHERE is_locked = 1)
            """,
            { _ in
                [
                    """
                    UPDATE main.account SET is_locked = 1
                    WHERE id IN (SELECT id FROM replaced.account WHERE is_locked = 1)
                    """
                ]
            }),
        ReplacedStep(
            .deviceRevoked, Self.devices(of: "main", missingIn: "replaced"),
            { _ in ["DELETE FROM main.device WHERE id NOT IN (SELECT id FROM replaced.device)"] }),
        // A device that was taken back since the backup rests again: its person or an operator takes it back once more.
        ReplacedStep(
            .deviceRested, of: .column("rested_at", of: "device"),
            """
            SELECT \(Self.shown) FROM main.device AS item JOIN main.device AS device ON device.id = item.id
            JOIN main.account AS account ON account.id = item.account_id
            WHERE item.rested_at IS NULL AND item.id IN (SELECT id FROM replaced.device WHERE rested_at IS NOT NULL)
            ORDER BY item.number
            """,
            { _ in
                [
                    """
                    UPDATE main.device SET (rested_at, is_disowned) =
                        (SELECT rested_at, is_disowned FROM replaced.device AS theirs WHERE theirs.id = device.id)
                    WHERE rested_at IS NULL AND id IN (SELECT id FROM replaced.device WHERE rested_at IS NOT NULL)
                    """
                ]
            }),
        ReplacedStep(
            .keyDeregistered, Self.keys(of: "main", missingIn: "replaced"),
            { _ in ["DELETE FROM main.credential WHERE id NOT IN (SELECT id FROM replaced.credential)"] }),
        // Counters are kept whether or not revocations are undone: a counter that went back would let a copied
        // device pass.
        ReplacedStep(
            .counterAdvanced,
            """
            SELECT \(Self.shown) FROM main.credential AS item
            JOIN replaced.credential AS theirs ON theirs.id = item.id AND theirs.counter > item.counter
            JOIN main.device AS device ON device.id = item.device_id
            JOIN main.account AS account ON account.id = item.account_id ORDER BY item.number
            """,
            { _ in
                [
                    """
                    UPDATE main.credential SET (counter, last_used_at) =
                        (SELECT counter, last_used_at FROM replaced.credential AS theirs
                            WHERE theirs.id = credential.id)
                    WHERE EXISTS (SELECT 1 FROM replaced.credential AS theirs
                        WHERE theirs.id = credential.id AND theirs.counter > credential.counter)
                    """
                ]
            }),
        ReplacedStep(
            .clientDeleted,
            "SELECT id, name FROM main.oauth_client WHERE id NOT IN (SELECT id FROM replaced.oauth_client)",
            { _ in
                [
                    "DELETE FROM main.oauth_client WHERE id NOT IN (SELECT id FROM replaced.oauth_client)",
                    "DELETE FROM main.oauth_subject WHERE client NOT IN (SELECT id FROM main.oauth_client)",
                ]
            }),
        ReplacedStep(
            .clientChanged, of: .table("oauth_client"), query: { EditableTable.clients.changed(by: .server, $0) },
            { EditableTable.clients.carryOver($0) }),
        ReplacedStep(
            .accountChanged, of: .table("account"), query: { EditableTable.accounts.changed(by: .server, $0) },
            { EditableTable.accounts.carryOver($0) }),
        ReplacedPasswords.step,
        ReplacedStep(
            .inventedAccountsSet, of: .table("invented_accounts"), Self.inventedAccounts(setBy: .server),
            { _ in
                [
                    "DELETE FROM main.invented_accounts",
                    """
                    INSERT INTO main.invented_accounts (id, document)
                    SELECT id, document FROM replaced.invented_accounts
                    """,
                ]
            }),
        // The backup has no signing key of this algorithm yet, but a client may use the algorithm now.
        ReplacedStep(
            .signingKeyAdded, of: .column("algorithm", of: "oauth_key"),
            query: { shared in
                """
                SELECT id, id AS name FROM replaced.oauth_key WHERE retired_at IS NULL
                AND \(ReplacedRows.hasNoKey(shared))
                """
            },
            { shared in [ReplacedRows.copy("oauth_key", shared, where: ReplacedRows.hasNoKey(shared))] }),
        ReplacedStep(
            .signingKeyRotated,
            """
            SELECT id, id AS name FROM main.oauth_key WHERE retired_at IS NULL
            AND id NOT IN (SELECT id FROM replaced.oauth_key WHERE retired_at IS NULL)
            """,
            { shared in ["DELETE FROM main.oauth_key", ReplacedRows.copy("oauth_key", shared)] }),
    ]

    /// The additions, which are lost.
    private static let additions: [ReplacedStep] = [
        ReplacedStep(
            .accountAdded,
            "SELECT id, username AS name FROM replaced.account WHERE id NOT IN (SELECT id FROM main.account)"),
        ReplacedStep(
            .accountUnlocked,
            """
            SELECT id, username AS name FROM main.account WHERE is_locked = 1
            AND id IN (SELECT id FROM replaced.account WHERE is_locked = 0)
            """),
        ReplacedStep(.deviceAdded, Self.devices(of: "replaced", missingIn: "main")),
        ReplacedStep(.keyAdded, Self.keys(of: "replaced", missingIn: "main")),
        ReplacedStep(
            .clientAdded,
            "SELECT id, name FROM replaced.oauth_client WHERE id NOT IN (SELECT id FROM main.oauth_client)"),
    ]

    /// The changes by somebody else than the server.
    private static let changesOutside: [ReplacedStep] = [
        ReplacedStep(
            .clientChangedOutside, of: .table("oauth_client"),
            query: { EditableTable.clients.changed(by: .somebodyElse, $0) }),
        ReplacedStep(
            .accountChangedOutside, of: .table("account"),
            query: { EditableTable.accounts.changed(by: .somebodyElse, $0) }),
        ReplacedStep(
            .providerChangedOutside, of: .table("upstream_provider"),
            query: { EditableTable.providers.changed(by: .somebodyElse, $0) }),
        ReplacedPasswords.stepOutside,
        ReplacedStep(
            .inventedAccountsChangedOutside, of: .table("invented_accounts"),
            Self.inventedAccounts(setBy: .somebodyElse)),
    ]

    private static func inventedAccounts(setBy author: BackupDifference.Author) -> String {
        """
        SELECT 'invented-accounts' AS id, 'invented-accounts' AS name
        WHERE (SELECT document FROM main.invented_accounts) IS NOT (SELECT document FROM replaced.invented_accounts)
        AND \(ReplacedRows.told([.inventedAccountsSet], by: author))
        """
    }
}
