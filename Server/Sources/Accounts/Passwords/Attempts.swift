import Passwords
import Store
import _Primitives

/// The rule by which wrong attempts in a row are slowed down.
///
/// An attempt is counted before it is judged. So many are judged as they come; then each needs a rest, twice as long as
/// the one before, up to the longest. Nobody is locked out for good, and the phone of the account, which has no part in
/// it, never is.
struct AttemptRule: Sendable {
    /// How many are judged without a rest.
    let free: Int
    let limits: Limits.PasswordAccounts

    /// What is kept after one more attempt; `nil` where it may not be made yet.
    func counted(after present: AttemptCount?, at now: Timestamp) -> AttemptCount? {
        guard let present, now < present.at + self.limits.attemptMemory else { return AttemptCount(count: 1, at: now) }
        guard now >= present.at + self.rest(after: present.count) else { return nil }
        return AttemptCount(count: present.count + 1, at: now)
    }

    /// Whether one more attempt at a password may be made.
    ///
    /// All attempts that were not right count together, whoever makes them. While the account's own rest, a browser that the
    /// account knows has a few of its own.
    func decision(
        on holder: AttemptHolder, byBrowser browser: [UInt8]?, after history: AttemptHistory, at now: Timestamp
    ) -> AttemptDecision {
        guard history.inAll < self.limits.attemptsInAll else { return .spent }
        let day = ReservedAttempt.day(of: now)
        if let next = self.counted(after: history.inARow, at: now) {
            return .reserved(
                ReservedAttempt(holder: holder, leave: .account(next), day: day), self.event(of: next, holder, at: now))
        }
        guard let known = history.browser, let browser, self.mayGoOn(known, at: now) else { return .resting }
        return .reserved(ReservedAttempt(holder: holder, leave: .browser(browser), day: day), nil)
    }

    /// What the trail says of a count: once in a row, as whoever guesses must not fill the trail, which is kept for ever.
    func event(of count: AttemptCount, _ holder: AttemptHolder, at now: Timestamp) -> AuditEvent? {
        guard count.count == self.free, let account = holder.account else { return nil }
        return AuditEvent(.attemptsRest, at: now, accountID: account, detail: holder.word)
    }

    /// The first day whose attempts still count among all. The present one has only begun.
    func firstDay(at now: Timestamp) -> Int64 { ReservedAttempt.day(of: now) - Int64(self.limits.attemptDays) }

    /// Whether a browser may send wrong ones while the account's attempts rest.
    func mayGoOn(_ browser: KnownBrowserRecord, at now: Timestamp) -> Bool {
        browser.wrong < self.limits.knownBrowserAttempts && self.isRemembered(browser.usedAt, at: now)
    }

    /// Whether somebody who signed in at a moment is remembered there.
    func isRemembered(_ moment: Timestamp, at now: Timestamp) -> Bool {
        now < moment + self.limits.knownBrowserLifetime
    }

    /// How long nothing is judged after so many wrong attempts.
    private func rest(after count: Int) -> Duration {
        guard count >= self.free else { return .zero }
        return Limits.pause(
            self.limits.attemptRest, doubled: count - self.free, atMost: self.limits.longestAttemptRest)
    }
}

extension PasswordAccounts {
    /// Counts an attempt of somebody, durably, and answers whether it may be judged; leaves mail, where there is some and it
    /// may.
    func countAttempt(
        _ holder: AttemptHolder, free: Int, at now: Timestamp, leaving mail: MailRecord? = nil
    ) async throws -> Bool {
        let rule = AttemptRule(free: free, limits: self.limits.passwords)
        return try await self.store.countAttempt(
            holder, leaving: mail.map { ($0, self.limits.mail.waitingMails) }
        ) { present in
            guard let next = rule.counted(after: present, at: now) else { return nil }
            return (next, rule.event(of: next, holder, at: now))
        }
    }

    /// Reserves an attempt at a password, durably, and answers whether it may be judged.
    func reserveAttempt(_ holder: AttemptHolder, of visitor: Visitor, at now: Timestamp) async throws -> AttemptDecision
    {
        let rule = AttemptRule(free: self.limits.passwords.passwordAttempts, limits: self.limits.passwords)
        let browser = visitor.shown?.digest
        return try await self.store.reserveAttempt(holder, browser: browser, since: rule.firstDay(at: now)) {
            rule.decision(on: holder, byBrowser: browser, after: $0, at: now)
        }
    }

    /// Judges a password whose attempt is reserved. Where nobody can judge it now, it is given back.
    ///
    /// Throws `HashingError`.
    func verify(
        _ typed: String, of known: PasswordAccount?, _ decision: AttemptDecision, for turn: HashingTurn,
        at now: Timestamp
    ) async throws -> (verdict: PasswordVerdict, refusal: PasswordSignIns.Refusal) {
        let (hash, refusal) = self.hash(of: known, decision, at: now)
        let password = try? Password(typed: typed, limits: self.hashing)
        do { return (try await self.pool.verify(password, against: hash, for: turn), refusal) } catch {
            if let attempt = decision.attempt {
                try await self.store.giveBackAttempt(
                    attempt, unlessItMade: self.limits.passwords.passwordAttempts)
            }
            throw error
        }
    }

    /// Whose attempts a name's are: the account's, or those of a number that many names share. Both are counted by the
    /// same step.
    func holder(ofName name: String, account: PasswordAccount?) -> AttemptHolder {
        account.map { .password(account: $0.account.id) } ?? .unknownName(self.number(ofName: name))
    }

    private func number(ofName name: String) -> Int {
        let code = self.sealing.code(name, purpose: .unknownName)
        return (Int(code[0]) << 8 | Int(code[1])) % Limits.Fixed.unknownNames
    }
}

extension AttemptDecision {
    /// What was reserved; `nil` where the attempt may not be made.
    var attempt: ReservedAttempt? {
        guard case .reserved(let attempt, _) = self else { return nil }
        return attempt
    }
}

extension AttemptHolder {
    /// What was attempted, for the trail.
    fileprivate var word: String {
        switch self {
        case .password, .unknownName: "password"
        case .secondFactor: "second-factor"
        case .mail, .confirmation: "mail"
        }
    }
}

extension AuditEvent.Kind {
    /// Attempts at an account's password, or at the codes beside it, were wrong so often that they rest from now on; the
    /// detail says which.
    fileprivate static let attemptsRest = Self(rawValue: "password-attempts-rest")
}
