import Records
import _Primitives

/// The rows of attempts at passwords and second factors.
struct AttemptRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns a holder's attempts in a row, the number of all attempts since `day`, and the browser's record if the
    /// account knows the browser.
    func history(of holder: AttemptHolder, browser: [UInt8]?, since day: Int64) throws -> AttemptHistory {
        let inAll = try self.db.number(
            """
            SELECT CAST(coalesce(sum(count), 0) AS BIGINT) FROM password_attempt_day WHERE holder = ? AND day >= ?
            """, [holder.key, day])
        return AttemptHistory(
            inARow: try self.attempts(of: holder), inAll: inAll ?? 0,
            browser: try KnownVisitRows(self.db).knownBrowser(browser, accountID: holder.account ?? ""))
    }

    /// Returns the attempts of a holder in a row; `nil` if the holder has none.
    func attempts(of holder: AttemptHolder) throws -> AttemptCount? {
        try self.db.row("SELECT count, at FROM password_attempt WHERE holder = ?", [holder.key]).map {
            AttemptCount(count: try $0.integer("count"), at: try $0.moment("at"))
        }
    }

    /// Keeps the number of a holder's attempts in a row.
    func keep(_ count: AttemptCount, of holder: AttemptHolder) throws {
        try self.db.run(
            """
            INSERT INTO password_attempt (holder, account_id, count, at) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (holder) DO UPDATE SET count = ?3, at = ?4
            """, [holder.key, holder.account, count.count, count.at.milliseconds])
    }

    /// Counts an attempt among all attempts of a day.
    func countDay(_ day: Int64, of holder: AttemptHolder) throws {
        try self.db.run(
            """
            INSERT INTO password_attempt_day (holder, day, account_id, count) VALUES (?, ?, ?, 1)
            ON CONFLICT (holder, day) DO UPDATE SET count = password_attempt_day.count + 1
            """, [holder.key, day, holder.account])
    }

    /// Takes an attempt out of the count of its day.
    func giveBackDay(of attempt: ReservedAttempt) throws {
        try self.db.run(
            "UPDATE password_attempt_day SET count = greatest(0, count - 1) WHERE holder = ? AND day = ?",
            [attempt.holder.key, attempt.day])
    }

    /// Deletes the daily counts of all attempts at the password of an account. The attempts in a row stay.
    func forgetAllAttempts(atPasswordOf accountID: String) throws {
        try self.db.run(
            "DELETE FROM password_attempt_day WHERE holder = ?", [AttemptHolder.password(account: accountID).key])
    }

    /// Deletes a holder's attempts in a row. The daily counts stay.
    func forgetAttempts(_ holder: AttemptHolder) throws {
        try self.db.run("DELETE FROM password_attempt WHERE holder = ?", [holder.key])
    }
}
