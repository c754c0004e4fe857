public import Records
import Sealing
import _Primitives

extension SealingPurpose {
    static let phone = SealingPurpose("telephone number")
    static let postalAddress = SealingPurpose("postal address")
    static let profile = SealingPurpose("profile of a person")
}

extension SQLStore {
    public func setAccountPhone(_ phone: AccountPhone?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(Step("account.set-phone", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run(
                "UPDATE account SET phone = ?, phone_verified = ?, updated_at = ? WHERE id = ?",
                [
                    try sealing.phone(phone, account: id), phone?.isVerified ?? false, audit.at.milliseconds, id,
                ])
            return try db.appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }

    public func setAccountAddress(_ address: PostalAddress?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(Step("account.set-address", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run(
                "UPDATE account SET postal_address = ?, updated_at = ? WHERE id = ?",
                [try sealing.postalAddress(address, account: id), audit.at.milliseconds, id])
            return try db.appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }

    public func setAccountProfile(_ profile: PersonProfile?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(Step("account.set-profile", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run(
                "UPDATE account SET profile = ?, updated_at = ? WHERE id = ?",
                [try sealing.profile(profile, account: id), audit.at.milliseconds, id])
            return try db.appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }
}
