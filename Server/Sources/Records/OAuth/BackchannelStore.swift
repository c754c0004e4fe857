public import _Primitives

/// A way to tell a client the outcome of a request, for a client that does not ask (OpenID Connect CIBA Core 1.0,
/// sections 10.2 and 10.3).
public struct BackchannelNotification: Sendable, Equatable {
    /// The message to the client: that the answer is ready (`ping`), or the answer itself (`push`).
    public enum Mode: String, Sendable, CaseIterable {
        case ping, push
    }

    /// The kind of message to the client.
    public let mode: Mode
    /// The client's identifier for the request (`auth_req_id`). Sealed at rest.
    public let secret: String
    /// The token that proves this server's identity to the client (`client_notification_token`). Sealed at rest, and
    /// not for a log.
    public let token: String

    /// Makes a notification of these values.
    public init(mode: Mode, secret: String, token: String) {
        self.mode = mode
        self.secret = secret
        self.token = token
    }
}

/// A client's request to authenticate a named person without a browser (OpenID Connect CIBA Core 1.0).
public struct BackchannelRequestRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url. The part that asks the person knows the request by this identifier. The
    /// identifier opens nothing.
    public let id: String
    /// SHA-256 of the client's identifier for the request (`auth_req_id`). The identifier has 256 random bits.
    public let digest: [UInt8]
    /// The client that asked.
    public let client: String
    /// The scopes that will be granted, separated by spaces.
    public let scope: String
    /// The client's pause between two questions.
    public let interval: Duration
    /// The moment when the request expires.
    public let expiresAt: Timestamp
    /// The details that the person is asked about (`authorization_details`, RFC 9396), as JSON; `nil` for none. Sealed
    /// at rest.
    public let details: String?
    /// The way to tell the client the outcome; `nil` if the client asks.
    public let notification: BackchannelNotification?

    /// Makes a record of these values.
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

/// The grant for a client whose person has authenticated, with the session that begins for the grant.
public struct BackchannelGrant: Sendable, Equatable {
    /// The answered request, by its identifier.
    public let request: String
    /// The session of the grant. The session has no browser, and no browser has its cookie.
    public let session: SessionRecord
    /// The grant for the client.
    public let grant: GrantRecord
    /// The client's address to show to people.
    public let redirectURI: String

    /// Makes a grant of these records.
    public init(request: String, session: SessionRecord, grant: GrantRecord, redirectURI: String) {
        self.request = request
        self.session = session
        self.grant = grant
        self.redirectURI = redirectURI
    }
}

/// A request whose client is to be told the outcome.
public struct NotifiedBackchannelRequest: Sendable, Equatable {
    /// The request.
    public let request: BackchannelRequestRecord
    /// The grant that the request has already given. The client may or may not have been told.
    public let given: StandingGrant?

    /// Makes a request with its grant.
    public init(request: BackchannelRequestRecord, given: StandingGrant?) {
        self.request = request
        self.given = given
    }
}

/// The answer to a client's question.
public enum BackchannelAnswer: Sendable, Equatable {
    /// The request is open: the client may be told the person's answer. The part that asks the person knows the answer.
    case open(BackchannelRequestRecord)
    /// The client has asked too soon. From now on it has to wait longer.
    case tooSoon
    /// The time is over.
    case expired
    /// The client had its tokens before. The tokens are gone now.
    case replayed
    /// The client has no such request (any more), or the grant of the request was revoked.
    case unknown
}

/// Keeps the requests of clients to authenticate people without a browser.
///
/// A request goes with its grant and with its client. ``AuthorizationStore/sweepAuthorizations(at:idleSince:limit:)``
/// deletes the request some time after the request's end.
public protocol BackchannelStore: Sendable {
    /// Keeps a new request until `end`. `end` is later than the request's own end, so that a late client still learns
    /// the reason.
    func addBackchannelRequest(_ request: BackchannelRequestRecord, keptUntil end: Timestamp) async throws

    /// Returns the request with the identifier, expired or not; `nil` if none exists, or if the request's grant is not
    /// valid at `moment` any more.
    func backchannelRequest(_ id: String, at moment: Timestamp) async throws -> NotifiedBackchannelRequest?

    /// Answers a client.
    ///
    /// Must be atomic: a question that comes after ``grant(_:at:audit:)`` deletes the grant with all dependent rows. A
    /// question of another client changes nothing.
    func backchannelAnswer(_ question: PollingQuestion, at moment: Timestamp) async throws -> BackchannelAnswer

    /// Gives a client the grant that its person has agreed to: begins the session and keeps the grant, together with
    /// the audit event. All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` if the request is gone, has expired or was answered (for the second of two
    /// calls at once), or the device of the authentication is gone, or its account is gone, locked, or was locked since
    /// the authentication. Throws the same if the client is a service of personalised identities and the authentication
    /// was not for this service.
    func grant(_ given: BackchannelGrant, at moment: Timestamp, audit: AuditEvent) async throws
}
