public import _Primitives

/// A link by which a person comes back from their mailbox. What it opens is kept by its digest alone.
public struct MailedLinkRecord: Sendable, Equatable {
    /// What a link is good for.
    public enum Purpose: String, Sendable, CaseIterable {
        /// A new password in place of one that is forgotten.
        case passwordReset = "password-reset"
        /// The person shows that mail to an address of the account reaches them.
        case addressConfirmation = "address-confirmation"
        /// The question whether a change of the account was the person's own; the change is ``MailedLinkRecord/about``.
        case changeQuestion = "change-question"
        /// A typed code that confirms a change beside the password. ``MailedLinkRecord/about`` is the reference of the
        /// change, and the digest is that of the code and the reference.
        case changeCode = "change-code"
    }

    /// The digest of its secret.
    public var digest: [UInt8]
    /// Whose it is.
    public var accountID: String
    /// What it is good for.
    public var purpose: Purpose
    /// The further address that it is about, by its identifier, and `nil` for the account's first; or the change.
    public var about: String?
    /// From when on it is none.
    public var expiresAt: Timestamp

    /// A link of these values.
    public init(digest: [UInt8], accountID: String, purpose: Purpose, about: String? = nil, expiresAt: Timestamp) {
        self.about = about
        self.digest = digest
        self.accountID = accountID
        self.purpose = purpose
        self.expiresAt = expiresAt
    }
}

/// What came of a link by which a person has confirmed an address.
public enum AddressConfirmation: Sendable, Equatable {
    /// The address is the person's; a further one is a verified value, too.
    case complete
    /// The address is the person's, and is no value: there are as many as an attribute can have.
    case withoutValue
}

/// Something that a person is to be told by mail. To which address is asked when it is sent.
public struct MailRecord: Sendable, Equatable {
    /// What it says.
    public enum Subject: String, Sendable, CaseIterable {
        /// How to choose a new password.
        case passwordReset = "password-reset"
        /// How to show that the address is the person's.
        case addressConfirmation = "address-confirmation"
        /// That the password is another one.
        case passwordChanged = "password-changed"
        /// That what is asked for beside the password is another one.
        case secondFactorChanged = "second-factor-changed"
        /// That the address is invited, by the invitation that it is about.
        case invitation
        /// The code of the activation that it is about, for another device of the person's.
        case newActivation = "new-activation"
        /// That the account was changed, by the change that the letter is about, and how to say that it was somebody else.
        case accountChanged = "account-changed"
        /// The code that confirms a change, by the reference that the letter is about.
        case changeCode = "change-code"
        /// That a change waits, by the reference that the letter is about, and how to stop the change.
        case changeWaits = "change-waits"
    }

    /// When its turn is, where more waits than can be sent at once: the first case comes first. Kept as its number.
    public enum Turn: Int, Sendable, CaseIterable {
        /// Its person waits for it, to go on with what they have begun.
        case awaited = 0
        /// It tells of something, or is sent by an operator's wish.
        case told = 1
        /// A stranger has asked for it, who has shown nothing of who they are. Strangers have a share of all mail.
        case stranger = 2
    }

    /// Who is told.
    public var accountID: String
    /// What.
    public var subject: Subject
    /// When its turn is.
    public var turn: Turn
    /// The link that it carries, and the name of which its secret is made; `nil` for mail without one.
    public var link: (name: String, record: MailedLinkRecord)?
    /// What it is about, by its identifier: an invitation, the offer of an activation, a further address, a change, or the
    /// reference of a change that waits.
    public var about: String?
    /// Since when it waits.
    public var createdAt: Timestamp
    /// From when on nobody needs it any more.
    public var expiresAt: Timestamp

    /// Mail of these values.
    ///
    /// - Parameter turn: `nil` for the turn that is usual for what it says.
    public init(
        accountID: String, subject: Subject, turn: Turn? = nil, link: (name: String, record: MailedLinkRecord)? = nil,
        about: String? = nil, createdAt: Timestamp, expiresAt: Timestamp
    ) {
        self.accountID = accountID
        self.subject = subject
        self.turn = turn ?? subject.usualTurn
        self.link = link
        self.about = about
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }

    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.accountID == rhs.accountID && lhs.subject == rhs.subject && lhs.turn == rhs.turn
            && lhs.link?.name == rhs.link?.name && lhs.link?.record == rhs.link?.record && lhs.about == rhs.about
            && lhs.createdAt == rhs.createdAt
            && lhs.expiresAt == rhs.expiresAt
    }
}

extension MailRecord.Subject {
    /// When the turn of such mail is, unless a stranger has asked for it.
    fileprivate var usualTurn: MailRecord.Turn {
        switch self {
        case .passwordReset, .addressConfirmation, .newActivation, .changeCode: .awaited
        case .passwordChanged, .secondFactorChanged, .invitation, .accountChanged, .changeWaits: .told
        }
    }
}

/// Mail that somebody has taken out of the outbox to send it.
public struct MailDelivery: Sendable, Hashable {
    /// Its place in the outbox.
    public let number: Int64
    /// Who is told.
    public let accountID: String
    /// What.
    public let subject: MailRecord.Subject
    /// When its turn was.
    public let turn: MailRecord.Turn
    /// The name of which the secret of its link is made, where it has one.
    public let linkName: String?
    /// What it is about, as in ``MailRecord``.
    public let about: String?
    /// How often it was taken, this time too.
    public let attempt: Int
    /// From when on nobody needs it any more.
    public let expiresAt: Timestamp

    /// A delivery of these values.
    public init(
        number: Int64, accountID: String, subject: MailRecord.Subject, turn: MailRecord.Turn, linkName: String?,
        about: String? = nil, attempt: Int, expiresAt: Timestamp
    ) {
        self.number = number
        self.accountID = accountID
        self.subject = subject
        self.turn = turn
        self.linkName = linkName
        self.about = about
        self.attempt = attempt
        self.expiresAt = expiresAt
    }
}

/// That somebody has asked for a new password for a name, which nobody may have.
public struct ResetAsk: Sendable, Hashable {
    /// Its place among those that wait.
    public let number: Int64
    /// Who has the name now; `nil` where nobody does.
    public let accountID: String?
    /// Since when it waits.
    public let askedAt: Timestamp

    /// An ask of these values.
    public init(number: Int64, accountID: String?, askedAt: Timestamp) {
        self.number = number
        self.accountID = accountID
        self.askedAt = askedAt
    }
}

/// How much mail is not sent.
public struct WaitingMails: Sendable, Equatable {
    /// How many letters.
    public let count: Int
    /// Since when the oldest of them waits.
    public let oldest: Timestamp?

    /// So many, since then.
    public init(count: Int, oldest: Timestamp?) {
        self.count = count
        self.oldest = oldest
    }
}

/// Keeps mail until it is sent, whatever becomes of this process, and the links in it until they are used.
///
/// Mail is left by the steps that it tells of (``PasswordStore``, ``InviteStore``, ``IdentityStore``), where fewer wait than
/// may: for a stranger, fewer strangers' letters. Mail that is not left for that reason is counted as dropped. Mail goes with its account and with its link; a link goes
/// with everything that the account has authenticated, with a new password, and with another address of the account. The
/// links of ``MailedLinkRecord/Purpose/changeQuestion`` stay: a change of the password must not take the letter that tells of
/// the change.
public protocol MailStore: Sendable {
    /// Keeps that a new password was asked for. `false`, and the letter counts as dropped, where `most` wait already.
    ///
    /// Must be one step, durable before it answers, and the same for every name: nothing is looked for.
    func keepAsk(for username: AccountName, at moment: Timestamp, most: Int) async throws -> Bool

    /// Takes what was asked for and is due at `moment`, as ``takeMails(at:lease:limit:strangers:)`` takes mail; the oldest
    /// comes first.
    func takeAsks(at moment: Timestamp, lease: Timestamp, limit: Int) async throws -> [ResetAsk]

    /// Forgets what was asked for.
    func removeAsk(_ ask: ResetAsk) async throws

    /// Has the time of a letter's link begin: it ends at `moment`. `false`, and nothing has changed, where the link is gone,
    /// or somebody else has taken the letter since.
    func beginLink(of delivery: MailDelivery, until moment: Timestamp) async throws -> Bool

    /// Takes mail that is due at `moment` for the caller, who has it until `lease`: then it is due again, whatever became of
    /// the caller. What has the earlier turn comes first, and of one turn the oldest.
    ///
    /// Must be atomic: of any number of callers one has a delivery.
    ///
    /// - Parameter strangers: How many strangers' letters may be among them.
    func takeMails(at moment: Timestamp, lease: Timestamp, limit: Int, strangers: Int) async throws -> [MailDelivery]

    /// How much mail waits, also what somebody has taken and not sent yet.
    func waitingMails() async throws -> WaitingMails

    /// How many letters were dropped since this was last asked, by what they were to say.
    ///
    /// Must be atomic: of any number of callers one is told of a letter.
    func takeDroppedMails() async throws -> [MailRecord.Subject: Int]

    /// Removes mail: it is sent, or has to be given up, with the audit event then. What the offer of an activation keeps for
    /// its letter is erased with it.
    func removeMail(_ delivery: MailDelivery, audit: AuditEvent?) async throws

    /// Has mail wait until `moment`, where nobody else has taken it since.
    func postponeMail(_ delivery: MailDelivery, until moment: Timestamp) async throws

    /// The link whose secret has this digest; `nil` where there is none, or its time is over.
    func mailedLink(digest: [UInt8], purpose: MailedLinkRecord.Purpose, at moment: Timestamp) async throws
        -> MailedLinkRecord?

    /// Spends a link that was sent to an address of an account: the address is the person's from now on. A further one also
    /// becomes a verified value of the attribute `email`, by its identifier, where the account has fewer than `values` of
    /// those; where it has that value already, that one is verified.
    ///
    /// Must be one step. `nil`, and nothing has changed, where the link is spent, its time is over, or the account or the
    /// further address is gone, or the account is locked.
    func confirmAddress(byLink digest: [UInt8], values: Int, audit: AuditEvent) async throws -> AddressConfirmation?

    /// Forgets links whose time is over, at most `limit`, and mail that carries them, unless it is still tried to send that.
    /// Says how many there were.
    func deleteMailedLinks(before moment: Timestamp, limit: Int) async throws -> Int
}
