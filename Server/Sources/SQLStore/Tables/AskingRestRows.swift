import Records
import Settings
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
            """
            SELECT EXISTS (SELECT 1 FROM asking_rest WHERE account_id = ?1 AND requester = ?2 AND until > ?3)
            OR (SELECT count(*) FROM number_attempt WHERE account_id = ?1 AND at > ?4) >= ?5
            """,
            [accountID, requester, now.milliseconds, Self.memory(at: now), Limits.Fixed.wrongNumbers])
    }

    /// Returns the moment after which an attempt counts at `now`, in the form of the columns.
    static func memory(at now: Timestamp) -> Int64 { (now - Limits.Fixed.wrongNumberMemory).milliseconds }

    /// Keeps an attempt if one is left. Returns `true` if the attempt is kept.
    func count(_ attempt: NumberAttempt) throws -> Bool {
        try self.db.changes(
            """
            INSERT INTO number_attempt (id, account_id, at) SELECT ?1, ?2, ?3
            WHERE (SELECT count(*) FROM number_attempt WHERE account_id = ?2 AND at > ?4) < ?5
            """,
            [
                attempt.id, attempt.accountID, attempt.at.milliseconds, Self.memory(at: attempt.at),
                Limits.Fixed.wrongNumbers,
            ])
    }

    /// Returns the number of a person's attempts that count.
    func attempts(accountID: String, at now: Timestamp) throws -> Int {
        try self.db.number(
            "SELECT count(*) FROM number_attempt WHERE account_id = ? AND at > ?",
            [accountID, Self.memory(at: now)]) ?? 0
    }

    /// Deletes an attempt whose number was right.
    func giveBack(attempt id: String) throws {
        try self.db.run("DELETE FROM number_attempt WHERE id = ?", [id])
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

    /// Deletes the attempts before a moment. Returns the number of deleted attempts.
    func deleteAttempts(before moment: Timestamp, limit: Int) throws -> Int {
        try self.db.run(
            "DELETE FROM number_attempt WHERE id IN (SELECT id FROM number_attempt WHERE at < ? ORDER BY at LIMIT ?)",
            [moment.milliseconds, limit])
        return self.db.changesCount
    }
}
