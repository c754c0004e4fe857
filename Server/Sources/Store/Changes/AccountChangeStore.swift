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
    /// Nothing: the change has taken something away.
    case nothing
}

/// A change of an account that was confirmed and made. Its person can say for some days that the change was somebody
/// else's.
public struct AccountChangeRecord: Sendable, Equatable {
    /// The latest decision about a change.
    public enum State: String, Sendable, CaseIterable {
        /// The change stands.
        case made
        /// The person has said that the change was somebody else's: the addition rests.
        case disowned
        /// The person has said that the change was theirs after all. The state is final.
        case reclaimed
    }

    /// 128 random bits as base64url.
    public let id: String
    /// The account.
    public let accountID: String
    /// The addition. Sealed at rest.
    public let addition: AccountAddition
    /// The change in a few words, for letters and pages. Sealed at rest.
    public let words: String
    /// The moment at which the change was confirmed for the last time before it was made.
    public let madeAt: Timestamp
    /// The latest decision.
    public let state: State
    /// The moment of the latest decision; for a change that stands ``madeAt``.
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
    /// The hash of a password that nobody knows, for a password that rests.
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
/// A change is kept by the step of its ceremony that takes the confirmation (``CeremonyChange/accountChange``). A change goes
/// with its account.
public protocol AccountChangeStore: Sendable {
    /// The change of that identifier; `nil` if there is none.
    func accountChange(_ id: String) async throws -> AccountChangeRecord?

    /// The account's changes that were made or decided after `moment`, the latest first, at most `limit`.
    func accountChanges(accountID: String, after moment: Timestamp, limit: Int) async throws -> [AccountChangeRecord]

    /// Makes a decision about a change, spends the mailed links about the change, and ends everything that the account has
    /// authenticated, with lasting grants, device secrets and consents.
    ///
    /// A change that is disowned rests: nothing that the change has added signs anybody in, is told to services, or gets
    /// letters. A password rests by an unusable one in its place, so that a mailed link still sets a new password; a second
    /// factor takes the password to rest as well, because a password alone would be less than the account had. Nothing that
    /// the change took away comes back. A change that is reclaimed rests no longer, except for additions in whose place
    /// something newer stands.
    ///
    /// Must be one step. `false`, and nothing has changed, if the account is gone or locked, has no such change, or the change
    /// is not in the state before: `made` before `disowned`, `disowned` before `reclaimed`.
    func decide(_ decision: AccountChangeDecision) async throws -> Bool

    /// Spends the mailed link about a change and returns the change's identifier; `nil` if the link is spent, too old, or
    /// about something else. Must be one step.
    func takeChangeLink(digest: [UInt8], at moment: Timestamp) async throws -> String?

    /// Spends the mailed code that confirms a change of an account, and forgets the wrong attempts at codes of the account.
    /// `false` if the code is spent, too old, or another account's. Must be one step.
    func takeChangeCode(digest: [UInt8], accountID: String, at moment: Timestamp) async throws -> Bool

    /// Forgets changes that were decided before `moment`, with everything of them that rests, at most `limit`. Returns the
    /// number of forgotten changes.
    func deleteAccountChanges(before moment: Timestamp, limit: Int) async throws -> Int
}
