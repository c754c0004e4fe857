public import _Primitives

/// The session in which a person gave something that outlasts the browser, as lists show the session.
public struct GivingSession: Sendable, Equatable {
    /// The session's identifier, also after the session has ended.
    public let id: String
    /// The browser and its system in words; `nil` if the server did not learn them.
    public let browser: String?
    /// The browser's network address; `nil` if the server did not learn the address.
    public let address: String?

    /// Describes a session.
    public init(id: String, browser: String?, address: String?) {
        self.id = id
        self.browser = browser
        self.address = address
    }

    /// Describes a session by an authentication of the session.
    public init(id: String, _ authentication: AuthenticationRecord) {
        self.init(id: id, browser: authentication.browser, address: authentication.address)
    }
}

/// What a client has of a person that goes on by itself, as its person, or an operator, is shown it.
public struct GrantListing: Sendable, Equatable {
    /// What it is.
    public enum Kind: String, Sendable {
        /// A lasting grant: the client renews its tokens by it.
        case grant
        /// A device secret: the other apps of the device sign in by it, until the session ends.
        case deviceSecret = "device-secret"
    }

    /// What it is.
    public let kind: Kind
    /// The grant's or the secret's identifier. It opens nothing.
    public let id: String
    /// Whose it is.
    public let client: String
    /// The client's name, as it is registered now.
    public let clientName: String
    /// The granted scopes, separated by spaces.
    public let scope: String
    /// The session that it was given in; `nil` for a grant that was given without a browser.
    public let session: GivingSession?
    /// When it was given.
    public let since: Timestamp
    /// When the client last renewed its tokens by it, or an app signed in by it; `nil` where none has yet.
    public let usedAt: Timestamp?
    /// When it ends, if it is not used; never later than the grant itself.
    public let expiresAt: Timestamp

    /// A listing of these values.
    public init(
        kind: Kind, id: String, client: String, clientName: String, scope: String, session: GivingSession?,
        since: Timestamp, usedAt: Timestamp?, expiresAt: Timestamp
    ) {
        self.session = session
        self.kind = kind
        self.id = id
        self.client = client
        self.clientName = clientName
        self.scope = scope
        self.since = since
        self.usedAt = usedAt
        self.expiresAt = expiresAt
    }
}

/// Which of an account's grants are meant.
public enum GrantSelection: Sendable, Equatable {
    /// The one of that identifier, or the device secret.
    case grant(String)
    /// All that a client has.
    case client(String)
    /// All there are.
    case all
}

/// Shows and ends what clients have been given of a person, whatever became of the browser that it was given in; device
/// secrets with it.
public protocol GrantListStore: Sendable {
    /// The account's lasting grants and device secrets that stand at `moment`, the newest first, at most `limit`.
    func lastingGrants(account: String, at moment: Timestamp, limit: Int) async throws -> [GrantListing]

    /// Ends grants and device secrets of an account, those too that end with a session, with all that came of them, together
    /// with the audit event. Says how many there were; where there was none, there is no event. Another account's grant is
    /// none. What apps have got by a device secret goes on where that is ended by its identifier.
    func endGrants(_ selection: GrantSelection, account: String, audit: AuditEvent) async throws -> Int
}
