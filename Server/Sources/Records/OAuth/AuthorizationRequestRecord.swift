public import _Primitives

/// A validated authorization request that waits for a person (RFC 6749, section 4.1.1): the request of a client, and
/// the address for the answer. The request ends in an ``AuthenticationRecord``, or in a refusal.
public struct AuthorizationRequestRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url. The identifier is not secret: only the browser that started can go on.
    public var id: String
    /// SHA-256 of the starting browser's cookie.
    public let browserDigest: [UInt8]
    /// The client that asked.
    public let client: String
    /// One of the client's addresses; empty if no browser goes back to the client.
    public let redirectURI: String
    /// The scopes that will be granted, separated by spaces.
    public let scope: String
    /// The resources for which tokens are requested (RFC 8707), each by its identifier.
    public let resources: [String]
    /// The client's `state`, to be given back.
    public let state: String?
    /// The client's `nonce`, for the ID token.
    public let nonce: String?
    /// The SHA-256 that the code's verifier must have (RFC 7636); `nil` if the code is bound to the nonce, or to the
    /// client's authentication alone.
    public let codeChallenge: [UInt8]?
    /// The subject of the only person who may sign in (`id_token_hint`); `nil` for any person.
    public let expectedSubject: String?
    /// The key that the client will have to show when it takes its tokens (`dpop_jkt`, RFC 9449, section 10), by its
    /// thumbprint; `nil` for any key, or none.
    public let keyThumbprint: String?
    /// The client's wishes about the sign-in itself, as encoded parameters; `nil` for no wishes. Sealed at rest: hints
    /// name people.
    public let wishes: String?
    /// The session in which the request waits for its person's consent; `nil` while the request still waits for its
    /// person.
    public var session: String?
    /// The moment from which the request is gone.
    public let expiresAt: Timestamp

    /// Makes a record of these values.
    public init(
        id: String, browserDigest: [UInt8], client: String, redirectURI: String, scope: String,
        resources: [String] = [], state: String?, nonce: String?, codeChallenge: [UInt8]?,
        expectedSubject: String? = nil, keyThumbprint: String? = nil, wishes: String? = nil, session: String? = nil,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.resources = resources
        self.browserDigest = browserDigest
        self.client = client
        self.redirectURI = redirectURI
        self.scope = scope
        self.state = state
        self.nonce = nonce
        self.codeChallenge = codeChallenge
        self.expectedSubject = expectedSubject
        self.keyThumbprint = keyThumbprint
        self.wishes = wishes
        self.session = session
        self.expiresAt = expiresAt
    }
}
