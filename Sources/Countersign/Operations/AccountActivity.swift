/// The activity of an account.
public struct AccountActivityResult: Hashable, Sendable {
    /// The notices, newest first; the server leaves out the oldest notices.
    public let notices: [AccountNotice]
    /// The browsers that are signed in now, the most recently used browser first.
    public let sessions: [BrowserSession]
    /// The grants of services, newest first: access that continues without a browser. Empty for a server without a list
    /// of grants.
    public let grants: [ServiceGrant]
}

/// An operation that fetches an account's activity: its notices, the signed-in browsers, and the lasting grants of
/// services. Configure the operation and execute it once.
///
/// ```swift
/// let activity = try await client.operations.accountActivity
///     .username("alice").authorizationProvider(provider).execute()
/// ```
public struct AccountActivity: SingleOperation, InAppOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Fetches the activity from the server.
    public func perform() async throws(OperationError) -> AccountActivityResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername, let authorizationProvider else {
            throw OperationError(.missingInteraction, "a username and an authorization provider are needed")
        }
        let core = try self.requestOptions.configure(self.core)
        do {
            let exchange = AccountExchange(
                core: core, recording: self.core.newRecording(), caller: .provider(authorizationProvider))
            return AccountActivityResult(
                notices: try await exchange.notices(of: username), sessions: try await exchange.sessions(of: username),
                grants: try await exchange.grants(of: username))
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == AccountActivity {
    /// Sets the account's user name. Required; an answer of the server about another person is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Sets the provider that authenticates the request to the server: ``AuthenticationSuccess/authorizationProvider``
    /// of an ``Authentication``. Required.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}

/// An operation that ends a browser's session: the services in the browser lose their access at once, and the browser
/// must sign in again. With `everySession()`, the revocation ends all sessions of the account, and also lasting grants,
/// device secrets and consents.
///
/// Configure the operation and execute it once.
public struct SessionRevocation: SingleOperation, InAppOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var sessionID: String?
    fileprivate var isEverySession = false
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Ends the session, or all sessions. Throws `sessionUnknown` if the session has already ended, unless an earlier
    /// try of this operation may have ended the session (``RetryPolicy``).
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let authorizationProvider, (self.sessionID == nil) == self.isEverySession else {
            throw OperationError(
                .missingInteraction, "either a session or every session, and an authorization provider are needed")
        }
        let core = try self.requestOptions.configure(self.core)
        do {
            let exchange = AccountExchange(
                core: core, recording: self.core.newRecording(), caller: .provider(authorizationProvider))
            if let sessionID { try await exchange.endSession(sessionID) } else { try await exchange.endSessions() }
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == SessionRevocation {
    /// Sets the session: ``BrowserSession/id``. Call either this function or ``everySession()``: with neither or both,
    /// the revocation ends with `missingInteraction`.
    public func sessionID(_ id: String) -> Self { self.changing { $0.sessionID = id } }
    /// Ends all sessions of the account, including other devices and browsers, and everything that outlasts a session:
    /// lasting grants, device secrets and consents.
    public func everySession() -> Self { self.changing { $0.isEverySession = true } }
    /// Sets the provider that authenticates the session's account to the server. Required.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}

/// An operation that revokes the grant of a service that continues without a browser: the service loses its access at
/// once. Configure the operation and execute it once.
public struct GrantRevocation: SingleOperation, InAppOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var grantID: String?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Revokes the grant. Throws `sessionUnknown` if the grant has already ended, unless an earlier try of this
    /// operation may have ended the grant (``RetryPolicy``).
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let grantID, let authorizationProvider else {
            throw OperationError(.missingInteraction, "a grant and an authorization provider are needed")
        }
        let core = try self.requestOptions.configure(self.core)
        do {
            try await AccountExchange(
                core: core, recording: self.core.newRecording(), caller: .provider(authorizationProvider)
            ).endGrant(grantID)
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == GrantRevocation {
    /// Sets the grant: ``ServiceGrant/id``. Required.
    public func grantID(_ id: String) -> Self { self.changing { $0.grantID = id } }
    /// Sets the provider that authenticates the grant's account to the server. Required.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
