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

    /// Adds the languages of people, by their tags. The language of an existing account is unknown until its person
    /// signs in. A tag of a language has at most 35 bytes (RFC 5646, section 4.4.1).
    static let languages = Migration(name: "languages of people") { db, _ in
        try db.execute(sql: "ALTER TABLE account ADD COLUMN language TEXT CHECK (length(language) <= 35)")
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
            try db.run(
                "UPDATE account SET phone = ?, phone_verified = ?, updated_at = ? WHERE id = ?",
                [
                    try sealing.phone(phone, account: id), phone?.isVerified ?? false, audit.at.milliseconds, id,
                ])
            return try db.appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }

    public func setAccountAddress(_ address: PostalAddress?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.run(
                "UPDATE account SET postal_address = ?, updated_at = ? WHERE id = ?",
                [try sealing.postalAddress(address, account: id), audit.at.milliseconds, id])
            return try db.appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }

    public func setAccountProfile(_ profile: PersonProfile?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.run(
                "UPDATE account SET profile = ?, updated_at = ? WHERE id = ?",
                [try sealing.profile(profile, account: id), audit.at.milliseconds, id])
            return try db.appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }
}
