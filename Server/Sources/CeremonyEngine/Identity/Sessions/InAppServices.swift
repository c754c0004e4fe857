public import Store
public import _Primitives

/// What an app wants that signs its own person in: the members of an authorization request (RFC 6749, section 4.1.1).
public struct InAppWish: Sendable, Equatable {
    /// One of the service's, to the letter.
    public let redirectURI: String
    /// The scopes, separated by spaces.
    public let scope: String
    /// What comes back with the code.
    public let state: String?
    /// What comes back in the ID token.
    public let nonce: String?
    /// RFC 7636, by `S256`.
    public let codeChallenge: String

    init(redirectURI: String, scope: String, state: String?, nonce: String?, codeChallenge: String) {
        self.redirectURI = redirectURI
        self.scope = scope
        self.state = state
        self.nonce = nonce
        self.codeChallenge = codeChallenge
    }
}

/// A service as its app's session names it.
public struct InAppService: Sendable, Equatable {
    /// The name that people are shown.
    public let name: String
    /// The web origin, or the app's scheme.
    public let origin: String
    /// Whether the person has to agree to something in a browser first.
    public let needsConsent: Bool

    /// Describes a service.
    public init(name: String, origin: String, needsConsent: Bool = false) {
        self.name = name
        self.origin = origin
        self.needsConsent = needsConsent
    }
}

/// What came of asking for a code.
public enum InAppCode: Sendable {
    /// The code.
    case code(SecretBytes)
    /// There is none before the person has agreed to something: terms, or what a third party's service is to get.
    case consentRequired
    /// There is none any more: the service, the account or the device is gone or locked.
    case refused
}

/// Somebody who has authenticated for their own app.
public struct InAppLogin: Sendable, Equatable {
    /// The service, by its client's identifier.
    public let client: String
    /// What its app has asked for.
    public let wish: InAppWish
    /// Who has authenticated.
    public let accountID: String
    /// With which device.
    public let deviceID: String
    /// When.
    public let authenticatedAt: Timestamp
    /// RFC 8176 names of what was used.
    public let methods: [String]
    /// The assurance that was reached.
    public let assurance: String
    /// As what they have come.
    public let role: RoleAtService?
}

/// The provider of OpenID Connect, as sessions of apps need it.
public protocol InAppServices: Sendable {
    /// The service for an account's person, where it has that address and may ask for that; `nil` for everything else.
    func service(_ client: String, wish: InAppWish, accountID: String) async throws -> InAppService?

    /// A code for somebody who has authenticated, or why there is none.
    func code(for login: InAppLogin) async throws -> InAppCode
}
