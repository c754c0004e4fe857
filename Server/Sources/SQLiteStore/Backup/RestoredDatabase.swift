import GRDB
import Records
import SQLStore
import Sealing
import _Primitives

/// A copy of a backup's database that becomes the restored database.
struct RestoredDatabase {
    private let db: Database
    private let sealing: Sealing

    /// Checks the copy, and brings its schema up to date.
    init(_ db: Database, keys: KeyRing) throws {
        try db.execute(sql: "PRAGMA synchronous = FULL")
        try SQLConnection(db).checkIntegrity()
        self.db = db
        self.sealing = try StoreKeys(keys: keys).open(db, Migration.all)
    }

    /// Voids the past, and keeps the parts of the replaced database that must not be lost. One transaction.
    func change(
        _ manifest: BackupManifest, keepsRevocations isKept: Bool, replacing path: String, at now: Timestamp,
        random: RandomSource
    ) throws -> RestoreReport {
        var report = RestoreReport(
            manifest: manifest, voided: .init(), comparison: .nothingThere, changes: [],
            auditBrokenAt: try AuditRows(SQLConnection(self.db)).verifyAudit(self.sealing).brokenAt, replacedFolder: nil
        )
        let replaced = self.attached(path, &report)
        try self.db.inTransaction(.immediate) {
            report.voided = try self.db.voidPast(epoch: random.identifier())
            try replaced?.compare(self.db, keepsRevocations: isKept, &report)
            try DeviceIdentityRows(SQLConnection(self.db)).deleteIdentitiesOfNoDevice()
            try AuditRows(SQLConnection(self.db)).appendAudit(
                AuditEvent(
                    AuditEvent.Kind(rawValue: "restored"), at: now, actor: "command",
                    detail: "\(manifest.createdAt) \(report.auditDetail(keepsRevocations: isKept))"), self.sealing)
            return .commit
        }
        // Without a replaced database, nothing is attached.
        try? self.db.execute(sql: "DETACH DATABASE replaced")
        try SQLConnection(self.db).requireNoRow(
            "PRAGMA foreign_key_check",
            orThrow: StoreError(.corrupt, "the restored database holds a row whose owner is gone"))
        return report
    }

    /// Returns the attached database of the folder; `nil` if the folder has none, or if the database cannot be opened.
    private func attached(_ path: String, _ report: inout RestoreReport) -> ReplacedDatabase? {
        guard DatabaseFile.exists(path) else { return nil }
        do {
            try ReplacedDatabase.attach(path, to: self.db)
            return ReplacedDatabase(sealing: self.sealing)
        } catch {
            report.comparison = .notComparable(reason: "it cannot be opened")
            return nil
        }
    }
}

extension Database {
    /// Deletes data that was meant to live for minutes, or as long as a browser or a token: people must authenticate
    /// again. Sealed data that others hold becomes invalid with the epoch.
    fileprivate func voidPast(epoch: String) throws -> RestoreReport.Voided {
        func delete(_ table: String, _ condition: String = "1") throws -> Int {
            try self.execute(sql: "DELETE FROM \(table) WHERE \(condition)")
            return self.changesCount
        }
        var voided = RestoreReport.Voided()
        // A completed deregistration is reported again for as long as ever: the report gives no access.
        voided.ceremonies = try delete("ceremony", "(\(CeremonyRecord.isCarriedOutDeregistration)) IS NOT TRUE")
        _ = try delete("dispatch_token", "ceremony_id NOT IN (SELECT id FROM ceremony)")
        _ = try delete("message", "channel = '\(OutboxChannel.device.rawValue)'")
        // A pushed request that a browser has presented is deleted with the request that waits for the person.
        voided.authorizationRequests =
            try delete("oauth_pushed_request", "request IS NULL") + delete("oauth_request")
        for table in ["oauth_device_code", "oauth_backchannel_request"] { _ = try delete(table) }
        voided.codesAndTokens = try delete("oauth_grant")
        voided.sessions = try delete("oauth_session")
        _ = try delete("oauth_authentication")
        // The backup does not know the consents that were withdrawn since, so people are asked again.
        _ = try delete("oauth_consent")
        voided.administratorTokens = try delete("administrator")
        // Pending devices waited for a number that no ceremony can take any more.
        voided.pendingDevices = try delete("device", "is_active = 0")
        for table in [
            "answered_challenge", "administrator_link", "oauth_revoked_token", "oauth_initial_token",
            "password_attempt", "password_attempt_day", "known_browser", "known_network", "mailed_link", "reset_ask",
            "dropped_mail",
            // The backup does not know the offers that were used since. Only the backup of an older store contains
            // keys.
            "identity_answer", "pending_activation", IdentityKeyTable.sealingKeys,
        ] {
            _ = try delete(table)
        }
        // An account that was made for an invited person belongs to nobody without the invitation.
        _ = try delete(
            "account",
            """
            id IN (SELECT provisional_account_id FROM invite WHERE state = '\(InviteRecord.State.open.rawValue)')
            AND NOT EXISTS (SELECT 1 FROM device WHERE account_id = account.id)
            """)
        _ = try delete("invite")
        try self.execute(sql: "UPDATE store_check SET epoch = ?", arguments: [epoch])
        return voided
    }
}
