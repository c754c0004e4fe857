public import _Primitives

/// That a person lets a client have something, remembered until the person or an operator takes it back.
public struct ConsentRecord: Sendable, Equatable {
    /// 128 random bits as base64url.
    public let id: String
    /// Whose it is.
    public let account: String
    /// Whom it is given to.
    public let client: String
    /// Recognises what was agreed to, all of it: SHA-256, 32 bytes.
    public let content: [UInt8]
    /// The scopes, separated by spaces.
    public let scope: String
    /// What of the person was named (`claims`), as JSON; `nil` for nothing. Sealed at rest.
    public let claims: String?
    /// Where the client's tokens are good for (RFC 8707), beside this server.
    public let resources: [String]
    /// The session that it was given in last; `nil` for a consent from before sessions were kept with consents. The browser
    /// and the address are sealed at rest.
    public let session: GivingSession?
    /// When it was given last.
    public let grantedAt: Timestamp

    /// A record of these values.
    public init(
        id: String, account: String, client: String, content: [UInt8], scope: String, claims: String? = nil,
        resources: [String] = [], session: GivingSession? = nil, grantedAt: Timestamp
    ) {
        self.session = session
        self.resources = resources
        self.id = id
        self.account = account
        self.client = client
        self.content = content
        self.scope = scope
        self.claims = claims
        self.grantedAt = grantedAt
    }
}

/// A session that a request waits in for its person's word.
public struct AuthenticatedRequest: Sendable, Equatable {
    /// The request, by its identifier.
    public let request: String
    /// The session, with the authentication that was made for the request as its first.
    public let session: SessionRecord
    /// Whether the session went on before, with its other authentications.
    public let isStepUp: Bool

    /// A request whose person has authenticated.
    public init(request: String, session: SessionRecord, isStepUp: Bool) {
        self.request = request
        self.session = session
        self.isStepUp = isStepUp
    }
}

/// A request that ends because its person agreed.
public struct ConsentedAuthorization: Sendable, Equatable {
    /// The request, by its identifier.
    public let request: String
    /// What was agreed to. Where the same was agreed to before, that record stays, with another moment.
    public let consent: ConsentRecord
    /// What the client may have, in the session that the request waited in. Whatever consent it names, it stands on this.
    public let grant: GrantRecord
    /// What the client is given for it.
    public let code: CodeRecord

    /// A request that ends with these records.
    public init(request: String, consent: ConsentRecord, grant: GrantRecord, code: CodeRecord) {
        self.request = request
        self.consent = consent
        self.grant = grant
        self.code = code
    }
}

/// Keeps what people have agreed to. A grant that stands on a consent ends with it; a consent goes with its account and
/// with its client.
public protocol ConsentStore: Sendable {
    /// The consent of that account to that client with that content.
    func consent(account: String, client: String, content: [UInt8]) async throws -> ConsentRecord?

    /// The account's consents, the one given last first, at most `limit`.
    func consents(account: String, limit: Int) async throws -> [ConsentRecord]

    /// Ends a consent, and with it every grant that stands on it, with the audit event. `false`, and no event, where the
    /// account has no such consent.
    func endConsent(_ id: String, account: String, audit: AuditEvent) async throws -> Bool

    /// Begins a session, or goes on with one, for a request that waits on for its person's word, and notes in the request
    /// which session that is. One that an earlier call for the same request has begun ends. All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` where the request is gone, or the device of the authentication is, or its account
    /// is locked, or a session that was to go on has ended.
    func authenticate(_ authenticated: AuthenticatedRequest, replacing cookieDigest: [UInt8]?) async throws

    /// Ends a request with a grant that stands on a consent, and keeps the consent. An account has at most
    /// ``Limits/Fixed/consentsPerClient`` consents to a client: past it the oldest ends. All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` where the request is gone (of two at once, one), or its session has ended.
    func consent(_ consented: ConsentedAuthorization, usedAt moment: Timestamp, audit: AuditEvent) async throws
}
