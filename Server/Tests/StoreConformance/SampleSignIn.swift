public import Records
public import _Primitives

/// An invented sign-in at an invented service, for the tests of stores. Every unnamed value differs from the others.
public struct SampleSignIn: Sendable {
    /// The session with its single authentication.
    public var session: SessionRecord
    /// The grant.
    public var grant: GrantRecord
    /// The code of the grant.
    public var code: CodeRecord
    /// The request that the sign-in ends.
    public var request: AuthorizationRequestRecord

    /// Makes a sign-in with identifiers that end in `name`: `request-1`, `authentication-1`, `session-1`, `grant-1`.
    ///
    /// - Parameters:
    ///   - secret: The digest of the cookie, and of the code.
    ///   - lifetime: The lifetime of the session.
    public init(
        _ name: String, secret: [UInt8], account: String = "account-alice", client: String = "client",
        at moment: Timestamp, lifetime: Duration = .seconds(3600), browser: String? = nil, address: String? = nil,
        device: String? = nil, method: String = "phone", role: RoleAtService? = nil
    ) {
        let authentication = AuthenticationRecord(
            id: "authentication-\(name)", account: account, method: method, at: moment - .seconds(1), acr: "urn:x",
            amr: ["pin", "hwk"], browser: browser, address: address, device: device, role: role)
        self.session = SessionRecord(
            id: "session-\(name)", cookieDigest: secret, authentications: [authentication], usedAt: moment,
            expiresAt: moment + lifetime)
        self.request = AuthorizationRequestRecord(
            id: "request-\(name)", browserDigest: [2], client: client, redirectURI: "https://\(client).example/in",
            scope: "openid", state: nil, nonce: nil, codeChallenge: [3], expiresAt: moment + .seconds(60))
        (self.grant, self.code) = Self.grant(name, of: self.session, secret: secret, client: client, at: moment)
    }

    /// Returns a grant of a continuing session, with its code.
    public static func grant(
        _ name: String, of session: SessionRecord, secret: [UInt8], client: String, path: String = "in",
        challenge: [UInt8]? = [3], at moment: Timestamp
    ) -> (grant: GrantRecord, code: CodeRecord) {
        let grant = GrantRecord(
            id: "grant-\(name)", client: client, subject: "\(client)-\(session.account)",
            authentication: session.authentication.id, session: session.id, scope: "openid profile",
            claims: challenge == nil ? nil : "{\"userinfo\":{}}", expiresAt: moment + .seconds(360))
        let code = CodeRecord(
            digest: secret, redirectURI: "https://\(client).example/\(path)", nonce: "n", challenge: challenge,
            keyThumbprint: "key of \(name)", acr: challenge == nil ? nil : "urn:asked",
            expiresAt: moment + .seconds(60))
        return (grant, code)
    }

    /// The whole sign-in as one step of a store.
    public var completed: CompletedAuthorization {
        CompletedAuthorization(request: self.request.id, session: self.session, grant: self.grant, code: self.code)
    }

    /// The outcome of taking the code.
    public var taken: CodeTaking {
        .taken(
            self.code,
            StandingGrant(grant: self.grant, authentication: self.session.authentication, isAccountLocked: false))
    }

    /// Adds the account if the account does not exist. The audit event is of no kind that a test counts.
    public func addAccount(to store: some AccountStore) async throws {
        let id = self.session.account
        guard try await store.account(id: id) == nil else { return }
        let start = self.session.authentication.at
        do {
            try await store.createAccount(
                AccountRecord(
                    id: id, username: AccountName(stored: "sample of \(id)"), displayName: nil, createdAt: start),
                audit: AuditEvent(AuditEvent.Kind(rawValue: "sample-account-added"), at: start, accountID: id))
        } catch let error as StoreError where error.code == .conflict {
            // Another sample of the account was quicker.
        }
    }

    /// Adds the account if necessary, keeps the request, and ends the request.
    public func keep(
        in store: some AccountStore & AuthorizationStore, replacing cookieDigest: [UInt8]? = nil
    ) async throws {
        try await self.addAccount(to: store)
        try await store.addRequest(self.request)
        try await store.complete(self.completed, replacing: cookieDigest)
    }
}
