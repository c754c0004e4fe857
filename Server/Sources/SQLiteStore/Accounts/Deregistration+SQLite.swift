import GRDB
public import Store
import _Primitives

extension Migration {
    /// A session knows the device that it was signed in to with.
    static let devices = Migration(name: "devices of sessions") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_session ADD COLUMN device TEXT;
                CREATE INDEX oauth_session_device ON oauth_session (device) WHERE device IS NOT NULL;
                CREATE INDEX oauth_subject_account ON oauth_subject (account);
                """)
    }
}

extension SQLiteDatabase {
    public func deregister(
        _ selection: CredentialSelection, accountID: String, askedBy device: String?, audit: AuditEvent,
        notice: NoticeRecord?
    ) async throws -> DeregistrationOutcome {
        try await self.step { [sealing] db in
            guard let account = try db.account(id: accountID, sealing) else { return .unknown }
            if let device {
                guard try db.isActiveDevice(device, ofAccount: accountID) else { return .unknown }
                guard !account.isLocked else { return .locked }
            }
            let count = try db.deregister(selection, accountID: accountID, at: audit.at)
            if count > 0 {
                try db.appendAudit(audit, sealing)
                if let notice { try db.insertNotice(notice, sealing) }
            }
            return .deregistered(credentials: count)
        }
    }

    public func deleteDevice(id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            let account = try String.fetchOne(
                db.cachedStatement(sql: "SELECT account_id FROM device WHERE id = ?"), arguments: [id])
            guard let account else { return false }
            try db.revokeDevice(id: id, accountID: account, at: audit.at)
            var audit = audit
            audit.accountID = account
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func account(id: String, ofDevice device: String) async throws -> AccountRecord? {
        try await self.read { [sealing] db in
            try db.isActiveDevice(device, ofAccount: id) ? try db.account(id: id, sealing) : nil
        }
    }
}

extension Database {
    /// Deletes keys of an account, and the devices that have none left. Says how many keys there were.
    func deregister(_ selection: CredentialSelection, accountID: String, at now: Timestamp) throws -> Int {
        var count = 0
        switch selection {
        case .all:
            try self.cachedStatement(sql: "DELETE FROM credential WHERE account_id = ?")
                .execute(arguments: [accountID])
            count = self.changesCount
            // Also those that no device is known of.
            try self.cachedStatement(sql: "DELETE FROM oauth_session WHERE account = ?")
                .execute(arguments: [accountID])
        case .model(let aaid):
            try self.cachedStatement(sql: "DELETE FROM credential WHERE account_id = ? AND aaid = ?")
                .execute(arguments: [accountID, aaid])
            count = self.changesCount
        case .keys(let names):
            let statement = try self.cachedStatement(
                sql: "DELETE FROM credential WHERE account_id = ? AND aaid = ? AND key_id = ?")
            for name in names {
                try statement.execute(arguments: [accountID, name.aaid, name.keyID.blob])
                count += self.changesCount
            }
        }
        let empty = try String.fetchAll(
            self.cachedStatement(
                sql: """
                    SELECT id FROM device WHERE account_id = ?
                    AND NOT EXISTS (SELECT 1 FROM credential WHERE device_id = device.id)
                    """), arguments: [accountID])
        for id in empty { try self.revokeDevice(id: id, accountID: accountID, at: now) }
        return count
    }

    /// Deletes a device with its keys and sessions, and ends what is open with it: an enrolment that nobody has
    /// confirmed, a sign-in that its browser has not taken up.
    fileprivate func revokeDevice(id: String, accountID: String, at now: Timestamp) throws {
        _ = try self.deleteDevice(id: id)
        try self.cachedStatement(sql: "DELETE FROM oauth_session WHERE device = ?").execute(arguments: [id])
        try self.cachedStatement(
            sql: """
                UPDATE ceremony SET phase = 4, outcome = 5, changed_at = ? WHERE account_id = ? AND device_id = ?
                AND (phase < 4 OR (outcome = 1 AND reference IS NOT NULL AND is_consumed = 0))
                """
        ).execute(arguments: [now.milliseconds, accountID, id])
    }

    /// Whether a device may authenticate; where none is named, there is nothing against it.
    func isActiveDevice(_ device: String?) throws -> Bool {
        guard let device else { return true }
        return try Bool.fetchOne(
            self.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM device WHERE id = ? AND is_active = 1)"),
            arguments: [device]) ?? false
    }

    fileprivate func isActiveDevice(_ device: String, ofAccount account: String) throws -> Bool {
        try Bool.fetchOne(
            self.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM device WHERE id = ? AND account_id = ? AND is_active = 1)"),
            arguments: [device, account]) ?? false
    }
}
