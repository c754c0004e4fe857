import Records
import _Primitives

/// The rows of requesters that rest.
struct AskingRestRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the rest that is kept for a requester and a person, also after the rest has ended.
    func rest(accountID: String, requester: String) throws -> AskingRest? {
        try self.db.row(
            "SELECT length, until FROM asking_rest WHERE account_id = ? AND requester = ?", [accountID, requester]
        ).map { row in
            AskingRest(
                accountID: accountID, requester: requester,
                length: .milliseconds(try row.integer("length", as: Int64.self)), until: try row.moment("until"))
        }
    }

    /// Keeps a rest in place of the earlier rest.
    func keep(_ rest: AskingRest) throws {
        try self.db.run(
            """
            INSERT INTO asking_rest (account_id, requester, length, until) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (account_id, requester) DO UPDATE SET length = ?3, until = ?4
            """, [rest.accountID, rest.requester, rest.length.milliseconds, rest.until.milliseconds])
    }

    func isRested(accountID: String, requester: String, at now: Timestamp) throws -> Bool {
        try self.db.isTrue(
            "SELECT EXISTS (SELECT 1 FROM asking_rest WHERE account_id = ? AND requester = ? AND until > ?)",
            [accountID, requester, now.milliseconds])
    }

    /// Deletes the rests that ended before a moment. Returns the number of deleted rests.
    func deleteRests(endedBefore moment: Timestamp, limit: Int) throws -> Int {
        try self.db.run(
            """
            DELETE FROM asking_rest WHERE (account_id, requester) IN (
                SELECT account_id, requester FROM asking_rest WHERE until < ? ORDER BY until LIMIT ?)
            """, [moment.milliseconds, limit])
        return self.db.changesCount
    }
}
