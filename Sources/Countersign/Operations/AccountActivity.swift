/// What has happened on an account.
public struct AccountActivityResult: Hashable, Sendable {
    /// Newest first; the server leaves the oldest ones out.
    public let notices: [AccountNotice]
    /// The browsers that are signed in now, the one used last first.
    public let sessions: [BrowserSession]
    /// What services have that goes on without a browser, the newest first. Of a server that has no such list: none.
    public let grants: [ServiceGrant]
}

/// Asks what has happened on an account: its notices, the browsers that are signed in, and what services have that lasts.
/// Configure it and execute it once.
///
/// ```swift
/// let activity = try await client.operations.accountActivity
///     .username("alice").authorizationProvider(provider).execute()
/// ```
public struct AccountActivity: SingleOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?

    init(core: ClientCore) { self.core = core }

    /// Asks.
    public func perform() async throws(OperationError) -> AccountActivityResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername, let authorizationProvider else {
            throw OperationError(.missingInteraction, "a username and an authorization provider are needed")
        }
        do {
            let exchange = AccountExchange(
                core: self.core, recording: self.core.newRecording(), caller: .provider(authorizationProvider))
            return AccountActivityResult(
                notices: try await exchange.notices(of: username), sessions: try await exchange.sessions(of: username),
                grants: try await exchange.grants(of: username))
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == AccountActivity {
    /// Whose account. Needed; an answer of the server about somebody else is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// What proves to the server who asks: from ``AuthenticationSuccess/authorizationProvider`` of an ``Authentication``.
    /// Needed.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}

/// Ends a browser's session: the services there lose their access at once, and the browser must sign in anew. With
/// `everySession()` the revocation ends all sessions of the account, and with them lasting grants, device secrets and
/// consents. Configure it and execute it once.
public struct SessionRevocation: SingleOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var sessionID: String?
    fileprivate var isEverySession = false
    fileprivate var authorizationProvider: (any AuthorizationProvider)?

    init(core: ClientCore) { self.core = core }

    /// Ends the session; `sessionUnknown` where it has ended before.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let authorizationProvider, (self.sessionID == nil) == self.isEverySession else {
            throw OperationError(
                .missingInteraction, "either a session or every session, and an authorization provider are needed")
        }
        do {
            let exchange = AccountExchange(
                core: self.core, recording: self.core.newRecording(), caller: .provider(authorizationProvider))
            if let sessionID { try await exchange.endSession(sessionID) } else { try await exchange.endSessions() }
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == SessionRevocation {
    /// Which session: ``BrowserSession/id``. Either this or ``everySession()`` is needed.
    public func sessionID(_ id: String) -> Self { self.changing { $0.sessionID = id } }
    /// Ends all sessions of the account, also of the other devices and browsers, and everything that outlasts a session:
    /// lasting grants, device secrets and consents.
    public func everySession() -> Self { self.changing { $0.isEverySession = true } }
    /// What proves to the server whose session it is. Needed.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}

/// Takes back what a service has that goes on without a browser: the service loses its access at once. Configure it and
/// execute it once.
public struct GrantRevocation: SingleOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var grantID: String?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?

    init(core: ClientCore) { self.core = core }

    /// Takes it back; `sessionUnknown` where it has ended before.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let grantID, let authorizationProvider else {
            throw OperationError(.missingInteraction, "a grant and an authorization provider are needed")
        }
        do {
            try await AccountExchange(
                core: self.core, recording: self.core.newRecording(), caller: .provider(authorizationProvider)
            ).endGrant(grantID)
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == GrantRevocation {
    /// Which grant: ``ServiceGrant/id``. Needed.
    public func grantID(_ id: String) -> Self { self.changing { $0.grantID = id } }
    /// What proves to the server whose grant it is. Needed.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
