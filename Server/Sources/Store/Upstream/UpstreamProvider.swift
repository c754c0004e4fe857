public import _Primitives

/// Another provider by which people can sign in here (OpenID Connect, or plain OAuth 2.0), as an operator has set it up.
public struct UpstreamProvider: Sendable, Equatable {
    /// What the other provider speaks.
    public enum Kind: String, Sendable, CaseIterable {
        /// OpenID Connect: its addresses are discovered, and it signs who was authenticated and how.
        case openID = "openid"
        /// OAuth 2.0 alone: the person is whoever its userinfo says that the access token is of.
        case oauth2
    }

    /// What becomes of somebody who comes from it for the first time.
    public enum Newcomers: String, Sendable, CaseIterable {
        /// They are asked to connect the account that they have here, and nobody else gets in.
        case refused
        /// They get an account without a user name.
        case created
    }

    /// How this server shows it who it is (`token_endpoint_auth_method`).
    public enum Authentication: String, Sendable, CaseIterable {
        case secretBasic = "client_secret_basic"
        case secretPost = "client_secret_post"
        /// By a statement that this server's own keys sign: the other one reads them where this server publishes them.
        case privateKeyJWT = "private_key_jwt"
        case none

        /// Whether the two share a secret.
        public var needsSecret: Bool { self == .secretBasic || self == .secretPost }
    }

    /// The addresses of one that says nothing of itself.
    public struct Endpoints: Sendable, Equatable {
        /// Where browsers are sent.
        public var authorization: String
        /// Where codes are exchanged.
        public var token: String
        /// Where it says whose an access token is.
        public var userinfo: String

        /// These addresses.
        public init(authorization: String, token: String, userinfo: String) {
            self.authorization = authorization
            self.token = token
            self.userinfo = userinfo
        }
    }

    /// What a word of the other provider's for a level (`acr`) is worth here.
    public struct Level: Sendable, Equatable {
        /// The other provider's word.
        public var theirs: String
        /// A level of this server's table.
        public var ours: String

        /// A translation.
        public init(theirs: String, ours: String) {
            self.theirs = theirs
            self.ours = ours
        }
    }

    /// What is sent to it (`acr_values`) for a word that a client of the app sign-in service asks by (`acr`).
    public struct LevelRequest: Sendable, Equatable {
        /// The client's word.
        public var asked: String
        /// The other provider's words.
        public var sent: [String]
        /// Its words for the second trip of whoever can be authenticated more surely there than they were.
        public var raised: [String]

        /// A translation.
        public init(asked: String, sent: [String], raised: [String] = []) {
            self.asked = asked
            self.sent = sent
            self.raised = raised
        }
    }

    /// By what it is known that a person can be authenticated more surely there than they were: a claim, by its name or
    /// with the value that it has then.
    public struct LevelHint: Sendable, Equatable {
        /// The name of the claim.
        public var claim: String
        /// Its value as text; `nil` for any but `false`.
        public var value: String?

        /// Reads `NAME` or `NAME=VALUE`.
        public init(text: String) {
            let parts = text.splitBytes(at: "=", maxSplits: 1).map(String.init)
            self.claim = parts[0]
            self.value = parts.count > 1 ? parts[1] : nil
        }

        /// As ``init(text:)`` reads it.
        public var text: String { self.value.map { "\(self.claim)=\($0)" } ?? self.claim }
    }

    /// By what operators, clients and addresses call it; it never changes.
    public let name: String
    /// By what people know it.
    public var title: String
    /// What it speaks.
    public let kind: Kind
    /// Its identifier (`iss`): with a subject of its own it says who a person is. It never changes.
    public let issuer: String
    /// Where it is, for one without discovery.
    public var endpoints: Endpoints?
    /// What this server is called there (`client_id`).
    public var clientID: String
    /// How this server shows it who it is.
    public var authentication: Authentication
    /// The secret that the two share, where they do. Sealed at rest.
    public var secret: SecretBytes?
    /// What it is asked for (`scope`).
    public var scopes: [String]
    /// What its words for levels are worth here, the first one first.
    public var levels: [Level]
    /// What an authentication there is worth of which it says no word that is translated.
    public var usualLevel: String
    /// The words that clients of the app sign-in service may ask it for, and what is sent for each; where there is none, any
    /// that such a client has, and nothing is sent the first time.
    public var levelRequests: [LevelRequest] = []
    /// The claim of its ID tokens that says how surely a person was authenticated.
    public var levelClaim = UpstreamProvider.usualLevelClaim
    /// By what it is known that somebody can be authenticated more surely.
    public var levelHint: LevelHint?
    /// Whether people who sign out of the app sign-in service are sent there to be signed out as well (OpenID Connect
    /// RP-Initiated Logout 1.0).
    public var signsOut = false
    /// What becomes of people who come for the first time.
    public var newcomers: Newcomers
    /// The domains of e-mail addresses that it decides about: of those alone its word counts that an address is a person's.
    public var emailDomains: [String]
    /// By which member of its userinfo a person is told from all others, for one that speaks OAuth 2.0 alone.
    public var subjectClaim: String
    /// When it was added.
    public let createdAt: Timestamp

    /// A provider of these values.
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

    /// Whether it shares the same secret with this server, or none either. Compares in constant time.
    public func hasSameSecret(as other: UpstreamProvider) -> Bool {
        func bytes(_ provider: UpstreamProvider) -> [UInt8] { provider.secret?.withBytes { Array($0) } ?? [] }
        return constantTimeEqual(bytes(self), bytes(other))
    }

    /// The claim of OpenID Connect that says how surely a person was authenticated.
    public static let usualLevelClaim = "acr"

    /// The word by which sign-in methods and authentications name a provider.
    public static func method(of name: String) -> String { Self.methodPrefix + name }

    /// What such a word begins with.
    public static let methodPrefix = "provider:"
}
