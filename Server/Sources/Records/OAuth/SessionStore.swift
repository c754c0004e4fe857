public import _Primitives

/// A stretch of time in which a person is signed in at the server (`sid`). A session depends on one or several
/// authentications.
public struct SessionRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url. Never in a cookie.
    public let id: String
    /// SHA-256 of the cookie's value, which has 256 random bits.
    public let cookieDigest: [UInt8]
    /// The person's authentications, the last first: at least a single authentication, and all of the same account.
    public let authentications: [AuthenticationRecord]
    /// The moment when the session last signed the person in to a service.
    public let usedAt: Timestamp
    /// The absolute end of the session.
    public let expiresAt: Timestamp
    /// `true` if a browser has the session. A session without a browser belongs to an app or a device. The session ends
    /// when a client, the person or an operator ends the last grant given in the session
    /// (``RefreshStore/deleteGrant(_:client:audit:)``, ``GrantListStore/endGrants(_:account:audit:)``).
    public let hasBrowser: Bool

    /// The authentication that counts, the last.
    public var authentication: AuthenticationRecord { self.authentications[0] }

    /// The signed-in account.
    public var account: String { self.authentication.account }

    /// Makes a record of these values. At least one authentication is required.
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

/// A session with the services of its sign-ins.
public struct SessionListing: Sendable, Equatable {
    /// A service, as it is registered now.
    public struct Service: Sendable, Equatable {
        /// The client's name.
        public let name: String
        /// The last address that the person was led to.
        public let redirectURI: String

        /// Makes a service of that name and address.
        public init(name: String, redirectURI: String) {
            self.name = name
            self.redirectURI = redirectURI
        }
    }

    /// The session itself.
    public let session: SessionRecord
    /// The services, the service of the last sign-in first. A deleted client is not among the services.
    public let services: [Service]

    /// Makes a session with its services.
    public init(session: SessionRecord, services: [Service]) {
        self.session = session
        self.services = services
    }
}

/// Finds and ends sessions. Sessions begin in ``AuthorizationStore/complete(_:replacing:)``,
/// ``ConsentStore/authenticate(_:replacing:)``, ``DeviceCodeStore/confirm(_:audit:)`` and
/// ``BackchannelStore/grant(_:at:audit:)``.
public protocol SessionStore: Sendable {
    /// Returns the session of a cookie, expired or not; `nil` if no session has the cookie, or if no authentication of
    /// the session is left.
    func session(cookieDigest: [UInt8]) async throws -> SessionRecord?

    /// Returns the number of sessions that go on at `moment`, of all accounts.
    ///
    /// - Parameter idleSince: Sessions that were not used after this moment have ended.
    func sessionCount(at moment: Timestamp, idleSince: Timestamp) async throws -> Int

    /// Adds the first authentication of `session` to the session, and gives the session its new cookie, with the audit
    /// event. All or nothing. A session remembers its last ``Limits/Fixed/authenticationsPerSession`` authentications.
    ///
    /// Throws ``StoreError/Code/notFound`` if the session has ended or has another cookie than the digest's, if the
    /// device of the authentication is gone, or if the account is gone, is locked, or was locked since the
    /// authentication.
    func raise(_ session: SessionRecord, from cookieDigest: [UInt8], audit: AuditEvent) async throws

    /// Ends a session, and with it the grants that do not last, with the audit event. Lasting grants go on. Returns
    /// `true` if the session existed; otherwise no event is kept.
    func endSession(_ id: String, audit: AuditEvent) async throws -> Bool

    /// Returns the account's open sessions at `moment`, the last used session first, at most `limit`, each with at most
    /// `services` of the services of its sign-ins.
    ///
    /// - Parameter idleSince: Sessions that were not used after this moment have ended.
    func sessions(account: String, at moment: Timestamp, idleSince: Timestamp, limit: Int, services: Int) async throws
        -> [SessionListing]

    /// Ends a session of the account when the session's person revokes it. All grants from the session end too, the
    /// lasting grants included, with everything made from them, together with the audit event. Returns `false`, without
    /// an event, if the account has no such session, even if another account has.
    func endSession(_ id: String, account: String, audit: AuditEvent) async throws -> Bool

    /// Ends all sessions of the account and everything that outlasts a session: lasting grants, device secrets and
    /// consents, also from sessions ended before. A single step, with a single audit event if anything ended. Returns
    /// the number of ended sessions. The account forgets its known browsers and networks in any case.
    func endSessions(account: String, audit: AuditEvent) async throws -> Int
}
