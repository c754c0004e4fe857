public import Records
public import _Primitives

/// The result of a person's authentication for an authorization request.
public struct AuthenticationOutcome: Sendable, Equatable {
    /// The account of the authenticated person.
    public let account: String
    /// The time of the authentication.
    public let authenticatedAt: Timestamp
    /// The level (`acr`), a URN or a word without spaces.
    public let acr: String
    /// The methods (`amr`, RFC 8176), words without spaces.
    public let amr: [String]
    /// The browser and its system in words, as the person saw them.
    public let browser: String?
    /// The browser's network address, as the person saw it.
    public let address: String?
    /// The device that the person authenticated with. Sessions and grants from this authentication end with the device.
    public let device: String?
    /// The SHA-256 of the text that the person signed with the device; `nil` if the person signed no text.
    public let signedText: [UInt8]?
    /// The way that the person used, if the method has several ways; `nil` for the method's own name.
    public let way: String?
    /// The service of personalised identities for which the person authenticated, and the role; `nil` for every other
    /// client.
    public let role: RoleAtService?

    /// Creates an outcome.
    public init(
        account: String, authenticatedAt: Timestamp, acr: String, amr: [String], browser: String? = nil,
        address: String? = nil, device: String? = nil, signedText: [UInt8]? = nil, way: String? = nil,
        role: RoleAtService? = nil
    ) {
        self.role = role
        self.signedText = signedText
        self.way = way
        self.account = account
        self.authenticatedAt = authenticatedAt
        self.acr = acr
        self.amr = amr
        self.browser = browser
        self.address = address
        self.device = device
    }
}

/// A person's identity at another provider that the person wants to connect with an account here.
public struct WantedConnection: Sendable, Equatable {
    /// The word by which a form names the connection.
    public let name: String
    /// The other provider's name, as people know it.
    public let title: String
    /// The time since which the connection waits. A sign-in before this time was not for this connection.
    public let since: Timestamp

    /// Creates a connection that waits for the person's decision.
    public init(name: String, title: String, since: Timestamp) {
        self.name = name
        self.title = title
        self.since = since
    }
}

/// A way for people to prove their identity to the sign-in page: a phone, a password, another provider.
///
/// The provider has a list of methods (``OpenIDProvider/open(_:store:methods:people:time:random:)``). A new method is a
/// new type and a line in the list. Every method leads to the same records.
public protocol SignInMethod: Sendable {
    /// The method's name in records and metrics: a word that never changes.
    var name: String { get }

    /// `true` if the method can show the person a text that the person signs (``AuthenticationOutcome/signedText``).
    var signsTexts: Bool { get }

    /// The words by which clients choose this method, for an error message about another word.
    var ways: String { get }

    /// `true` if a client's word for a way to sign in belongs to this method: the method's name, unless the method has
    /// ways of its own.
    func isWay(_ word: String) -> Bool

    /// Returns the outcome that was recorded for an authorization request, if the same browser started the request and
    /// the person authenticated by this method; `nil` otherwise.
    ///
    /// The same browser gets the same outcome again, so that a completion that failed half way can be repeated. The
    /// caller makes sure that at most one session comes of the outcome.
    ///
    /// - Parameter client: The service that the person signs in to, for the audit trail.
    func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome?

    /// Returns the identity that the person wants to connect with the account of the sign-in, by whatever method; `nil`
    /// for none. The server asks the person about the connection after the sign-in.
    func wantedConnection(request: String) async throws -> WantedConnection?

    /// Makes the connection, or forgets the wish, as the person has decided in a session that has just begun. Returns
    /// the reason if a wanted connection was not made; `nil` if the connection was made, or the person declined.
    func decide(
        _ connection: WantedConnection, request: String, account: String, isGranted: Bool
    ) async throws -> LinkRefusal?
}

extension SignInMethod {
    /// The method's name alone.
    public var ways: String { self.name }

    /// `true` if the word is the method's name.
    public func isWay(_ word: String) -> Bool { word.hasSameBytes(as: self.name) }

    /// Returns `nil`: most methods have nothing to connect.
    public func wantedConnection(request: String) async throws -> WantedConnection? { nil }

    /// Does nothing.
    public func decide(
        _ connection: WantedConnection, request: String, account: String, isGranted: Bool
    ) async throws -> LinkRefusal? { nil }

    /// `false`: most methods show a person nothing but the request for a proof.
    public var signsTexts: Bool { false }
}
