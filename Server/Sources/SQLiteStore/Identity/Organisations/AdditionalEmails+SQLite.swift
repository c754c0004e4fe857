import GRDB
public import Store
import _Primitives

extension SQLiteDatabase: AdditionalEmailStore {
    public func additionalEmails(accountID: String) async throws -> [AdditionalEmail] {
        try await self.read { [sealing] db in
            try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT id, address, is_verified, created_at FROM account_email WHERE account_id = ?
                        ORDER BY number
                        """), arguments: [accountID]
            ).map { row in
                let id = try row.text("id")
                return AdditionalEmail(
                    id: id,
                    address: try sealing.openText(try row.bytes("address"), purpose: .additionalEmail, row: id),
                    isVerified: try row.flag("is_verified"), createdAt: try row.moment("created_at"))
            }
        }
    }

    public func addEmail(
        _ email: AdditionalEmail, accountID: String, limit: Int, audit: AuditEvent
    ) async throws -> Bool {
        try await self.step { [sealing] db in
            guard try db.exists("account", id: accountID) else { return false }
            guard try db.add(email, accountID: accountID, limit: limit, sealing) else {
                throw StoreError(.conflict, "an account has that address, or has enough of them")
            }
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func setEmailVerified(
        _ isVerified: Bool, id: String, accountID: String, audit: AuditEvent
    ) async throws -> Bool {
        try await self.changeEmail(
            "UPDATE account_email SET is_verified = ? WHERE id = ? AND account_id = ?", [isVerified, id, accountID],
            audit)
    }

    public func removeEmail(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.changeEmail(
            "DELETE FROM account_email WHERE id = ? AND account_id = ?", [id, accountID], audit)
    }

    public func accounts(verifiedEmail address: String, limit: Int) async throws -> [String] {
        let code = self.sealing.emailCode(address).blob
        return try await self.read { db in
            try String.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT id FROM account WHERE email_code = ?1 AND email_verified = 1
                        UNION SELECT account_id FROM account_email WHERE address_code = ?1 AND is_verified = 1
                        ORDER BY 1 LIMIT ?2
                        """), arguments: [code, limit])
        }
    }

    private func changeEmail(
        _ statement: String, _ arguments: [any DatabaseValueConvertible & Sendable], _ audit: AuditEvent
    ) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.cachedStatement(sql: statement).execute(arguments: StatementArguments(arguments))
            guard db.changesCount == 1 else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }
}

extension Database {
    /// Adds an address within the present step. `false` where the account has `limit`, or has this one.
    func add(_ email: AdditionalEmail, accountID: String, limit: Int, _ sealing: Sealing) throws -> Bool {
        let code = sealing.emailCode(email.address).blob
        try self.cachedStatement(
            sql: """
                INSERT INTO account_email (id, account_id, address, address_code, is_verified, created_at)
                SELECT ?1, ?2, ?3, ?4, ?5, ?6
                WHERE NOT EXISTS (SELECT 1 FROM account WHERE id = ?2 AND email_code = ?4)
                AND NOT EXISTS (SELECT 1 FROM account_email WHERE account_id = ?2 AND address_code = ?4)
                AND (SELECT count(*) FROM account_email WHERE account_id = ?2) < ?7
                """
        ).execute(arguments: [
            email.id, accountID, try sealing.seal(email.address, purpose: .additionalEmail, row: email.id).blob, code,
            email.isVerified, email.createdAt.milliseconds, limit,
        ])
        return self.changesCount == 1
    }

    /// Whether an account has an address of which somebody has seen to it that it is the account's.
    func hasVerifiedEmail(_ code: [UInt8], accountID: String) throws -> Bool {
        try Bool.fetchOne(
            self.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM account WHERE id = ?1 AND email_code = ?2 AND email_verified = 1)
                    OR EXISTS (SELECT 1 FROM account_email
                        WHERE account_id = ?1 AND address_code = ?2 AND is_verified = 1)
                    """), arguments: [accountID, code.blob]) ?? false
    }
}
