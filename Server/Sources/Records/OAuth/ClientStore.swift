public import JOSE
public import OAuth
public import _Primitives

/// An operator's decisions about a client. The operator can change every decision.
public struct ClientSettings: Sendable, Equatable {
    /// The value that an authorization code of the client is bound to.
    public enum CodeBinding: String, Sendable, CaseIterable {
        /// The binding that the kind of the client allows: ``nonce`` for the operator's own confidential client of the
        /// usual profile, ``pkce`` for every other client.
        case usual
        /// A challenge: every authorization request has a challenge (RFC 7636).
        case pkce = "required"
        /// A challenge, or the `nonce` for a request without a challenge. Such a request must have the `nonce`, with
        /// the scope `openid` (OAuth 2.1, section 7.5.1.1). The binding is for confidential clients whose OpenID
        /// library sends no challenge and checks the nonce.
        case nonce
        /// A challenge or a nonce if a request has one, and otherwise only the client's authentication. The binding is
        /// for a confidential client that can send neither. An operator is warned of each such client.
        case nothing = "none"
    }

    /// The audience that a client's signed assertion of its identity has to name (`aud`).
    public enum AssertionAudience: String, Sendable, CaseIterable {
        /// This server, by its issuer.
        case issuer
        /// This server, by its issuer or by the address of its token endpoint (RFC 7523, section 3). If another server
        /// names this address as its own, a client can be made to sign for the other server
        /// (draft-ietf-oauth-rfc7523bis, section 1).
        case tokenEndpoint = "token-endpoint"
    }

    /// The owner of a client.
    public enum Party: String, Sendable, CaseIterable {
        /// The operator's own client: people who sign in to the client are not asked for their consent.
        case first = "first-party"
        /// A client of another party: people have agreed to all its grants.
        case third = "third-party"
    }

    /// The owner of the client.
    public var party: Party
    /// The address at which a client is told, without a browser, that a session has ended (OpenID Connect Back-Channel
    /// Logout 1.0, section 2.2).
    public struct LogoutAddress: Sendable, Equatable {
        /// The address (`backchannel_logout_uri`).
        public let text: String
        /// `true` if the client has to be told the ended session (`backchannel_logout_session_required`). The server
        /// always tells the session. The property keeps the client's registered value.
        public let needsSession: Bool

        /// Makes an address.
        public init(_ text: String, needsSession: Bool = false) {
            self.text = text
            self.needsSession = needsSession
        }
    }

    /// The way a client learns a person's answer to a request without a browser (OpenID Connect CIBA Core 1.0, section
    /// 4).
    public struct AnswerDelivery: Sendable, Equatable {
        /// `backchannel_token_delivery_mode`.
        public enum Mode: String, Sendable, CaseIterable {
            /// The client asks.
            case poll
            /// The client is told that the answer is ready, and then asks.
            case ping
            /// The client is told the answer.
            case push
        }

        /// The way the client learns the answer.
        public let mode: Mode
        /// The address at which the client is told (`backchannel_client_notification_endpoint`).
        public let address: String?

        /// Makes a way to learn the answer.
        public init(_ mode: Mode = .poll, at address: String? = nil) {
            self.mode = mode
            self.address = address
        }
    }

    /// The algorithm that signs the client's ID tokens (`id_token_signed_response_alg`).
    public var idTokenAlgorithm: JWSAlgorithm
    /// The ways to tokens that the client may use (`grant_types`).
    public var grantTypes: [String]
    /// The method by which the client proves its identity (`token_endpoint_auth_method`). `client_secret_basic` and
    /// `client_secret_post` count as a single method.
    public var authenticationMethod: String
    /// The public keys that the client signs with (`jwks`): a JWK set, as JSON.
    public var keySet: String?
    /// The address of the public keys, in place of ``keySet`` (`jwks_uri`). The client changes the keys there by
    /// itself.
    public var keySetAddress: String?
    /// The name in the client's certificate (`tls_client_auth_…`), if the client proves itself by a certificate from an
    /// authority.
    public var certificateName: ClientCertificateName?
    /// The value that the client's codes are bound to.
    public var codeBinding: CodeBinding
    /// The audience that the client's assertions have to name, if the client authenticates by `private_key_jwt`.
    public var assertionAudience = AssertionAudience.issuer
    /// `true` if the client may have the keys of people whom it knows deleted. Without these keys a person loses every
    /// service, not this client alone.
    public var mayDeregister: Bool
    /// The access tokens that the client may have, and the access tokens meant for the client.
    public var tokens: TokenSettings
    /// The ways people may sign in to the client, by the names of the provider's list. People are offered the first way
    /// first.
    public var signInMethods: [String]
    /// The demands on the client's requests.
    public var profile: ClientProfile
    /// The address at which the client is told that a session has ended; `nil` if the client does not want to be told.
    public var logout: LogoutAddress?
    /// The way the client learns people's answers.
    public var answers = AnswerDelivery()
    /// The address at which the client's back end is told how a dispatched session has ended; `nil` if the back end does
    /// not want to be told (decision 122).
    public var statusAddress: String?
    /// `true` if the operator has switched the client off. Then no person signs in to the client, the client gets no
    /// tokens, and its existing tokens and grants do not count until the operator switches the client on again.
    public var isDisabled = false
    /// The client's settings at the app sign-in service; `nil` for a client of OpenID Connect.
    public var signInService: SignInServiceSettings?
    /// The address of the list of the sector's redirect addresses (`sector_identifier_uri`, OpenID Connect Core 1.0,
    /// section 8.1); `nil` for a client that is a sector by itself. The host of the address is the sector.
    public var sectorIdentifierURI: String?

    /// Makes settings; by default the settings of a client that names nothing (OpenID Connect Dynamic Client
    /// Registration 1.0, section 2).
    public init(
        idTokenAlgorithm: JWSAlgorithm = .rs256, codeBinding: CodeBinding = .usual, mayDeregister: Bool = false,
        grantTypes: [String] = ["authorization_code"], authenticationMethod: String = "client_secret_basic",
        keySet: String? = nil, tokens: TokenSettings = TokenSettings(),
        signInMethods: [String] = [AuthenticationRecord.phoneMethod],
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

/// A client's secret that another secret has replaced.
public struct FormerSecret: Sendable, Equatable {
    /// SHA-256 of the secret. 32 bytes.
    public let digest: [UInt8]
    /// The moment when the secret expires.
    public let endsAt: Timestamp

    /// Makes a secret that works until `endsAt`.
    public init(digest: [UInt8], endsAt: Timestamp) {
        self.digest = digest
        self.endsAt = endsAt
    }
}

/// A relying party (RFC 6749, section 2). An operator has registered it, or it came by itself
/// (``ClientRecord/registration``).
public struct ClientRecord: Sendable, Equatable {
    /// The public identifier (`client_id`): Random, 16 bytes as base64url. For a client that came by a document, the
    /// document's address.
    public let id: String
    /// The name that people see.
    public var name: String
    /// The addresses that a sign-in may lead to; compared as ``address(answering:)`` says.
    public var redirectURIs: [String]
    /// The addresses that a sign-out may lead to; compared letter by letter.
    public var postLogoutRedirectURIs: [String]
    /// The service's own address for people (`client_uri`; RFC 7591, section 2). People who cannot go on are led to
    /// this address.
    public var clientURI: String?
    /// SHA-256 of the secret, 32 bytes. The secret has 256 random bits. `nil` if the client shares no secret with the
    /// server.
    public var secretDigest: [UInt8]?
    /// The secret before the present secret, for as long as the server takes it too.
    public var formerSecret: FormerSecret?
    /// The moment of the registration.
    public let createdAt: Timestamp
    /// The operator's decisions about the client.
    public var settings: ClientSettings
    /// The way in which the client came by itself; `nil` for a client that an operator has registered.
    public var registration: ClientRegistration?

    /// Makes a record of these values.
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
    /// `true` if the client can keep no secret to prove itself by: an app on people's own devices (RFC 6749, section
    /// 2.1; RFC 8252, section 8.4).
    public var isPublic: Bool { self.authenticationMethod.hasSameBytes(as: "none") }

    /// The kinds of addresses that the client may have. An app may have a scheme of its own.
    public var redirectKinds: Set<RedirectURI.Kind> {
        self.isPublic ? RedirectURI.everyKind : [.https, .loopback, .localhost]
    }

    /// Returns the text as an address. Throws `OAuthError` `invalid_request` if the text is no address that the client
    /// may have.
    public func redirectURI(_ text: String) throws(OAuthError) -> RedirectURI {
        guard self.signInService?.takesAnyScheme == true else {
            return try RedirectURI(text, allowing: self.redirectKinds)
        }
        return try RedirectURI(registered: text)
    }
}

extension ClientRecord {
    /// Returns the address for the answer to a request that names `requested`; `nil` if the client has no such address.
    ///
    /// A text is compared letter by letter, except for the port of an app's loopback address. The system gives an app
    /// another port for every sign-in (RFC 8252, section 7.3). A client with a way to authenticate is no such app.
    public func address(answering requested: String) -> RedirectURI? {
        for registered in self.redirectURIs {
            guard let own = try? self.settings.redirectURI(registered) else { continue }
            if own.text.hasSameBytes(as: requested) { return own }
            if self.settings.isPublic, let answer = own.answers(requested) { return answer }
        }
        return nil
    }
}

/// The origin of a client that no operator has registered. Such a client is a third party's.
///
/// A digest is the SHA-256 of the token by which the client manages itself (a registration access token, RFC 7592). The
/// token has 256 random bits.
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

    /// `true` if the client registered itself without an operator's token or has only a document: the operator does not
    /// know the client's owner.
    public var isStranger: Bool {
        if case .invited = self { false } else { true }
    }
}

extension ClientRecord {
    /// `true` if the operator does not know the client's owner: the client came by open registration or by a document.
    public var isStranger: Bool { self.registration?.isStranger ?? false }
}

/// Keeps the relying parties.
public protocol ClientStore: Sendable {
    /// Adds a client, with the audit event.
    ///
    /// Throws ``StoreError/Code/conflict`` if the identifier is taken, if `limit` clients exist already, or if another
    /// client owns one of its resources. Strangers' clients (``ClientRecord/isStranger``) and other clients are counted
    /// apart: only clients of the new client's kind count. Must be a single step.
    func addClient(_ client: ClientRecord, limit: Int, audit: AuditEvent) async throws

    /// Returns the client with the identifier; `nil` if none exists.
    func client(_ id: String) async throws -> ClientRecord?

    /// Returns all clients, the oldest first. There are never more than the limits of ``addClient(_:limit:audit:)`` and
    /// ``RegistrationStore/addStranger(_:limit:unusedSince:audit:)`` together.
    func clients() async throws -> [ClientRecord]

    /// Returns the client that owns a resource, by the resource's identifier; `nil` if no client owns the resource. At
    /// most one client owns a resource.
    func client(owning resource: String) async throws -> ClientRecord?

    /// Returns `true` if a client has registered this origin, or, if `client` is `nil`, if any client has. Origins are
    /// compared by bytes.
    func hasOrigin(_ origin: String, client: String?) async throws -> Bool

    /// Returns `true` if any client is a client of the app sign-in service.
    func hasSignInServiceClient() async throws -> Bool

    /// Returns the audiences of the access tokens of the app sign-in service's clients with shared sessions, each
    /// audience once. A client that is switched off does not count.
    func sharedAudiences() async throws -> [String]

    /// Changes a client together with the audit events that `change` returns. Returns the changed client; `nil` if the
    /// client does not exist. Open authorization requests end if they would lead to an address that the client has no
    /// more. If the client moves to the app sign-in service or away from it, all its requests, grants and device
    /// secrets end.
    ///
    /// Must be a single step: no other change comes between the client that `change` gets and the client that `change`
    /// makes. An error of `change` is passed on, and nothing is changed. Throws ``StoreError/Code/conflict`` if another
    /// client owns one of its resources.
    func changeClient(_ id: String, change: @escaping @Sendable (inout ClientRecord) throws -> [AuditEvent])
        async throws
        -> ClientRecord?

    /// Deletes a client with its requests of every kind, grants, device secrets, consents, the subjects it knows and
    /// its waiting messages, with the audit event. If the client is a service, its invitations go, with the provisional
    /// accounts of open invitations, and all entries about people at the service. Returns `true` if the client existed;
    /// otherwise no event is kept.
    func deleteClient(_ id: String, audit: AuditEvent) async throws -> Bool
}
