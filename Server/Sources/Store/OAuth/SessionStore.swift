public import _Primitives

/// A browser that is signed in at the server.
public struct SessionRecord: Sendable, Equatable {
    /// 128 random bits as base64url. Never in a cookie.
    public let id: String
    /// SHA-256 of the cookie's value, which has 256 random bits.
    public let cookieDigest: [UInt8]
    /// Who is signed in.
    public let account: String
    /// When the person authenticated, and how.
    public let authenticatedAt: Timestamp
    /// The level (`acr`).
    public let acr: String
    /// The methods (`amr`).
    public let amr: [String]
    /// When the session last signed the person in somewhere.
    public let usedAt: Timestamp
    /// The absolute end.
    public let expiresAt: Timestamp

    /// A record of these values.
    public init(
        id: String, cookieDigest: [UInt8], account: String, authenticatedAt: Timestamp, acr: String, amr: [String],
        usedAt: Timestamp, expiresAt: Timestamp
    ) {
        self.id = id
        self.cookieDigest = cookieDigest
        self.account = account
        self.authenticatedAt = authenticatedAt
        self.acr = acr
        self.amr = amr
        self.usedAt = usedAt
        self.expiresAt = expiresAt
    }
}

/// Finds and ends sessions. They begin in ``AuthorizationStore/complete(request:session:replacing:grant:)``.
public protocol SessionStore: Sendable {
    /// The session of a cookie, expired or not.
    func session(cookieDigest: [UInt8]) async throws -> SessionRecord?

    /// Ends a session, and with it all its grants, with the audit event. Says whether there was one; where there was none,
    /// there is no event.
    func endSession(_ id: String, audit: AuditEvent) async throws -> Bool

    /// Ends all sessions of an account, and with them all their grants. Says how many there were.
    func endSessions(account: String) async throws -> Int
}
