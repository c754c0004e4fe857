import OAuth
import Records
import Settings
public import _Primitives

/// A session of a person, as the person's own phone shows the session: a signed-in browser, or an app or device that
/// was signed in without a browser.
public struct AccountSession: Sendable, Equatable {
    /// A service that the session signed in to.
    public struct Service: Sendable, Equatable {
        /// The client's name.
        public let name: String
        /// Scheme, host and port.
        public let origin: String
    }

    /// The identifier with which the session is ended. It gives no access.
    public let id: String
    /// The services that the session signed in to, the last one first.
    public let services: [Service]
    /// The browser and its system in words, as at the sign-in.
    public let browser: String?
    /// The browser's network address, as at the sign-in.
    public let address: String?
    /// The time of the person's authentication.
    public let authenticatedAt: Timestamp
    /// The time of the session's last sign-in to a service.
    public let usedAt: Timestamp
    /// The absolute end.
    public let expiresAt: Timestamp
}

extension AuditEvent.Kind {
    /// The person ended a session from a phone, or the named operator did; the detail is the session, or `all`.
    static let sessionRevoked = Self(rawValue: "session-revoked")
}

extension Sessions {
    /// Returns the running sessions of an account, those without a browser included, the last used first, at most
    /// ``Limits/activityRows``.
    ///
    /// Cost: one query, and one for each session.
    public func running(ofAccount account: String) async throws -> [AccountSession] {
        let now = self.time.now()
        return try await self.store.sessions(
            account: account, at: now, idleSince: now - self.limits.oauth.sessionIdleLifetime,
            limit: self.limits.activityRows, services: self.limits.servicesPerSession
        ).map { listing in
            let session = listing.session
            return AccountSession(
                id: session.id,
                services: try listing.services.map {
                    AccountSession.Service(
                        name: $0.name, origin: try RedirectURI(registered: $0.redirectURI).origin)
                },
                browser: session.authentication.browser, address: session.authentication.address,
                authenticatedAt: session.authentication.at,
                usedAt: session.usedAt, expiresAt: session.expiresAt)
        }
    }

    /// Ends a session at the wish of its person or an operator. Clients' tokens from the session, of lasting grants
    /// too, stop working at once, on every node.
    ///
    /// Returns `false` if the account has no such session. Another account's session counts like a session that never
    /// existed.
    ///
    /// - Parameter operator: The operator, for the audit trail; `nil` for the person's own phone.
    ///
    /// Cost: one store step.
    public func end(_ id: String, ofAccount account: String, by operator: String? = nil) async throws -> Bool {
        try await self.store.endSession(
            id, account: account,
            audit: AuditEvent(
                .sessionRevoked, at: self.time.now(), accountID: account, actor: `operator`, detail: id))
    }

    /// Ends all sessions of an account and everything that outlasts a session: lasting grants, device secrets and
    /// consents. The account also forgets its known browsers and networks. Returns the number of sessions that ended.
    ///
    /// Cost: one store step.
    public func endAll(ofAccount account: String, by operator: String? = nil) async throws -> Int {
        try await self.store.endSessions(
            account: account,
            audit: AuditEvent(
                .sessionRevoked, at: self.time.now(), accountID: account, actor: `operator`, detail: "all"))
    }
}
