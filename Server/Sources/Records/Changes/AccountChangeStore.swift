public import _Primitives

/// The credential or value that a change of an account has added, as far as a store has to find the addition.
public enum AccountAddition: Sendable, Hashable {
    /// Another device of a personalised identity.
    case device
    /// A connection with another provider, by the provider's name at this server.
    case provider(String)
    /// An e-mail address.
    case email(String)
    /// A phone number.
    case phone(String)
    /// Another password.
    case password
    /// An authenticator app beside the password.
    case secondFactor
    /// Recovery codes.
    case recoveryCodes
    /// A device that another device of the person approved, by the device's identifier.
    case approvedDevice(String)
    /// Nothing: the change has removed something.
    case nothing
}

/// A change of an account that was confirmed and made. Its person can report the change as somebody else's for some
/// days.
public struct AccountChangeRecord: Sendable, Equatable {
    /// The latest decision about a change.
    public enum State: String, Sendable, CaseIterable {
        /// The change stands.
        case made
        /// The person has reported the change as somebody else's: the addition rests.
        case disowned
        /// The person has taken the report back: the change was theirs after all. The state is final.
        case reclaimed
    }

    /// Random, 16 bytes as base64url.
    public let id: String
    /// The account of the change.
    public let accountID: String
    /// The addition. Sealed at rest.
    public let addition: AccountAddition
    /// The change in a few words, for letters and pages. Sealed at rest.
    public let words: String
    /// The moment at which the change was confirmed for the last time before it was made; for a device that another
    /// device approved the moment at which the device answered, because the device itself is then no means from before
    /// the change.
    public let madeAt: Timestamp
    /// The latest decision.
    public let state: State
    /// The moment of the latest decision; for a change that stands the moment at which the change was made.
    public let decidedAt: Timestamp

    /// Describes a change.
    ///
    /// - Parameter decidedAt: `nil` for ``madeAt``.
    public init(
        id: String, accountID: String, addition: AccountAddition, words: String, madeAt: Timestamp,
        state: State = .made, decidedAt: Timestamp? = nil
    ) {
        self.id = id
        self.accountID = accountID
        self.addition = addition
        self.words = words
        self.madeAt = madeAt
        self.state = state
        self.decidedAt = decidedAt ?? madeAt
    }
}

/// A decision about a change: the addition rests from now on, or rests no longer.
public struct AccountChangeDecision: Sendable {
    /// The change.
    public let change: String
    /// The account of the change.
    public let accountID: String
    /// ``AccountChangeRecord/State/disowned`` or ``AccountChangeRecord/State/reclaimed``.
    public let state: AccountChangeRecord.State
    /// The hash of an unknown password, for a password that rests.
    public let unusableHash: String
    /// The audit event; its moment is the moment of the decision.
    public let audit: AuditEvent
    /// The letter that tells the person of the decision, and the number of letters that may wait; `nil` for no letter.
    public let mail: (MailRecord, most: Int)?

    /// Describes a decision.
    public init(
        change: String, accountID: String, state: AccountChangeRecord.State, unusableHash: String, audit: AuditEvent,
        mail: (MailRecord, most: Int)?
    ) {
        self.change = change
        self.accountID = accountID
        self.state = state
        self.unusableHash = unusableHash
        self.audit = audit
        self.mail = mail
    }
}

/// Keeps changes of accounts, and lets their additions rest.
///
/// The step of a ceremony that takes the confirmation keeps the change (``CeremonyChange/accountChange``). A change
/// goes with its account.
public protocol AccountChangeStore: Sendable {
    /// Returns the change with the identifier; `nil` if the change does not exist.
    func accountChange(_ id: String) async throws -> AccountChangeRecord?

    /// Returns the account's changes that were made or decided after `moment`, the latest first, at most `limit`.
    func accountChanges(accountID: String, after moment: Timestamp, limit: Int) async throws -> [AccountChangeRecord]

    /// Makes a decision about a change, spends the mailed links about the change, and ends everything that the account
    /// has authenticated, with lasting grants, device secrets and consents.
    ///
    /// A disowned change rests: the addition signs no person in, is not told to services, and gets no letters. The open
    /// sessions of a device that rests end as failed. A
    /// password rests by an unusable one in its place, so that a mailed link still sets a new password. A second factor
    /// takes the password to rest as well, because a password alone would be less than the account had. Values that the
    /// change removed do not come back. A reclaimed change rests no longer, except for additions that something newer
    /// has replaced. Reclaimed recovery codes come back only beside a second factor from before the change was disowned,
    /// and never beside newer codes.
    ///
    /// Must be a single step. Returns `false`, and changes nothing, if the account is gone or locked, has no such
    /// change, or the change is not in the state before: `made` before `disowned`, `disowned` before `reclaimed`.
    func decide(_ decision: AccountChangeDecision) async throws -> Bool

    /// Spends the mailed link about a change and returns the change's identifier; `nil` if the link is spent, too old,
    /// or for another purpose. Must be one step.
    func takeChangeLink(digest: [UInt8], at moment: Timestamp) async throws -> String?

    /// Spends the mailed code that confirms a change of an account, and forgets the wrong attempts at codes of the
    /// account. Returns `false`, and changes nothing, if the code is spent, too old, or another account's. Must be a
    /// single step.
    func takeChangeCode(digest: [UInt8], accountID: String, at moment: Timestamp) async throws -> Bool

    /// Forgets changes that were decided before `moment`, with all their resting additions, at most `limit`. Returns
    /// the number of forgotten changes.
    func deleteAccountChanges(before moment: Timestamp, limit: Int) async throws -> Int
}
