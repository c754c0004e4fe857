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
            // Once in a row: whoever guesses must not fill the trail, which is kept for ever.
            guard next.count == free, let account = holder.account else { return (next, nil) }
            return (next, AuditEvent(.attemptsRest, at: now, accountID: account, detail: holder.word))
        }
    }

    /// Gives back an attempt at a password that nobody could judge.
    func giveBackAttempt(_ holder: AttemptHolder) async throws {
        try await self.store.giveBackAttempt(holder, unlessItMade: self.limits.passwords.passwordAttempts)
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
