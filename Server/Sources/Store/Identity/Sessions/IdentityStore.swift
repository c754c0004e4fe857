public import PersonalInformation
public import _Primitives

/// An answer that was given, for whoever lost it and asks again.
public struct GivenAnswer: Sendable, Equatable {
    /// What stands before the identifier of an offer where that is the caller.
    public static let offerPrefix = "a:"

    /// Who asked: an activation, or ``offerPrefix`` and the offer of one. There is no space in it.
    public var caller: String
    /// What the caller named the request (`jti`), or the digest of its body where it has no name.
    public var request: String
    /// SHA-256 of the request.
    public var requestHash: [UInt8]
    /// The answer as it went out. Sealed at rest.
    public var answer: [UInt8]
    /// Until when it is kept.
    public var keptUntil: Timestamp

    /// Describes an answer.
    public init(caller: String, request: String, requestHash: [UInt8], answer: [UInt8], keptUntil: Timestamp) {
        self.caller = caller
        self.request = request
        self.requestHash = requestHash
        self.answer = answer
        self.keptUntil = keptUntil
    }
}

/// What a step of a session is decided by: everything about it as it is at that moment.
public struct IdentityScene: Sendable {
    /// The session.
    public var ceremony: CeremonyRecord
    /// The activation that asks.
    public var activation: ActivationRecord
    /// The activation's keys.
    public var credentials: [CredentialRecord]
    /// Whether its account is locked.
    public var isAccountLocked: Bool
    /// The token that was shown, where it is one of the session's.
    public var token: DispatchTokenRecord?

    /// Joins what belongs together.
    public init(
        ceremony: CeremonyRecord, activation: ActivationRecord, credentials: [CredentialRecord], isAccountLocked: Bool,
        token: DispatchTokenRecord?
    ) {
        self.ceremony = ceremony
        self.activation = activation
        self.credentials = credentials
        self.isAccountLocked = isAccountLocked
        self.token = token
    }
}

/// An activation, and what the session is made of that it asks about: everything on record, in one read.
public struct IdentityTerms: Sendable {
    /// The activation that asks.
    public var activation: ActivationRecord
    /// The session; `nil` where there is none of that name.
    public var ceremony: CeremonyRecord?
    /// How the activation's account stands at the session's service; `nil` where it has none, and where the client is no
    /// service.
    public var standing: ServiceStanding?
    /// The account's values of the attributes that the service asks for, as
    /// ``PersonalInformationStore/personalAliases(accountID:attributes:)`` has them.
    public var aliases: [PersonalAlias] = []
    /// Which of them were chosen for the service before.
    public var selection: [PersonalAttribute: String] = [:]

    /// Begins with the activation alone.
    public init(activation: ActivationRecord) { self.activation = activation }
}

/// What becomes durable with a step of a session, beside the session's own row and the activation's.
public struct IdentityChange: Sendable {
    /// What any ceremony can change: counters, keys, trail, notices.
    public var ceremony = CeremonyChange()
    /// Keys of the activation to delete: what another PIN replaces.
    public var withdrawnCredentials: [String] = []
    /// The answer that goes out, to be given again.
    public var answer: GivenAnswer?
    /// What the person has agreed to, with what shows it.
    public var consent: KeptConsent?
    /// The activation that another device is offered.
    public var offer: PendingActivationRecord?
    /// The letter that the offer's code goes in, unless so many letters wait already.
    public var mail: (MailRecord, most: Int)?
    /// An invitation's account that goes into the activation's. Where it cannot, the step throws ``InviteRefusal``.
    public var merge: InviteMerge?
    /// The activation's account is deleted, with everything of it, after all else. The answer is kept all the same.
    public var deletesAccount = false
    /// The activation was disabled: its other open sessions end as failed, and what it has authenticated ends as where it is
    /// taken back, with the sessions of browsers and the grants of clients that stand on it. Says what the history has of each
    /// open session.
    public var endOfOtherSessions: SessionEnding?

    /// A change of nothing but the rows.
    public init() {}
}

/// A consent that becomes durable with the step that accepts its factors.
public struct KeptConsent: Sendable, Equatable {
    /// What was agreed to.
    public var record: IdentityConsentRecord
    /// Until when it is kept.
    public var until: Timestamp
    /// The consents that its account has, at most. Past it the oldest goes.
    public var rows: Int

    /// A consent, kept as the limits have it.
    public init(_ record: IdentityConsentRecord, limits: Limits) {
        self.record = record
        self.until = record.at + limits.identityConsentRetention
        self.rows = limits.identityConsentRows
    }
}

/// What came of a step.
public enum IdentityStep<Result: Sendable>: Sendable {
    /// It was decided now.
    case decided(Result)
    /// The request was answered before, and the answer is given again.
    case again([UInt8])
    /// There is another request of that name, with other bytes. Nothing happened.
    case replayed
    /// There is no such session, or no such activation.
    case missing
}

/// How a request is known again.
public struct RequestName: Sendable, Equatable {
    /// As in ``GivenAnswer``.
    public var caller: String
    /// As in ``GivenAnswer``.
    public var request: String
    /// As in ``GivenAnswer``.
    public var hash: [UInt8]

    /// Names a request.
    public init(caller: String, request: String, hash: [UInt8]) {
        self.caller = caller
        self.request = request
        self.hash = hash
    }
}

/// Sessions of personalised identities (ceremonies with a document of their progress), the activations that take part, and the
/// offers of new ones.
///
/// Each method that changes something is one atomic step, as ``CeremonyStore``'s are, and looks first whether the request
/// was answered before. What a `judge` throws reaches the caller, and nothing is changed; it is quick and pure, but for the
/// check of signatures.
public protocol IdentityStore: CeremonyStore {
    /// An activation with its device, for a reader; `nil` where there is none.
    func activation(id: String) async throws -> ActivationRecord?

    /// The activations of an account, the oldest first.
    func activations(accountID: String) async throws -> [ActivationRecord]

    /// The answer that was given to a request; `nil` where it was not answered. A reader's work.
    func answer(to request: RequestName) async throws -> IdentityStep<Never>?

    /// What a step of a session is decided by, as it is now; `nil` where there is no such session, or no such activation. A
    /// reader's work.
    func scene(session: String, activation: String, tokenDigest: [UInt8]?) async throws -> IdentityScene?

    /// An activation with what a session asks of its account, as it is now; `nil` where there is no such activation. A
    /// reader's work, and one look: nothing of it is of another moment than the rest.
    func terms(session: String, activation: String) async throws -> IdentityTerms?

    /// Lets `judge` decide on a session and an activation, and writes both rows and the change.
    ///
    /// Of the activation anything can change but its device. Whatever has a moment, such as a counter's, has that of the
    /// session's last change. The end of a session erases the answers that were given in it, but for this step's own.
    ///
    /// - Parameter tokenDigest: The claim that was shown, for a session that nobody has claimed.
    func step<Result: Sendable>(
        session: String, activation: String, tokenDigest: [UInt8]?, request: RequestName?,
        judge: @escaping @Sendable (inout IdentityScene) throws -> (IdentityChange, Result)
    ) async throws -> IdentityStep<Result>

    /// The sessions that activations of an account take part in and that have not ended, the newest first, at most `limit`. One
    /// whose time is over at `now` is not among them, whether or not its end is written.
    func openIdentitySessions(accountID: String, at now: Timestamp, limit: Int) async throws -> [CeremonyRecord]

    /// Adds a session that an app begins itself, with its claim, and keeps the answer.
    func begin(
        _ session: CeremonyRecord, token: DispatchTokenRecord, request: RequestName, answer: GivenAnswer,
        audit: AuditEvent?
    ) async throws -> IdentityStep<Void>

    /// Adds an offer of an activation. Throws `conflict` where there is a device of that identifier, or an offer: with
    /// `replacing` only where that was used, and else in its place. Throws it also where its account has `limit` that can
    /// still be used when it is made; `nil` is no bound.
    func offer(_ activation: PendingActivationRecord, replacing: Bool, limit: Int?, audit: AuditEvent) async throws

    /// Takes an offer back that can still be used; `false` where the account has no such one.
    func withdrawOffer(id: String, accountID: String, audit: AuditEvent) async throws -> Bool

    /// An offer as it is; `nil` where there is none.
    func offer(id: String) async throws -> PendingActivationRecord?

    /// The offers of an account that can still be used, the oldest first.
    func offers(accountID: String, at now: Timestamp) async throws -> [PendingActivationRecord]

    /// Lets `judge` decide on an offer, and writes it, what it became, and the answer. The key of its PIN is erased by the
    /// step by which it can be used no longer.
    ///
    /// Throws `conflict` where a device of the offer's identifier, or a key, is there already, `forbidden` where the account
    /// that it is to be enrolled for is locked.
    func step<Result: Sendable>(
        offer id: String, request: RequestName?,
        judge: @escaping @Sendable (inout PendingActivationRecord) throws -> (OfferChange, Result)
    ) async throws -> IdentityStep<Result>

    /// Takes an activation back, with its device and keys, as ``DeregistrationStore/deleteDevice(id:audit:ending:)`` does; `false`
    /// where there is none. Its open sessions end with it, of which `ending` says what the history has. The store adds the
    /// account to the event.
    func revokeActivation(id: String, audit: AuditEvent, notice: NoticeRecord?, ending: @escaping SessionEnding)
        async throws -> Bool

    /// Calls an activation by another name; `false` where there is none. The store adds the account to the event.
    func renameActivation(id: String, name: String, audit: AuditEvent) async throws -> Bool

    /// Lets `judge` decide on an activation alone, by its keys as they are, and writes it and the change. `nil` where there is
    /// none. Of the activation anything can change but its device. The store adds the account to the event.
    func step<Result: Sendable>(
        onActivation id: String,
        judge: @escaping @Sendable (inout ActivationRecord, [CredentialRecord]) throws -> (ActivationChange, Result)
    ) async throws -> Result?

    /// Ends the activations that are disabled by an attempt which was counted at `moment` or before and was never settled, at
    /// most `limit` of them: their keys are deleted, the attempt is nobody's any more, what they have authenticated ends, and
    /// their open sessions end as failed, of which `ending` says what the history has. The store adds account and activation
    /// to the event of each. Returns how many.
    func disableForsaken(countedBy moment: Timestamp, limit: Int, audit: AuditEvent, ending: @escaping SessionEnding)
        async throws -> Int

    /// Deletes answers, offers and consents whose time is over, and entries of histories from before `historyBefore`, at most
    /// `limit` of each; returns how many.
    func deleteStaleIdentities(now: Timestamp, historyBefore: Timestamp, limit: Int) async throws -> Int
}

/// What becomes durable with a step on an activation alone.
public struct ActivationChange: Sendable {
    /// Keys of the activation to delete.
    public var withdrawnCredentials: [String] = []
    /// What the trail keeps.
    public var audit: AuditEvent?
    /// What the person's devices are told.
    public var notice: NoticeRecord?

    /// A change of nothing but the row.
    public init() {}
}

/// What becomes durable with a step of an offer.
public struct OfferChange: Sendable {
    /// The activation that it became, with its keys: the device's identifier is the offer's.
    public var enrolled: (activation: ActivationRecord, credentials: [CredentialRecord])?
    /// The answer that goes out, to be given again.
    public var answer: GivenAnswer?
    /// What the trail keeps.
    public var audit: [AuditEvent] = []
    /// What the person's devices are told.
    public var notices: [NoticeRecord] = []

    /// A change of nothing but the row.
    public init() {}
}
