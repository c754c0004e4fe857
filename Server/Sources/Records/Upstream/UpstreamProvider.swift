public import _Primitives

/// Another provider by which people can sign in here (OpenID Connect, or plain OAuth 2.0), as an operator has set it
/// up.
public struct UpstreamProvider: Sendable, Equatable {
    /// The protocol of the other provider.
    public enum Kind: String, Sendable, CaseIterable {
        /// OpenID Connect: the provider's addresses are discovered, and the provider signs the person's identity and
        /// the authentication.
        case openID = "openid"
        /// OAuth 2.0 alone: the person is the owner of the access token, by the provider's userinfo.
        case oauth2
    }

    /// The treatment of a person who comes from the provider for the first time.
    public enum Newcomers: String, Sendable, CaseIterable {
        /// The person is asked to connect an existing account. Other people get no access.
        case refused
        /// The person gets an account without a user name.
        case created
    }

    /// The method by which this server proves its identity to the provider (`token_endpoint_auth_method`).
    public enum Authentication: String, Sendable, CaseIterable {
        case secretBasic = "client_secret_basic"
        case secretPost = "client_secret_post"
        /// A statement that this server's own keys sign. The provider reads the keys at the address where this server
        /// publishes them.
        case privateKeyJWT = "private_key_jwt"
        case none

        /// `true` if this server and the provider share a secret.
        public var needsSecret: Bool { self == .secretBasic || self == .secretPost }
    }

    /// The addresses of a provider without discovery.
    public struct Endpoints: Sendable, Equatable {
        /// The address that browsers are sent to.
        public var authorization: String
        /// The address at which codes are exchanged.
        public var token: String
        /// The address at which the provider names the owner of an access token.
        public var userinfo: String

        /// Makes endpoints of these addresses.
        public init(authorization: String, token: String, userinfo: String) {
            self.authorization = authorization
            self.token = token
            self.userinfo = userinfo
        }
    }

    /// The translation of a provider's word for a level (`acr`) into a level of this server.
    public struct Level: Sendable, Equatable {
        /// The other provider's word.
        public var theirs: String
        /// A level of this server's table.
        public var ours: String

        /// Makes a translation.
        public init(theirs: String, ours: String) {
            self.theirs = theirs
            self.ours = ours
        }
    }

    /// The words sent to the provider (`acr_values`) when a client of the app sign-in service requests a word (`acr`).
    public struct LevelRequest: Sendable, Equatable {
        /// The client's word.
        public var asked: String
        /// The other provider's words.
        public var sent: [String]
        /// The provider's words for the second trip of a person who can be authenticated more surely at the provider.
        public var raised: [String]

        /// Makes a translation.
        public init(asked: String, sent: [String], raised: [String] = []) {
            self.asked = asked
            self.sent = sent
            self.raised = raised
        }
    }

    /// The sign that the provider can authenticate a person more surely than before: a claim, by its name alone or with
    /// its value.
    public struct LevelHint: Sendable, Equatable {
        /// The name of the claim.
        public var claim: String
        /// The value of the claim as text; `nil` for any value but `false`.
        public var value: String?

        /// Reads `NAME` or `NAME=VALUE`.
        public init(text: String) {
            let parts = text.splitBytes(at: "=", maxSplits: 1).map(String.init)
            self.claim = parts[0]
            self.value = parts.count > 1 ? parts[1] : nil
        }

        /// The hint as ``init(text:)`` reads it.
        public var text: String { self.value.map { "\(self.claim)=\($0)" } ?? self.claim }
    }

    /// The name that operators, clients and addresses use for the provider. The name never changes.
    public let name: String
    /// The name that people see.
    public var title: String
    /// The protocol of the provider.
    public let kind: Kind
    /// The provider's identifier (`iss`). Together with a subject of the provider it identifies a person. It never
    /// changes.
    public let issuer: String
    /// The provider's addresses, for a provider without discovery.
    public var endpoints: Endpoints?
    /// This server's name at the provider (`client_id`).
    public var clientID: String
    /// The method by which this server proves its identity to the provider.
    public var authentication: Authentication
    /// The secret that this server and the provider share; `nil` without a secret. Sealed at rest.
    public var secret: SecretBytes?
    /// The scopes that this server requests (`scope`).
    public var scopes: [String]
    /// The translations of the provider's words for levels; the first match counts.
    public var levels: [Level]
    /// The level of an authentication for which the provider states no translated word.
    public var usualLevel: String
    /// The words that clients of the app sign-in service may request of the provider, with the words sent for each. If
    /// the list is empty, such a client may request any of its words, and nothing is sent the first time.
    public var levelRequests: [LevelRequest] = []
    /// The claim in the provider's ID tokens that states the level of the authentication.
    public var levelClaim = UpstreamProvider.usualLevelClaim
    /// The sign that a person can be authenticated more surely; `nil` for no sign.
    public var levelHint: LevelHint?
    /// `true` if people who sign out of the app sign-in service are sent to the provider to be signed out as well
    /// (OpenID Connect RP-Initiated Logout 1.0).
    public var signsOut = false
    /// The treatment of people who come for the first time.
    public var newcomers: Newcomers
    /// The domains of e-mail addresses that the provider decides about. The provider's statement that an address is a
    /// person's counts for these domains alone.
    public var emailDomains: [String]
    /// The member of the userinfo that distinguishes a person from all others, for a provider with OAuth 2.0 alone.
    public var subjectClaim: String
    /// The moment when the provider was added.
    public let createdAt: Timestamp

    /// Makes a provider of these values.
    public init(
        name: String, title: String, kind: Kind, issuer: String, endpoints: Endpoints? = nil, clientID: String,
        authentication: Authentication = .secretBasic, secret: SecretBytes? = nil, scopes: [String] = ["openid"],
        levels: [Level] = [], usualLevel: String, newcomers: Newcomers = .refused, emailDomains: [String] = [],
        subjectClaim: String = "sub", createdAt: Timestamp
    ) {
        self.name = name
        self.title = title
        self.kind = kind
        self.issuer = issuer
        self.endpoints = endpoints
        self.clientID = clientID
        self.authentication = authentication
        self.secret = secret
        self.scopes = scopes
        self.levels = levels
        self.usualLevel = usualLevel
        self.newcomers = newcomers
        self.emailDomains = emailDomains
        self.subjectClaim = subjectClaim
        self.createdAt = createdAt
    }

    /// Returns `true` if both providers have the same secret, or neither has a secret. Compares in constant time.
    public func hasSameSecret(as other: UpstreamProvider) -> Bool {
        func bytes(_ provider: UpstreamProvider) -> [UInt8] { provider.secret?.withBytes { Array($0) } ?? [] }
        return constantTimeEqual(bytes(self), bytes(other))
    }

    /// The claim of OpenID Connect that states the level of the authentication.
    public static let usualLevelClaim = "acr"

    /// Returns the word by which sign-in methods and authentications name a provider.
    public static func method(of name: String) -> String { Self.methodPrefix + name }

    /// The prefix of such a word.
    public static let methodPrefix = "provider:"
}
