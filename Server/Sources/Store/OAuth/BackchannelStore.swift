public import _Primitives

/// What a client wants a person asked whom it names, without a browser (OpenID Connect CIBA Core 1.0).
public struct BackchannelRequestRecord: Sendable, Equatable {
    /// 128 random bits as base64url: by it whoever asks the person knows it. It opens nothing.
    public let id: String
    /// SHA-256 of what the client asks by (`auth_req_id`), which has 256 random bits.
    public let digest: [UInt8]
    /// The client that asked.
    public let client: String
    /// The scopes that will be granted, separated by spaces.
    public let scope: String
    /// How long the client waits from one question to the next.
    public let interval: Duration
    /// From then on it is worth nothing.
    public let expiresAt: Timestamp

    /// A record of these values.
    public init(
        id: String, digest: [UInt8], client: String, scope: String, interval: Duration, expiresAt: Timestamp
    ) {
        self.id = id
        self.digest = digest
        self.client = client
        self.scope = scope
        self.interval = interval
        self.expiresAt = expiresAt
    }
}

/// What a client may have whose person has authenticated, with the session that begins for it.
public struct BackchannelGrant: Sendable, Equatable {
    /// The request that is answered, by its identifier.
    public let request: String
    /// It has no browser: nobody has its cookie.
    public let session: SessionRecord
    /// What the client may have.
    public let grant: GrantRecord
    /// The client's address that people are shown.
    public let redirectURI: String

    /// A grant of these records.
    public init(request: String, session: SessionRecord, grant: GrantRecord, redirectURI: String) {
        self.request = request
        self.session = session
        self.grant = grant
        self.redirectURI = redirectURI
    }
}

/// What a client's question comes to.
public enum BackchannelAnswer: Sendable, Equatable {
    /// It may be told what the person has said: whoever asks the person knows.
    case open(BackchannelRequestRecord)
    /// It has asked too soon. From now on it has to wait longer.
    case tooSoon
    /// The time is over.
    case expired
    /// It had its tokens before. They are gone now.
    case replayed
    /// The client has no such request (any more), or what it gave was revoked.
    case unknown
}

/// Keeps what clients want people asked.
///
/// A request goes with its grant and with its client, and
/// ``AuthorizationStore/sweepAuthorizations(at:idleSince:limit:)`` deletes it some time after its end.
public protocol BackchannelStore: Sendable {
    /// Keeps a new request until `end`, which is later than its own, so that a client that asks late is told why.
    func addBackchannelRequest(_ request: BackchannelRequestRecord, keptUntil end: Timestamp) async throws

    /// Answers a client.
    ///
    /// Must be atomic: a question that comes after ``grant(_:at:audit:)`` deletes the grant with all that hangs on it.
    /// Another client changes nothing.
    func backchannelAnswer(_ question: PollingQuestion, at moment: Timestamp) async throws -> BackchannelAnswer

    /// Gives a client what its person has agreed to: begins the session and keeps the grant, together with the audit event.
    /// All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` where the request is gone or was answered (of two at once, one), or the device of
    /// the authentication is, or its account is locked.
    func grant(_ given: BackchannelGrant, at moment: Timestamp, audit: AuditEvent) async throws
}
