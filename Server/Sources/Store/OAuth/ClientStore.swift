public import JOSE
public import OAuth
public import _Primitives

/// What an operator decides about a client, and can change.
public struct ClientSettings: Sendable, Equatable {
    /// What an authorization code of the client is bound to.
    public enum CodeBinding: String, Sendable, CaseIterable {
        /// What the kind of the client allows: ``nonce`` for the operator's own confidential client of the usual profile,
        /// ``pkce`` for every other.
        case usual
        /// To a challenge: every authorization request has one (RFC 7636).
        case pkce = "required"
        /// To a challenge or, where a request has none, to the `nonce` that it must have then, with the scope `openid`
        /// (OAuth 2.1, section 7.5.1.1): for confidential clients whose OpenID library sends no challenge and checks the
        /// nonce.
        case nonce
        /// To a challenge or a nonce where a request has one, and else to nothing but the client's authentication: for a
        /// confidential client that can send neither. An operator is warned of each.
        case nothing = "none"
    }

    /// Whom the assertion of a client that signs who it is has to name (`aud`).
    public enum AssertionAudience: String, Sendable, CaseIterable {
        /// This server, by its issuer.
        case issuer
        /// This server, by its issuer or by the address of its token endpoint, as RFC 7523, section 3, has it. A server that
        /// names that address as its own can have a client sign for it (draft-ietf-oauth-rfc7523bis, section 1).
        case tokenEndpoint = "token-endpoint"
    }

    /// Whose a client is.
    public enum Party: String, Sendable, CaseIterable {
        /// The operator's own: whoever signs in there is not asked what it may have.
        case first = "first-party"
        /// Somebody else's: what it gets, people have agreed to.
        case third = "third-party"
    }

    /// Whose it is.
    public var party: Party
    /// Where a client is told, without a browser, that a session has ended (OpenID Connect Back-Channel Logout 1.0, section
    /// 2.2).
    public struct LogoutAddress: Sendable, Equatable {
        /// The address (`backchannel_logout_uri`).
        public let text: String
        /// Whether the client has to be told which session it was (`backchannel_logout_session_required`). It always is;
        /// the client finds here what it has registered.
        public let needsSession: Bool

        /// An address.
        public init(_ text: String, needsSession: Bool = false) {
            self.text = text
            self.needsSession = needsSession
        }
    }

    /// How a client hears what a person has answered whom it has had asked without a browser (OpenID Connect CIBA Core 1.0,
    /// section 4).
    public struct AnswerDelivery: Sendable, Equatable {
        /// `backchannel_token_delivery_mode`.
        public enum Mode: String, Sendable, CaseIterable {
            /// It asks.
            case poll
            /// It is told that there is an answer, and asks then.
            case ping
            /// It is told the answer.
            case push
        }

        /// How it hears.
        public let mode: Mode
        /// Where it is told (`backchannel_client_notification_endpoint`).
        public let address: String?

        /// A way to hear.
        public init(_ mode: Mode = .poll, at address: String? = nil) {
            self.mode = mode
            self.address = address
        }
    }

    /// What the client's ID tokens are signed with (`id_token_signed_response_alg`).
    public var idTokenAlgorithm: JWSAlgorithm
    /// The ways to tokens that it may go (`grant_types`).
    public var grantTypes: [String]
    /// How it proves who it is (`token_endpoint_auth_method`). `client_secret_basic` and `client_secret_post` are one.
    public var authenticationMethod: String
    /// The public keys that it signs with (`jwks`): a JWK set, as JSON.
    public var keySet: String?
    /// Where they are in the place of that (`jwks_uri`): the client changes them there by itself.
    public var keySetAddress: String?
    /// The name that its certificate has (`tls_client_auth_…`), where it proves itself by one that an authority has issued.
    public var certificateName: ClientCertificateName?
    /// What its codes are bound to.
    public var codeBinding: CodeBinding
    /// Whom its assertions have to name, where it authenticates by `private_key_jwt`.
    public var assertionAudience = AssertionAudience.issuer
    /// Whether it may have the keys of people whom it knows deleted: with them a person loses every service, not this
    /// one alone.
    public var mayDeregister: Bool
    /// What access tokens it may have, and which are for it.
    public var tokens: TokenSettings
    /// The ways in which people may sign in to it, by the names of the provider's list; the first is the one that people
    /// are offered first.
    public var signInMethods: [String]
    /// What is asked of its requests.
    public var profile: ClientProfile
    /// Where it is told that a session has ended; `nil` where it does not want to be.
    public var logout: LogoutAddress?
    /// How it hears what people have answered.
    public var answers = AnswerDelivery()
    /// Whether the operator has switched it off: nobody signs in to it, it gets nothing, and what it has counts for nothing
    /// until it is switched on again.
    public var isDisabled = false
    /// What it is to the app sign-in service; `nil` for a client of OpenID Connect.
    public var signInService: SignInServiceSettings?
    /// The address of the list of the sector's redirect addresses (`sector_identifier_uri`, OpenID Connect Core 1.0, section
    /// 8.1); `nil` for a client that is a sector by itself. The host of the address is the sector.
    public var sectorIdentifierURI: String?

    /// Settings; by default those of a client that names nothing (OpenID Connect Dynamic Client Registration 1.0,
    /// section 2).
    public init(
        idTokenAlgorithm: JWSAlgorithm = .rs256, codeBinding: CodeBinding = .usual, mayDeregister: Bool = false,
        grantTypes: [String] = ["authorization_code"], authenticationMethod: String = "client_secret_basic",
        keySet: String? = nil, tokens: TokenSettings = TokenSettings(), signInMethods: [String] = ["phone"],
        profile: ClientProfile = ClientProfile(), party: Party = .first
    ) {
        self.tokens = tokens
        self.signInMethods = signInMethods
        self.profile = profile
        self.party = party
        self.idTokenAlgorithm = idTokenAlgorithm
        self.grantTypes = grantTypes
        self.authenticationMethod = authenticationMethod
        self.keySet = keySet
        self.codeBinding = codeBinding
        self.mayDeregister = mayDeregister
    }
}

/// A client's secret that another has taken the place of.
public struct FormerSecret: Sendable, Equatable {
    /// SHA-256 of it. 32 bytes.
    public let digest: [UInt8]
    /// From then on it is worth nothing.
    public let endsAt: Timestamp

    /// A secret that works until then.
    public init(digest: [UInt8], endsAt: Timestamp) {
        self.digest = digest
        self.endsAt = endsAt
    }
}

/// A relying party that the administrator has registered (RFC 6749, section 2).
public struct ClientRecord: Sendable, Equatable {
    /// The public identifier (`client_id`): 128 random bits as base64url.
    public let id: String
    /// What people see.
    public var name: String
    /// Where a sign-in may lead to; compared letter by letter.
    public var redirectURIs: [String]
    /// Where a sign-out may lead to; compared letter by letter.
    public var postLogoutRedirectURIs: [String]
    /// Where people find the service (`client_uri`; RFC 7591, section 2): where they are led who cannot go on.
    public var clientURI: String?
    /// SHA-256 of the secret, which has 256 random bits. 32 bytes; `nil` where it shares no secret with the server.
    public var secretDigest: [UInt8]?
    /// The secret before it, for as long as that is taken too.
    public var formerSecret: FormerSecret?
    /// When it was registered.
    public let createdAt: Timestamp
    /// What the operator has decided about it.
    public var settings: ClientSettings
    /// The way in which the client came by itself; `nil` for a client that an operator has registered.
    public var registration: ClientRegistration?

    /// A record of these values.
    public init(
        id: String, name: String, redirectURIs: [String], postLogoutRedirectURIs: [String], secretDigest: [UInt8]?,
        createdAt: Timestamp, settings: ClientSettings, formerSecret: FormerSecret? = nil, clientURI: String? = nil
    ) {
        self.clientURI = clientURI
        self.formerSecret = formerSecret
        self.id = id
        self.name = name
        self.redirectURIs = redirectURIs
        self.postLogoutRedirectURIs = postLogoutRedirectURIs
        self.secretDigest = secretDigest
        self.createdAt = createdAt
        self.settings = settings
    }
}

extension ClientSettings {
    /// Whether it is a client that can keep nothing to prove itself by: an app on people's own devices (RFC 6749, section
    /// 2.1; RFC 8252, section 8.4).
    public var isPublic: Bool { self.authenticationMethod.hasSameBytes(as: "none") }

    /// What its addresses may be. An app may have a scheme of its own.
    public var redirectKinds: Set<RedirectURI.Kind> {
        self.isPublic ? RedirectURI.everyKind : [.https, .loopback, .localhost]
    }

    /// One of its addresses, where it may have it. Throws `OAuthError` `invalid_request`.
    public func redirectURI(_ text: String) throws(OAuthError) -> RedirectURI {
        guard self.signInService?.takesAnyScheme == true else {
            return try RedirectURI(text, allowing: self.redirectKinds)
        }
        return try RedirectURI(registered: text)
    }
}

extension ClientRecord {
    /// The address to answer at where a request names this one; `nil` where the client has no such address.
    ///
    /// A text is compared letter by letter, but for the port of an app's loopback address, which the system gives it anew
    /// for every sign-in (RFC 8252, section 7.3). A client with a way to authenticate is no such app.
    public func address(answering requested: String) -> RedirectURI? {
        for registered in self.redirectURIs {
            guard let own = try? self.settings.redirectURI(registered) else { continue }
            if own.text.hasSameBytes(as: requested) { return own }
            if self.settings.isPublic, let answer = own.answers(requested) { return answer }
        }
        return nil
    }
}

/// The way in which a client came that no operator has registered. Such a client is a third party's.
///
/// A digest is the SHA-256 of the token that the client manages itself by (a registration access token, RFC 7592), which has
/// 256 random bits.
public enum ClientRegistration: Sendable, Equatable {
    /// The client registered itself with an initial access token that an operator had made, named by its identifier.
    case invited(tokenDigest: [UInt8], initialToken: String)
    /// The client registered itself with nothing (open registration, RFC 7591, section 3).
    case open(tokenDigest: [UInt8])
    /// The client has not registered: its identifier is the address of its metadata
    /// (draft-ietf-oauth-client-id-metadata-document).
    case document

    /// The digest of the token that the client manages itself by; `nil` for a client that manages nothing here.
    public var tokenDigest: [UInt8]? {
        switch self {
        case .invited(let digest, _), .open(let digest): digest
        case .document: nil
        }
    }

    /// `true` if nobody let the client in: the operator does not know whose the client is.
    public var isStranger: Bool {
        if case .invited = self { false } else { true }
    }
}

extension ClientRecord {
    /// `true` if the operator does not know whose the client is: the client came by open registration or by a document.
    public var isStranger: Bool { self.registration?.isStranger ?? false }
}

/// Keeps the relying parties.
public protocol ClientStore: Sendable {
    /// Adds a client, with the audit event.
    ///
    /// Throws ``StoreError/Code/conflict`` where the identifier is taken, where there are `limit` clients already, or where
    /// another client owns one of its resources; it is one step.
    func addClient(_ client: ClientRecord, limit: Int, audit: AuditEvent) async throws

    /// The client of that identifier.
    func client(_ id: String) async throws -> ClientRecord?

    /// All clients, the oldest first. There are never more than the limit of ``addClient(_:limit:audit:)``.
    func clients() async throws -> [ClientRecord]

    /// The client that owns a resource, by the resource's identifier; `nil` where none does. There is one at most.
    func client(owning resource: String) async throws -> ClientRecord?

    /// Whether a client has registered this origin, or, where none is named, whether any has. Compared by bytes.
    func hasOrigin(_ origin: String, client: String?) async throws -> Bool

    /// Whether any client is one of the app sign-in service.
    func hasSignInServiceClient() async throws -> Bool

    /// Whom the access tokens of those clients of the app sign-in service are for whose sessions are shared, each once.
    func sharedAudiences() async throws -> [String]

    /// Changes a client together with the audit events that `change` answers, and answers with the client as it is then;
    /// `nil` where there is none. Open authorization requests that would lead to an address which it has no more go.
    ///
    /// Must be one step: no other change comes between what `change` is given and what it makes of it. What it throws, this
    /// throws, and nothing is changed. Throws ``StoreError/Code/conflict`` where another client owns one of its resources.
    func changeClient(_ id: String, change: @escaping @Sendable (inout ClientRecord) throws -> [AuditEvent])
        async throws
        -> ClientRecord?

    /// Deletes a client together with its open authorization requests, its grants and the subjects it knows, with the audit
    /// event. Says whether there was one; where there was none, there is no event.
    func deleteClient(_ id: String, audit: AuditEvent) async throws -> Bool
}
