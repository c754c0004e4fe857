public import _Primitives

/// A device that waits for its person to sign it in from somewhere else (RFC 8628).
public struct DeviceCodeRecord: Sendable, Equatable {
    /// SHA-256 of what the device keeps to itself, which has 256 random bits.
    public let digest: [UInt8]
    /// What the person types. It is found by its HMAC, and sealed at rest.
    public let userCode: TypedCode
    /// The client that the device belongs to.
    public let client: String
    /// The scopes that will be granted, separated by spaces.
    public let scope: String
    /// How long the device waits from one question to the next.
    public let interval: Duration
    /// From then on neither of the two is worth anything.
    public let expiresAt: Timestamp

    /// A record of these values.
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

/// A device that a person has confirmed: the session that begins for the device, the authentication of that session, and the
/// scopes of the device's client.
public struct ConfirmedDevice: Sendable, Equatable {
    /// The request that waited for the person, by its identifier.
    public let request: String
    /// Of the device: no browser has its cookie.
    public let session: SessionRecord
    /// What the client may have.
    public let grant: GrantRecord
    /// The client's address that people are shown.
    public let redirectURI: String

    /// A device's sign-in of these records.
    public init(request: String, session: SessionRecord, grant: GrantRecord, redirectURI: String) {
        self.request = request
        self.session = session
        self.grant = grant
        self.redirectURI = redirectURI
    }
}

/// The question of a device, or of a client that has had somebody asked, whether the person has answered.
public struct PollingQuestion: Sendable, Equatable {
    /// SHA-256 of what is asked by.
    public let digest: [UInt8]
    /// Who asks.
    public let client: String
    /// How much sooner than the interval a question may come: what a network does to the time between two.
    public let tolerance: Duration
    /// By how much the interval grows where a question comes sooner than that.
    public let slowdown: Duration
    /// How far it grows at most.
    public let longestInterval: Duration
    /// The audit event of a code that was taken before; the store adds the account to it.
    public let replay: AuditEvent

    /// A question of these values.
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

/// What a device is told.
public enum DeviceAnswer: Sendable, Equatable {
    /// Nobody has answered yet.
    case pending
    /// It has asked too soon. From now on it has to wait longer.
    case tooSoon
    /// The person said no, or what waited for them ended otherwise.
    case denied
    /// The time is over.
    case expired
    /// This call, and no other, has the grant.
    case taken(StandingGrant)
    /// The grant had been taken before. It is gone now.
    case replayed
    /// The client has no such code (any more), or what it gave was revoked.
    case unknown
}

/// Keeps the codes of devices that wait for their person.
///
/// What waits for the person is an ``AuthorizationRequestRecord``: whatever ends it without the person's yes is a no to the
/// device. A code goes with its grant and with its client, and
/// ``AuthorizationStore/sweepAuthorizations(at:idleSince:limit:)`` deletes it some time after its end.
public protocol DeviceCodeStore: Sendable {
    /// Keeps a new code until `end`, which is later than its own, so that a device that asks late is told why.
    ///
    /// Throws ``StoreError/Code/conflict`` where the person's code is another device's.
    func addDeviceCode(_ code: DeviceCodeRecord, keptUntil end: Timestamp) async throws

    /// The code that a person types, expired or not.
    func deviceCode(userCode: TypedCode) async throws -> DeviceCodeRecord?

    /// The code that a request waits for the person of.
    func deviceCode(request: String) async throws -> DeviceCodeRecord?

    /// Has `request` wait for the person who has typed the code. The same browser, which comes again, gets the request that
    /// waits already. Answers with the identifier of the one that waits; `nil` where there is no such code, where it was
    /// answered, or where another browser came with it before.
    ///
    /// Must be atomic: of any number of browsers one gets an answer.
    func begin(_ request: AuthorizationRequestRecord, userCode: TypedCode) async throws -> String?

    /// Ends the request with the person's yes: begins the device's session and keeps the grant, which the device then takes,
    /// together with the audit event. All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` where the request is gone or no device's (of two at once, one), or the device of
    /// the authentication is, or its account is locked.
    func confirm(_ confirmed: ConfirmedDevice, audit: AuditEvent) async throws

    /// Answers a device.
    ///
    /// A question that comes too soon is not judged: the interval grows, and still counts from the last question that was.
    ///
    /// Must be atomic: of any number of calls for one code one gets ``DeviceAnswer/taken(_:)``; the next of the same client
    /// deletes the grant with all that hangs on it. Another client changes nothing.
    func answer(_ question: PollingQuestion, at moment: Timestamp) async throws -> DeviceAnswer
}
