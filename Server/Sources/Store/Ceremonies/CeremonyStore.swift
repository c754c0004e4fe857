public import _Primitives

/// By what a ceremony is found.
public enum CeremonyKey: Sendable, Equatable {
    /// By its identifier.
    case id(String)
    /// By what a browser signs in to: the newest ceremony of the reference.
    case reference(String)
    /// By the digest of its continuation.
    case continuation([UInt8])
}

/// A counter that a verified signature carried.
public struct CounterAdvance: Sendable, Equatable {
    /// The key that signed.
    public var credentialID: String
    /// The counter of the signature. Accepted where it is greater than the stored one, or where both are 0.
    public var counter: UInt32

    /// Moves a key's counter on.
    public init(credentialID: String, counter: UInt32) {
        self.credentialID = credentialID
        self.counter = counter
    }
}

/// What else becomes durable together with a ceremony's change.
public struct CeremonyChange: Sendable {
    /// What happens to the ceremony's pending device.
    public enum DeviceFate: Sendable, Equatable {
        case keep
        /// It and its keys may authenticate from now on, and the keys that it replaces go, with the devices that have
        /// none left.
        case activate
        /// It and its keys are deleted.
        case discard
    }

    /// Counters to move on; all or the step fails.
    public var advances: [CounterAdvance] = []
    /// A device and its keys to add.
    public var registration: DeviceRegistration?
    /// Keys to add to a device that is there, in place of its keys of the same models.
    public var newCredentials: [CredentialRecord] = []
    /// The keys of a device for itself, which it has told in an authentication: taken where it has none, and with
    /// ``DeviceIdentityAddition/replacement`` in the place of others, where the device may authenticate and nobody has one
    /// of them.
    public var identityAddition: DeviceIdentityAddition?
    /// Keys of the ceremony's account to delete, as ``DeregistrationStore`` does. Which ones were there stays known for
    /// as long as the ceremony: ``RedeemedCeremony/deregistered``.
    public var deregistration: CredentialSelection?
    /// What the trail keeps of the deletion, and the person's devices are told of it, where a key was deleted.
    public var deregistrationAudit: AuditEvent?
    /// See ``deregistrationAudit``.
    public var deregistrationNotice: NoticeRecord?
    /// What the account's history has of the sessions of identities that end with devices which are taken away, because they
    /// were deregistered or replaced.
    public var endOfSessions: SessionEnding = { _ in nil }
    /// What becomes of the device that the ceremony made.
    public var deviceFate: DeviceFate = .keep
    /// What the trail keeps of each device that lost keys because its successor was activated; the store adds the
    /// device's identifier as detail.
    public var replacementAudit: AuditEvent?
    /// Tokens that replace all earlier ones of the ceremony; those answer as expired from now on.
    public var newTokens: [DispatchTokenRecord]?
    /// Together with new tokens: earlier ones that expired before this moment are deleted.
    public var tokensKeptSince: Timestamp?
    /// What a session of a personalised identity leaves with the account: values, choices and history.
    public var identityOutcome: IdentityOutcomeChange?
    /// A change of the account that was confirmed by the ceremony, and the letter that tells of the change with the number
    /// of letters that may wait. The letter is left if the change is kept.
    public var accountChange: (record: AccountChangeRecord, mail: (MailRecord, most: Int)?)?
    /// A letter to the account's person, with the number of letters that may wait.
    public var letter: (MailRecord, most: Int)?
    /// What the trail keeps of it.
    public var audit: [AuditEvent] = []
    /// What the person's devices are told of it.
    public var notices: [NoticeRecord] = []

    /// A change of nothing but the row.
    public init() {}
}

/// A device with the keys that one registration made.
public struct DeviceRegistration: Sendable, Equatable {
    /// The device.
    public var device: DeviceRecord
    /// Its keys.
    public var credentials: [CredentialRecord]
    /// The account's keys, by their identifiers, that go when the device is activated, and stay when it is not. One that
    /// is another account's is as one that never was.
    public var replaces: [String]
    /// The keys by which the device speaks for itself; `nil` where it has told none. A key of another device is a conflict.
    public var identity: DeviceIdentity?

    /// Joins a device with its keys.
    public init(
        device: DeviceRecord, credentials: [CredentialRecord], replaces: [String] = [], identity: DeviceIdentity? = nil
    ) {
        self.identity = identity
        self.device = device
        self.credentials = credentials
        self.replaces = replaces
    }
}

/// A challenge that lives in no row until it is answered.
public struct AnsweredChallenge: Sendable, Equatable {
    /// SHA-256 of the challenge.
    public var digest: [UInt8]
    /// When it could not have been answered any more; the record is kept until then.
    public var expiresAt: Timestamp

    /// Describes a challenge.
    public init(digest: [UInt8], expiresAt: Timestamp) {
        self.digest = digest
        self.expiresAt = expiresAt
    }
}

/// A ceremony whose token was redeemed, with what its request needs.
public struct RedeemedCeremony: Sendable, Equatable {
    /// The ceremony after the step.
    public var ceremony: CeremonyRecord
    /// The account that a registration is for; `nil` for every other kind.
    public var account: AccountRecord?
    /// The active keys of the ceremony's account, where it is about a known one.
    public var credentials: [CredentialRecord]
    /// The keys that the redemption of a deregistration has deleted, this one or the first, the newest key first.
    public var deregistered: [CredentialSelection.Name]
    /// Whether it was redeemed before, and nothing was done now.
    public var isAgain: Bool

    /// Joins a ceremony with what its request needs.
    public init(
        ceremony: CeremonyRecord, account: AccountRecord?, credentials: [CredentialRecord],
        deregistered: [CredentialSelection.Name] = [], isAgain: Bool = false
    ) {
        self.isAgain = isAgain
        self.ceremony = ceremony
        self.account = account
        self.credentials = credentials
        self.deregistered = deregistered
    }
}

/// A ceremony as a token finds it.
public struct OfferedCeremony: Sendable, Equatable {
    /// The ceremony.
    public var ceremony: CeremonyRecord
    /// The token.
    public var token: DispatchTokenRecord
    /// The keys that the redemption of a deregistration has deleted, the newest key first; none before.
    public var deregistered: [CredentialSelection.Name]

    /// Joins a ceremony with its token.
    public init(
        ceremony: CeremonyRecord, token: DispatchTokenRecord, deregistered: [CredentialSelection.Name] = []
    ) {
        self.ceremony = ceremony
        self.token = token
        self.deregistered = deregistered
    }
}

/// Decides, on the row as it is at that moment, what becomes of it. Runs inside the step: it must be quick and pure.
/// What it throws reaches the caller, and nothing is changed.
public typealias CeremonyJudge = @Sendable (inout CeremonyRecord) throws -> CeremonyChange

/// Ceremonies and everything that must change together with them.
///
/// Each method is one atomic step: all of it is durable when it returns, or nothing of it when it throws. Two steps on
/// one ceremony never run at the same time: the judge of the second sees what the first has written.
public protocol CeremonyStore: DeregistrationStore {
    /// Adds a ceremony and its tokens. Where it has a reference, an earlier ceremony of that reference loses it, ends as
    /// cancelled and forgets its progress unless it has ended, and its tokens expire. Throws `conflict` where that earlier
    /// one was started by another browser: nobody takes over what somebody else has begun.
    func createCeremony(_ ceremony: CeremonyRecord, tokens: [DispatchTokenRecord], audit: AuditEvent?) async throws

    /// The ceremony of a token as it is, and the token, and the keys that its redemption has deleted; `nil` where no
    /// ceremony has that token. A reader's work: nothing waits for the writer.
    func ceremony(ofToken digest: [UInt8]) async throws -> OfferedCeremony?

    /// Finds the ceremony of a token, lets `judge` decide with the token at hand, and writes the row and the change.
    /// `nil` where no ceremony has that token.
    ///
    /// A reader finds it first and asks `screen`, and what that refuses or answers never waits for the writer, nor does a
    /// token that nobody has. `judge` sees the row as it is in its step: somebody else may have been quicker.
    func redeem(
        tokenDigest: [UInt8], screen: @escaping @Sendable (OfferedCeremony) throws -> RedeemedCeremony?,
        judge: @escaping @Sendable (inout CeremonyRecord, DispatchTokenRecord) throws -> CeremonyChange
    ) async throws -> RedeemedCeremony?

    /// Finds a ceremony, lets `judge` decide, and writes the row and the change. `nil` where there is none.
    ///
    /// Throws `conflict` where a counter does not advance or a key with that model and name exists already, `forbidden`
    /// where the account is locked or a key is not active, `notFound` where a key, or the device that a key is to join, is
    /// gone or not active.
    func change(_ key: CeremonyKey, judge: @escaping CeremonyJudge) async throws -> CeremonyRecord?

    /// Accepts the answer to a challenge that had no row: notes the challenge, lets `judge` decide with what is stored
    /// of each of the keys, in their order, and writes the change that it gives. Answers what else it gives.
    ///
    /// `nil`, and nothing judged or written, where the challenge was answered before: of many concurrent calls for one
    /// challenge one succeeds. What `judge` throws reaches the caller, and the challenge stays as it was. It runs
    /// inside the step: the check of a signature may be its work, waiting may not. Throws as ``change(_:judge:)``.
    func answer<Result: Sendable>(
        _ challenge: AnsweredChallenge, keys: [(aaid: String, keyID: [UInt8])], at now: Timestamp,
        judge: @escaping @Sendable ([StoredCredential?]) throws -> (CeremonyChange, Result)
    ) async throws -> Result?

    /// A ceremony as it is; `nil` where there is none.
    func ceremony(_ key: CeremonyKey) async throws -> CeremonyRecord?

    /// The ceremonies that a client has had an account asked by without a browser, and that no phone has taken up at `now`,
    /// the newest first, at most `limit`: by their identifiers.
    func waitingQuestions(accountID: String, at now: Timestamp, limit: Int) async throws -> [String]

    /// The ceremonies that a browser has begun for a known account, that no phone has taken up at `now`, and that have
    /// progress, the newest first, at most `limit`: changes of an account without a phone that another provider confirms.
    func delayedChanges(accountID: String, at now: Timestamp, limit: Int) async throws -> [CeremonyRecord]

    /// What the verification of an answer to a ceremony needs, in one read: the ceremony, and for each key what is
    /// stored, in their order.
    func verificationMaterial(ceremonyID: String, keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> (ceremony: CeremonyRecord?, credentials: [StoredCredential?])

    /// The same for an answer to a challenge that had no row: for each key what is stored, in their order; `nil` where
    /// the challenge was answered before.
    func verificationMaterial(challengeDigest: [UInt8], keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> [StoredCredential?]?

    /// Ceremonies that have not ended although their phase was over at `now`, at most `limit`.
    func overdueCeremonies(at now: Timestamp, limit: Int) async throws -> [String]

    /// Deletes what ended before `endedBefore`, and challenges that expired before `now`, at most `limit` rows of each.
    /// Returns how many. A deregistration that was carried out, and the keys for itself of a device that was taken away, go
    /// only where that was before `deregisteredBefore`: a phone that lost its answer asks again.
    func deleteStale(endedBefore: Timestamp, deregisteredBefore: Timestamp, now: Timestamp, limit: Int) async throws
        -> Int
}

extension CeremonyStore {
    /// As ``redeem(tokenDigest:screen:judge:)``, with nothing that is decided before the step.
    public func redeem(
        tokenDigest: [UInt8],
        judge: @escaping @Sendable (inout CeremonyRecord, DispatchTokenRecord) throws -> CeremonyChange
    ) async throws -> RedeemedCeremony? {
        try await self.redeem(tokenDigest: tokenDigest, screen: { _ in nil }, judge: judge)
    }

    /// Accepts the answer to a challenge that had no row where the change is known before.
    ///
    /// `false`, and nothing written, where the challenge was answered before. Throws as ``change(_:judge:)``.
    public func answer(_ challenge: AnsweredChallenge, change: CeremonyChange, at now: Timestamp) async throws -> Bool {
        try await self.answer(challenge, keys: [], at: now) { _ in (change, true) } ?? false
    }
}
