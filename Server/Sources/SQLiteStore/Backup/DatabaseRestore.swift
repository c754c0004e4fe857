import Foundation
import GRDB
import Records
public import Sealing
public import Settings
public import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Restores a backup into a data folder that no server uses.
///
/// The restore verifies the whole backup and changes only a copy of the backup, before it changes anything in the
/// folder. A single rename decides: before, the folder holds the former content, and afterwards the restored database,
/// whenever the process ends.
public struct DatabaseRestore: Sendable {
    /// The treatment of revocations, locks and deletions since the backup that the replaced database records.
    public enum Revocations: Sendable, Equatable {
        /// Revocations stay in force: everything revoked stays revoked.
        case kept
        /// Everything is as it was when the backup was made.
        case undone
    }

    private let folder: String
    private let keys: KeyRing
    private let busyTimeout: Duration

    /// Makes a value that restores into `folder`. A restore makes the folder if it does not exist.
    public init(folder: String, keys: KeyRing, limits: Limits = Limits()) {
        self.folder = folder
        self.keys = keys
        self.busyTimeout = limits.busyTimeout
    }

    /// Makes a value that restores a backup with only one key.
    public init(folder: String, key: KeyEncryptionKey, limits: Limits = Limits()) {
        self.init(folder: folder, keys: KeyRing(key), limits: limits)
    }

    /// Restores a backup. If the folder holds a database, `mayReplace` must be `true`; the database is kept in a folder
    /// beside. Blocks.
    ///
    /// Throws ``StoreError``: `locked` if a process uses the folder, `conflict` if a database must not be replaced,
    /// `notFound`, `wrongKey`, `missingKey`, `newerSchema`, `corrupt` if the backup is incomplete or was changed, and
    /// `unavailable` if a file cannot be written.
    public func restore(
        _ path: String, revocations: Revocations, mayReplace: Bool, at now: Timestamp, random: RandomSource = .system
    ) throws -> RestoreReport {
        let manifest = try BackupFile(path: path).manifest(self.keys)
        let lock = try FolderLock(folder: self.folder)
        defer { lock.release() }
        try RestoredFile.finish(in: self.folder)
        let isReplaced = access(self.databasePath, F_OK) == 0
        guard mayReplace || !isReplaced else {
            throw StoreError(.conflict, "\(self.folder) holds a database")
        }
        let name = "\(now.description.filter { $0 != ":" })-\(random.identifier().prefix(6))"
        let draft = try DraftFile(path: RestoredFile.draft(in: self.folder, name: name))
        defer { draft.remove() }
        var report = try self.make(draft, path, manifest, revocations, at: now, random: random)
        if isReplaced { report.replacedFolder = RestoredFile.replacedFolder(in: self.folder, name: name) }
        try Owner.give(draft.path, ofFolder: self.folder)
        try RestoredFile.commit(name: name, in: self.folder)
        try RestoredFile.finish(in: self.folder)
        return report
    }

    /// Returns the report that ``restore(_:revocations:mayReplace:at:random:)`` would return, without a
    /// ``RestoreReport/replacedFolder``. Changes nothing in the data folder, and works while the server runs: the copy
    /// is made in `temporaryFolder` and removed.
    public func check(
        _ path: String, revocations: Revocations, in temporaryFolder: String, at now: Timestamp,
        random: RandomSource = .system
    ) throws -> RestoreReport {
        let manifest = try BackupFile(path: path).manifest(self.keys)
        DraftFile.removeAbandoned(in: temporaryFolder, prefix: "countersign-", suffix: ".check")
        let draft = try DraftFile(path: "\(temporaryFolder)/countersign-\(random.identifier()).check")
        defer { draft.remove() }
        return try self.make(draft, path, manifest, revocations, at: now, random: random)
    }

    private var databasePath: String { self.folder + "/countersign.sqlite" }

    /// Makes the restored database in a draft, complete and on disk.
    private func make(
        _ draft: DraftFile, _ path: String, _ manifest: BackupManifest, _ revocations: Revocations, at now: Timestamp,
        random: RandomSource
    ) throws -> RestoreReport {
        guard manifest.schema <= Migration.all.count else {
            throw StoreError(.newerSchema, "schema \(manifest.schema), this program knows \(Migration.all.count)")
        }
        try BackupFile(path: path).copyDatabase(manifest, to: draft)
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(Double(self.busyTimeout.milliseconds) / 1000)
            let queue = try DatabaseQueue(path: draft.path, configuration: configuration)
            let report = try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = FULL")
                try db.checkIntegrity()
                let sealing = try StoreKeys(keys: self.keys).open(db, Migration.all)
                return try self.change(db, sealing, manifest, revocations, at: now, random: random)
            }
            try queue.close()
            try draft.synchronize()
            return report
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            throw StoreError(.unavailable, "there is no room for the restored database in \(draft.folder)")
        } catch {
            throw SQLiteDatabase.translated(error)
        }
    }

    /// Voids the past, and keeps the parts of the replaced database that must not be lost. One transaction.
    private func change(
        _ db: Database, _ sealing: Sealing, _ manifest: BackupManifest, _ revocations: Revocations, at now: Timestamp,
        random: RandomSource
    ) throws -> RestoreReport {
        var report = RestoreReport(
            manifest: manifest, voided: .init(), comparison: .nothingThere, changes: [], auditBrokenAt: nil,
            replacedFolder: nil)
        if case .broken(let number) = try db.verifyAudit(sealing) { report.auditBrokenAt = number }
        let isThere = access(self.databasePath, F_OK) == 0
        if isThere {
            do {
                try ReplacedDatabase.attach(self.databasePath, to: db)
            } catch {
                report.comparison = .notComparable(reason: "it cannot be opened")
            }
        }
        try db.inTransaction(.immediate) {
            report.voided = try db.voidPast(epoch: random.identifier())
            if isThere, report.comparison == .nothingThere {
                try ReplacedDatabase(sealing: sealing).compare(
                    db, keepsRevocations: revocations == .kept, &report)
            }
            try db.deleteIdentitiesOfNoDevice()
            try db.appendAudit(
                AuditEvent(
                    AuditEvent.Kind(rawValue: "restored"), at: now, actor: "command",
                    detail: "\(manifest.createdAt) \(report.auditDetail(revocations))"), sealing)
            return .commit
        }
        if isThere { try? db.execute(sql: "DETACH DATABASE replaced") }
        guard try db.row("PRAGMA foreign_key_check") == nil else {
            throw StoreError(.corrupt, "the restored database holds a row whose owner is gone")
        }
        return report
    }
}

extension RestoreReport {
    fileprivate func auditDetail(_ revocations: DatabaseRestore.Revocations) -> String {
        guard case .compared = self.comparison else { return "not-compared" }
        return revocations == .kept ? "revocations-kept" : "revocations-undone"
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
            "identity_answer", "pending_activation", IdentityKeys.sealingKeyTable,
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
