import Records
import Settings
import _Primitives

/// The rows of messages that were sent to people's devices, and of the budgets that were used up.
struct PushCountRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the messages that count at the moment of a further message.
    func counts(at push: PushCount) throws -> PushCounts {
        try self.db.row(
            """
            SELECT count(*) FILTER (WHERE requester = ?2 AND at > ?3) AS requester,
                count(*) FILTER (WHERE requester = ?2) AS requester_day,
                count(*) FILTER (WHERE at > ?3) AS person, count(*) AS person_day
            FROM push WHERE account_id = ?1 AND at > ?4
            """,
            [
                push.accountID, push.requester, (push.at - Limits.Fixed.pushPeriod).milliseconds,
                (push.at - Limits.Fixed.pushDay).milliseconds,
            ]
        ).map { row in
            PushCounts(
                requester: try row.integer("requester"), requesterDay: try row.integer("requester_day"),
                person: try row.integer("person"), personDay: try row.integer("person_day"))
        } ?? PushCounts(requester: 0, requesterDay: 0, person: 0, personDay: 0)
    }

    func insert(_ push: PushCount) throws {
        try self.db.run(
            "INSERT INTO push (id, account_id, requester, at) VALUES (?, ?, ?, ?)",
            [push.id, push.accountID, push.requester, push.at.milliseconds])
    }

    /// Notes that a budget is used up. Returns `true` if the budget has no note within the budget's time.
    func note(_ budget: PushBudget, at push: PushCount) throws -> Bool {
        try self.db.changes(
            """
            INSERT INTO used_push_budget (account_id, requester, budget, at) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (account_id, requester, budget) DO UPDATE SET at = ?4 WHERE used_push_budget.at <= ?5
            """,
            [
                push.accountID, budget.owner(of: push), budget.rawValue, push.at.milliseconds,
                (push.at - budget.period).milliseconds,
            ])
    }

    /// Forgets the messages to a person. The notes of budgets used up stay, so that successes do not fill the trail.
    func forgive(accountID: String) throws {
        try self.db.run("DELETE FROM push WHERE account_id = ?", [accountID])
    }

    /// Deletes the messages before a moment. Returns the number of deleted messages.
    func deletePushes(before moment: Timestamp, limit: Int) throws -> Int {
        try self.db.run(
            "DELETE FROM push WHERE id IN (SELECT id FROM push WHERE at < ? ORDER BY at LIMIT ?)",
            [moment.milliseconds, limit])
        return self.db.changesCount
    }

    /// Deletes the notes of budgets used up before a moment. Returns the number of deleted notes.
    func deleteNotes(before moment: Timestamp, limit: Int) throws -> Int {
        try self.db.run(
            """
            DELETE FROM used_push_budget WHERE (account_id, requester, budget) IN (
                SELECT account_id, requester, budget FROM used_push_budget WHERE at < ? ORDER BY at LIMIT ?)
            """, [moment.milliseconds, limit])
        return self.db.changesCount
    }
}
