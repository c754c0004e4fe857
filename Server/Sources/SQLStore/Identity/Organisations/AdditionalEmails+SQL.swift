import PersonalInformation
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
            try email.requireAdded(try db.add(email, accountID: accountID, limit: limit, sealing))
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
            step, on: { [sealing] db in try db.additionalEmail(id, accountID: accountID, sealing) }
        ) { [sealing] db, address in
            try db.run(statement, arguments)
            try db.withdrawVerification(of: address, accountID: accountID, sealing)
            return audit
        }
    }
}

extension SQLConnection {
    /// Returns a further address of an account, by its identifier.
    fileprivate func additionalEmail(_ id: String, accountID: String, _ sealing: Sealing) throws -> String? {
        try self.row("SELECT address FROM account_email WHERE id = ? AND account_id = ?", [id, accountID]).map {
            try sealing.openText(try $0.bytes("address"), purpose: .additionalEmail, row: id)
        }
    }

    /// Confirms a further address within the present step, and makes the address a verified value of `email`, if the
    /// account has fewer than `values` values or has this value already. Returns `withoutValue` if there is no room for
    /// the value, and `nil` if the account has no such address.
    func confirm(email id: String, accountID: String, values: Int, at now: Timestamp, _ sealing: Sealing) throws
        -> AddressConfirmation?
    {
        guard let address = try self.additionalEmail(id, accountID: accountID, sealing) else { return nil }
        try self.run("UPDATE account_email SET is_verified = 1 WHERE id = ?", [id])
        let held = try self.emailValues(comparedWith: address, accountID: accountID, sealing)
        try self.setVerified(true, ofValues: held.equal)
        switch held.confirmation(most: values) {
        case .noValue(let confirmation): return confirmation
        case .value(let alias):
            try self.add(
                PersonalValueRecord(
                    id: id, attribute: .email, alias: alias, value: address, isVerified: true, source: .person,
                    createdAt: now), accountID: accountID, limit: values, sealing)
            return .complete
        }
    }

    /// Marks the values of `email` that equal an address as unverified, unless the account still has the address in
    /// confirmed form: as its first or as a further address. Called at the end of a step that has removed a
    /// confirmation.
    func withdrawVerification(of address: String, accountID: String, _ sealing: Sealing) throws {
        let isConfirmed = try self.hasVerifiedEmail(sealing.emailCode(address), accountID: accountID)
        let held = try self.emailValues(comparedWith: address, accountID: accountID, sealing)
        try self.setVerified(false, ofValues: held.withdrawn(isConfirmed: isConfirmed))
    }

    /// Returns an account's values of `email`, compared with an address.
    private func emailValues(
        comparedWith address: String, accountID: String, _ sealing: Sealing
    ) throws -> EmailValues {
        let attribute = PersonalAttribute.email.rawValue
        let values = try self.rows(
            "SELECT id, value FROM personal_value WHERE account_id = ? AND attribute = ?", [accountID, attribute]
        ) { row in
            let id = try row.text("id")
            let place = Sealing.place(ofValue: id, account: accountID, attribute: attribute)
            let value = try sealing.openText(try row.bytes("value"), purpose: .personalValue, row: place)
            return (id: id, value: value)
        }
        return EmailValues(values, address: address)
    }

    private func setVerified(_ isVerified: Bool, ofValues ids: [String]) throws {
        for id in ids {
            try self.run("UPDATE personal_value SET is_verified = ? WHERE id = ?", [isVerified, id])
        }
    }

    /// Adds an address within the present step. Returns `false` if the account has `limit` addresses, or has this
    /// address already.
    func add(_ email: AdditionalEmail, accountID: String, limit: Int, _ sealing: Sealing) throws -> Bool {
        let code = sealing.emailCode(email.address)
        try self.run(
            """
            INSERT INTO account_email (id, account_id, address, address_code, is_verified, created_at)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6
            WHERE NOT EXISTS (SELECT 1 FROM account WHERE id = ?2 AND email_code = ?4)
            AND NOT EXISTS (SELECT 1 FROM account_email WHERE account_id = ?2 AND address_code = ?4)
            AND (SELECT count(*) FROM account_email WHERE account_id = ?2) < ?7
            """,
            [
                email.id, accountID, try sealing.seal(email.address, purpose: .additionalEmail, row: email.id), code,
                email.isVerified, email.createdAt.milliseconds, limit,
            ])
        return self.changesCount == 1
    }

    /// Returns `true` if the account has the address in confirmed form.
    func hasVerifiedEmail(_ code: [UInt8], accountID: String) throws -> Bool {
        try self.isTrue(
            """
            SELECT EXISTS (SELECT 1 FROM account WHERE id = ?1 AND email_code = ?2 AND email_verified = 1)
            OR EXISTS (SELECT 1 FROM account_email
                WHERE account_id = ?1 AND address_code = ?2 AND is_verified = 1)
            """, [accountID, code])
    }
}
