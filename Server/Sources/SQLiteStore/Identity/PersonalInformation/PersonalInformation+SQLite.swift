import GRDB
public import PersonalInformation
public import Records
import Sealing
import _Primitives

extension SQLiteDatabase: PersonalInformationStore {
    public func addPersonalValue(
        _ value: PersonalValueRecord, accountID: String, limit: Int, audit: AuditEvent
    ) async throws -> Bool {
        try await self.step { [sealing] db in
            guard try db.exists("account", id: accountID) else { return false }
            try db.add(value, accountID: accountID, limit: limit, sealing)
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func changePersonalValue(
        _ id: String, accountID: String, to change: PersonalValueChange, audit: AuditEvent
    ) async throws -> Bool {
        try await self.step { [sealing] db in
            guard let attribute = try db.attribute(ofValue: id, accountID: accountID) else { return false }
            if let alias = change.alias {
                let place = Sealing.place(ofValue: id, account: accountID, attribute: attribute)
                try db.cachedStatement(sql: "UPDATE personal_value SET alias = ? WHERE id = ?")
                    .execute(arguments: [try sealing.seal(alias, purpose: .personalAlias, row: place).blob, id])
            }
            if change.becomesPrimary {
                // The former primary value is cleared first, so that two values are never primary at the same time.
                try db.cachedStatement(
                    sql: "UPDATE personal_value SET is_primary = 0 WHERE account_id = ? AND attribute = ?"
                ).execute(arguments: [accountID, attribute])
                try db.cachedStatement(sql: "UPDATE personal_value SET is_primary = 1 WHERE id = ?")
                    .execute(arguments: [id])
            }
            if let isVerified = change.isVerified {
                try db.cachedStatement(sql: "UPDATE personal_value SET is_verified = ? WHERE id = ?")
                    .execute(arguments: [isVerified, id])
            }
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func removePersonalValue(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            guard let attribute = try db.attribute(ofValue: id, accountID: accountID) else { return false }
            try db.cachedStatement(sql: "DELETE FROM personal_value WHERE id = ?").execute(arguments: [id])
            try db.makeFirstValuePrimary(of: attribute, accountID: accountID)
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func personalValues(accountID: String) async throws -> [PersonalValueRecord] {
        try await self.read { [sealing] db in
            try db.values(
                "id, attribute, alias, value, is_primary, is_verified, source, created_at", accountID: accountID
            ) { row in
                let (id, attribute) = (try row.text("id"), try row.attribute())
                let place = Sealing.place(ofValue: id, account: accountID, attribute: attribute.rawValue)
                guard let source = PersonalValueRecord.Source(rawValue: try row.text("source")) else {
                    throw StoreError(.corrupt, "who brought a value")
                }
                let value = PersonalValueRecord(
                    id: id, attribute: attribute,
                    alias: try sealing.openText(try row.bytes("alias"), purpose: .personalAlias, row: place),
                    value: try sealing.openText(try row.bytes("value"), purpose: .personalValue, row: place),
                    isPrimary: try row.flag("is_primary"), isVerified: try row.flag("is_verified"), source: source,
                    createdAt: try row.moment("created_at"))
                return (attribute, value)
            }
        }
    }

    public func personalAliases(
        accountID: String, attributes: Set<PersonalAttribute>
    ) async throws -> [PersonalAlias] {
        try await self.read { [sealing] db in
            try db.personalAliases(accountID: accountID, attributes: attributes, sealing)
        }
    }

    public func personalValues(
        _ ids: [PersonalAttribute: String], accountID: String
    ) async throws -> [PersonalAttribute: String] {
        try await self.read { [sealing] db in
            var values: [PersonalAttribute: String] = [:]
            for (attribute, id) in ids {
                let sealed = try db.row(
                    "SELECT value FROM personal_value WHERE id = ? AND account_id = ? AND attribute = ?",
                    [id, accountID, attribute.rawValue])
                guard let sealed else { continue }
                let place = Sealing.place(ofValue: id, account: accountID, attribute: attribute.rawValue)
                values[attribute] = try sealing.openText(
                    try sealed.bytes("value"), purpose: .personalValue, row: place)
            }
            return values
        }
    }

    public func attributeSelection(accountID: String, service: String) async throws -> [PersonalAttribute: String] {
        try await self.read { db in try db.attributeSelection(accountID: accountID, service: service) }
    }

    public func removeAttributeSelection(
        accountID: String, service: String, audit: AuditEvent
    ) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.run("DELETE FROM attribute_selection WHERE account_id = ? AND service = ?", [accountID, service])
            guard db.changesCount > 0 else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }
}

extension StoredRow {
    fileprivate func attribute() throws -> PersonalAttribute {
        guard let attribute = PersonalAttribute(rawValue: try self.text("attribute")) else {
            throw StoreError(.corrupt, "an attribute of a value")
        }
        return attribute
    }
}

extension Database {
    /// Makes the first value of an attribute the account's primary one, if no value of the attribute is primary.
    func makeFirstValuePrimary(of attribute: String, accountID: String) throws {
        try self.cachedStatement(
            sql: """
                UPDATE personal_value SET is_primary = 1
                WHERE number = (SELECT min(number) FROM personal_value WHERE account_id = ?1 AND attribute = ?2)
                AND NOT EXISTS (SELECT 1 FROM personal_value AS other
                    WHERE other.account_id = ?1 AND other.attribute = ?2 AND other.is_primary = 1)
                """
        ).execute(arguments: [accountID, attribute])
    }

    /// Adds a value within the present step. Throws `conflict` if the attribute has `limit` values already. The first
    /// value becomes the primary value; later values do not.
    func add(_ value: PersonalValueRecord, accountID: String, limit: Int, _ sealing: Sealing) throws {
        let attribute = value.attribute.rawValue
        let count =
            try Int.fetchOne(
                self.cachedStatement(
                    sql: "SELECT count(*) FROM personal_value WHERE account_id = ? AND attribute = ?"),
                arguments: [accountID, attribute]) ?? 0
        guard count < limit else { throw StoreError(.conflict, "there are \(count) values of an attribute") }
        let place = Sealing.place(ofValue: value.id, account: accountID, attribute: attribute)
        try self.cachedStatement(
            sql: """
                INSERT INTO personal_value (
                    id, account_id, attribute, alias, value, is_primary, is_verified, source, created_at
                ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            value.id, accountID, attribute, try sealing.seal(value.alias, purpose: .personalAlias, row: place).blob,
            try sealing.seal(value.value, purpose: .personalValue, row: place).blob, count == 0, value.isVerified,
            value.source.rawValue, value.createdAt.milliseconds,
        ])
    }

    /// Returns an account's values of some attributes, by their names, in the order of attributes.
    func personalAliases(accountID: String, attributes: Set<PersonalAttribute>, _ sealing: Sealing) throws
        -> [PersonalAlias]
    {
        try self.values("id, attribute, alias, is_primary, is_verified", accountID: accountID) { row in
            let (id, attribute) = (try row.text("id"), try row.attribute())
            guard attributes.contains(attribute) else { return nil }
            let place = Sealing.place(ofValue: id, account: accountID, attribute: attribute.rawValue)
            let alias = PersonalAlias(
                id: id, attribute: attribute,
                text: try sealing.openText(try row.bytes("alias"), purpose: .personalAlias, row: place),
                isPrimary: try row.flag("is_primary"), isVerified: try row.flag("is_verified"))
            return (attribute, alias)
        }
    }

    /// Returns the values that an account has chosen for a service.
    func attributeSelection(accountID: String, service: String) throws -> [PersonalAttribute: String] {
        let chosen = try self.rows(
            "SELECT attribute, value_id FROM attribute_selection WHERE account_id = ? AND service = ?",
            [accountID, service]
        ) { (try $0.attribute(), try $0.text("value_id")) }
        return Dictionary(chosen) { _, last in last }
    }

    fileprivate func attribute(ofValue id: String, accountID: String) throws -> String? {
        try String.fetchOne(
            self.cachedStatement(sql: "SELECT attribute FROM personal_value WHERE id = ? AND account_id = ?"),
            arguments: [id, accountID])
    }

    /// Returns the results of `make` for an account's values, in the order of attributes, the primary value first, then
    /// the oldest.
    fileprivate func values<Value>(
        _ columns: String, accountID: String, make: (StoredRow) throws -> (attribute: PersonalAttribute, value: Value)?
    ) throws -> [Value] {
        let made = try self.rows(
            "SELECT \(columns) FROM personal_value WHERE account_id = ? ORDER BY is_primary DESC, number", [accountID],
            make
        ).compactMap(\.self)
        return PersonalAttribute.allCases.flatMap { attribute in
            made.filter { $0.attribute == attribute }.map(\.value)
        }
    }
}
