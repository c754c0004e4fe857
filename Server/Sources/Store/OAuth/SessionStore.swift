public import _Primitives

/// A stretch of time in which a person is signed in at the server (`sid`). It stands on one or several authentications.
public struct SessionRecord: Sendable, Equatable {
    /// 128 random bits as base64url. Never in a cookie.
    public let id: String
    /// SHA-256 of the cookie's value, which has 256 random bits.
    public let cookieDigest: [UInt8]
    /// How the person proved who they are, the last time first: at least one, all of one account.
    public let authentications: [AuthenticationRecord]
    /// When the session last signed the person in somewhere.
    public let usedAt: Timestamp
    /// The absolute end.
    public let expiresAt: Timestamp
    /// Whether a browser shows it. One that no browser has is an app's or a device's: it ends with the last grant that was
    /// given in it.
    public let hasBrowser: Bool

    /// The authentication that counts: the last one.
    public var authentication: AuthenticationRecord { self.authentications[0] }

    /// Who is signed in.
    public var account: String { self.authentication.account }

    /// A record of these values. There is at least one authentication.
    public init(
        id: String, cookieDigest: [UInt8], authentications: [AuthenticationRecord], usedAt: Timestamp,
        expiresAt: Timestamp, hasBrowser: Bool = true
    ) {
        precondition(!authentications.isEmpty, "A session without an authentication is nobody's.")
        self.id = id
        self.cookieDigest = cookieDigest
        self.authentications = authentications
        self.usedAt = usedAt
        self.expiresAt = expiresAt
        self.hasBrowser = hasBrowser
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

/// Finds and ends sessions. They begin in ``AuthorizationStore/complete(_:replacing:)``.
public protocol SessionStore: Sendable {
    /// The session of a cookie, expired or not; `nil` where no authentication of it is left.
    func session(cookieDigest: [UInt8]) async throws -> SessionRecord?

    /// How many sessions go on at `moment`, of all accounts.
    ///
    /// - Parameter idleSince: Sessions that were not used after this moment have ended.
    func sessionCount(at moment: Timestamp, idleSince: Timestamp) async throws -> Int

    /// Ends a session, and with it the grants that do not last, with the audit event. Says whether there was one; where there was none,
    /// there is no event.
    func endSession(_ id: String, audit: AuditEvent) async throws -> Bool

    /// The account's sessions that go on at `moment`, the one used last first, at most `limit`, each with at most
    /// `services` of the services that it has signed in to.
    ///
    /// - Parameter idleSince: Sessions that were not used after this moment have ended.
    func sessions(account: String, at moment: Timestamp, idleSince: Timestamp, limit: Int, services: Int) async throws
        -> [SessionListing]

    /// Ends a session of that account because its person takes it back, and with it all grants that were given in it, the
    /// lasting ones too, with everything that came of them, together with the audit event. `false`, and no event, where the
    /// account has no such session, whoever else may have it.
    func endSession(_ id: String, account: String, audit: AuditEvent) async throws -> Bool

    /// Ends all sessions of that account and everything that outlasts a session: lasting grants, device secrets and
    /// consents, also those of sessions that ended before. One step, with one audit event if anything ended. Returns the
    /// number of sessions that ended. The account forgets the browsers and networks that it knows in any case.
    func endSessions(account: String, audit: AuditEvent) async throws -> Int
}
