public import _Primitives

/// How a client is told what became of a request, where it does not ask (OpenID Connect CIBA Core 1.0, sections 10.2 and
/// 10.3).
public struct BackchannelNotification: Sendable, Equatable {
    /// Whether it is told that there is an answer, or the answer.
    public enum Mode: String, Sendable, CaseIterable {
        case ping, push
    }

    /// What it is told.
    public let mode: Mode
    /// What the client knows the request by (`auth_req_id`). Sealed at rest.
    public let secret: String
    /// What this server shows the client that it is this server (`client_notification_token`). Sealed at rest, and not for a
    /// log.
    public let token: String

    /// A notification of these values.
    public init(mode: Mode, secret: String, token: String) {
        self.mode = mode
        self.secret = secret
        self.token = token
    }
}

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
    /// What the person is asked in detail (`authorization_details`, RFC 9396), as JSON; `nil` for nothing. Sealed at rest.
    public let details: String?
    /// How the client is told; `nil` where it asks.
    public let notification: BackchannelNotification?

    /// A record of these values.
    public init(
        id: String, digest: [UInt8], client: String, scope: String, interval: Duration, expiresAt: Timestamp,
        details: String? = nil, notification: BackchannelNotification? = nil
    ) {
        self.details = details
        self.notification = notification
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

/// A request whose client is to be told.
public struct NotifiedBackchannelRequest: Sendable, Equatable {
    /// The request.
    public let request: BackchannelRequestRecord
    /// What it has given already: the client may have been told, and may not.
    public let given: StandingGrant?

    /// A request that has given this.
    public init(request: BackchannelRequestRecord, given: StandingGrant?) {
        self.request = request
        self.given = given
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

    /// The request of that identifier, expired or not; `nil` once what it gave was revoked.
    func backchannelRequest(_ id: String, at moment: Timestamp) async throws -> NotifiedBackchannelRequest?

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
