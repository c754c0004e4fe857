public import Records
import Sealing
public import _Primitives

extension SealingPurpose {
    /// A network from which a person has signed in, with the account.
    fileprivate static let knownNetwork = SealingPurpose("known network")
}

extension SQLStore {
    public func reserveAttempt(
        _ holder: AttemptHolder, browser: [UInt8]?, since day: Int64,
        judge: @escaping @Sendable (AttemptHistory) -> AttemptDecision
    ) async throws -> AttemptDecision {
        try await self.step(
            Step("attempt.reserve", guards: StepGuard.ofAttempts(at: holder), isolation: .ofAttempts(at: holder))
        ) { [sealing] db in
            let decision = judge(try db.history(of: holder, browser: browser, since: day))
            switch decision.reservation {
            case .nothing: break
            case .account(let count, let day, let audit):
                try db.keep(count, of: holder)
                try db.countDay(day, of: holder)
                try db.record(audit, sealing)
            case .browser(let digest, let day, let audit):
                try db.countWrong(1, ofBrowser: digest)
                try db.countDay(day, of: holder)
                try db.record(audit, sealing)
            }
            return decision
        }
    }

    public func giveBackAttempt(_ attempt: ReservedAttempt, unlessItMade kept: Int) async throws {
        try await self.step(
            Step(
                "attempt.give-back", guards: StepGuard.ofAttempts(at: attempt.holder),
                isolation: .ofAttempts(at: attempt.holder))
        ) { db in
            switch attempt.leave {
            case .account:
                try db.run(
                    "UPDATE password_attempt SET count = greatest(0, count - 1) WHERE holder = ? AND count <> ?",
                    [attempt.holder.key, kept])
            case .browser(let digest): try db.countWrong(-1, ofBrowser: digest)
            }
            try db.giveBackDay(of: attempt)
        }
    }

    public func knownVisit(
        accountID: String, network: String, browser: [UInt8]?
    ) async throws -> (network: Timestamp?, browser: KnownBrowserRecord?) {
        try await self.read { [sealing] db in
            let code = sealing.networkCode(network, accountID: accountID)
            let network = try db.row(
                "SELECT used_at FROM known_network WHERE account_id = ? AND network = ?", [accountID, code]
            ).map { try $0.moment("used_at") }
            return (network, try db.knownBrowser(browser, accountID: accountID))
        }
    }

    public func knowBrowser(byLink digest: [UInt8], _ visit: KnownVisit, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("known-browser.add", guards: [.exclusive(accountOfLink: digest)], isolation: .readCommitted)
        ) { [sealing] db in
            let link = try db.mailedLink(digest: digest, purpose: .passwordReset, at: visit.at)
            let standing = try link.flatMap { try db.passwordStanding(of: $0.accountID, sealing) }
            return try db.carryOut(visit.plan(by: link, in: standing, audit: audit), sealing)
        }
    }

    public func deleteAttempts(before moment: Timestamp, day: Int64, limit: Int) async throws -> Int {
        try await self.step(Step("attempt.sweep", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                DELETE FROM password_attempt WHERE holder IN
                    (SELECT holder FROM password_attempt WHERE at < ? LIMIT ?)
                """, [moment.milliseconds, limit])
            let inARow = db.changesCount
            try db.run(
                """
                DELETE FROM password_attempt_day WHERE (holder, day) IN
                    (SELECT holder, day FROM password_attempt_day WHERE day < ? LIMIT ?)
                """, [day, limit])
            return inARow + db.changesCount
        }
    }
}

extension StepGuard {
    /// Locks the account at which attempts are made. Two attempts at once count as two.
    static func ofAttempts(at holder: AttemptHolder) -> [Self] {
        holder.account.map { [Self.exclusive(.account, id: $0)] } ?? []
    }
}

extension Step.Isolation {
    /// Returns the isolation of a step that counts attempts. An unknown name has no row to lock, and its attempts must
    /// count as the attempts at an account do: otherwise attempts at once would tell unknown names from accounts.
    static func ofAttempts(at holder: AttemptHolder) -> Self {
        holder.account.map { _ in Self.readCommitted } ?? .serializable
    }
}

extension SQLConnection {
    /// Returns a holder's attempts in a row, the number of all attempts since `day`, and the browser's record if the
    /// account knows the browser.
    fileprivate func history(of holder: AttemptHolder, browser: [UInt8]?, since day: Int64) throws -> AttemptHistory {
        let inAll = try self.number(
            """
            SELECT CAST(coalesce(sum(count), 0) AS BIGINT) FROM password_attempt_day WHERE holder = ? AND day >= ?
            """, [holder.key, day])
        return AttemptHistory(
            inARow: try self.attempts(of: holder), inAll: inAll ?? 0,
            browser: try self.knownBrowser(browser, accountID: holder.account ?? ""))
    }

    /// Returns the attempts of a holder in a row; `nil` if the holder has none.
    func attempts(of holder: AttemptHolder) throws -> AttemptCount? {
        try self.row("SELECT count, at FROM password_attempt WHERE holder = ?", [holder.key]).map {
            AttemptCount(count: try $0.integer("count"), at: try $0.moment("at"))
        }
    }

    /// Keeps the number of a holder's attempts in a row.
    func keep(_ count: AttemptCount, of holder: AttemptHolder) throws {
        try self.run(
            """
            INSERT INTO password_attempt (holder, account_id, count, at) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (holder) DO UPDATE SET count = ?3, at = ?4
            """, [holder.key, holder.account, count.count, count.at.milliseconds])
    }

    /// Returns the stored record of a browser, if this account knows the browser. The same statement runs for unknown
    /// names.
    fileprivate func knownBrowser(_ digest: [UInt8]?, accountID: String) throws -> KnownBrowserRecord? {
        try self.row(
            "SELECT wrong, used_at FROM known_browser WHERE digest = ? AND account_id = ?",
            [(digest ?? []), accountID]
        ).map { KnownBrowserRecord(wrong: try $0.integer("wrong"), usedAt: try $0.moment("used_at")) }
    }

    fileprivate func countWrong(_ number: Int, ofBrowser digest: [UInt8]) throws {
        try self.run("UPDATE known_browser SET wrong = greatest(0, wrong + ?) WHERE digest = ?", [number, digest])
    }

    /// Counts an attempt among all attempts of a day.
    fileprivate func countDay(_ day: Int64, of holder: AttemptHolder) throws {
        try self.run(
            """
            INSERT INTO password_attempt_day (holder, day, account_id, count) VALUES (?, ?, ?, 1)
            ON CONFLICT (holder, day) DO UPDATE SET count = password_attempt_day.count + 1
            """, [holder.key, day, holder.account])
    }

    /// Takes an attempt out of the count of its day.
    func giveBackDay(of attempt: ReservedAttempt) throws {
        try self.run(
            "UPDATE password_attempt_day SET count = greatest(0, count - 1) WHERE holder = ? AND day = ?",
            [attempt.holder.key, attempt.day])
    }

    /// Forgets the wrong passwords that a known browser has sent.
    func forgetWrong(ofBrowser digest: [UInt8]) throws {
        try self.run("UPDATE known_browser SET wrong = 0 WHERE digest = ?", [digest])
    }

    /// Deletes the daily counts of all attempts at the password of an account. The attempts in a row stay.
    func forgetAllAttempts(atPasswordOf accountID: String) throws {
        try self.run(
            "DELETE FROM password_attempt_day WHERE holder = ?", [AttemptHolder.password(account: accountID).key])
    }

    /// Deletes the browsers and networks that an account knows.
    func forgetKnown(ofAccount accountID: String) throws {
        try self.run("DELETE FROM known_browser WHERE account_id = ?", [accountID])
        try self.run("DELETE FROM known_network WHERE account_id = ?", [accountID])
    }

    /// Deletes a browser that an account knows.
    func forgetBrowser(_ digest: [UInt8], ofAccount accountID: String) throws {
        try self.run("DELETE FROM known_browser WHERE digest = ? AND account_id = ?", [digest, accountID])
    }

    /// Makes an account know a browser.
    func knowBrowser(_ digest: [UInt8], at moment: Timestamp, accountID: String) throws {
        try self.run(
            "INSERT INTO known_browser (digest, account_id, wrong, used_at) VALUES (?, ?, 0, ?)",
            [digest, accountID, moment.milliseconds])
    }

    /// Makes an account know a network.
    func knowNetwork(_ network: String, at moment: Timestamp, accountID: String, _ sealing: Sealing) throws {
        try self.run(
            """
            INSERT INTO known_network (account_id, network, used_at) VALUES (?1, ?2, ?3)
            ON CONFLICT (account_id, network) DO UPDATE SET used_at = ?3
            """,
            [
                accountID, sealing.networkCode(network, accountID: accountID), moment.milliseconds,
            ])
    }

    /// Deletes the browsers and networks of an account except the most recently used, at most `most` of each.
    func keepRecent(_ most: Int, ofAccount accountID: String) throws {
        try self.keepRecent(most, ofAccount: accountID, in: "known_browser", by: "digest")
        try self.keepRecent(most, ofAccount: accountID, in: "known_network", by: "network")
    }

    private func keepRecent(_ most: Int, ofAccount accountID: String, in table: String, by key: String) throws {
        try self.run(
            .composed(
                """
                DELETE FROM \(table) WHERE account_id = ?1 AND \(key) NOT IN (
                    SELECT \(key) FROM \(table) WHERE account_id = ?1 ORDER BY used_at DESC, \(key) LIMIT ?2)
                """), [accountID, most])
    }
}

extension Sealing {
    /// Returns the stored code of a network from which a person has signed in to an account: no two accounts have the
    /// same code.
    fileprivate func networkCode(_ network: String, accountID: String) -> [UInt8] {
        self.code(Array(accountID.utf8) + [0] + Array(network.utf8), purpose: .knownNetwork)
    }
}
