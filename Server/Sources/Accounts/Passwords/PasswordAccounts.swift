public import Passwords
public import Store
public import _Primitives

/// What passwords of accounts need, whoever sets them or shows them: the store, the threads that hash, the list of
/// breached ones.
public struct PasswordAccounts: Sendable {
    /// Where accounts are, and the trail.
    public typealias AccountsStore = AccountStore & AccountChangeStore & AdditionalEmailStore & PasswordStore
        & MailStore & AuditStore

    let store: any AccountsStore
    let pool: HashingPool
    let sealing: Sealing
    let limits: Limits
    let hashing: PasswordLimits
    /// Passwords that nobody may choose; `nil` where the operator has named no list.
    let breached: BreachedPasswordList?
    /// Wrong passwords and codes from a network.
    let guesses: Budget
    /// Letters that a network has asked for.
    let mails: Budget
    /// What the trail has still to be told of.
    let refused: RefusedAttempts
    /// Whether people are told by mail.
    let sendsMail: Bool
    let links: MailedLinks
    let time: TimeSource
    let random: RandomSource

    /// Starts the threads.
    ///
    /// Throws ``HashingError`` where nothing can be hashed by these limits.
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
        self.guesses = Budget(
            "passwordsPerMinute", burst: limits.passwords.passwordBurst, perMinute: limits.passwords.passwordsPerMinute,
            sources: limits.countedSources)
        self.mails = Budget(
            "mailsPerMinute", burst: limits.mail.mailBurst, perMinute: limits.mail.mailsPerMinute,
            sources: limits.countedSources)
        self.refused = RefusedAttempts(limits: limits.passwords)
        self.sendsMail = sendsMail
        self.links = MailedLinks(sealing: sealing, random: random)
        self.time = time
        self.random = random
    }

    /// What the threads do now, for metrics.
    public var load: HashingLoad { self.pool.load }

    /// Forgets wrong attempts that are too long ago to count, mailed links whose time is over, and changes of accounts that
    /// nobody can decide about any more. Says how many there were; call again while that is not zero.
    ///
    /// Cost: three store steps.
    public func sweep() async throws -> Int {
        let now = self.time.now()
        return try await self.store.deleteAttempts(
            before: now - self.limits.passwords.attemptMemory,
            day: AttemptRule(free: 0, limits: self.limits.passwords).firstDay(at: now), limit: self.limits.sweepBatch)
            + self.store.deleteMailedLinks(before: now, limit: self.limits.sweepBatch)
            + self.store.deleteAccountChanges(
                before: now - self.limits.changeQuestionLifetime, limit: self.limits.sweepBatch)
    }

    /// Holds a password that somebody chooses against what it must be, before anything is spent for it.
    ///
    /// Throws ``PasswordRefusal``, and `HashingError` where too many wait to look it up in the list.
    func check(new typed: String, for turn: HashingTurn) async throws {
        let password = try Password(typed: typed, limits: self.hashing)
        try password.checkAsNew(limits: self.hashing)
        if let breached { try await self.pool.check(password, against: breached, for: turn) }
    }

    /// A name that nobody can have: it has a space.
    static let nobody: AccountName = " "

    /// Mail with a link, whose own time begins when it is handed over. `about` is a further address that it goes to.
    func mail(
        _ purpose: MailedLinkRecord.Purpose, to accountID: String, about: String? = nil, at now: Timestamp
    ) -> MailRecord {
        let end = now + self.limits.mail.linkLetterLifetime
        let subject: MailRecord.Subject =
            switch purpose {
            case .passwordReset: .passwordReset
            case .addressConfirmation: .addressConfirmation
            case .changeQuestion: .accountChanged
            case .changeCode: .changeCode
            }
        return MailRecord(
            accountID: accountID, subject: subject,
            link: self.links.make(purpose, accountID: accountID, about: about, until: end), about: about,
            createdAt: now, expiresAt: end)
    }

    /// The hash of a password that somebody chooses.
    ///
    /// Throws ``PasswordRefusal`` for one that cannot be chosen, `HashingError` where it cannot be hashed now.
    func newHash(typed text: String, for turn: HashingTurn) async throws -> String {
        let password = try Password(typed: text, limits: self.hashing)
        try password.checkAsNew(limits: self.hashing)
        return try await self.pool.hash(password, unlessIn: self.breached, for: turn).text
    }

    /// A password that a person has chosen in place of theirs: all that the account has authenticated ends, and its devices
    /// are told.
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

    /// What the devices of an account are told of a change of its own.
    func notice(_ kind: NoticeRecord.Kind, of account: AccountRecord, at now: Timestamp) -> NoticeRecord {
        NoticeRecord(
            id: self.random.identifier(), accountID: account.id, kind: kind, at: now, subject: account.shownName)
    }

    /// A change of the password, or of what is beside it, as its person can disown it.
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

    /// The letter that tells the person of an account of a change, with a link to the question whether the change was the
    /// person's own; `nil` if no mail can be sent, or the account has no confirmed address.
    func told(_ subject: MailRecord.Subject, of account: AccountRecord, _ change: AccountChangeRecord) -> MailRecord? {
        guard self.sendsMail, account.email?.isVerified == true else { return nil }
        let end = change.decidedAt + self.limits.mail.mailLifetime
        return MailRecord(
            accountID: change.accountID, subject: subject,
            link: self.links.make(.changeQuestion, accountID: change.accountID, about: change.id, until: end),
            about: change.id, createdAt: change.decidedAt, expiresAt: end)
    }

    /// What the store keeps of a recovery code: worth nothing with another account.
    func digest(of code: RecoveryCode, accountID: String) -> [UInt8] {
        self.sealing.code(
            Array(accountID.utf8) + [0] + code.withBytes { Array($0) }, purpose: .recoveryCode)
    }
}

extension SealingPurpose {
    /// A recovery code, with the account that it is of.
    fileprivate static let recoveryCode = SealingPurpose("recovery code")
    /// By what a name that nobody has is counted.
    static let unknownName = SealingPurpose("unknown name")
}

extension PasswordRefusal {
    /// What is wrong with a password that somebody has chosen, for whoever chooses another one.
    public func words(_ limits: PasswordLimits) -> String {
        switch self.code {
        case .empty, .tooShort: "A password has \(limits.fewestCharacters) characters or more."
        case .tooLong: "A password has \(limits.mostCharacters) characters at most."
        case .forbiddenCharacter: "A password cannot have characters that do not show."
        case .breached:
            "This password is in a list that attackers have, from a break-in somewhere. Choose another one."
        default: "This password cannot be taken. Choose another one."
        }
    }
}

extension AccountRecord {
    /// What its person knows it by. Who came from another provider can be without a user name.
    var shownName: String { self.username?.text ?? self.displayName ?? self.email?.address ?? "" }
}
