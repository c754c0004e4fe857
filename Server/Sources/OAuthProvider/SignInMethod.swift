public import Store
public import _Primitives

/// How a person was authenticated for an authorization request, by whoever authenticates people.
public struct AuthenticationOutcome: Sendable, Equatable {
    /// Who was authenticated.
    public let account: String
    /// When.
    public let authenticatedAt: Timestamp
    /// The level (`acr`), a URN or a word without spaces.
    public let acr: String
    /// The methods (`amr`, RFC 8176), words without spaces.
    public let amr: [String]
    /// The browser and its system in words, as the person saw them.
    public let browser: String?
    /// The browser's network address, as the person saw it.
    public let address: String?
    /// The device that the person authenticated with: what comes of it ends with the device.
    public let device: String?
    /// The SHA-256 of the text that the person has signed with it, where there was one.
    public let signedText: [UInt8]?
    /// Which of a method's ways it was, where the method has several; `nil` for the method's own name.
    public let way: String?
    /// The service of personalised identities that it was for, and the role; `nil` for every other.
    public let role: RoleAtService?

    /// An outcome.
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

/// What somebody is elsewhere, and wants connected with an account here.
public struct WantedConnection: Sendable, Equatable {
    /// The word by which a form names it.
    public let name: String
    /// Where the person is that, as people call it.
    public let title: String
    /// Since when it waits. Who was signed in before has not signed in for it.
    public let since: Timestamp

    /// A connection that waits for its person's word.
    public init(name: String, title: String, since: Timestamp) {
        self.name = name
        self.title = title
        self.since = since
    }
}

/// A way in which people prove who they are to the sign-in page: a phone, a password, another provider.
///
/// The provider has a list of them (``OpenIDProvider/open(_:store:methods:people:time:random:)``): a new one is a type and
/// a line there. Whatever the method, what comes of it are the same records.
public protocol SignInMethod: Sendable {
    /// What it is called in records and metrics: a word that never changes.
    var name: String { get }

    /// Whether the person can be shown a text in it, and signs that (``AuthenticationOutcome/signedText``).
    var signsTexts: Bool { get }

    /// What the words are by which clients take it, for whoever has typed none of them.
    var ways: String { get }

    /// Whether a word by which a client says how people may sign in is one of this method's: its name, unless it has ways
    /// of its own.
    func isWay(_ word: String) -> Bool

    /// Takes the outcome that was recorded for an authorization request, if the same browser started it and the person
    /// authenticated by this method.
    ///
    /// The same browser gets it again: a completion that failed half way is done anew. The caller sees to it that one
    /// session at most comes of it.
    ///
    /// - Parameter client: The service that is signed in to, for the audit trail.
    func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome?

    /// What the person wants connected with the account that they sign in to for a request, by whatever method; `nil` for
    /// nothing. They are asked about it once they have signed in.
    func wantedConnection(request: String) async throws -> WantedConnection?

    /// Connects it, or forgets the wish, as its person has said in a session that has just begun. Says why it was not
    /// connected, where that was wanted.
    func decide(
        _ connection: WantedConnection, request: String, account: String, isGranted: Bool
    ) async throws -> LinkRefusal?
}

extension SignInMethod {
    /// The name alone.
    public var ways: String { self.name }

    /// Whether it is the name.
    public func isWay(_ word: String) -> Bool { word.hasSameBytes(as: self.name) }

    /// Most have nothing to connect.
    public func wantedConnection(request: String) async throws -> WantedConnection? { nil }

    /// Nothing has to be done.
    public func decide(
        _ connection: WantedConnection, request: String, account: String, isGranted: Bool
    ) async throws -> LinkRefusal? { nil }

    /// Most ways show a person nothing but what they are asked for.
    public var signsTexts: Bool { false }
}
