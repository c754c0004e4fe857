public import Passwords
public import Records
public import Sealing
public import Settings
public import Texts
public import _Primitives

/// The common tools for passwords of accounts: the store, the threads that hash, and the list of breached passwords.
public struct PasswordAccounts: Sendable {
    /// The stores of accounts, and of the trail.
    public typealias AccountsStore = AccountStore & AccountChangeStore & AdditionalEmailStore & PasswordStore
        & LostDeviceStore & MailStore & AuditStore

    let store: any AccountsStore
    let pool: HashingPool
    let sealing: Sealing
    let limits: Limits
    /// The cost of hashing passwords, and the bounds of passwords.
    package let hashing: PasswordLimits
    /// The passwords that are not allowed; `nil` if the operator has named no list.
    let breached: BreachedPasswordList?
    /// The budget of wrong passwords and codes from a network.
    let guesses: Budget
    /// The budget of letters at the request of a network.
    let mails: Budget
    /// The refusals that the trail does not have yet.
    let refused: RefusedAttempts
    /// `true` if the server sends mail to people.
    package let sendsMail: Bool
    let links: MailedLinks
    let time: TimeSource
    let random: RandomSource

    /// Creates the tools, and starts the threads.
    ///
    /// Throws ``HashingError`` if the limits allow no hashing.
    public init(
        store: any AccountsStore, sealing: Sealing, limits: Limits = Limits(),
        hashing: PasswordLimits = PasswordLimits(), breached: BreachedPasswordList? = nil, sendsMail: Bool = false,
        time: TimeSource = .system,
        random: RandomSource = .system
    ) throws {
        self.store = store
        self.pool = try HashingPool(limits: hashing, random: random)
        self.sealing = sealing
        self.limits = limits
        self.hashing = hashing
        self.breached = breached
        self.guesses = Budget(limits.passwordTries)
        self.mails = Budget(limits.mailings)
        self.refused = RefusedAttempts(limits: limits.passwords)
        self.sendsMail = sendsMail
        self.links = MailedLinks(sealing: sealing, random: random)
        self.time = time
        self.random = random
    }

    /// The present load of the threads, for metrics.
    public var load: HashingLoad { self.pool.load }

    /// Deletes wrong attempts that no longer count, expired mailed links, and changes of accounts that can no longer be
    /// decided. Returns the number of deletions.
    ///
    /// All steps ask for the moment of the call. So the call ends however many attempts are forgotten each second.
    ///
    /// Cost: three store steps for each batch of ``Limits/sweepBatch`` deletions of a kind, and three more.
    @discardableResult
    public func sweep() async throws -> Int {
        let now = self.time.now()
        var count = 0
        while true {
            let deleted =
                try await self.store.deleteAttempts(
                    before: now - self.limits.passwords.attemptMemory,
                    day: PauseRule(free: 0, limits: self.limits.passwords).firstDay(at: now),
                    limit: self.limits.sweepBatch)
                + self.store.deleteMailedLinks(before: now, limit: self.limits.sweepBatch)
                + self.store.deleteAccountChanges(
                    before: now - self.limits.changeQuestionLifetime, limit: self.limits.sweepBatch)
            guard deleted > 0 else { return count }
            count += deleted
        }
    }

    /// Writes the refusals to the audit trail, one entry for each account that is due.
    ///
    /// If the store fails, the refusals without an entry stay in memory until the next call.
    ///
    /// - Parameter all: `true` if no refusals may stay in memory, because the process ends.
    ///
    /// Cost: one store step for each entry.
    public func writeRefusals(all: Bool = false) async throws {
        try await self.refused.write(to: self.store, at: self.time.now(), all: all)
    }

    /// Checks a chosen password against the rules, before anything is spent.
    ///
    /// Throws ``PasswordRefusal``, `HashingError` if too many look-ups in the list wait, and errors of the look-up.
    func check(new typed: String, for turn: HashingTurn) async throws {
        let password = try Password(typed: typed, limits: self.hashing)
        try password.checkAsNew(limits: self.hashing)
        if let breached { try await self.pool.check(password, against: breached, for: turn) }
    }

    /// A name that no account can have, because the name has a space.
    static let nobody: AccountName = " "

    /// Returns mail with a link. The link's time begins when the mail is handed over. `about` is the identifier of an
    /// additional address that receives the mail, or of the change that a question is about.
    func mail(
        _ purpose: MailedLinkRecord.Purpose, to accountID: String, about: String? = nil, at now: Timestamp
    ) -> MailRecord {
        let end = now + self.limits.mail.linkLetterLifetime
        return MailRecord(
            accountID: accountID, subject: purpose.letter,
            link: self.links.make(purpose, accountID: accountID, about: about, until: end), about: about,
            createdAt: now, expiresAt: end)
    }

    /// Returns the hash of a chosen password.
    ///
    /// Throws ``PasswordRefusal`` for an unacceptable password, and `HashingError` if the password cannot be hashed
    /// now.
    func newHash(typed text: String, for turn: HashingTurn) async throws -> String {
        let password = try Password(typed: text, limits: self.hashing)
        try password.checkAsNew(limits: self.hashing)
        return try await self.pool.hash(password, unlessIn: self.breached, for: turn).text
    }

    /// Returns the change to a new password at the person's wish. Everything that the account has authenticated ends,
    /// the account's devices are told, and a letter goes to a confirmed address.
    func change(
        of account: AccountRecord, to hash: String, shown: ShownPassword, address: String?
    ) -> PasswordChange {
        let now = self.time.now()
        var change = PasswordChange(
            to: PasswordRecord(accountID: account.id, hash: hash, setAt: now), shown: shown,
            endsSessions: true,
            audit: AuditEvent(.passwordChanged, at: now, accountID: account.id, address: address),
            notice: self.notice(.passwordChanged, of: account, at: now))
        let made = self.accountChange(.password, of: account, at: now)
        change.accountChange = made
        change.mail = self.told(.passwordChanged, of: account, made)
        return change
    }

    /// Returns the notice of an account's change for the account's devices.
    func notice(_ kind: NoticeRecord.Kind, of account: AccountRecord, at now: Timestamp) -> NoticeRecord {
        NoticeRecord(
            id: self.random.identifier(), accountID: account.id, kind: kind, at: now, subject: account.shownName)
    }

    /// Returns the record of a change of the password, the second factor or the recovery codes, so that the person can
    /// disown the change.
    func accountChange(_ addition: AccountAddition, of account: AccountRecord, at now: Timestamp)
        -> AccountChangeRecord
    {
        let words =
            switch addition {
            case .secondFactor: "an authenticator app"
            case .recoveryCodes: "new recovery codes"
            default: "another password"
            }
        return AccountChangeRecord(
            id: self.random.identifier(), accountID: account.id, addition: addition, words: words, madeAt: now)
    }

    /// Returns the letter that tells a person of a change, with a link to the question about the change. `nil` if no
    /// mail can be sent, or the account has no confirmed address.
    func told(_ subject: MailRecord.Subject, of account: AccountRecord, _ change: AccountChangeRecord) -> MailRecord? {
        guard self.sendsMail, account.email?.isVerified == true else { return nil }
        let end = change.decidedAt + self.limits.mail.mailLifetime
        return MailRecord(
            accountID: change.accountID, subject: subject,
            link: self.links.make(.changeQuestion, accountID: change.accountID, about: change.id, until: end),
            about: change.id, createdAt: change.decidedAt, expiresAt: end)
    }

    /// Returns a letter for each confirmed address of a person, without links. Without mail there are none.
    ///
    /// Cost: one query if the server sends mail.
    func letters(
        _ subject: MailRecord.Subject, toAllAddressesOf account: AccountRecord, at now: Timestamp
    ) async throws -> [MailRecord] {
        guard self.sendsMail else { return [] }
        let further = try await self.store.additionalEmails(accountID: account.id).filter(\.isVerified).map(\.id)
        let first: [String?] = account.email?.isVerified == true ? [nil] : []
        return (first + further).map {
            MailRecord(
                accountID: account.id, subject: subject, about: $0, createdAt: now,
                expiresAt: now + self.limits.mail.mailLifetime)
        }
    }

    /// Returns the stored digest of a recovery code. The digest is worthless for another account.
    func digest(of code: RecoveryCode, accountID: String) -> [UInt8] {
        self.sealing.code(
            Array(accountID.utf8) + [0] + code.withBytes { Array($0) }, purpose: .recoveryCode)
    }
}

extension SealingPurpose {
    /// A recovery code, with its account.
    fileprivate static let recoveryCode = SealingPurpose("recovery code")
    /// The number under which an unknown name is counted.
    static let unknownName = SealingPurpose("unknown name")
}

extension PasswordRefusal {
    /// Returns the fault of a chosen password, as a form tells the person.
    public func problem(_ limits: PasswordLimits) -> FormProblem {
        switch self.code {
        case .empty, .tooShort: .passwordTooShort(fewest: limits.fewestCharacters)
        case .tooLong: .passwordTooLong(most: limits.mostCharacters)
        case .forbiddenCharacter: .passwordNotShown
        case .breached: .passwordBreached
        default: .passwordRefused
        }
    }
}
