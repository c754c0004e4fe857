public import Records
import Sealing
import _Primitives

extension SQLStore: AccountStore {
    public func createAccount(_ account: AccountRecord, audit: AuditEvent) async throws {
        // A name has one account by its unique code. No step makes another account with the code of colliding names.
        try await self.step(Step("account.create", guards: [], isolation: .readCommitted)) { [sealing] db in
            try AccountRows(db).insert(account, sealing)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func account(username: AccountName) async throws -> AccountRecord? {
        try await self.read { [sealing] db in try AccountRows(db).account(username: username, sealing) }
    }

    public func account(id: String) async throws -> AccountRecord? {
        try await self.read { [sealing] db in try AccountRows(db).account(id: id, sealing) }
    }

    public func accounts(after: String?, limit: Int) async throws -> [AccountRecord] {
        try await self.read { [sealing] db in
            try db.rows(
                .composed(
                    """
                    SELECT \(AccountRecord.columns) FROM account
                    WHERE number > coalesce((SELECT number FROM account WHERE id = ?), 0) ORDER BY number LIMIT ?
                    """), [after, limit]
            ) { try AccountRecord($0, sealing) }
        }
    }

    public func setAccountLocked(_ isLocked: Bool, id: String, audit: AuditEvent) async throws -> Bool {
        // The steps that make sessions rely on the account: a step sees the lock, or the lock ends the step's session.
        try await self.step(
            Step("account.lock", guards: [.exclusive(.account, id: id)], isolation: .readCommitted)
        ) { [sealing] db in
            let isKnown = try AccountEnds(db).setAccountLocked(isLocked, id: id, at: audit.at, sealing)
            return try AuditRows(db).appendAudit(audit, if: isKnown, sealing)
        }
    }

    public func setAccountNames(
        id: String, audit: [AuditEvent], username: AccountName?, displayName: String?
    ) async throws -> Bool {
        try await self.step(
            Step("account.set-names", guards: [.exclusive(.account, id: id)], isolation: .readCommitted)
        ) { [sealing] db in
            let account = try AccountRows(db).account(id: id, sealing)
            let changes = AccountNamesChange.changes(
                of: account, to: username, displayName: displayName, audit: audit)
            for change in changes { try AccountRows(db).change(change, ofAccount: id, sealing) }
            return account != nil
        }
    }

    public func setAccountEmail(_ email: AccountEmail?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("account.set-email", guards: [.exclusive(.account, id: id)], isolation: .readCommitted)
        ) { [sealing] db in
            let isKnown = try AccountRows(db).setEmail(email, accountID: id, at: audit.at, sealing)
            return try AuditRows(db).appendAudit(audit, if: isKnown, sealing)
        }
    }

    public func deleteAccount(id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("account.delete", guards: [.exclusive(.account, id: id)], isolation: .readCommitted)
        ) { [sealing] db in
            let isKnown = try AccountEnds(db).deleteAccount(id, at: audit.at, sealing)
            return try AuditRows(db).appendAudit(audit, if: isKnown, sealing)
        }
    }

    public func devices(accountID: String) async throws -> [DeviceRecord] {
        try await self.read { [sealing] db in
            try db.rows(
                .composed("SELECT \(DeviceColumn.selection) FROM device WHERE account_id = ? ORDER BY number"),
                [accountID]
            ) { try DeviceRecord(RowPart(row: $0, start: 0), sealing) }
        }
    }

    public func credentials(accountID: String) async throws -> [CredentialRecord] {
        try await self.read { [sealing] db in try CredentialRows(db).credentials(accountID: accountID, sealing) }
    }

    public func keys(username: AccountName) async throws -> NamedKeys {
        let codes = self.sealing.usernameCodes(username)
        return try await self.read { db in
            let account = try db.row(
                .composed("SELECT id, is_locked FROM account WHERE \(AccountRecord.hasName)"), codes)
            let document = try AccountRows(db).inventedAccounts()
            // An unknown name costs the same queries as a known name, so that the time does not reveal a known name. No
            // account has an empty identifier.
            let keys = try CredentialRows(db).activeKeys(of: try account?.text("id") ?? "")
            let active = try account.map {
                ActiveKeys(
                    accountID: try $0.text("id"), isAccountLocked: try $0.flag("is_locked"), keys: keys)
            }
            return NamedKeys(active: active, inventedAccounts: document)
        }
    }

    public func setAccountPhone(_ phone: AccountPhone?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(Step("account.set-phone", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run(
                "UPDATE account SET phone = ?, phone_verified = ?, updated_at = ? WHERE id = ?",
                [
                    try sealing.phone(phone, account: id), phone?.isVerified ?? false, audit.at.milliseconds, id,
                ])
            return try AuditRows(db).appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }

    public func setAccountAddress(_ address: PostalAddress?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(Step("account.set-address", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run(
                "UPDATE account SET postal_address = ?, updated_at = ? WHERE id = ?",
                [try sealing.postalAddress(address, account: id), audit.at.milliseconds, id])
            return try AuditRows(db).appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }

    public func setAccountProfile(_ profile: PersonProfile?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(Step("account.set-profile", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run(
                "UPDATE account SET profile = ?, updated_at = ? WHERE id = ?",
                [try sealing.profile(profile, account: id), audit.at.milliseconds, id])
            return try AuditRows(db).appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }
}
