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
            try PersonalValueRows(db).add(value, accountID: accountID, limit: limit, sealing)
        }
    }

    public func changePersonalValue(
        _ id: String, accountID: String, to change: PersonalValueChange, audit: AuditEvent
    ) async throws -> Bool {
        try await self.step(
            Step("personal-value.change", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted),
            on: { db in try PersonalValueRows(db).attribute(ofValue: id, accountID: accountID) }
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
            on: { db in try PersonalValueRows(db).attribute(ofValue: id, accountID: accountID) }
        ) { db, attribute in
            try db.run("DELETE FROM personal_value WHERE id = ?", [id])
            try PersonalValueRows(db).makeFirstValuePrimary(of: attribute, accountID: accountID)
            return audit
        }
    }

    public func personalValues(accountID: String) async throws -> [PersonalValueRecord] {
        try await self.read { [sealing] db in
            try PersonalValueRows(db).values(
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
            try PersonalValueRows(db).personalAliases(accountID: accountID, attributes: attributes, sealing)
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
        try await self.read { db in try PersonalValueRows(db).attributeSelection(accountID: accountID, service: service)
        }
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
