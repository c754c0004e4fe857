public import _Primitives

/// The key by which a ceremony is found.
public enum CeremonyKey: Sendable, Equatable {
    /// The ceremony's identifier.
    case id(String)
    /// The reference of a sign-in, of a question without a browser, or of a change (``CeremonyRecord/reference``): the
    /// newest ceremony of the reference.
    case reference(String)
    /// The digest of the ceremony's continuation.
    case continuation([UInt8])
}

/// A counter that a verified signature carried.
public struct CounterAdvance: Sendable, Equatable {
    /// The key that signed.
    public var credentialID: String
    /// The counter of the signature. Accepted if it is greater than the stored counter, or if both are 0.
    public var counter: UInt32

    /// Makes an advance of a key's counter.
    public init(credentialID: String, counter: UInt32) {
        self.credentialID = credentialID
        self.counter = counter
    }
}

/// The other changes that become durable together with a ceremony's change.
public struct CeremonyChange: Sendable {
    /// The fate of the ceremony's pending device.
    public enum DeviceFate: Sendable, Equatable {
        case keep
        /// The device and its keys may authenticate from now on. The keys that the device replaces are deleted, with
        /// the devices that have no keys left.
        case activate
        /// The device and its keys are deleted.
        case discard
    }

    /// Counters to advance. If one cannot advance, the step fails.
    public var advances: [CounterAdvance] = []
    /// A device and its keys to add.
    public var registration: DeviceRegistration?
    /// Keys to add to an existing device, in place of its keys of the same models.
    public var newCredentials: [CredentialRecord] = []
    /// The keys of a device for itself, which the device has stated in an authentication. They are taken if the device
    /// has none yet. Keys that another account has, or another pair of keys, are left out, and the step goes on. With
    /// ``DeviceIdentityAddition/replacement`` they replace other keys, if the device may authenticate and no device has
    /// one of them.
    public var identityAddition: DeviceIdentityAddition?
    /// The attested key of the app on a device, in place of an earlier key. The device exists, or is added in the same
    /// step.
    public var attestedApp: AttestedAppRecord?
    /// The counter of an assertion by an attested key. If the device does not have the key any more, or the counter
    /// cannot advance, the step fails.
    public var appAdvance: AppCounterAdvance?
    /// Keys of the ceremony's account to delete, as ``DeregistrationStore`` does. The store knows the names of the
    /// deleted keys for as long as the ceremony: ``RedeemedCeremony/deregistered``.
    public var deregistration: CredentialSelection?
    /// The audit event of the deletion, kept if a key was deleted.
    public var deregistrationAudit: AuditEvent?
    /// The notice for the person's devices about the deletion, kept if a key was deleted. See ``deregistrationAudit``.
    public var deregistrationNotice: NoticeRecord?
    /// The history entries for the sessions of identities on deregistered or replaced devices. The sessions end with
    /// the devices.
    public var endOfSessions: SessionEnding = { _ in nil }
    /// The fate of the device that the ceremony made.
    public var deviceFate: DeviceFate = .keep
    /// The end of the time in which the activated device approves, removes and recovers nothing
    /// (``DeviceStanding/limitedUntil``); `nil` for a device without limits.
    public var deviceLimit: Timestamp?
    /// Another ceremony of the same account that changes in the same step, by its identifier: the enrolment that the
    /// answer approves. If the other ceremony is gone, or its judge throws, nothing is changed. The advances of counters
    /// in the other change have no effect.
    public var companion: (ceremonyID: String, judge: CeremonyJudge)?
    /// The audit event for each device that lost keys because its successor was activated; the store adds the device's
    /// identifier as detail.
    public var replacementAudit: AuditEvent?
    /// Tokens that replace all earlier tokens of the ceremony. The earlier tokens answer as expired from now on.
    public var newTokens: [DispatchTokenRecord]?
    /// The moment before which earlier tokens that have expired are deleted, together with new tokens.
    public var tokensKeptSince: Timestamp?
    /// Tokens to add beside the present tokens of the ceremony, after ``newTokens``. A present token of the same digest
    /// gets the new end.
    public var addedTokens: [DispatchTokenRecord] = []
    /// Messages of dispatchers to devices of the ceremony's person. The step throws `notFound` for messages if the
    /// account does not exist.
    public var messages: [DeviceMessageRecord] = []
    /// The results that a session of a personalised identity leaves with the account: values, choices and history.
    public var identityOutcome: IdentityOutcomeChange?
    /// A change of the account confirmed by the ceremony, and the letter about the change, with the number of letters
    /// that may wait. The letter is left if the change is kept.
    public var accountChange: (record: AccountChangeRecord, mail: (MailRecord, most: Int)?)?
    /// A letter to the account's person, with the number of letters that may wait.
    public var letter: (MailRecord, most: Int)?
    /// The attempt at a number that was right, and therefore does not count (``AskingRestStore``).
    public var returnedNumberAttempt: String?
    /// The account of a person who has just authenticated: the messages to the person's devices before do not count any
    /// more (``PushCountStore``).
    public var forgivenPushes: String?
    /// A client that does not reach the ceremony's person by asking alone for some time from the moment on. The time is
    /// longer after an earlier rest.
    public var rest: (accountID: String, requester: String, at: Timestamp)?
    /// The receipt of the transaction that the person has confirmed, with the number of receipts that an account keeps.
    public var receipt: (record: ReceiptRecord, rows: Int)?
    /// The audit events of the change.
    public var audit: [AuditEvent] = []
    /// The notices for the person's devices about the change.
    public var notices: [NoticeRecord] = []

    /// Makes a change of nothing but the row.
    public init() {}
}

/// A device with the keys from one registration.
public struct DeviceRegistration: Sendable, Equatable {
    /// The device.
    public var device: DeviceRecord
    /// The device's keys.
    public var credentials: [CredentialRecord]
    /// The account's keys, by their identifiers, that are deleted when the device is activated, and stay otherwise. A
    /// key of another account counts as unknown.
    public var replaces: [String]
    /// The keys by which the device speaks for itself; `nil` if the device stated none. A key that another account has,
    /// or another pair of keys, is a conflict. Several registrations of one phone have the same pair.
    public var identity: DeviceIdentityRecord?

    /// Joins a device with its keys.
    public init(
        device: DeviceRecord, credentials: [CredentialRecord], replaces: [String] = [],
        identity: DeviceIdentityRecord? = nil
    ) {
        self.identity = identity
        self.device = device
        self.credentials = credentials
        self.replaces = replaces
    }
}

/// A challenge whose row is written with the answer.
public struct AnsweredChallenge: Sendable, Equatable {
    /// SHA-256 of the challenge.
    public var digest: [UInt8]
    /// The moment from which the challenge can no longer be answered. The record is kept until then.
    public var expiresAt: Timestamp
    /// The answer with its judgement, for a phone that sends the same answer again; `nil` if nothing is told again.
    public var answer: JudgedAnswer?

    /// Describes a challenge.
    public init(digest: [UInt8], expiresAt: Timestamp, answer: JudgedAnswer? = nil) {
        self.digest = digest
        self.expiresAt = expiresAt
        self.answer = answer
    }
}

/// An answer to a challenge without a row, as it was judged (decision 129).
public struct JudgedAnswer: Sendable, Equatable {
    /// HMAC of the answer.
    public var code: [UInt8]
    /// The UAF status code of the judgement.
    public var statusCode: Int

    /// Joins an answer's code with its judgement.
    public init(code: [UInt8], statusCode: Int) {
        self.code = code
        self.statusCode = statusCode
    }
}

/// A redeemed ceremony, with the data for its request.
public struct RedeemedCeremony: Sendable, Equatable {
    /// The ceremony after the step.
    public var ceremony: CeremonyRecord
    /// The account of a registration; `nil` for every other kind.
    public var account: AccountRecord?
    /// The active keys of the ceremony's account. Empty for a deregistration, and if the account is not known yet.
    public var credentials: [CredentialRecord]
    /// The keys that the redemption of a deregistration has deleted, in this redemption or the first, the last deleted
    /// key first.
    public var deregistered: [CredentialSelection.Name]
    /// `true` if the token was redeemed before, and this redemption changed nothing.
    public var isAgain: Bool

    /// Joins a ceremony with the data for its request.
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

/// A ceremony with the token that found it.
public struct OfferedCeremony: Sendable, Equatable {
    /// The ceremony.
    public var ceremony: CeremonyRecord
    /// The token.
    public var token: DispatchTokenRecord
    /// The keys that the redemption of a deregistration has deleted, the last deleted key first; none before the
    /// redemption.
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

/// Decides about the row as it is at that moment. A judge runs inside the step: it must be quick and pure. An error of
/// the judge reaches the caller, and nothing is changed.
public typealias CeremonyJudge = @Sendable (inout CeremonyRecord) throws -> CeremonyChange

/// Keeps ceremonies and all data that changes together with a ceremony.
///
/// Each method is a single atomic step: all changes are durable when the method returns, and no change is made when the
/// method throws. Two steps on the same ceremony never run at the same time: the judge of the second step sees the
/// changes of the first.
public protocol CeremonyStore: DeregistrationStore {
    /// Adds a ceremony and its tokens. If the ceremony has a reference, an earlier ceremony of the same reference loses
    /// the reference, and its tokens expire. The earlier ceremony also ends as cancelled and forgets its progress,
    /// unless it has ended. Throws `conflict` if another browser started the earlier ceremony: no browser takes over
    /// another browser's sign-in. Throws `notFound` if a message is given, and the ceremony's account does not exist.
    ///
    /// - Parameter message: The message that a dispatcher sends to a device after the step; `nil` if nothing is sent.
    func createCeremony(
        _ ceremony: CeremonyRecord, tokens: [DispatchTokenRecord], message: DeviceMessageRecord?, audit: AuditEvent?
    ) async throws

    /// Returns the present ceremony of a token, the token, and the keys that its redemption has deleted; `nil` if no
    /// ceremony has that token. The token may have expired. Runs on a reader: nothing waits for the writer.
    func ceremony(ofToken digest: [UInt8]) async throws -> OfferedCeremony?

    /// Finds the ceremony of a token, lets `judge` decide with the token at hand, and writes the row and the change.
    /// Returns `nil` if no ceremony has the token. `judge` also decides about an expired token. Throws as
    /// ``change(_:judge:)``.
    ///
    /// `screen` is asked before `judge`: it throws to refuse the request, returns a result to answer the request
    /// without `judge`, and returns `nil` to go on. A reader finds the ceremony and asks `screen`, so a request that
    /// `screen` refuses or answers does not wait for the writer, and neither does an unknown token. The store may skip
    /// the reader for the first request with a token that this process has just made, and ask `screen` in the step.
    /// `judge` sees the present row in its step: another request may have been quicker.
    func redeem(
        tokenDigest: [UInt8], screen: @escaping @Sendable (OfferedCeremony) throws -> RedeemedCeremony?,
        judge: @escaping @Sendable (inout CeremonyRecord, DispatchTokenRecord) throws -> CeremonyChange
    ) async throws -> RedeemedCeremony?

    /// Finds a ceremony, lets `judge` decide, and writes the row and the change. Returns `nil` if the ceremony does not
    /// exist.
    ///
    /// Throws `conflict` if a counter of a key or of an app does not advance, if a key with that model and name exists
    /// already, if another device has a new device's identity key, or if the device to activate is gone. Throws
    /// `forbidden` if the account is locked or a key is not active. Throws `notFound` if a key, or the device that a key
    /// is to join, is gone or not active.
    func change(_ key: CeremonyKey, judge: @escaping CeremonyJudge) async throws -> CeremonyRecord?

    /// Accepts the answer to a challenge without a row. Notes the challenge, lets `judge` decide with the stored data
    /// of each of the keys, in their order, and writes the change from `judge`. Returns the result of `judge`.
    ///
    /// Returns `nil`, without judging or writing, if the challenge was answered before: of many concurrent calls for
    /// the same challenge one succeeds. An error of `judge` reaches the caller, and the challenge stays as it was.
    /// `judge` runs inside the step: it may check a signature, but must not wait. The parts of a change that need a
    /// ceremony have no effect here: the fate of its device, the deregistration, and new tokens. Throws as
    /// ``change(_:judge:)``.
    func answer<Result: Sendable>(
        _ challenge: AnsweredChallenge, keys: [(aaid: String, keyID: [UInt8])], at now: Timestamp,
        judge: @escaping @Sendable ([StoredCredential?]) throws -> (CeremonyChange, Result)
    ) async throws -> Result?

    /// Returns a ceremony in its present state; `nil` if none exists.
    func ceremony(_ key: CeremonyKey) async throws -> CeremonyRecord?

    /// Returns the ceremonies that wait for a device of an account, and which no phone has taken up at `now`: a client
    /// asks the account's person without a browser or has dispatched to this device, or a browser has named the person.
    /// The newest first, at most `limit`. Of more, the clients take turns with their newest: a client that asks often
    /// hides no other client. All browsers together take turns as one client.
    func waitingOperations(accountID: String, deviceID: String, at now: Timestamp, limit: Int) async throws
        -> [CeremonyRecord]

    /// Returns the ceremonies with progress that a browser has begun for a known account, and which no phone has taken
    /// up at `now`: the newest first, at most `limit`. These are changes of an account without a phone that another
    /// provider confirms.
    func delayedChanges(accountID: String, at now: Timestamp, limit: Int) async throws -> [CeremonyRecord]

    /// Returns the data for the verification of an answer to a ceremony, in a single read: the ceremony, and the stored
    /// data for each key, in their order.
    func verificationMaterial(ceremonyID: String, keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> (ceremony: CeremonyRecord?, credentials: [StoredCredential?])

    /// Returns the data for the verification of an answer to a challenge without a row: the stored data for each key,
    /// in their order; `nil` if the challenge was answered before.
    func verificationMaterial(challengeDigest: [UInt8], keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> [StoredCredential?]?

    /// Returns the answer that was judged for a challenge without a row, and the stored data of each of the keys, in their
    /// order; `nil` if no answer was judged, or if nothing of the answer is kept.
    func judgedAnswer(challengeDigest: [UInt8], keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> (answer: JudgedAnswer, credentials: [StoredCredential?])?

    /// Returns the identifiers of ceremonies that have not ended although their phase was over at `now`, the longest
    /// overdue first, at most `limit`.
    func overdueCeremonies(at now: Timestamp, limit: Int) async throws -> [String]

    /// Deletes ceremonies ended before `endedBefore`, messages to devices that expired before `endedBefore`, and
    /// challenges expired before `now`, at most `limit` rows of each. Returns the number of deleted rows. A completed deregistration, and the own keys of a removed device, stay
    /// until `deregisteredBefore` is later than their end: a phone without the answer asks again.
    func deleteStale(endedBefore: Timestamp, deregisteredBefore: Timestamp, now: Timestamp, limit: Int) async throws
        -> Int
}

extension CeremonyStore {
    /// Redeems a token as ``redeem(tokenDigest:screen:judge:)``, without a decision before the step.
    public func redeem(
        tokenDigest: [UInt8],
        judge: @escaping @Sendable (inout CeremonyRecord, DispatchTokenRecord) throws -> CeremonyChange
    ) async throws -> RedeemedCeremony? {
        try await self.redeem(tokenDigest: tokenDigest, screen: { _ in nil }, judge: judge)
    }

    /// Accepts the answer to a challenge without a row if the change is known before.
    ///
    /// Returns `false`, and writes nothing, if the challenge was answered before. Throws as ``change(_:judge:)``.
    public func answer(_ challenge: AnsweredChallenge, change: CeremonyChange, at now: Timestamp) async throws -> Bool {
        try await self.answer(challenge, keys: [], at: now) { _ in (change, true) } ?? false
    }
}

extension CeremonyStore {
    /// Adds a ceremony and its tokens, and sends nothing.
    public func createCeremony(_ ceremony: CeremonyRecord, tokens: [DispatchTokenRecord], audit: AuditEvent?)
        async throws
    {
        try await self.createCeremony(ceremony, tokens: tokens, message: nil, audit: audit)
    }
}

/// A dispatcher's message for a device, as the step that creates the ceremony leaves the message. The message has the
/// token of the ceremony, so the store seals the content.
public struct DeviceMessageRecord: Sendable, Hashable {
    /// The name of the dispatcher.
    public let dispatcher: String
    /// The identifier of the device, in the dispatcher's own words.
    public let target: String
    /// The content in the dispatcher's own form.
    public let content: [UInt8]

    /// Makes a message of these values.
    public init(dispatcher: String, target: String, content: [UInt8]) {
        self.dispatcher = dispatcher
        self.target = target
        self.content = content
    }
}
