public import Records
import Sealing
import _Primitives

extension SQLStore: AdditionalEmailStore {
    public func additionalEmails(accountID: String) async throws -> [AdditionalEmail] {
        try await self.read { [sealing] db in
            try db.rows(
                """
                SELECT id, address, is_verified, created_at FROM account_email WHERE account_id = ?
                ORDER BY number
                """, [accountID]
            ) { row in
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
        try await self.step(
            Step("account-email.add", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted),
            noting: audit, on: "account", id: accountID
        ) { [sealing] db in
            try AdditionalEmailRows(db).add(
                email, accountID: accountID, limit: limit, sealing, orThrow: AdditionalEmail.refusal)
        }
    }

    public func setEmailVerified(
        _ isVerified: Bool, id: String, accountID: String, audit: AuditEvent
    ) async throws -> Bool {
        try await self.changeEmail(
            Step("account-email.verify", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted),
            id, accountID: accountID, "UPDATE account_email SET is_verified = ? WHERE id = ? AND account_id = ?",
            [isVerified, id, accountID], audit)
    }

    public func removeEmail(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.changeEmail(
            Step("account-email.remove", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted),
            id, accountID: accountID, "DELETE FROM account_email WHERE id = ? AND account_id = ?", [id, accountID],
            audit)
    }

    public func accounts(verifiedEmail address: String, limit: Int) async throws -> [String] {
        let code = self.sealing.emailCode(address)
        return try await self.read { db in
            try db.texts(
                """
                SELECT id FROM account WHERE email_code = ?1 AND email_verified = 1
                UNION SELECT account_id FROM account_email WHERE address_code = ?1 AND is_verified = 1
                ORDER BY 1 LIMIT ?2
                """, [code, limit])
        }
    }

    private func changeEmail(
        _ step: Step, _ id: String, accountID: String, _ statement: SQLText,
        _ arguments: [any SQLBindable & Sendable], _ audit: AuditEvent
    ) async throws -> Bool {
        try await self.step(
            step, on: { [sealing] db in try AdditionalEmailRows(db).additionalEmail(id, accountID: accountID, sealing) }
        ) { [sealing] db, address in
            try db.run(statement, arguments)
            try AdditionalEmailRows(db).withdrawVerification(of: address, accountID: accountID, sealing)
            return audit
        }
    }
}
