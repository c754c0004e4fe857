public import Records
public import _Primitives

/// The wish of an app that signs its own person in: the members of an authorization request (RFC 6749, section 4.1.1).
public struct InAppWish: Sendable, Equatable {
    /// The redirect address. ``InAppServices`` takes only an address of the service, to the letter.
    public let redirectURI: String
    /// The scopes, separated by spaces.
    public let scope: String
    /// The state that comes back with the code.
    public let state: String?
    /// The nonce that comes back in the ID token.
    public let nonce: String?
    /// The code challenge of RFC 7636, by `S256`.
    public let codeChallenge: String

    init(redirectURI: String, scope: String, state: String?, nonce: String?, codeChallenge: String) {
        self.redirectURI = redirectURI
        self.scope = scope
        self.state = state
        self.nonce = nonce
        self.codeChallenge = codeChallenge
    }
}

/// A service, as its app's session names the service.
public struct InAppService: Sendable, Equatable {
    /// The displayed name.
    public let name: String
    /// The web origin, or the app's scheme.
    public let origin: String
    /// `true` if the person must first give a consent in a browser.
    public let needsConsent: Bool

    /// Describes a service.
    public init(name: String, origin: String, needsConsent: Bool = false) {
        self.name = name
        self.origin = origin
        self.needsConsent = needsConsent
    }
}

/// The result of a request for a code.
public enum InAppCode: Sendable {
    /// The code.
    case code(SecretBytes)
    /// There is no code before the person consents to terms, or to the data for a third party's service.
    case consentRequired
    /// There is no code any more: the service, the account or the device is gone or locked.
    case refused
}

/// A person who has authenticated for their own app.
public struct InAppLogin: Sendable, Equatable {
    /// The service, by its client's identifier.
    public let client: String
    /// The app's request.
    public let wish: InAppWish
    /// The account of the person.
    public let accountID: String
    /// The device with which the person has authenticated.
    public let deviceID: String
    /// The time of the authentication.
    public let authenticatedAt: Timestamp
    /// The RFC 8176 names of the methods.
    public let methods: [String]
    /// The assurance level.
    public let assurance: String
    /// The person's role at the service.
    public let role: RoleAtService?
}

/// The OpenID provider, as sessions of apps need the provider.
public protocol InAppServices: Sendable {
    /// Returns the service for an account's person, if the service has the redirect address and may request the scopes;
    /// `nil` otherwise.
    func service(_ client: String, wish: InAppWish, accountID: String) async throws -> InAppService?

    /// Returns a code for a person who has authenticated, or the reason for its absence.
    func code(for login: InAppLogin) async throws -> InAppCode
}
