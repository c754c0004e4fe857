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

/// A client's access to a person's account that goes on by itself, as its person, or an operator, sees it in a list: a
/// lasting grant or a device secret.
public struct GrantListing: Sendable, Equatable {
    /// The kind of a listed access.
    public enum Kind: String, Sendable {
        /// A lasting grant: the client renews its tokens by the grant.
        case grant
        /// A device secret: the other apps of the device sign in by the secret, until the session ends.
        case deviceSecret = "device-secret"
    }

    /// The kind of the access.
    public let kind: Kind
    /// The grant's or the secret's identifier. The identifier opens nothing.
    public let id: String
    /// The client with the access.
    public let client: String
    /// The client's name, as it is registered now.
    public let clientName: String
    /// The granted scopes, separated by spaces.
    public let scope: String
    /// The session in which the access was given; `nil` for a grant without a session.
    public let session: GivingSession?
    /// The moment when the access was given.
    public let since: Timestamp
    /// The moment when the client last renewed its tokens by the grant, or an app last signed in by the secret; `nil`
    /// before the first use.
    public let usedAt: Timestamp?
    /// The moment when the access ends, if it is not used; never later than the grant itself.
    public let expiresAt: Timestamp

    /// Makes a listing of these values.
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

/// A selection of an account's grants.
public enum GrantSelection: Sendable, Equatable {
    /// The grant, or the device secret, with the identifier.
    case grant(String)
    /// All grants of a client, and its device secrets.
    case client(String)
    /// All grants and device secrets.
    case all
}

extension GrantSelection {
    /// The identifier of the selected grant or device secret; `nil` for the other selections.
    package var grantID: String? { if case .grant(let id) = self { id } else { nil } }

    /// The client whose grants are selected; `nil` for the other selections.
    package var clientID: String? { if case .client(let id) = self { id } else { nil } }
}

/// Shows and ends the grants that clients have of a person, whatever became of the browser in which they were given;
/// device secrets too.
public protocol GrantListStore: Sendable {
    /// Returns the account's lasting grants and device secrets that stand at `moment`, the newest first, at most
    /// `limit`.
    func lastingGrants(account: String, at moment: Timestamp, limit: Int) async throws -> [GrantListing]

    /// Ends grants and device secrets of an account, also grants that end with a session, with all grants and tokens
    /// that came of them, together with the audit event. Returns the number of ended grants and secrets; without any
    /// there is no event. Another account's grant does not count. The grants of apps by a device secret go on if the
    /// secret is ended by its identifier. A session without a browser ends if no grant and no device secret of the
    /// session is left. Consents stay in every case.
    func endGrants(_ selection: GrantSelection, account: String, audit: AuditEvent) async throws -> Int
}
