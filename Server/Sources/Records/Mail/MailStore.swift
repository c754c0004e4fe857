public import _Primitives

/// A link by which a person comes back from their mailbox. Only the digest of the link is kept.
public struct MailedLinkRecord: Sendable, Equatable {
    /// The purpose of a link.
    public enum Purpose: String, Sendable, CaseIterable {
        /// A new password in place of a forgotten password.
        case passwordReset = "password-reset"
        /// The proof that mail to an address of the account reaches the person.
        case addressConfirmation = "address-confirmation"
        /// The question whether a change of the account was the person's own; the change is ``MailedLinkRecord/about``.
        case changeQuestion = "change-question"
        /// A typed code that confirms a change beside the password. ``MailedLinkRecord/about`` is the reference of the
        /// change, and the digest is that of the code and the reference.
        case changeCode = "change-code"
    }

    /// The digest of the link's secret.
    public var digest: [UInt8]
    /// The account of the link.
    public var accountID: String
    /// The purpose of the link.
    public var purpose: Purpose
    /// For a confirmation, the further address by its identifier, or `nil` for the account's first address. For a
    /// question, the change; for a typed code, the reference of the change; `nil` for a new password.
    public var about: String?
    /// The moment from which the link opens nothing.
    public var expiresAt: Timestamp

    /// Makes a link of these values.
    public init(digest: [UInt8], accountID: String, purpose: Purpose, about: String? = nil, expiresAt: Timestamp) {
        self.about = about
        self.digest = digest
        self.accountID = accountID
        self.purpose = purpose
        self.expiresAt = expiresAt
    }
}

/// The result of a person's confirmation of an address by a link.
public enum AddressConfirmation: Sendable, Equatable {
    /// The address is the person's. A further address is a verified value, too.
    case complete
    /// The address is the person's, but is not a value: the attribute already has the largest number of values.
    case withoutValue
}

/// A letter to a person. The recipient's address is looked up when the letter is sent.
public struct MailRecord: Sendable, Equatable {
    /// The content of a letter.
    public enum Subject: String, Sendable, CaseIterable {
        /// The way to choose a new password.
        case passwordReset = "password-reset"
        /// The way to prove that the address is the person's.
        case addressConfirmation = "address-confirmation"
        /// The news that the password was changed.
        case passwordChanged = "password-changed"
        /// The news that the second factor beside the password was changed.
        case secondFactorChanged = "second-factor-changed"
        /// The news that the address is invited, by the invitation that the letter is about.
        case invitation
        /// The code of the activation that the letter is about, for another device of the person's.
        case newActivation = "new-activation"
        /// The news that the account was changed, by the change that the letter is about, and the way to report the
        /// change as somebody else's.
        case accountChanged = "account-changed"
        /// The code that confirms a change, by the reference that the letter is about.
        case changeCode = "change-code"
        /// The news that a change waits, by the reference that the letter is about, and the way to stop the change.
        case changeWaits = "change-waits"
        /// The news that a recovery code was used. A letter to a further address is about the address.
        case recoveryCodeUsed = "recovery-code-used"
        /// The news that a device was reported as lost. The addresses as for ``recoveryCodeUsed``.
        case deviceRested = "device-rested"
        /// The news that a lost device is in use again. The addresses as for ``recoveryCodeUsed``.
        case deviceReturned = "device-returned"
    }

    /// The turn of a letter when more letters wait than can be sent at once: the first case comes first. Kept as its
    /// number.
    public enum Turn: Int, Sendable, CaseIterable {
        /// The person waits for the letter, to go on with what they have begun.
        case awaited = 0
        /// The letter reports an event, or an operator has it sent.
        case told = 1
        /// A stranger, who has not proved their identity, has requested the letter. Strangers have a share of all mail.
        case stranger = 2
    }

    /// The account of the recipient.
    public var accountID: String
    /// The content of the letter.
    public var subject: Subject
    /// The turn of the letter.
    public var turn: Turn
    /// The link in the letter, and the name from which the link's secret is made; `nil` for a letter without a link.
    public var link: (name: String, record: MailedLinkRecord)?
    /// The identifier of the thing that the letter is about: an invitation, the offer of an activation, a further
    /// address, a change, or the reference of a change that waits.
    public var about: String?
    /// The beginning of the letter's wait.
    public var createdAt: Timestamp
    /// The moment from which the letter is no longer needed.
    public var expiresAt: Timestamp

    /// Makes a letter of these values.
    ///
    /// - Parameter turn: `nil` for the usual turn of the letter's content.
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

extension MailedLinkRecord.Purpose {
    /// The letter that carries such a link or code.
    package var letter: MailRecord.Subject {
        switch self {
        case .passwordReset: .passwordReset
        case .addressConfirmation: .addressConfirmation
        case .changeQuestion: .accountChanged
        case .changeCode: .changeCode
        }
    }
}

extension MailRecord.Subject {
    /// The usual turn of such letters, unless a stranger has requested the letter.
    fileprivate var usualTurn: MailRecord.Turn {
        switch self {
        case .passwordReset, .addressConfirmation, .newActivation, .changeCode: .awaited
        case .passwordChanged, .secondFactorChanged, .invitation, .accountChanged, .changeWaits,
            .recoveryCodeUsed, .deviceRested, .deviceReturned:
            .told
        }
    }
}

/// A letter that a node has taken out of the outbox to send it.
public struct MailDelivery: Sendable, Hashable {
    /// The account of the recipient.
    public let accountID: String
    /// The content of the letter.
    public let subject: MailRecord.Subject
    /// The turn of the letter.
    public let turn: MailRecord.Turn
    /// The name from which the secret of the letter's link is made; `nil` without a link.
    public let linkName: String?
    /// The identifier of the thing that the letter is about, as in ``MailRecord``.
    public let about: String?
    /// The number of times that the letter was taken, this time included.
    public let attempt: Int
    /// The moment from which the letter is no longer needed.
    public let expiresAt: Timestamp
}

/// A request for a new password for a name. The name may be unknown.
public struct ResetAsk: Sendable, Hashable {
    /// The place of the request among the waiting requests.
    public let number: Int64
    /// The account that has the name now; `nil` if no account has the name.
    public let accountID: String?
    /// The beginning of the request's wait.
    public let askedAt: Timestamp

    /// Makes a request of these values.
    public init(number: Int64, accountID: String?, askedAt: Timestamp) {
        self.number = number
        self.accountID = accountID
        self.askedAt = askedAt
    }
}

/// Keeps the links in letters until the links are used, and the requests for letters. The letters themselves wait in the
/// outbox (``OutboxStore``).
///
/// The steps that a letter is about leave the letter (``PasswordStore``, ``InviteStore``, ``IdentityStore``), if fewer
/// letters wait than allowed. For a stranger's letter, only strangers' letters count. A letter that is not left for
/// that reason counts as dropped.
///
/// Mail goes with its account and with its link. A link ends when everything that the account has authenticated is
/// ended, when the account gets a new password, and when its first address is changed or is confirmed no longer. A
/// password that is hashed anew is no new password, and the confirmation of the present address is no change. The links
/// of ``MailedLinkRecord/Purpose/changeQuestion`` stay: a change of the password must not remove the letter about the
/// change.
public protocol MailStore: Sendable {
    /// Keeps a request for a new password. Returns `false`, and counts the letter as dropped, if `most` requests wait
    /// already.
    ///
    /// Must be a single step, durable before it answers, and the same for every name: no name is looked up.
    func keepAsk(for username: AccountName, at moment: Timestamp, most: Int) async throws -> Bool

    /// Takes requests that are due at `moment`, as ``OutboxStore/takeMessages(to:at:lease:shares:)`` takes messages; the
    /// oldest comes first.
    func takeAsks(at moment: Timestamp, lease: Timestamp, limit: Int) async throws -> [ResetAsk]

    /// Deletes a request for a new password.
    func removeAsk(_ ask: ResetAsk) async throws

    /// Starts the time of a letter's link: the link ends at `moment`. Returns `false`, and changes nothing, if the link
    /// is gone, or if another caller has taken the letter since.
    func beginLink(of letter: OutboxMessage, until moment: Timestamp) async throws -> Bool

    /// Returns the number of letters dropped since the last call, by their content.
    ///
    /// Must be atomic: of any number of callers one is told of a letter.
    func takeDroppedMails() async throws -> [MailRecord.Subject: Int]

    /// Returns the link whose secret has this digest; `nil` if the link does not exist, is for another purpose, or its
    /// time is over.
    func mailedLink(digest: [UInt8], purpose: MailedLinkRecord.Purpose, at moment: Timestamp) async throws
        -> MailedLinkRecord?

    /// Spends a link sent to an address of an account, with the other links that confirm the address: the address is
    /// the person's from now on. A further address also becomes a verified value of the attribute `email`, by its
    /// identifier, if the account has fewer than `values` such values. If the account already has this value, the value
    /// is verified.
    ///
    /// Must be a single step. Returns `nil`, and changes nothing, if the link is spent, its time is over, the account
    /// or the further address is gone, or the account is locked.
    func confirmAddress(byLink digest: [UInt8], values: Int, audit: AuditEvent) async throws -> AddressConfirmation?

    /// Deletes links whose time is over, at most `limit`, and the mail that carries them, unless the mail is still
    /// being sent. Returns the number of deleted links.
    func deleteMailedLinks(before moment: Timestamp, limit: Int) async throws -> Int
}
