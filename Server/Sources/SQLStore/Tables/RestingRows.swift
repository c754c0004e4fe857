import PersonalInformation
import Records
import Sealing
import _Primitives

/// The rows that rest with a disowned change, and the rows in their place.
struct RestingRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Ends the open sessions of the devices that rest with a change.
    func endSessions(ofDevicesRestingWith change: AccountChangeRecord, at now: Timestamp, _ sealing: Sealing) throws {
        let resting = try self.db.rows("SELECT device_id FROM rested_activation WHERE change_id = ?", [change.id]) {
            try $0.text("device_id")
        }
        for device in resting {
            try IdentitySessionRows(self.db).failSessions(
                ofDevice: device, accountID: change.accountID, at: now, sealing)
        }
    }

    /// Takes the addition of a change out of use. Moves its rows to the tables of resting rows, disables the
    /// activations of a device, and deletes the account's offers of activations since the change.
    func rest(
        _ change: AccountChangeRecord, unusableHash: String, at now: Timestamp, _ sealing: Sealing
    ) throws {
        let (id, account, since) = (change.id, change.accountID, change.madeAt.milliseconds)
        let changes = try self.db.rows(
            .composed("SELECT \(ChangeColumn.selection) FROM account_change WHERE account_id = ? AND made_at > ?"),
            [account, since]
        ) { try AccountChangeRecord($0, sealing) }
        switch change.resting(among: changes) {
        case .nothing: break
        case .device:
            let isNew = "device_id IN (SELECT id FROM device WHERE account_id = ?2 AND created_at >= ?3)"
            try self.takeOver("activation", where: isNew, change: id, [account, since])
            try self.db.run(
                .composed(
                    """
                    INSERT INTO rested_activation (device_id, change_id)
                    SELECT device_id, ?1 FROM activation WHERE is_permanent = 0 AND \(isNew)
                    """), [id, account, since])
            // An attempt that is being judged counts as wrong: a right attempt would enable the activation again.
            try self.db.run(
                .composed(
                    """
                    UPDATE activation SET is_permanent = 1, reserved_request = NULL, reserved_at = NULL
                    WHERE CAST(?1 AS TEXT) IS NOT NULL AND \(isNew)
                    """), [id, account, since])
            try self.db.run(
                "DELETE FROM pending_activation WHERE account_id = ? AND created_at >= ?", [account, since])
        case .provider(let name):
            let isNew = "account_id = ?2 AND provider = ?3 AND created_at >= ?4"
            try self.takeOver("upstream_link", where: isNew, change: id, [account, name, since])
            try self.move(.upstreamLinks, where: isNew, change: id, [account, name, since])
        case .email(let address): try self.restEmail(address, change, sealing)
        case .phone(let number): try self.rest(.phone(number), change, sealing)
        case .password:
            try self.rest(
                RestingPassword(ofChangeAt: change.madeAt), change, unusableHash: unusableHash, at: now, sealing)
        case .secondFactor:
            try self.takeOverFactor(change, at: now)
            try self.move(.recoveryCodes, where: Self.factorIsNew, change: id, [account, since])
            let factors = try self.move(.totp, where: Self.factorIsNew, change: id, [account, since])
            try RestingPassword(besideFactors: factors).map {
                try self.rest($0, change, unusableHash: unusableHash, at: now, sealing)
            }
        case .approvedDevice(let device):
            try self.db.run(
                """
                UPDATE device SET rested_at = COALESCE(rested_at, ?), is_disowned = 1 WHERE id = ? AND account_id = ?
                """, [now.milliseconds, device, account])
        case .recoveryCodes:
            try self.takeOver("recovery_code", where: "account_id = ?2", change: id, [account])
            try self.move(.recoveryCodes, where: "account_id = ?2", change: id, [account])
        }
    }

    /// The condition for a second factor of the account `?2` that was set at `?3` or later.
    private static let factorIsNew =
        "account_id = ?2 AND EXISTS (SELECT 1 FROM totp WHERE totp.account_id = ?2 AND totp.set_at >= ?3)"

    /// Lets an e-mail address rest: as a value for services, and as a further address. If the address is the account's
    /// first address, the address stays and loses its confirmation. An address that the person had confirmed before the
    /// change rests as a value alone: the change has not made the address a way into the account.
    private func restEmail(_ address: String, _ change: AccountChangeRecord, _ sealing: Sealing) throws {
        let code = sealing.emailCode(address)
        try self.rest(.email(address), change, sealing)
        let isNew = """
            account_id = ?2 AND address_code = ?3 AND (SELECT address_was_known FROM account_change WHERE id = ?1) = 0
            """
        try self.takeOver("account_email", where: isNew, change: change.id, [change.accountID, code])
        try self.move(.emails, where: isNew, change: change.id, [change.accountID, code])
        try self.db.run(
            """
            UPDATE account_change SET rests_first_email = 1 WHERE id = ?1 AND address_was_known = 0
            AND EXISTS (SELECT 1 FROM account WHERE id = ?2 AND email_code = ?3 AND email_verified = 1)
            """, [change.id, change.accountID, code])
        try self.db.run(
            """
            UPDATE account SET email_verified = 0
            WHERE id = ?2 AND (SELECT rests_first_email FROM account_change WHERE id = ?1) = 1
            """, [change.id, change.accountID])
        try self.takeOverFirstEmail(code, change, sealing)
        try AdditionalEmailRows(self.db).withdrawVerification(of: address, accountID: change.accountID, sealing)
    }

    /// Lets the account's values rest that equal `value` and that were added at the time of the change or later.
    func rest(_ value: RestingValue, _ change: AccountChangeRecord, _ sealing: Sealing) throws {
        let (account, attribute) = (change.accountID, value.attribute.rawValue)
        func equal(in table: String) throws -> [String] {
            let values = try self.db.rows(
                .composed("SELECT id, value FROM \(table) WHERE account_id = ? AND attribute = ? AND created_at >= ?"),
                [account, attribute, change.madeAt.milliseconds]
            ) { row in
                let id = try row.text("id")
                let place = Sealing.place(ofValue: id, account: account, attribute: attribute)
                return (id: id, text: try sealing.openText(try row.bytes("value"), purpose: .personalValue, row: place))
            }
            return value.identifiers(among: values)
        }
        for id in try equal(in: "rested_personal_value") {
            try self.takeOver("personal_value", where: "id = ?2", change: change.id, [id])
        }
        for id in try equal(in: "personal_value") {
            try self.move(.values, where: "id = ?2", change: change.id, [id])
        }
        try PersonalValueRows(self.db).makeFirstValuePrimary(of: attribute, accountID: account)
    }

    /// Lets the account's password rest, and puts an unknown password in its place.
    func rest(
        _ password: RestingPassword, _ change: AccountChangeRecord, unusableHash: String, at now: Timestamp,
        _ sealing: Sealing
    ) throws {
        // The unknown password of a disowned change stays, whichever change that is: the password in its place rests
        // already, and a second password would take the place of the first.
        let moved = try self.move(
            .passwords,
            where: """
                account_id = ?2 AND set_at >= ?3 AND NOT EXISTS (
                    SELECT 1 FROM rested_password AS resting JOIN account_change AS earlier ON earlier.id = change_id
                    WHERE resting.account_id = ?2 AND earlier.decided_at = password.set_at)
                """, change: change.id, [change.accountID, password.setSince.milliseconds])
        // A password that was set by a later change stays with the later change.
        try self.db.run(
            """
            UPDATE rested_password SET change_id = ?1
            WHERE account_id = ?2 AND set_at >= ?3 AND ?4 = 1 AND NOT EXISTS (
                SELECT 1 FROM account_change AS later WHERE later.id = change_id
                AND later.made_at > ?3 AND later.made_at <= rested_password.set_at)
            """,
            [
                change.id, change.accountID, password.setSince.milliseconds, password.takesOverResting(moved: moved),
            ])
        guard password.isReplaced(moved: moved, takenOver: self.db.changesCount) else { return }
        try PasswordRows(self.db).replacePassword(
            PasswordRecord(accountID: change.accountID, hash: unusableHash, setAt: now), sealing)
    }

    /// Puts back the resting rows of a change, except for additions that something newer has replaced. No resting row
    /// of the change is left.
    func wake(_ change: AccountChangeRecord, _ sealing: Sealing) throws {
        try self.db.run(
            """
            UPDATE activation SET is_permanent = 0
            WHERE device_id IN (SELECT device_id FROM rested_activation WHERE change_id = ?)
            """, [change.id])
        // A device that was reported as lost before rests on.
        try self.db.run(
            """
            UPDATE device SET is_disowned = 0, rested_at = NULLIF(rested_at, ?3)
            WHERE id = ?1 AND account_id = ?2 AND is_disowned = 1
            """, [change.addition.approvedDevice, change.accountID, change.decidedAt.milliseconds])
        try self.restOnBesideFactor(change)
        for table in RestingTable.all { try self.putBack(table, change) }
        for attribute in [PersonalAttribute.email, .phoneNumber] {
            try PersonalValueRows(self.db).makeFirstValuePrimary(of: attribute.rawValue, accountID: change.accountID)
        }
        // The reversed decision has set the unknown password.
        try self.db.run(
            """
            UPDATE password SET (hash, set_at, is_one_time) = (
                SELECT hash, set_at, is_one_time FROM rested_password WHERE change_id = ?1)
            WHERE account_id = ?2 AND set_at = ?3
                AND EXISTS (SELECT 1 FROM rested_password WHERE change_id = ?1 AND account_id = ?2)
            """, [change.id, change.accountID, change.decidedAt.milliseconds])
        try self.db.run(
            """
            UPDATE account SET email_verified = 1 WHERE id = ?2
                AND (SELECT rests_first_email FROM account_change WHERE id = ?1) = 1 AND email_code = ?3
            """, [change.id, change.accountID, change.addition.email.map { sealing.emailCode($0) }])
        for table in RestingTable.names {
            try self.db.run(.composed("DELETE FROM \(table) WHERE change_id = ?"), [change.id])
        }
    }

    /// Lets a reclaimed password, and reclaimed recovery codes, rest on with a second factor that another change still
    /// takes to rest: the password alone would guard less, and the codes belong to the factor. Everything that was set
    /// after the factor was disowned never stood beside the factor, and comes back.
    private func restOnBesideFactor(_ change: AccountChangeRecord) throws {
        let factors = try self.db.rows(
            """
            SELECT change_id, decided_at, set_at <= ?3 AND NOT EXISTS (
                SELECT 1 FROM rested_recovery_code AS code WHERE code.change_id = factor.id) AS takes_codes
            FROM rested_totp JOIN account_change AS factor ON factor.id = change_id
            WHERE rested_totp.account_id = ?1 AND change_id <> ?2
            AND NOT EXISTS (SELECT 1 FROM totp WHERE account_id = ?1)
            """, [change.accountID, change.id, change.decidedAt.milliseconds]
        ) { (id: try $0.text("change_id"), at: try $0.moment("decided_at"), takesCodes: try $0.flag("takes_codes")) }
        for factor in factors {
            let (decided, rested) = (change.decidedAt.milliseconds, factor.at.milliseconds)
            try self.db.run(
                """
                UPDATE rested_password SET change_id = ?1 WHERE change_id = ?2 AND set_at <= ?3
                AND EXISTS (SELECT 1 FROM password WHERE account_id = ?4 AND set_at = ?5)
                """, [factor.id, change.id, rested, change.accountID, decided])
            // The unknown password in its place is from now on the unknown password of the factor's change.
            try self.db.run(
                """
                UPDATE password SET set_at = ?1 WHERE account_id = ?2 AND set_at = ?3
                AND EXISTS (SELECT 1 FROM rested_password WHERE account_id = ?2 AND change_id = ?4)
                """, [rested, change.accountID, decided, factor.id])
            try self.db.run(
                "UPDATE rested_recovery_code SET change_id = ? WHERE change_id = ? AND ? = 1",
                [factor.id, change.id, factor.takesCodes])
        }
    }

    /// Lets resting rows that match a condition rest with a change from now on. The rows rest with an earlier change,
    /// which was disowned first, and has taken the addition of the later change to rest. From now on only a reclaim of
    /// its own change brings the addition back.
    private func takeOver(
        _ table: String, where condition: String, change: String, _ values: SQLValues
    ) throws {
        try self.db.run(
            .composed(
                """
                UPDATE rested_\(table) SET change_id = ?1 WHERE \(condition) AND change_id IN (
                    SELECT earlier.id FROM account_change AS earlier JOIN account_change AS later ON later.id = ?1
                    WHERE earlier.account_id = later.account_id AND earlier.made_at < later.made_at
                    AND earlier.decided_at >= later.made_at)
                """), [change] + values)
    }

    /// Takes over the confirmation of the account's first address as ``takeOver(_:where:change:_:)``, if the address has
    /// the code.
    private func takeOverFirstEmail(_ code: [UInt8], _ change: AccountChangeRecord, _ sealing: Sealing) throws {
        let changes = try self.db.rows(
            .composed(
                """
                SELECT \(ChangeColumn.selection) FROM account_change
                WHERE account_id = ?1 AND rests_first_email = 1 AND made_at < ?2 AND decided_at >= ?2
                    AND (SELECT later.address_was_known FROM account_change AS later WHERE later.id = ?3) = 0
                """), [change.accountID, change.madeAt.milliseconds, change.id]
        ) { try AccountChangeRecord($0, sealing) }
        for earlier in changes
        where earlier.state == .disowned && earlier.addition.email.map({ sealing.emailCode($0) }) == code {
            try self.db.run(
                """
                UPDATE account_change SET rests_first_email = CASE WHEN id = ?1 THEN 1 ELSE 0 END
                WHERE id IN (?1, ?2)
                """, [change.id, earlier.id])
        }
    }

    /// Takes over a second factor as ``takeOver(_:where:change:_:)``, with its recovery codes and with the password
    /// that rests beside the factor. The unknown password in its place is from now on the unknown password of this
    /// change.
    private func takeOverFactor(_ change: AccountChangeRecord, at now: Timestamp) throws {
        let values: SQLValues = [change.accountID, change.madeAt.milliseconds]
        // A newer factor of the account takes the place of the factor that rests, whose recovery codes end with the
        // factor. Otherwise the codes would come back beside the newer factor.
        try self.db.run(
            """
            DELETE FROM rested_recovery_code
            WHERE account_id = ?1 AND change_id IN (SELECT change_id FROM rested_totp WHERE account_id = ?1)
            AND EXISTS (SELECT 1 FROM totp WHERE account_id = ?1 AND set_at >= ?2)
            """, values)
        let isNew = "account_id = ?2 AND set_at >= ?3"
        let isBesideFactor = "account_id = ?2 AND change_id IN (SELECT change_id FROM rested_totp WHERE \(isNew))"
        try self.takeOver("recovery_code", where: isBesideFactor, change: change.id, values)
        try self.takeOver("password", where: isBesideFactor, change: change.id, values)
        try self.db.run(
            .composed(
                """
                UPDATE password SET set_at = ?4
                WHERE account_id = ?2 AND EXISTS (SELECT 1 FROM rested_password WHERE change_id = ?1) AND set_at = (
                    SELECT decided_at FROM account_change WHERE id = (
                        SELECT change_id FROM rested_totp WHERE \(isNew)))
                """), [change.id] + values + [now.milliseconds])
        try self.takeOver("totp", where: isNew, change: change.id, values)
    }

    /// Moves rows that match a condition to the table of resting rows. Returns the number of rows. In the condition
    /// `?1` is the change.
    @discardableResult
    private func move(
        _ table: RestingTable, where condition: String, change: String, _ values: SQLValues
    ) throws -> Int {
        let arguments = [change] + values
        try self.db.run(
            .composed(
                """
                INSERT INTO rested_\(table.name) (\(table.columns), change_id)
                SELECT \(table.columns), ?1 FROM \(table.name) WHERE \(condition)
                ON CONFLICT (\(table.key)) DO UPDATE SET \(table.assignments), change_id = excluded.change_id
                """), arguments)
        let count = self.db.changesCount
        try self.db.run(
            .composed("DELETE FROM \(table.name) WHERE CAST(?1 AS TEXT) IS NOT NULL AND \(condition)"), arguments)
        return count
    }

    private func putBack(_ table: RestingTable, _ change: AccountChangeRecord) throws {
        try self.db.run(
            .composed(
                """
                INSERT INTO \(table.name) (\(table.columns))
                SELECT \(table.columnsPutBack) FROM rested_\(table.name) AS resting
                WHERE change_id = ?1 AND CAST(?2 AS BIGINT) IS NOT NULL AND \(table.isWanted)
                ON CONFLICT DO NOTHING
                """), [change.id, change.decidedAt.milliseconds])
    }
}

/// A table whose rows can rest in a table of the same columns, with the prefix `rested_`.
private struct RestingTable {
    let name: String
    let columns: String
    /// The columns of the key of the table of resting rows.
    let key: String
    /// The expressions that put back ``columns``, in the same order.
    let columnsPutBack: String
    /// The condition for a row of `resting` to come back. In the condition `?2` is the moment at which the rows began
    /// to rest.
    let isWanted: String

    private init(
        _ name: String, _ columns: String, key: String = "id", putBack: String? = nil,
        wanted isWanted: String = "TRUE"
    ) {
        self.name = name
        self.columns = columns
        self.key = key
        self.columnsPutBack = putBack ?? columns
        self.isWanted = isWanted
    }

    static let upstreamLinks = Self(
        "upstream_link", "id, provider, issuer, subject_code, subject, account_id, created_at")
    static let emails = Self("account_email", "id, account_id, address, address_code, is_verified, created_at")
    static let values = Self(
        "personal_value", "id, account_id, attribute, alias, value, is_primary, is_verified, source, created_at",
        putBack: "id, account_id, attribute, alias, value, 0, is_verified, source, created_at")
    static let passwords = Self("password", "account_id, hash, set_at, is_one_time", key: "account_id")
    static let totp = Self(
        "totp", "account_id, secret, algorithm, digits, period_seconds, set_at, last_step", key: "account_id")
    /// Codes go with their second factor: they do not come back without it, nor beside a newer factor or newer codes.
    static let recoveryCodes = Self(
        "recovery_code", "account_id, code", key: "account_id, code",
        wanted: """
            EXISTS (SELECT 1 FROM totp WHERE totp.account_id = resting.account_id AND totp.set_at <= ?2)
            AND NOT EXISTS (SELECT 1 FROM recovery_code AS newer WHERE newer.account_id = resting.account_id)
            """)

    /// The assignments that replace a resting row by a newer row of the same key.
    var assignments: String {
        self.columns.split(separator: ", ").map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    }

    /// The tables whose rows are put back as they are, in the order in which they refer to each other.
    static let all = [Self.upstreamLinks, .emails, .values, .totp, .recoveryCodes]
    /// All tables of resting rows.
    static let names = ["rested_activation", "rested_password"] + Self.all.map { "rested_\($0.name)" }
}
