import PersonalInformation
import Records
import Sealing
import _Primitives

/// The rows of values of people.
struct PersonalValueRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Makes the first value of an attribute the account's primary one, if no value of the attribute is primary.
    func makeFirstValuePrimary(of attribute: String, accountID: String) throws {
        try self.db.run(
            """
            UPDATE personal_value SET is_primary = 1
            WHERE number = (SELECT min(number) FROM personal_value WHERE account_id = ?1 AND attribute = ?2)
            AND NOT EXISTS (SELECT 1 FROM personal_value AS other
                WHERE other.account_id = ?1 AND other.attribute = ?2 AND other.is_primary = 1)
            """, [accountID, attribute])
    }

    /// Returns the number of values of an attribute.
    func count(of attribute: String, accountID: String) throws -> Int {
        try self.db.number(
            "SELECT count(*) FROM personal_value WHERE account_id = ? AND attribute = ?", [accountID, attribute]) ?? 0
    }

    /// Adds a value within the present step. Throws as `bound` does if the attribute has `limit` values already. The
    /// first value becomes the primary value; later values do not.
    func add(
        _ value: PersonalValueRecord, accountID: String, limit: Int, of bound: IdentityBound = .values,
        _ sealing: Sealing
    ) throws {
        let attribute = value.attribute.rawValue
        let count = try self.count(of: attribute, accountID: accountID)
        try bound.requireRoom(count, most: limit)
        let place = Sealing.place(ofValue: value.id, account: accountID, attribute: attribute)
        try self.db.run(
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
        let chosen = try self.db.rows(
            "SELECT attribute, value_id FROM attribute_selection WHERE account_id = ? AND service = ?",
            [accountID, service]
        ) { (try $0.attribute(), try $0.text("value_id")) }
        return Dictionary(chosen) { _, last in last }
    }

    func attribute(ofValue id: String, accountID: String) throws -> String? {
        try self.db.text("SELECT attribute FROM personal_value WHERE id = ? AND account_id = ?", [id, accountID])
    }

    /// Returns the results of `make` for an account's values, in the order of attributes, the primary value first, then
    /// the oldest.
    func values<Value>(
        _ columns: String, accountID: String, make: (SQLRow) throws -> (attribute: PersonalAttribute, value: Value)?
    ) throws -> [Value] {
        let made = try self.db.rows(
            .composed("SELECT \(columns) FROM personal_value WHERE account_id = ? ORDER BY is_primary DESC, number"),
            [accountID],
            make
        ).compactMap(\.self)
        return PersonalAttribute.allCases.flatMap { attribute in
            made.filter { $0.attribute == attribute }.map(\.value)
        }
    }
}

extension SQLRow {
    func attribute() throws -> PersonalAttribute {
        try PersonalAttribute(stored: try self.text("attribute"), "an attribute of a value")
    }
}
