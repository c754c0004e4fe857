import Foundation
import GRDB
import GRDBSQLite
import Records
import Sealing
import _Primitives

/// The database that a restore replaces, attached to the restored database as `replaced`.
///
/// The database counts only if the file is complete, has the same key, and continues from the state of the backup
/// according to the audit trail. Any other database would differ in everything.
struct ReplacedDatabase {
    let sealing: Sealing

    /// Attaches the database for reading alone: neither the restore nor a running server waits for the other.
    static func attach(_ path: String, to db: Database) throws {
        let unreserved = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#%;"))
        guard let name = path.addingPercentEncoding(withAllowedCharacters: unreserved) else {
            throw StoreError(.unavailable, "a path that cannot be named")
        }
        try db.execute(sql: "ATTACH DATABASE ? AS replaced", arguments: ["file:\(name)?mode=ro"])
        // An SQLite build without URI names would treat the name as the name of a new file.
        guard sqlite3_db_readonly(db.sqliteConnection, "replaced") == 1 else {
            throw StoreError(.unavailable, "the database is not open for reading alone")
        }
        try db.keepLogFile(of: "replaced")
    }

    /// Notes every difference of the kinds in ``RestoreReport/Change/Kind``, and keeps the parts that must not be lost:
    /// the audit trail, the counters of keys, failed attempts, values that clients have shown, the root of activations,
    /// and the revocations unless `isKept` is `false`. A database that cannot be compared changes only the report.
    func compare(_ db: Database, keepsRevocations isKept: Bool, _ report: inout RestoreReport) throws {
        do {
            if let reason = try self.reasonAgainst(db) {
                report.comparison = .notComparable(reason: reason)
                return
            }
        } catch let error as DatabaseError where error.resultCode != .SQLITE_FULL {
            report.comparison = .notComparable(
                reason: "it cannot be read (SQLite \(error.extendedResultCode.rawValue))")
            return
        } catch let error as StoreError where [.corrupt, .wrongKey, .missingKey].contains(error.code) {
            report.comparison = .notComparable(reason: error.reason)
            return
        }
        try SealedColumn.align(db, with: "replaced", self.sealing)
        var changes: [RestoreReport.Change] = []
        // Accounts come before their devices, and devices before their keys: a row deleted with its owner is not named
        // again.
        let steps =
            Self.steps + ReplacedProviders.steps + ReplacedActivations.steps + ReplacedIdentities.steps
        for step in steps {
            guard let query = try step.query(db) else { continue }
            let found = try db.rows(query) { row in
                RestoreReport.Change(
                    kind: step.kind, id: try row.text("id"), name: try self.name(of: step.kind, row),
                    isKept: step.kind.treatment.isKept(revocationsAre: isKept))
            }
            changes += found
            if step.kind.treatment.isKept(revocationsAre: isKept), !found.isEmpty {
                for statement in try step.statements(db) { try db.execute(sql: statement) }
            }
        }
        if isKept { try self.keepDeregistrations(db) }
        try self.keepKeys(db)
        try self.keepShown(db)
        try ReplacedActivations.keepAttempts(db)
        try ReplacedActivations.keepRoot(db, self.sealing)
        report.changes = changes
        report.comparison = .compared(
            counters: changes.count { $0.kind == .counterAdvanced }, auditEntries: try self.keepAudit(db))
    }

    /// Returns the reason against a comparison; `nil` if the database can be compared.
    private func reasonAgainst(_ db: Database) throws -> String? {
        let schema = try Int.fetchOne(db, sql: "PRAGMA replaced.user_version") ?? 0
        guard schema <= Migration.all.count else { return "it was written by a newer version" }
        try db.checkIntegrity(of: "replaced")
        let theirs = try StoreKeys(keys: self.sealing.keys).sealing(of: db, schema: "replaced")
        guard theirs.root == self.sealing.root else { return "its names were made under another secret" }
        let isContinuation = try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM replaced.audit AS theirs JOIN main.audit AS ours
                    ON ours.number = theirs.number AND ours.code = theirs.code
                    WHERE ours.number = (SELECT max(number) FROM main.audit))
                """)
        guard isContinuation == true else { return "it does not go on from this backup" }
        if case .broken(let number) = try db.verifyAudit(self.sealing, of: "replaced") {
            return "its audit trail is broken at entry \(number)"
        }
        return nil
    }

    /// Keeps the answers to carried-out deregistrations for phones that lost the answer: the keys stay deleted, and the
    /// phones are told so.
    private func keepDeregistrations(_ db: Database) throws {
        guard try !ReplacedRows.columns(of: "deregistered_key", db).isEmpty else { return }
        let told = ReplacedRows.told([.deregistered], where: "entry.ceremony_id = theirs.id")
        for (table, condition) in [
            (
                "ceremony",
                """
                \(CeremonyRecord.isCarriedOutDeregistration) AND id NOT IN (SELECT id FROM main.ceremony) AND \(told)
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
        ] {
            let columns = try ReplacedRows.columns(of: table, db).filter { $0 != "number" }.joined(separator: ", ")
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO main.\(table) (\(columns)) SELECT \(columns) FROM replaced.\(table) AS theirs
                    WHERE \(condition)
                    """)
        }
    }

    /// Keeps the values that clients have shown since the backup, so no value counts a second time.
    private func keepShown(_ db: Database) throws {
        let columns = try ReplacedRows.columns(of: "oauth_shown", db).joined(separator: ", ")
        guard !columns.isEmpty else { return }
        try db.execute(
            sql: "INSERT OR IGNORE INTO main.oauth_shown (\(columns)) SELECT \(columns) FROM replaced.oauth_shown")
    }

    /// Keeps the former keys, because copied values stay sealed under their keys.
    private func keepKeys(_ db: Database) throws {
        for id in try db.sealingKeys(of: "replaced") {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO main.sealing_key (number, id)
                    SELECT min(number) - 1, ? FROM main.sealing_key
                    """, arguments: [id])
        }
    }

    private func keepAudit(_ db: Database) throws -> Int {
        let columns = try ReplacedRows.columns(of: "audit", db).joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT INTO main.audit (\(columns)) SELECT \(columns) FROM replaced.audit
                WHERE number > (SELECT max(number) FROM main.audit) ORDER BY number
                """)
        return db.changesCount
    }

    private func name(of kind: RestoreReport.Change.Kind, _ row: StoredRow) throws -> String {
        // A damaged name must not keep the backup from being restored.
        func open(_ column: String, _ purpose: SealingPurpose, of id: String) throws -> String {
            let id = try row.text(id)
            return (try? self.sealing.openText(try row.bytes(column), purpose: purpose, row: id)) ?? id
        }
        switch kind {
        case .accountDeleted, .accountLocked, .accountAdded, .accountUnlocked, .accountChanged,
            .accountChangedOutside, .passwordChanged, .rolesChanged, .personalInformationChanged:
            return try open("name", .username, of: "id")
        case .deviceRevoked, .deviceAdded, .keyDeregistered, .keyAdded, .counterAdvanced, .activationDisabled:
            let owner = try open("username", .username, of: "account_id")
            return "\(try open("name", .deviceName, of: "device_id")) of \(owner)"
        case .clientDeleted, .clientChanged, .clientAdded, .clientChangedOutside, .signingKeyAdded, .signingKeyRotated,
            .inventedAccountsSet, .inventedAccountsChangedOutside, .providerRemoved, .providerChanged, .providerAdded,
            .providerChangedOutside, .identityUnlinked, .identityLinked, .serviceRemoved, .serviceChanged,
            .serviceAdded,
            .serviceChangedOutside, .organisationRemoved, .organisationChanged, .organisationAdded,
            .organisationChangedOutside:
            return try row.text("name")
        }
    }

    /// Returns the columns that describe a device or a key: the identifier, the device with its name, the owner with
    /// the user name.
    private static func shown(_ device: String) -> String {
        """
        item.id AS id, \(device).name AS name, \(device).id AS device_id, account.username AS username,
        account.id AS account_id
        """
    }

    /// Returns a query for the devices or keys of one database that the other does not have.
    private static func owned(_ table: String, of schema: String) -> String {
        let other = schema == "main" ? "replaced" : "main"
        let device = table == "device" ? "item" : "device"
        let join = table == "device" ? "" : "JOIN \(schema).device AS device ON device.id = item.device_id"
        // A new item of a new owner is not named: only the owner is named.
        let owner =
            table == "device"
            ? "item.account_id IN (SELECT id FROM \(other).account)"
            : "item.device_id IN (SELECT id FROM \(other).device)"
        return """
            SELECT \(Self.shown(device)) FROM \(schema).\(table) AS item
            \(join) JOIN \(schema).account AS account ON account.id = item.account_id
            WHERE item.id NOT IN (SELECT id FROM \(other).\(table)) AND \(owner) ORDER BY item.number
            """
    }

    private static let steps: [ReplacedStep] =
        [
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
                .deviceRevoked, Self.owned("device", of: "main"),
                { _ in ["DELETE FROM main.device WHERE id NOT IN (SELECT id FROM replaced.device)"] }),
            ReplacedStep(
                .keyDeregistered, Self.owned("credential", of: "main"),
                { _ in ["DELETE FROM main.credential WHERE id NOT IN (SELECT id FROM replaced.credential)"] }),
            // Counters are kept whether or not revocations are undone: a counter that went back would let a copied
            // device pass.
            ReplacedStep(
                .counterAdvanced,
                """
                SELECT \(Self.shown("device")) FROM main.credential AS item
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
                .clientChanged, query: { try EditableTable.clients.changed(by: .server, $0) },
                { try EditableTable.clients.carryOver($0) }),
            ReplacedStep(
                .accountChanged, query: { try EditableTable.accounts.changed(by: .server, $0) },
                { try EditableTable.accounts.carryOver($0) }),
            ReplacedStep(
                .passwordChanged, query: { try ReplacedPasswords.changed(byServer: true, $0) },
                { try ReplacedPasswords.carryOver($0) }),
            ReplacedStep(
                .inventedAccountsSet, query: { try Self.inventedAccounts(wereSet: true, $0) },
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
                .signingKeyAdded,
                query: { db in
                    guard try ReplacedRows.columns(of: "oauth_key", db).contains("algorithm") else { return nil }
                    return """
                        SELECT id, id AS name FROM replaced.oauth_key WHERE retired_at IS NULL
                        AND \(try ReplacedRows.hasNoKey(db))
                        """
                },
                { db in
                    let columns = try ReplacedRows.columns(of: "oauth_key", db).joined(separator: ", ")
                    return [
                        """
                        INSERT INTO main.oauth_key (\(columns)) SELECT \(columns) FROM replaced.oauth_key
                        WHERE \(try ReplacedRows.hasNoKey(db))
                        """
                    ]
                }),
            ReplacedStep(
                .signingKeyRotated,
                """
                SELECT id, id AS name FROM main.oauth_key WHERE retired_at IS NULL
                AND id NOT IN (SELECT id FROM replaced.oauth_key WHERE retired_at IS NULL)
                """,
                { db in
                    let columns = try ReplacedRows.columns(of: "oauth_key", db).joined(separator: ", ")
                    return [
                        "DELETE FROM main.oauth_key",
                        "INSERT INTO main.oauth_key (\(columns)) SELECT \(columns) FROM replaced.oauth_key",
                    ]
                }),
            ReplacedStep(
                .accountAdded,
                "SELECT id, username AS name FROM replaced.account WHERE id NOT IN (SELECT id FROM main.account)"),
            ReplacedStep(
                .accountUnlocked,
                """
                SELECT id, username AS name FROM main.account WHERE is_locked = 1
                AND id IN (SELECT id FROM replaced.account WHERE is_locked = 0)
                """),
            ReplacedStep(.deviceAdded, Self.owned("device", of: "replaced")),
            ReplacedStep(.keyAdded, Self.owned("credential", of: "replaced")),
            ReplacedStep(
                .clientAdded,
                "SELECT id, name FROM replaced.oauth_client WHERE id NOT IN (SELECT id FROM main.oauth_client)"),
        ]
        + [
            (.clientChangedOutside, EditableTable.clients), (.accountChangedOutside, .accounts),
            (.providerChangedOutside, .providers),
        ].map { kind, table in ReplacedStep(kind, query: { try table.changed(by: .somebodyElse, $0) }) }
        + [ReplacedStep(.accountChangedOutside, query: { try ReplacedPasswords.changed(byServer: false, $0) })]
        + [ReplacedStep(.inventedAccountsChangedOutside, query: { try Self.inventedAccounts(wereSet: false, $0) })]

    private static func inventedAccounts(wereSet: Bool, _ db: Database) throws -> String? {
        guard try !ReplacedRows.columns(of: "invented_accounts", db).isEmpty else { return nil }
        return """
            SELECT 'invented-accounts' AS id, 'invented-accounts' AS name
            WHERE (SELECT document FROM main.invented_accounts) IS NOT (SELECT document FROM replaced.invented_accounts)
            AND \(wereSet ? "" : "NOT ")\(ReplacedRows.told([.inventedAccountsSet]))
            """
    }
}
