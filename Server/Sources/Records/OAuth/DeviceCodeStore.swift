public import _Primitives

/// A device waiting for its person to sign the device in from somewhere else (RFC 8628).
public struct DeviceCodeRecord: Sendable, Equatable {
    /// SHA-256 of the device's own secret code. The code has 256 random bits.
    public let digest: [UInt8]
    /// The code that the person types. The store finds the code by its HMAC, and seals it at rest.
    public let userCode: TypedCode
    /// The client that the device belongs to.
    public let client: String
    /// The scopes that will be granted, separated by spaces.
    public let scope: String
    /// The device's pause between two questions.
    public let interval: Duration
    /// The moment from which neither code is worth anything.
    public let expiresAt: Timestamp

    /// Makes a record of these values.
    public init(
        digest: [UInt8], userCode: TypedCode, client: String, scope: String, interval: Duration, expiresAt: Timestamp
    ) {
        self.digest = digest
        self.userCode = userCode
        self.client = client
        self.scope = scope
        self.interval = interval
        self.expiresAt = expiresAt
    }
}

/// A device confirmed by a person: the session of the device, the authentication of the session, and the scopes of the
/// device's client.
public struct ConfirmedDevice: Sendable, Equatable {
    /// The request that waited for the person, by its identifier.
    public let request: String
    /// The session of the device. No browser has its cookie.
    public let session: SessionRecord
    /// The grant for the client.
    public let grant: GrantRecord
    /// The client's address that people are shown.
    public let redirectURI: String
    /// The language that the person gets from now on (``AccountRecord/language``); `nil` to leave the language.
    public let language: String?

    /// Makes a device's sign-in of these records.
    public init(
        request: String, session: SessionRecord, grant: GrantRecord, redirectURI: String, language: String? = nil
    ) {
        self.language = language
        self.request = request
        self.session = session
        self.grant = grant
        self.redirectURI = redirectURI
    }
}

/// The question of a device, or of a client that has had a person asked, about the person's answer.
public struct PollingQuestion: Sendable, Equatable {
    /// SHA-256 of the code that the question shows.
    public let digest: [UInt8]
    /// The client that asks.
    public let client: String
    /// The time by which a question may come too soon. The network can change the time between two questions by as
    /// much.
    public let tolerance: Duration
    /// The growth of the interval when a question comes even sooner.
    public let slowdown: Duration
    /// The longest interval after growth.
    public let longestInterval: Duration
    /// The audit event of a code that was taken before; the store adds the account to the event.
    public let replay: AuditEvent

    /// Makes a question of these values.
    public init(
        digest: [UInt8], client: String, tolerance: Duration, slowdown: Duration, longestInterval: Duration,
        replay: AuditEvent
    ) {
        self.digest = digest
        self.client = client
        self.tolerance = tolerance
        self.slowdown = slowdown
        self.longestInterval = longestInterval
        self.replay = replay
    }
}

/// The answer to a device.
public enum DeviceAnswer: Sendable, Equatable {
    /// The person has not answered yet.
    case pending
    /// The device has asked too soon. From now on it has to wait longer.
    case tooSoon
    /// The person said no, or the request that waited for the person ended without a yes.
    case denied
    /// The time is over.
    case expired
    /// This call, and no other, has the grant.
    case taken(StandingGrant)
    /// The grant had been taken before. The grant is gone now.
    case replayed
    /// The client has no such code (any more), or the grant of the code was revoked.
    case unknown
}

/// Keeps the codes of devices that wait for their person.
///
/// An ``AuthorizationRequestRecord`` waits for the person. Any end of this request without the person's yes is a no to
/// the device. A code goes with its grant and with its client.
/// ``AuthorizationStore/sweepAuthorizations(at:idleSince:limit:)`` deletes the code some time after the code's end.
public protocol DeviceCodeStore: Sendable {
    /// Keeps a new code until `end`. `end` is later than the code's own end, so that a late device still learns the
    /// reason.
    ///
    /// Throws ``StoreError/Code/conflict`` if the person's code is another device's.
    func addDeviceCode(_ code: DeviceCodeRecord, keptUntil end: Timestamp) async throws

    /// Returns the record of the code that a person types, expired or not; `nil` if none exists.
    func deviceCode(userCode: TypedCode) async throws -> DeviceCodeRecord?

    /// Returns the record of the code for whose person a request waits; `nil` if none exists.
    func deviceCode(request: String) async throws -> DeviceCodeRecord?

    /// Makes `request` wait for the person who has typed the code. The same browser gets the already waiting request if
    /// the browser comes again. Returns the identifier of the waiting request; `nil` if the code does not exist, was
    /// answered, or was typed in another browser before. The caller checks the code's end.
    ///
    /// Must be atomic: of any number of browsers a single browser gets an answer.
    func begin(_ request: AuthorizationRequestRecord, userCode: TypedCode) async throws -> String?

    /// Ends the request with the person's yes: begins the device's session and keeps the grant, which the device then
    /// takes, together with the audit event. All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` if the request is gone or no device's (for the second of two calls at once),
    /// and as ``AuthorizationStore/complete(_:replacing:)`` does.
    func confirm(_ confirmed: ConfirmedDevice, audit: AuditEvent) async throws

    /// Answers a device.
    ///
    /// A question that comes too soon is not judged: the interval grows, and still counts from the last judged
    /// question.
    ///
    /// Must be atomic: of any number of calls for the same code one gets ``DeviceAnswer/taken(_:)``. The next call of
    /// the same client deletes the grant with all dependent rows. A call of another client changes nothing.
    func answer(_ question: PollingQuestion, at moment: Timestamp) async throws -> DeviceAnswer
}
