public import _Primitives

/// A person's consent to a client's access, remembered until the person or an operator takes the consent back.
public struct ConsentRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public let id: String
    /// The account of the person who gave the consent.
    public let account: String
    /// The client that the consent is for.
    public let client: String
    /// A digest of the whole content of the consent, for recognising the same consent: SHA-256, 32 bytes.
    public let content: [UInt8]
    /// The scopes, separated by spaces.
    public let scope: String
    /// The claims about the person that were named (`claims`), as JSON; `nil` for none. Sealed at rest.
    public let claims: String?
    /// The resources that accept the client's tokens (RFC 8707), beside this server.
    public let resources: [String]
    /// The session in which the consent was last given; `nil` for a consent from before sessions were kept with
    /// consents. The browser and the address are sealed at rest.
    public let session: GivingSession?
    /// The moment when the consent was last given.
    public let grantedAt: Timestamp

    /// Makes a record of these values.
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

/// A session in which a request waits for its person's consent.
public struct AuthenticatedRequest: Sendable, Equatable {
    /// The request, by its identifier.
    public let request: String
    /// The session, with the authentication that was made for the request as its first.
    public let session: SessionRecord
    /// `true` if the session existed before, with its other authentications.
    public let isStepUp: Bool
    /// The language that the person gets from now on (``AccountRecord/language``); `nil` to leave the language.
    public let language: String?

    /// Makes a request whose person has authenticated.
    public init(request: String, session: SessionRecord, isStepUp: Bool, language: String? = nil) {
        self.language = language
        self.request = request
        self.session = session
        self.isStepUp = isStepUp
    }
}

/// A request that ends because its person agreed.
public struct ConsentedAuthorization: Sendable, Equatable {
    /// The request, by its identifier.
    public let request: String
    /// The consent. If the same consent was given before, the earlier record stays, with another moment.
    public let consent: ConsentRecord
    /// The grant for the client, in the session in which the request waited. The grant depends on this consent,
    /// whatever consent it names.
    public let grant: GrantRecord
    /// The code for the grant.
    public let code: CodeRecord

    /// Makes a request that ends with these records.
    public init(request: String, consent: ConsentRecord, grant: GrantRecord, code: CodeRecord) {
        self.request = request
        self.consent = consent
        self.grant = grant
        self.code = code
    }
}

/// Keeps people's consents. A grant that depends on a consent ends with the consent. A consent goes with its account
/// and with its client.
public protocol ConsentStore: Sendable {
    /// Returns the consent of the account to the client with the content; `nil` if none exists.
    func consent(account: String, client: String, content: [UInt8]) async throws -> ConsentRecord?

    /// Returns the account's consents, the last given first, at most `limit`.
    func consents(account: String, limit: Int) async throws -> [ConsentRecord]

    /// Ends a consent, and with it every grant and device secret that depends on the consent, with the audit event.
    /// Returns `false`, without an event, if the account has no such consent.
    func endConsent(_ id: String, account: String, audit: AuditEvent) async throws -> Bool

    /// Begins a session, or continues a session, for a request that still waits for its person's consent, and notes the
    /// session in the request. A session that an earlier call for the same request has begun ends. The session with the
    /// digest `cookieDigest` ends too, or is the session that continues. All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` if the request is gone, or the device of the authentication is gone, or its
    /// account is gone, locked, or was locked since the authentication. Throws the same if a session that was to
    /// continue, the session that the request waited in, or the sign-in by a password or by another provider has ended.
    func authenticate(_ authenticated: AuthenticatedRequest, replacing cookieDigest: [UInt8]?) async throws

    /// Ends a request with a grant that depends on a consent, and keeps the consent. An account has at most
    /// ``Limits/Fixed/consentsPerClient`` consents to a client: past it the oldest consent ends. All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` if the request is gone (for the second of two calls at once), or its session
    /// has ended, or the client is a service of personalised identities and the authentication was not for this
    /// service.
    func consent(_ consented: ConsentedAuthorization, usedAt moment: Timestamp, audit: AuditEvent) async throws
}
