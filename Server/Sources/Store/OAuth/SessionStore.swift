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
    /// The browser and its system in words, as the person saw them at the sign-in. Sealed at rest.
    public let browser: String?
    /// The browser's network address at the sign-in. Sealed at rest.
    public let address: String?
    /// The device that the person signed in with: the session ends with it.
    public let device: String?

    /// A record of these values.
    public init(
        id: String, cookieDigest: [UInt8], account: String, authenticatedAt: Timestamp, acr: String, amr: [String],
        usedAt: Timestamp, expiresAt: Timestamp, browser: String? = nil, address: String? = nil,
        device: String? = nil
    ) {
        self.id = id
        self.cookieDigest = cookieDigest
        self.account = account
        self.authenticatedAt = authenticatedAt
        self.acr = acr
        self.amr = amr
        self.usedAt = usedAt
        self.expiresAt = expiresAt
        self.browser = browser
        self.address = address
        self.device = device
    }
}

/// A session with the services that it has signed its person in to.
public struct SessionListing: Sendable, Equatable {
    /// A service, as it is registered now.
    public struct Service: Sendable, Equatable {
        /// The client's name.
        public let name: String
        /// The address that the person was led to last.
        public let redirectURI: String

        /// A service of that name and address.
        public init(name: String, redirectURI: String) {
            self.name = name
            self.redirectURI = redirectURI
        }
    }

    /// The session itself.
    public let session: SessionRecord
    /// The one that was signed in to last first. A client that was deleted is not among them.
    public let services: [Service]

    /// A session and its services.
    public init(session: SessionRecord, services: [Service]) {
        self.session = session
        self.services = services
    }
}

/// Finds and ends sessions. They begin in ``AuthorizationStore/complete(request:session:replacing:grant:)``.
public protocol SessionStore: Sendable {
    /// The session of a cookie, expired or not.
    func session(cookieDigest: [UInt8]) async throws -> SessionRecord?

    /// Ends a session, and with it all its grants, with the audit event. Says whether there was one; where there was none,
    /// there is no event.
    func endSession(_ id: String, audit: AuditEvent) async throws -> Bool

    /// The account's sessions that go on at `moment`, the one used last first, at most `limit`, each with at most
    /// `services` of the services that it has signed in to.
    ///
    /// - Parameter idleSince: Sessions that were not used after this moment have ended.
    func sessions(account: String, at moment: Timestamp, idleSince: Timestamp, limit: Int, services: Int) async throws
        -> [SessionListing]

    /// Ends a session of that account, and with it all its grants, together with the audit event. `false`, and no event,
    /// where the account has no such session, whoever else may have it.
    func endSession(_ id: String, account: String, audit: AuditEvent) async throws -> Bool
}
