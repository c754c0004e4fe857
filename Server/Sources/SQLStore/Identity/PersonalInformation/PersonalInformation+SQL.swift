public import PersonalInformation
public import Records
import Sealing
import _Primitives

extension SQLStore: PersonalInformationStore {
    public func addPersonalValue(
        _ value: PersonalValueRecord, accountID: String, limit: Int, audit: AuditEvent
    ) async throws -> Bool {
        try await self.step(
            Step("personal-value.add", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted),
            noting: audit, on: "account", id: accountID
        ) { [sealing] db in
            try db.add(value, accountID: accountID, limit: limit, sealing)
        }
    }

    public func changePersonalValue(
        _ id: String, accountID: String, to change: PersonalValueChange, audit: AuditEvent
    ) async throws -> Bool {
        try await self.step(
            Step("personal-value.change", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted),
            on: { db in try db.attribute(ofValue: id, accountID: accountID) }
        ) { [sealing] db, attribute in
            for write in change.writes {
                switch write {
                case .alias(let alias):
                    let place = Sealing.place(ofValue: id, account: accountID, attribute: attribute)
                    try db.run(
                        "UPDATE personal_value SET alias = ? WHERE id = ?",
                        [try sealing.seal(alias, purpose: .personalAlias, row: place), id])
                case .primary:
                    try db.run(
                        "UPDATE personal_value SET is_primary = 0 WHERE account_id = ? AND attribute = ?",
                        [accountID, attribute])
                    try db.run("UPDATE personal_value SET is_primary = 1 WHERE id = ?", [id])
                case .verified(let isVerified):
                    try db.run("UPDATE personal_value SET is_verified = ? WHERE id = ?", [isVerified, id])
                }
            }
            return audit
        }
    }

    public func removePersonalValue(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("personal-value.remove", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted),
            on: { db in try db.attribute(ofValue: id, accountID: accountID) }
        ) { db, attribute in
            try db.run("DELETE FROM personal_value WHERE id = ?", [id])
            try db.makeFirstValuePrimary(of: attribute, accountID: accountID)
            return audit
        }
    }

    public func personalValues(accountID: String) async throws -> [PersonalValueRecord] {
        try await self.read { [sealing] db in
            try db.values(
                "id, attribute, alias, value, is_primary, is_verified, source, created_at", accountID: accountID
            ) { row in
                let (id, attribute) = (try row.text("id"), try row.attribute())
                let place = Sealing.place(ofValue: id, account: accountID, attribute: attribute.rawValue)
                let source = try PersonalValueRecord.Source(stored: try row.text("source"), "who brought a value")
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
                let place = Sealing.place(ofValue: id, account: accountID, attribute: attribute.rawValue)
                values[attribute] = try db.row(
                    "SELECT value FROM personal_value WHERE id = ? AND account_id = ? AND attribute = ?",
                    [id, accountID, attribute.rawValue]
                ).map { try sealing.openText(try $0.bytes("value"), purpose: .personalValue, row: place) }
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
        try await self.step(
            Step("attribute-selection.remove", guards: [], isolation: .readCommitted), noting: audit
        ) { db in
            try db.changes(
                "DELETE FROM attribute_selection WHERE account_id = ? AND service = ?", [accountID, service])
        }
    }
}

extension SQLRow {
    fileprivate func attribute() throws -> PersonalAttribute {
        try PersonalAttribute(stored: try self.text("attribute"), "an attribute of a value")
    }
}

extension SQLConnection {
    /// Makes the first value of an attribute the account's primary one, if no value of the attribute is primary.
    func makeFirstValuePrimary(of attribute: String, accountID: String) throws {
        try self.run(
            """
            UPDATE personal_value SET is_primary = 1
            WHERE number = (SELECT min(number) FROM personal_value WHERE account_id = ?1 AND attribute = ?2)
            AND NOT EXISTS (SELECT 1 FROM personal_value AS other
                WHERE other.account_id = ?1 AND other.attribute = ?2 AND other.is_primary = 1)
            """, [accountID, attribute])
    }

    /// Adds a value within the present step. Throws as `bound` does if the attribute has `limit` values already. The
    /// first value becomes the primary value; later values do not.
    func add(
        _ value: PersonalValueRecord, accountID: String, limit: Int, of bound: IdentityBound = .values,
        _ sealing: Sealing
    ) throws {
        let attribute = value.attribute.rawValue
        let count =
            try self.number(
                "SELECT count(*) FROM personal_value WHERE account_id = ? AND attribute = ?", [accountID, attribute])
            ?? 0
        try bound.requireRoom(count, most: limit)
        let place = Sealing.place(ofValue: value.id, account: accountID, attribute: attribute)
        try self.run(
            """
            INSERT INTO personal_value (
                id, account_id, attribute, alias, value, is_primary, is_verified, source, created_at
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                value.id, accountID, attribute, try sealing.seal(value.alias, purpose: .personalAlias, row: place),
                try sealing.seal(value.value, purpose: .personalValue, row: place),
                PersonalValueRecord.isPrimary(afterOthers: count), value.isVerified, value.source.rawValue,
                value.createdAt.milliseconds,
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
        try self.text("SELECT attribute FROM personal_value WHERE id = ? AND account_id = ?", [id, accountID])
    }

    /// Returns the results of `make` for an account's values, in the order of attributes, the primary value first, then
    /// the oldest.
    fileprivate func values<Value>(
        _ columns: String, accountID: String, make: (SQLRow) throws -> (attribute: PersonalAttribute, value: Value)?
    ) throws -> [Value] {
        let made = try self.rows(
            .composed("SELECT \(columns) FROM personal_value WHERE account_id = ? ORDER BY is_primary DESC, number"),
            [accountID],
            make
        ).compactMap(\.self)
        return PersonalAttribute.allCases.flatMap { attribute in
            made.filter { $0.attribute == attribute }.map(\.value)
        }
    }
}
