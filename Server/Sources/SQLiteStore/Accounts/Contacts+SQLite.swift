import Foundation
import GRDB
public import Records
import Sealing
import _Primitives

extension Migration {
    /// Adds people's telephone numbers and addresses. Existing accounts have none.
    static let contacts = Migration(name: "telephone numbers and addresses") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE account ADD COLUMN phone BLOB;
                ALTER TABLE account ADD COLUMN phone_verified INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE account ADD COLUMN postal_address BLOB;
                """)
    }

    /// Adds the further attributes that services receive about people, and the time of the last change. Existing
    /// accounts have none.
    static let profiles = Migration(name: "profiles of people") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE account ADD COLUMN profile BLOB;
                ALTER TABLE account ADD COLUMN updated_at INTEGER;
                """)
    }
}

extension SealingPurpose {
    static let phone = SealingPurpose("telephone number")
    static let postalAddress = SealingPurpose("postal address")
    static let profile = SealingPurpose("profile of a person")
}

extension SQLiteDatabase {
    public func setAccountPhone(_ phone: AccountPhone?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.cachedStatement(sql: "UPDATE account SET phone = ?, phone_verified = ?, updated_at = ? WHERE id = ?")
                .execute(arguments: [
                    try sealing.phone(phone, account: id), phone?.isVerified ?? false, audit.at.milliseconds, id,
                ])
            guard db.changesCount == 1 else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func setAccountAddress(_ address: PostalAddress?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.cachedStatement(sql: "UPDATE account SET postal_address = ?, updated_at = ? WHERE id = ?")
                .execute(arguments: [try sealing.postalAddress(address, account: id), audit.at.milliseconds, id])
            guard db.changesCount == 1 else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func setAccountProfile(_ profile: PersonProfile?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.cachedStatement(sql: "UPDATE account SET profile = ?, updated_at = ? WHERE id = ?")
                .execute(arguments: [try sealing.profile(profile, account: id), audit.at.milliseconds, id])
            guard db.changesCount == 1 else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }
}

extension Sealing {
    /// Returns an account's telephone number in its stored form.
    func phone(_ phone: AccountPhone?, account: String) throws -> Data? {
        try phone.map { try self.seal($0.number, purpose: .phone, row: account).blob }
    }

    /// Returns an account's address in its stored form.
    func postalAddress(_ address: PostalAddress?, account: String) throws -> Data? {
        try address.map { try self.seal(JSON.object($0.parts).text, purpose: .postalAddress, row: account).blob }
    }

    /// Returns an account's profile in its stored form.
    func profile(_ profile: PersonProfile?, account: String) throws -> Data? {
        try profile.map { try self.seal(JSON.object($0.claims).text, purpose: .profile, row: account).blob }
    }

    /// Reads a stored profile.
    func openProfile(_ sealed: [UInt8], account: String) throws -> PersonProfile {
        let text = try self.openText(sealed, purpose: .profile, row: account)
        guard case .object(let claims)? = try? JSON(parsing: Array(text.utf8)), let profile = PersonProfile(claims)
        else { throw StoreError(.corrupt, "a profile") }
        return profile
    }

    /// Reads a stored address.
    func openPostalAddress(_ sealed: [UInt8], account: String) throws -> PostalAddress {
        let text = try self.openText(sealed, purpose: .postalAddress, row: account)
        guard case .object(let parts)? = try? JSON(parsing: Array(text.utf8)), let address = PostalAddress(parts) else {
            throw StoreError(.corrupt, "an address")
        }
        return address
    }
}
