import Passwords
public import Records
import Settings
import _Primitives

/// "This was not me": a person reports that a change of their account was made by another person.
///
/// The answer restores nothing. The addition of the change rests, and everything that the account has authenticated
/// ends. The answer counts if the confirming phone or password is older than the change. The answer works once in each
/// direction: the person can then reclaim a resting change once. After that an operator decides.
public struct AccountChangeQuestions: Sendable {
    /// A change, and the decision about the change that a person can make now.
    public struct Question: Sendable, Equatable {
        /// The change.
        public let change: AccountChangeRecord
        /// The decision that a person can make now; `nil` if the question's time is over or the person has reclaimed
        /// the change, so that only an operator can decide.
        public let decision: AccountChangeRecord.State?
    }

    private let accounts: PasswordAccounts

    /// Creates the questions about changes of these accounts.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// Returns a function that makes the letter about a change to an account, with the number of letters that may wait.
    /// The function returns `nil` if no mail can be sent, or the account has no confirmed address.
    ///
    /// Cost: one query.
    public func letters(to accountID: String) async throws
        -> @Sendable (AccountChangeRecord) -> (
            MailRecord, most: Int
        )?
    {
        let account = try await self.accounts.store.account(id: accountID)
        return { [accounts] change in
            account.flatMap { accounts.told(.accountChanged, of: $0, change) }
                .map { ($0, accounts.limits.mail.waitingMails) }
        }
    }

    /// Returns the letter that tells a person of a waiting change, with the number of letters that may wait. `nil` if
    /// no mail can be sent, or the account has no confirmed address. `reference` is the reference of the change.
    ///
    /// Cost: one query.
    public func waitingLetter(to accountID: String, about reference: String) async throws -> (MailRecord, most: Int)? {
        let accounts = self.accounts
        guard accounts.sendsMail, try await accounts.store.account(id: accountID)?.email?.isVerified == true else {
            return nil
        }
        let now = accounts.time.now()
        let letter = MailRecord(
            accountID: accountID, subject: .changeWaits, about: reference, createdAt: now,
            expiresAt: now + accounts.limits.mail.linkLetterLifetime)
        return (letter, accounts.limits.mail.waitingMails)
    }

    /// Returns the changes of an account that were made or decided in ``Limits/changeQuestionLifetime``, the latest
    /// first, at most ``Limits/activityRows``. A reclaimed change has no decision.
    ///
    /// Cost: one query.
    public func recent(accountID: String) async throws -> [Question] {
        let accounts = self.accounts
        return try await accounts.store.accountChanges(
            accountID: accountID, after: accounts.time.now() - accounts.limits.changeQuestionLifetime,
            limit: accounts.limits.activityRows
        ).map(self.question)
    }

    /// Returns the question about a change; `nil` if there is no such change, or its account is locked.
    ///
    /// Cost: two queries.
    public func question(of id: String) async throws -> Question? {
        guard let change = try await self.accounts.store.accountChange(id),
            let account = try await self.accounts.store.account(id: change.accountID), !account.isLocked
        else { return nil }
        return self.question(change)
    }

    private func question(_ change: AccountChangeRecord) -> Question {
        let isTimely = self.accounts.time.now() < change.decidedAt + self.accounts.limits.changeQuestionLifetime
        let decision: AccountChangeRecord.State? =
            switch change.state {
            case .made where isTimely: .disowned
            case .disowned where isTimely: .reclaimed
            default: nil
            }
        return Question(change: change, decision: decision)
    }

    /// Returns the question that a mailed link opens; `nil` for an invalid link. Changes nothing.
    ///
    /// Cost: three queries.
    public func question(ofLink link: String) async throws -> Question? {
        let accounts = self.accounts
        guard
            let record = try await accounts.store.mailedLink(
                digest: accounts.links.digest(of: link), purpose: .changeQuestion, at: accounts.time.now()),
            let id = record.about
        else { return nil }
        return try await self.question(of: id)
    }

    /// Spends a mailed link, and returns the question that the link opens; `nil` for an invalid link, and for a change
    /// that is gone or whose account is locked.
    ///
    /// Cost: one store step, two queries.
    public func open(link: String) async throws -> Question? {
        let accounts = self.accounts
        guard
            let id = try await accounts.store.takeChangeLink(
                digest: accounts.links.digest(of: link), at: accounts.time.now())
        else { return nil }
        return try await self.question(of: id)
    }

    /// Mails another link to the question about a change to the account's confirmed address. The caller learns nothing:
    /// the answer for an unknown change is the same.
    ///
    /// Throws ``AccountError`` `tooManyRequests` if the source has asked too often.
    ///
    /// Cost: two queries, one store step.
    public func askAgain(id: String, source: String) async throws {
        let accounts = self.accounts
        let now = accounts.time.now()
        try AccountError.throwShortage(accounts.mails.spend(source, at: now))
        guard accounts.sendsMail, let question = try await self.question(of: id), question.decision != nil else {
            return
        }
        let change = question.change
        _ = try await accounts.countAttempt(
            .confirmation(account: change.accountID), free: accounts.limits.mail.mailsInARow, at: now,
            leaving: accounts.mail(.changeQuestion, to: change.accountID, about: change.id, at: now))
    }

    /// Makes the decision that a person has confirmed, and ends everything that the account has authenticated. `false`,
    /// without a change, if the person cannot make this decision now, or the change belongs to another account.
    ///
    /// Throws `HashingError`.
    ///
    /// Cost: three queries, one hash, one store step.
    public func decide(
        _ decision: AccountChangeRecord.State, about id: String, accountID: String, source: String, address: String?
    ) async throws -> Bool {
        let accounts = self.accounts
        let now = accounts.time.now()
        guard let question = try await self.question(of: id), question.decision == decision,
            question.change.accountID.hasSameBytes(as: accountID)
        else { return false }
        let (change, kind) = (
            question.change, decision == .disowned ? AuditEvent.Kind.changeDisowned : .changeReclaimed
        )
        let decided = AccountChangeRecord(
            id: change.id, accountID: accountID, addition: change.addition, words: change.words, madeAt: change.madeAt,
            state: decision, decidedAt: now)
        let hash = try await accounts.newHash(
            typed: accounts.random.token(), for: Visitor(source: source).turn(atPasswordOf: accountID))
        return try await accounts.store.decide(
            AccountChangeDecision(
                change: id, accountID: accountID, state: decision, unusableHash: hash,
                audit: AuditEvent(
                    kind, at: now, accountID: accountID, detail: change.addition.kind, address: address),
                mail: try await self.letters(to: accountID)(decided)))
    }
}

/// A typed code, mailed to the account's confirmed address. The code confirms a change beside a password without a
/// second factor.
public struct ChangeCodes: Sendable {
    private let accounts: PasswordAccounts

    /// Creates the codes for the addresses of these accounts.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// `true` if a mailed code must confirm a change of an account beside the password.
    public func areNeeded(_ summary: OwnPassword.Summary) -> Bool {
        summary.hasPassword && !summary.hasSecondFactor && summary.hasMailbox
    }

    /// Mails a code for the change of a reference. `false` if the account's letters are paused.
    ///
    /// Throws ``AccountError`` `tooManyRequests` if the source has asked too often.
    ///
    /// Cost: one store step.
    public func ask(accountID: String, reference: String, source: String) async throws -> Bool {
        let accounts = self.accounts
        let now = accounts.time.now()
        try AccountError.throwShortage(accounts.mails.spend(source, at: now))
        let end = now + accounts.limits.mail.linkLetterLifetime
        let letter = MailRecord(
            accountID: accountID, subject: .changeCode,
            link: accounts.links.makeCode(accountID: accountID, reference: reference, until: end), about: reference,
            createdAt: now, expiresAt: end)
        return try await accounts.countAttempt(
            .confirmation(account: accountID), free: accounts.limits.mail.mailsInARow, at: now, leaving: letter)
    }

    /// Judges a typed code, and returns `true` for a right code, which is spent. Each attempt counts before the
    /// judgement, together with the attempts at the account's second factor. While these attempts are paused, the
    /// result is `false`.
    ///
    /// Throws ``AccountError`` `tooManyRequests`, also for a right code, if the source was wrong too often.
    ///
    /// Cost: two store steps.
    public func judge(_ typed: String, accountID: String, reference: String, source: String) async throws -> Bool {
        let accounts = self.accounts
        let now = accounts.time.now()
        try AccountError.throwShortage(accounts.guesses.spend(source, at: now))
        guard
            try await accounts.countAttempt(
                .secondFactor(account: accountID), free: accounts.limits.passwords.secondFactorAttempts, at: now),
            let code = TypedCode(typed: typed, letters: Limits.Fixed.mailedCodeLetters),
            try await accounts.store.takeChangeCode(
                digest: accounts.links.digest(of: code, reference: reference), accountID: accountID, at: now)
        else { return false }
        accounts.guesses.refund(source)
        return true
    }
}

extension AccountAddition {
    /// The word of the kind, for the trail.
    fileprivate var kind: String {
        switch self {
        case .device: "device"
        case .provider: "provider"
        case .email: "email"
        case .phone: "phone"
        case .password: "password"
        case .secondFactor: "second-factor"
        case .recoveryCodes: "recovery-codes"
        case .approvedDevice: "approved-device"
        case .nothing: "device-end"
        }
    }
}

extension AuditEvent.Kind {
    /// A person has disowned a change, and the addition rests. The detail is the kind of the change.
    static let changeDisowned = Self(rawValue: "change-disowned")
    /// A person has reclaimed a resting change, and the addition counts again. The detail is the kind.
    static let changeReclaimed = Self(rawValue: "change-reclaimed")
}
