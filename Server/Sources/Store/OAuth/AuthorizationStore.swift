public import _Primitives

/// A validated authorization request that waits for a person (RFC 6749, section 4.1.1).
public struct AuthorizationRequestRecord: Sendable, Equatable {
    /// 128 random bits as base64url. It is no secret: only the browser that started can go on.
    public let id: String
    /// SHA-256 of the starting browser's cookie.
    public let browserDigest: [UInt8]
    /// The client that asked.
    public let client: String
    /// One of the client's addresses.
    public let redirectURI: String
    /// The scopes that will be granted, separated by spaces.
    public let scope: String
    /// The client's `state`, to be given back.
    public let state: String?
    /// The client's `nonce`, for the ID token.
    public let nonce: String?
    /// The SHA-256 that the code's verifier must have (RFC 7636); `nil` where the code is bound to the nonce.
    public let codeChallenge: [UInt8]?
    /// The subject of the person who alone may sign in (`id_token_hint`); `nil` for anybody.
    public let expectedSubject: String?
    /// From then on the request is gone.
    public let expiresAt: Timestamp

    /// A record of these values.
    public init(
        id: String, browserDigest: [UInt8], client: String, redirectURI: String, scope: String, state: String?,
        nonce: String?, codeChallenge: [UInt8]?, expectedSubject: String? = nil, expiresAt: Timestamp
    ) {
        self.id = id
        self.browserDigest = browserDigest
        self.client = client
        self.redirectURI = redirectURI
        self.scope = scope
        self.state = state
        self.nonce = nonce
        self.codeChallenge = codeChallenge
        self.expectedSubject = expectedSubject
        self.expiresAt = expiresAt
    }
}

/// What a client was given for one sign-in: first a code, then tokens.
public struct GrantRecord: Sendable, Equatable {
    /// 128 random bits as base64url; the `jti` of the access token.
    public let id: String
    /// SHA-256 of the authorization code.
    public let codeDigest: [UInt8]
    /// The client that asked.
    public let client: String
    /// The session that the grant lives and ends with.
    public let session: String
    /// Who signed in.
    public let account: String
    /// The account's name at this client.
    public let subject: String
    /// The address that the code was sent to; the client must name the same one.
    public let redirectURI: String
    /// The granted scopes, separated by spaces.
    public let scope: String
    /// The client's `nonce`, for the ID token.
    public let nonce: String?
    /// The SHA-256 that the code's verifier must have; `nil` where no verifier may come, as the code is bound to the nonce.
    public let codeChallenge: [UInt8]?
    /// When the person authenticated, and how.
    public let authenticatedAt: Timestamp
    /// The level (`acr`).
    public let acr: String
    /// The methods (`amr`).
    public let amr: [String]
    /// The end of the code.
    public let codeExpiresAt: Timestamp
    /// The end of every token that the code can give; the record is kept until then, so that a replay is recognised.
    public let expiresAt: Timestamp

    /// A record of these values.
    public init(
        id: String, codeDigest: [UInt8], client: String, session: String, account: String, subject: String,
        redirectURI: String, scope: String, nonce: String?, codeChallenge: [UInt8]?, authenticatedAt: Timestamp,
        acr: String, amr: [String], codeExpiresAt: Timestamp, expiresAt: Timestamp
    ) {
        self.id = id
        self.codeDigest = codeDigest
        self.client = client
        self.session = session
        self.account = account
        self.subject = subject
        self.redirectURI = redirectURI
        self.scope = scope
        self.nonce = nonce
        self.codeChallenge = codeChallenge
        self.authenticatedAt = authenticatedAt
        self.acr = acr
        self.amr = amr
        self.codeExpiresAt = codeExpiresAt
        self.expiresAt = expiresAt
    }
}

/// What taking a code came to.
public enum CodeTaking: Sendable, Equatable {
    /// This call, and no other, has the code.
    case taken(GrantRecord)
    /// The code had been taken before. Its grant is revoked now.
    case replayed
    /// There is no such code, or the session that it was made in has ended.
    case unknown
}

/// Keeps authorization requests, codes and grants.
public protocol AuthorizationStore: Sendable {
    /// Keeps a new request.
    func addRequest(_ request: AuthorizationRequestRecord) async throws

    /// The request of that identifier, expired or not.
    func request(_ id: String) async throws -> AuthorizationRequestRecord?

    /// Removes a request. Says whether this call removed it: of two at once, one is told `true`.
    func removeRequest(_ id: String) async throws -> Bool

    /// Ends a request with a sign-in: removes it, ends the session whose cookie the browser showed, begins the new
    /// session, keeps the grant, and remembers the subject for ``account(subject:client:)``. All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` where the request is gone (of two at once, one), or the session's device is, or
    /// its account is locked.
    func complete(
        request: String, session: SessionRecord, replacing cookieDigest: [UInt8]?, grant: GrantRecord) async throws

    /// Keeps a grant of a session that goes on, notes that the session was used at `moment`, and remembers the subject.
    ///
    /// Throws ``StoreError/Code/notFound`` where the session has ended.
    func addGrant(_ grant: GrantRecord, usedAt moment: Timestamp, audit: AuditEvent) async throws

    /// Takes a code, for good: it stays taken whatever its taker then finds wrong with it.
    ///
    /// Must be atomic: of any number of calls for one code exactly one gets ``CodeTaking/taken(_:)``; each of the others
    /// revokes the grant (RFC 6749, section 4.1.2).
    ///
    /// - Parameter replay: The audit event of a code that was taken before; the store adds the account to it. It is
    ///   kept where the grant was not revoked yet: once for a grant.
    func takeCode(digest: [UInt8], at moment: Timestamp, replay: AuditEvent) async throws -> CodeTaking

    /// The account of a grant that stands at `moment`; `nil` where it is unknown, ended, revoked, or its session has
    /// ended.
    func account(grant: String, at moment: Timestamp) async throws -> String?

    /// The account that a client knows by this subject.
    func account(subject: String, client: String) async throws -> String?

    /// Deletes requests, grants and sessions that have ended by `moment`, at most `limit` of each kind, and says how many.
    ///
    /// - Parameter idleSince: Sessions that were not used after this moment have ended too.
    func sweepAuthorizations(at moment: Timestamp, idleSince: Timestamp, limit: Int) async throws -> Int
}
