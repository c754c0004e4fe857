import Passwords
import Records
import Sealing
import Settings
import _Primitives

/// The accounts' rule of attempts at passwords, codes and letters: pauses after consecutive wrong attempts.
///
/// An attempt is counted before the judgement. A number of attempts is judged without delay. After that each attempt
/// needs a pause, twice as long as the last, up to the longest. No account is locked out for good, and the account's
/// phone, which the rule does not cover, is never locked out.
struct PauseRule: Sendable {
    /// The number of attempts that are judged without a pause.
    let free: Int
    let limits: Limits.PasswordAccounts

    /// Returns the count after one more attempt; `nil` if the attempt may not be made yet.
    func counted(after present: AttemptCount?, at now: Timestamp) -> AttemptCount? {
        guard let present, now < present.at + self.limits.attemptMemory else { return AttemptCount(count: 1, at: now) }
        guard now >= present.at + self.rest(after: present.count) else { return nil }
        return AttemptCount(count: present.count + 1, at: now)
    }

    /// Returns the decision about one more attempt at a password.
    ///
    /// All attempts that were not right count together, for all callers. Past the limit for all attempts of the last
    /// days every attempt is `spent`. Below the limit, during the account's pause, a browser that the account knows has
    /// a few attempts of its own.
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

    /// Returns the trail's entry for the attempt of a row that begins the pauses; `nil` for every other attempt, and
    /// for unknown names. An attacker's guesses must not fill the trail, which is kept for ever.
    func event(of count: AttemptCount, _ holder: AttemptHolder, at now: Timestamp) -> AuditEvent? {
        guard count.count == self.free, let account = holder.account else { return nil }
        return AuditEvent(.attemptsRest, at: now, accountID: account, detail: holder.word)
    }

    /// Returns the first day whose attempts still count in the total. The present day has only begun.
    func firstDay(at now: Timestamp) -> Int64 { ReservedAttempt.day(of: now) - Int64(self.limits.attemptDays) }

    /// `true` if a browser may send wrong passwords while the account's attempts are paused.
    func mayGoOn(_ browser: KnownBrowserRecord, at now: Timestamp) -> Bool {
        browser.wrong < self.limits.knownBrowserAttempts && self.isRemembered(browser.usedAt, at: now)
    }

    /// `true` if a sign-in at a moment is still remembered.
    func isRemembered(_ moment: Timestamp, at now: Timestamp) -> Bool {
        now < moment + self.limits.knownBrowserLifetime
    }

    /// Returns the pause after a number of wrong attempts, during which no attempt is judged.
    private func rest(after count: Int) -> Duration {
        guard count >= self.free else { return .zero }
        return Limits.pause(
            self.limits.attemptRest, doubled: count - self.free, atMost: self.limits.longestAttemptRest)
    }
}

extension PasswordAccounts {
    /// Counts an attempt durably, and returns `true` if the attempt may be judged. In that case leaves the mail, if
    /// any, in the outbox, unless too many letters wait. Otherwise changes nothing.
    func countAttempt(
        _ holder: AttemptHolder, free: Int, at now: Timestamp, leaving mail: MailRecord? = nil
    ) async throws -> Bool {
        let rule = PauseRule(free: free, limits: self.limits.passwords)
        return try await self.store.countAttempt(
            holder, leaving: mail.map { ($0, self.limits.mail.waitingMails) }
        ) { present in
            guard let next = rule.counted(after: present, at: now) else { return nil }
            return (next, rule.event(of: next, holder, at: now))
        }
    }

    /// Reserves an attempt at a password durably, and returns the decision about the attempt.
    func reserveAttempt(_ holder: AttemptHolder, of visitor: Visitor, at now: Timestamp) async throws -> AttemptDecision
    {
        let rule = PauseRule(free: self.limits.passwords.passwordAttempts, limits: self.limits.passwords)
        let browser = visitor.shown?.digest
        return try await self.store.reserveAttempt(holder, browser: browser, since: rule.firstDay(at: now)) {
            rule.decision(on: holder, byBrowser: browser, after: $0, at: now)
        }
    }

    /// Judges a password after ``reserveAttempt(_:of:at:)``. If the password cannot be judged now, a reserved attempt
    /// is given back. The refusal is the reason for the log if the verdict is not `right`, and otherwise has no
    /// meaning.
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

    /// Returns the holder of a name's attempts: the account, or a number that many unknown names share. The same step
    /// counts for both.
    func holder(ofName name: String, account: PasswordAccount?) -> AttemptHolder {
        account.map { .password(account: $0.account.id) } ?? .unknownName(self.number(ofName: name))
    }

    private func number(ofName name: String) -> Int {
        let code = self.sealing.code(name, purpose: .unknownName)
        return (Int(code[0]) << 8 | Int(code[1])) % Limits.Fixed.unknownNames
    }
}

extension AttemptDecision {
    /// The reserved attempt; `nil` if the attempt may not be made.
    var attempt: ReservedAttempt? {
        guard case .reserved(let attempt, _) = self else { return nil }
        return attempt
    }
}

extension AttemptHolder {
    /// The target of the attempt, for the trail.
    fileprivate var word: String {
        switch self {
        case .password, .unknownName: "password"
        case .secondFactor: "second-factor"
        case .recoveryCode: "recovery-code"
        case .mail, .confirmation: "mail"
        }
    }
}

extension AuditEvent.Kind {
    /// Attempts at an account's password or at the codes beside the password were wrong so often, or letters were
    /// requested so often, that they are paused from now on. The detail is the target.
    fileprivate static let attemptsRest = Self(rawValue: "password-attempts-rest")
}
