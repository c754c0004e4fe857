import Records
import _Primitives

/// The rows of organisations and their members.
struct OrganisationRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    func organisations(_ condition: String, _ values: SQLValues) throws
        -> [OrganisationRecord]
    {
        try self.db.rows(.composed("SELECT id, name, created_at FROM organisation \(condition)"), values) { row in
            OrganisationRecord(
                id: try row.text("id"), name: try row.text("name"), createdAt: try row.moment("created_at"))
        }
    }

    /// Returns `true` if an account is a member of the organisation.
    func isMember(_ accountID: String, ofOrganisation organisation: String) throws -> Bool {
        try self.db.isTrue(
            "SELECT EXISTS (SELECT 1 FROM organisation_member WHERE organisation = ? AND account_id = ?)",
            [organisation, accountID])
    }

    /// Makes an account a member within the present step. Returns `true` if the account was no member before.
    func addMember(_ accountID: String, organisation: String) throws -> Bool {
        try self.db.changes(
            "INSERT INTO organisation_member (organisation, account_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [organisation, accountID])
    }
}
