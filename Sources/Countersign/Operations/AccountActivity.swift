#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Something that the server tells a person's devices.
public struct AccountNotice: Hashable, Sendable, Identifiable {
    /// What has happened. A struct, because a newer server may tell of more.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The server's word for it.
        public let rawValue: String
        /// A kind by the server's word.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Somebody signed in with this account; the subject is the service.
        public static let signedIn = Self(rawValue: "signed-in")
        /// A device was added to the account; the subject is its name.
        public static let deviceAdded = Self(rawValue: "device-added")
        /// A device has another authenticator to answer with; the subject is the device's name.
        public static let authenticatorAdded = Self(rawValue: "authenticator-added")
        /// A service had authenticators of the account deleted; the subject is the service.
        public static let authenticatorsRemoved = Self(rawValue: "authenticators-removed")
        /// The server's word.
        public var description: String { self.rawValue }
    }

    /// The server's name for it.
    public let id: String
    /// What has happened. Fit to be shown, as ``subject`` is.
    public let kind: Kind
    /// When.
    public let date: Date
    /// To what, or of what. One line.
    public let subject: String
}

/// A browser that is signed in to a person's account.
public struct BrowserSession: Hashable, Sendable, Identifiable {
    /// A service that the browser was signed in to.
    public struct Service: Hashable, Sendable {
        /// The service's name. One line, fit to be shown.
        public let name: String
        /// Scheme, host and port, fit to be compared by a person.
        public let origin: String
    }

    /// What ``SessionRevocation/sessionId(_:)`` takes.
    public let id: String
    /// The services that it was signed in to, the last one first; the server may leave older ones out.
    public let services: [Service]
    /// The browser and its system in words, at the sign-in. One line, fit to be shown.
    public let browser: String?
    /// The browser's network address at the sign-in. One line, fit to be shown.
    public let address: String?
    /// When the person authenticated.
    public let authenticatedAt: Date
    /// When the session last signed the person in somewhere.
    public let usedAt: Date
    /// When it ends by itself, at the latest.
    public let expiresAt: Date
}

/// What has happened on an account.
public struct AccountActivityResult: Hashable, Sendable {
    /// Newest first; the server leaves the oldest ones out.
    public let notices: [AccountNotice]
    /// The browsers that are signed in now, the one used last first.
    public let sessions: [BrowserSession]
}

/// Asks what has happened on an account: its notices, and the browsers that are signed in. Configure it and execute it
/// once.
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
                core: self.core, recording: self.core.newRecording(), authorization: authorizationProvider)
            return AccountActivityResult(
                notices: try await exchange.notices(of: username), sessions: try await exchange.sessions(of: username))
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == AccountActivity {
    /// Whose account. Needed; an answer of the server about somebody else is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// What proves to the server who asks: from ``AuthenticationResult/authorizationProvider`` of an ``Authentication``.
    /// Needed.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}

/// Ends a browser's session: the services there lose their access at once, and the browser must sign in anew. Configure
/// it and execute it once.
public struct SessionRevocation: SingleOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var sessionId: String?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?

    init(core: ClientCore) { self.core = core }

    /// Ends the session; `sessionUnknown` where it has ended before.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let sessionId, let authorizationProvider else {
            throw OperationError(.missingInteraction, "a session and an authorization provider are needed")
        }
        do {
            try await AccountExchange(
                core: self.core, recording: self.core.newRecording(), authorization: authorizationProvider
            ).endSession(sessionId)
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == SessionRevocation {
    /// Which session: ``BrowserSession/id``. Needed.
    public func sessionId(_ id: String) -> Self { self.changing { $0.sessionId = id } }
    /// What proves to the server whose session it is. Needed.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
