public import JOSE
import _Primitives

/// How a client's ID tokens are encrypted, beside being signed (OpenID Connect Dynamic Client Registration 1.0, section 2).
public struct IDTokenEncryption: Sendable, Equatable {
    /// How the content key reaches the client (`id_token_encrypted_response_alg`).
    public var algorithm: KeyManagementAlgorithm
    /// How the token itself is encrypted (`id_token_encrypted_response_enc`).
    public var content: ContentEncryption

    /// An encryption; by default, as the specification has it, with A128CBC-HS256.
    public init(_ algorithm: KeyManagementAlgorithm, content: ContentEncryption = .a128CBCHS256) {
        self.algorithm = algorithm
        self.content = content
    }
}

/// What an operator decides about the access tokens of a client, and about those for it.
public struct TokenSettings: Sendable, Equatable {
    /// What an access token looks like.
    public enum Format: String, Sendable, CaseIterable {
        /// A JWT that whoever it is for can verify by itself (RFC 9068).
        case jwt
        /// A text that says nothing to anybody: whoever it is for asks at the introspection endpoint (RFC 7662).
        case opaque
    }

    /// The scopes of its own that it may have, beside those of OpenID Connect: `accounts.read`.
    public var scopes: [String]
    /// The resources that it owns, each by its identifier (RFC 8707): it is the one who takes tokens for them.
    public var resources: [String]
    /// The resources, owned by others, that it may ask tokens for.
    public var audiences: [String]
    /// What the tokens for its resources look like or, of a client without any, those that it is given for no resource.
    public var format: Format
    /// The clients whose tokens it may exchange for its own, by their identifiers (RFC 8693).
    public var subjects: [String]
    /// The client that alone may act with tokens that it is given of people (`may_act`); `nil` for whoever may exchange
    /// them.
    public var actor: String?
    /// The apps that sign in by each other, by the name of their group (OpenID Connect Native SSO for Mobile Apps 1.0); `nil`
    /// for an app that shares with none.
    public var group: String?

    /// Whether its tokens are bound to the certificate that it shows (`tls_client_certificate_bound_access_tokens`, RFC
    /// 8705, section 3.4).
    public var certificateBound: Bool
    /// How its ID tokens are encrypted; `nil` where they are signed alone.
    public var idTokenEncryption: IDTokenEncryption?
    /// How long after its first use a refresh token that nothing binds still gives the same next token; `nil` for the
    /// server's own time (``Limits/OAuth/usedRefreshTokenLifetime``).
    public var usedRefreshTokenLifetime: Duration?
    /// Whether the answer to a refresh has an ID token (OpenID Connect Core 1.0, section 12.2), where the grant has the scope
    /// `openid`.
    public var refreshesIDToken: Bool
    /// `true` if its tokens are bound to a key that it proves (`dpop_bound_access_tokens`, RFC 9449, section 5.2).
    public var keyBound = false
    /// The algorithm that answers of the userinfo endpoint are signed with (`userinfo_signed_response_alg`, OpenID Connect
    /// Dynamic Client Registration 1.0, section 2); `nil` for JSON that nothing signs.
    public var userinfoAlgorithm: JWSAlgorithm?

    /// Settings; by default those of a client that has tokens for this server alone.
    public init(
        scopes: [String] = [], resources: [String] = [], audiences: [String] = [], format: Format = .jwt,
        subjects: [String] = [], actor: String? = nil, group: String? = nil, certificateBound: Bool = false,
        idTokenEncryption: IDTokenEncryption? = nil, usedRefreshTokenLifetime: Duration? = nil,
        refreshesIDToken: Bool = true
    ) {
        self.refreshesIDToken = refreshesIDToken
        self.idTokenEncryption = idTokenEncryption
        self.usedRefreshTokenLifetime = usedRefreshTokenLifetime
        self.certificateBound = certificateBound
        self.subjects = subjects
        self.actor = actor
        self.group = group
        self.scopes = scopes
        self.resources = resources
        self.audiences = audiences
        self.format = format
    }

    /// Whether it owns a resource.
    public func owns(_ resource: String) -> Bool { self.resources.containsBytes(of: resource) }
}
