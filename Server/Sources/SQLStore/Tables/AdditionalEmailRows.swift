import PersonalInformation
import Records
import Sealing
import _Primitives

/// The rows of further e-mail addresses, with the values that equal an address.
struct AdditionalEmailRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns a further address of an account, by its identifier.
    func additionalEmail(_ id: String, accountID: String, _ sealing: Sealing) throws -> String? {
        try self.db.row("SELECT address FROM account_email WHERE id = ? AND account_id = ?", [id, accountID]).map {
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
        try self.db.run("UPDATE account_email SET is_verified = 1 WHERE id = ?", [id])
        let held = try self.emailValues(comparedWith: address, accountID: accountID, sealing)
        try self.setVerified(true, ofValues: held.equal)
        switch held.confirmation(most: values) {
        case .noValue(let confirmation): return confirmation
        case .value(let alias):
            try PersonalValueRows(self.db).add(
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
        let values = try self.db.rows(
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
            try self.db.run("UPDATE personal_value SET is_verified = ? WHERE id = ?", [isVerified, id])
        }
    }

    /// Adds an address within the present step. Throws `error` if the account has `limit` addresses, or has this
    /// address already.
    func add(
        _ email: AdditionalEmail, accountID: String, limit: Int, _ sealing: Sealing,
        orThrow error: @autoclosure () -> any Error
    ) throws {
        let code = sealing.emailCode(email.address)
        try self.db.changeOneRow(
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
            ], orThrow: error())
    }

    /// Returns the number of further addresses of an account.
    func count(accountID: String) throws -> Int {
        try self.db.number("SELECT count(*) FROM account_email WHERE account_id = ?", [accountID]) ?? 0
    }

    /// Returns `true` if the account has the address in confirmed form.
    func hasVerifiedEmail(_ code: [UInt8], accountID: String) throws -> Bool {
        try self.db.isTrue(
            """
            SELECT EXISTS (SELECT 1 FROM account WHERE id = ?1 AND email_code = ?2 AND email_verified = 1)
            OR EXISTS (SELECT 1 FROM account_email
                WHERE account_id = ?1 AND address_code = ?2 AND is_verified = 1)
            """, [accountID, code])
    }

    /// Returns `true` if an account has an address, by the address's code, verified or not.
    func hasEmail(_ code: [UInt8], accountID: String) throws -> Bool {
        try self.db.isTrue(
            """
            SELECT EXISTS (SELECT 1 FROM account WHERE id = ?1 AND email_code = ?2)
                OR EXISTS (SELECT 1 FROM account_email WHERE account_id = ?1 AND address_code = ?2)
            """, [accountID, code])
    }
}
