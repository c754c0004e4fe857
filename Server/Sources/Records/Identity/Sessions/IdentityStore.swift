public import PersonalInformation
public import Settings
public import _Primitives

/// An answer that was given, for a caller that lost the answer and asks again.
public struct GivenAnswer: Sendable, Equatable {
    /// The prefix of an offer's identifier if an offer is the caller.
    public static let offerPrefix = "a:"

    /// The caller: an activation, or ``offerPrefix`` and an offer of an activation. The text has no space.
    public var caller: String
    /// The caller's name for the request (`jti`), or the digest of its body if the request has no name.
    public var request: String
    /// SHA-256 of the request.
    public var requestHash: [UInt8]
    /// The answer as it went out. Sealed at rest.
    public var answer: [UInt8]
    /// The moment until which the answer is kept.
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

/// The data for the decision about a step of a session: all data about the session at that moment.
public struct IdentityScene: Sendable {
    /// The session.
    public var ceremony: CeremonyRecord
    /// The asking activation.
    public var activation: ActivationRecord
    /// The activation's keys.
    public var credentials: [CredentialRecord]
    /// `true` if the activation's account is locked.
    public var isAccountLocked: Bool
    /// The token that was shown, if it is a token of the session.
    public var token: DispatchTokenRecord?

    /// Joins the parts of a scene.
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

/// An activation, and the data for the session that it asks about: everything on record, in a single read.
public struct IdentityTerms: Sendable {
    /// The asking activation.
    public var activation: ActivationRecord
    /// The session; `nil` if no session has that name.
    public var ceremony: CeremonyRecord?
    /// The standing of the activation's account at the session's service; `nil` if the session has no service, or the
    /// client is no service.
    public var standing: ServiceStanding?
    /// The account's values of the attributes that the service requests, as
    /// ``PersonalInformationStore/personalAliases(accountID:attributes:)`` returns them.
    public var aliases: [PersonalAlias] = []
    /// The values chosen for the service before.
    public var selection: [PersonalAttribute: String] = [:]

    /// Makes terms with the activation alone.
    public init(activation: ActivationRecord) { self.activation = activation }
}

/// The changes that become durable with a step of a session, beside the session's own row and the activation's.
public struct IdentityChange: Sendable {
    /// The changes that any ceremony can make: counters, keys, trail, notices.
    public var ceremony = CeremonyChange()
    /// Keys of the activation to delete, which another PIN replaces.
    public var withdrawnCredentials: [String] = []
    /// The answer that goes out, kept to be given again.
    public var answer: GivenAnswer?
    /// The person's consent, with its evidence.
    public var consent: KeptConsent?
    /// The activation that another device is offered.
    public var offer: OfferRecord?
    /// The letter for the offer's code, and the number of waiting letters at which the letter is not left.
    public var mail: (MailRecord, most: Int)?
    /// An invitation's account that is merged into the activation's account. If the merge is impossible, the step
    /// throws ``InviteRefusal``.
    public var merge: InviteMerge?
    /// `true` if the activation's account is deleted, with everything that belongs to it, after all other changes. The
    /// answer is kept all the same.
    public var deletesAccount = false
    /// Set if the activation was disabled. The activation's other open sessions end as failed. Its authentications end
    /// as if the activation were revoked, with the sessions of browsers and the grants of clients that depend on them.
    /// The value gives the history entry of each open session.
    public var endOfOtherSessions: SessionEnding?

    /// Makes a change of nothing but the rows.
    public init() {}
}

/// A consent that becomes durable with the step that accepts its factors.
public struct KeptConsent: Sendable, Equatable {
    /// The consent.
    public var record: IdentityConsentRecord
    /// The moment until which the consent is kept.
    public var until: Timestamp
    /// The largest number of consents that the account has. Past it the oldest goes.
    public var rows: Int

    /// Makes a consent that is kept as the limits say.
    public init(_ record: IdentityConsentRecord, limits: Limits) {
        self.record = record
        self.until = record.at + limits.identityConsentRetention
        self.rows = limits.identityConsentRows
    }
}

/// The result of a step.
public enum IdentityStep<Result: Sendable>: Sendable {
    /// The step was decided now.
    case decided(Result)
    /// The request was answered before, and the answer is given again.
    case again([UInt8])
    /// Another request has the same name, with other bytes. Nothing happened.
    case replayed
    /// The session, the activation or the offer does not exist. Nothing happened.
    case missing
}

/// The name by which a repeated request is recognised.
public struct RequestName: Sendable, Equatable {
    /// The caller, as in ``GivenAnswer``.
    public var caller: String
    /// The name of the request, as in ``GivenAnswer``.
    public var request: String
    /// The hash of the request, as in ``GivenAnswer``.
    public var hash: [UInt8]

    /// Names a request.
    public init(caller: String, request: String, hash: [UInt8]) {
        self.caller = caller
        self.request = request
        self.hash = hash
    }
}

/// Sessions of personalised identities (ceremonies with a document of their progress), the activations that take part,
/// and the offers of new activations.
///
/// Each method with an effect is a single atomic step, as ``CeremonyStore``'s are. A method with a `request` first
/// checks whether the request was answered before. An error of a `judge` reaches the caller, and nothing is changed. A
/// `judge` is quick and pure, except for the check of signatures.
public protocol IdentityStore: CeremonyStore {
    /// Returns an activation with its device, on a reader; `nil` if none exists.
    func activation(id: String) async throws -> ActivationRecord?

    /// Returns the activations of an account, the oldest first.
    func activations(accountID: String) async throws -> [ActivationRecord]

    /// Returns ``IdentityStep/again(_:)`` with the answer given to a request, or ``IdentityStep/replayed`` if another
    /// request of the same name was answered; `nil` if neither was answered. Runs on a reader.
    func answer(to request: RequestName) async throws -> IdentityStep<Never>?

    /// Returns the present data for the decision about a step of a session; `nil` if the session or the activation does
    /// not exist. Runs on a reader.
    func scene(session: String, activation: String, tokenDigest: [UInt8]?) async throws -> IdentityScene?

    /// Returns an activation with the data that a session requests of its account; `nil` if the activation does not
    /// exist. Runs on a reader, in one look: all parts are of the same moment.
    func terms(session: String, activation: String) async throws -> IdentityTerms?

    /// Lets `judge` decide on a session and an activation, and writes both rows and the change.
    ///
    /// The whole activation except its device can change. Changes with a moment, such as a counter's, have the moment
    /// of the session's last change. The end of a session erases the answers given in the session, except this step's
    /// own. Throws as ``CeremonyStore/change(_:judge:)``, and ``InviteRefusal`` if a merge is impossible.
    ///
    /// - Parameter tokenDigest: The claim that was shown, for a session that is not claimed yet.
    func step<Result: Sendable>(
        session: String, activation: String, tokenDigest: [UInt8]?, request: RequestName?,
        judge: @escaping @Sendable (inout IdentityScene) throws -> (IdentityChange, Result)
    ) async throws -> IdentityStep<Result>

    /// Returns the open sessions in which activations of an account take part, the newest first, at most `limit`. A
    /// session whose time is over at `now` is left out, even if its end is not yet written.
    func openIdentitySessions(accountID: String, at now: Timestamp, limit: Int) async throws -> [CeremonyRecord]

    /// Adds a session that an app begins itself, with its claim, and keeps the answer.
    func begin(
        _ session: CeremonyRecord, token: DispatchTokenRecord, request: RequestName, answer: GivenAnswer,
        audit: AuditEvent?
    ) async throws -> IdentityStep<Void>

    /// Adds an offer of an activation. Throws `conflict` if a device has that identifier. Throws `conflict` if an offer
    /// has that identifier; with `replacing`, only if that offer was used or is another account's, and otherwise the
    /// new offer takes its place. Throws `conflict` also if the account has `limit` offers that can still be used when
    /// this offer is made; `nil` is no bound.
    func offer(_ offer: OfferRecord, replacing: Bool, limit: Int?, audit: AuditEvent) async throws

    /// Revokes an offer that can still be used. Returns `false` if the account has no such offer. An offer whose last
    /// attempt is being verified is revoked too: a right attempt would let the offer be used again.
    func withdrawOffer(id: String, accountID: String, audit: AuditEvent) async throws -> Bool

    /// Returns an offer in its present state; `nil` if none exists.
    func offer(id: String) async throws -> OfferRecord?

    /// Returns the offers of an account that can still be used, the oldest first.
    func offers(accountID: String, at now: Timestamp) async throws -> [OfferRecord]

    /// Lets `judge` decide on an offer, and writes the offer, its outcome, and the answer. The step after which the
    /// offer can no longer be used erases the key of its PIN.
    ///
    /// Enrolling at the provisional account of an open invitation accepts the invitation in the same step. Throws
    /// `conflict` if a device with the offer's identifier, or a key, exists already, `forbidden` if the account of the
    /// enrolment is locked, and `notFound` if it is gone.
    func step<Result: Sendable>(
        offer id: String, request: RequestName?,
        judge: @escaping @Sendable (inout OfferRecord) throws -> (OfferChange, Result)
    ) async throws -> IdentityStep<Result>

    /// Revokes an activation, with its device and keys, as ``DeregistrationStore/deleteDevice(id:audit:ending:)`` does.
    /// Returns `false` if it does not exist. The activation's open sessions end too, and `ending` gives their history
    /// entries. The store adds the account to the event.
    func revokeActivation(id: String, audit: AuditEvent, notice: NoticeRecord?, ending: @escaping SessionEnding)
        async throws -> Bool

    /// Renames an activation. Returns `false` if it does not exist. The store adds the account to the event.
    func renameActivation(id: String, name: String, audit: AuditEvent) async throws -> Bool

    /// Lets `judge` decide on an activation alone, by its present keys, and writes the activation and the change.
    /// Returns `nil` if the activation does not exist. The whole activation except its device can change. The store
    /// adds the account to the event.
    func step<Result: Sendable>(
        onActivation id: String,
        judge: @escaping @Sendable (inout ActivationRecord, [CredentialRecord]) throws -> (ActivationChange, Result)
    ) async throws -> Result?

    /// Ends the activations disabled by an attempt that was counted at `moment` or before and never settled, at most
    /// `limit` of them. Their keys are deleted, the attempt is cleared, and their authentications end. Their open
    /// sessions end as failed, and `ending` gives the history entries. The store adds account and activation to the
    /// event of each. Returns the number of ended activations.
    func disableForsaken(countedBy moment: Timestamp, limit: Int, audit: AuditEvent, ending: @escaping SessionEnding)
        async throws -> Int

    /// Deletes answers, offers and consents whose time is over, and entries of histories from before `historyBefore`,
    /// at most `limit` of each. Returns the number of deleted rows.
    func deleteStaleIdentities(now: Timestamp, historyBefore: Timestamp, limit: Int) async throws -> Int
}

/// The changes that become durable with a step on an activation alone.
public struct ActivationChange: Sendable {
    /// Keys of the activation to delete.
    public var withdrawnCredentials: [String] = []
    /// The audit event.
    public var audit: AuditEvent?
    /// The notice for the person's devices.
    public var notice: NoticeRecord?

    /// Makes a change of nothing but the row.
    public init() {}
}

/// The changes that become durable with a step of an offer.
public struct OfferChange: Sendable {
    /// The activation that the offer became, with its keys. The device's identifier is the offer's.
    public var enrolled: (activation: ActivationRecord, credentials: [CredentialRecord])?
    /// The answer that goes out, kept to be given again.
    public var answer: GivenAnswer?
    /// The audit events.
    public var audit: [AuditEvent] = []
    /// The notices for the person's devices.
    public var notices: [NoticeRecord] = []

    /// Makes a change of nothing but the row.
    public init() {}
}
