import JOSE
public import OAuth
public import Records
public import Settings
public import _Primitives

/// The store of all data that the provider keeps.
public typealias OpenIDStore = AuthorizationStore & BackchannelStore & ClientStore & ConsentStore & DeviceCodeStore
    & DeviceSecretStore & GrantListStore & PushedRequestStore & RefreshStore & RegistrationStore & ReplayStore
    & SessionStore & SignInServiceStore & SigningKeyStore & TermsStore & TokenStore

/// The OpenID provider: authorization code flow with PKCE (RFC 6749, RFC 7636, RFC 9207, OpenID Connect Core 1.0),
/// sessions, signing keys and clients.
///
/// The provider's only own state is a copy of its keys and the budgets of sources: any number of providers can answer
/// over one store. A caller's mistake is a result. The provider throws only ``StoreError`` and, if the method says so,
/// `OAuthError`.
public struct OpenIDProvider: Sendable {
    /// The operator's choices.
    public struct Configuration: Sendable {
        /// A listener that asks clients for their certificates (RFC 8705).
        public struct MutualTLS: Sendable {
            /// The start of the listener's addresses (`mtls_endpoint_aliases`), without a slash at the end.
            public var origin: String
            /// `true` if certificates of trusted authorities count (`tls_client_auth`).
            public var hasAuthorities: Bool

            /// Creates the description of a listener at that address.
            public init(origin: String, hasAuthorities: Bool) {
                self.origin = origin
                self.hasAuthorities = hasAuthorities
            }
        }

        /// The issuer's address, without a slash at its end.
        public var issuer: String
        /// The operator's times, counts and sizes.
        public var limits: Limits
        /// The store's epoch (`Sealing.epoch`).
        public var epoch: String
        /// The words for levels of assurance: every `acr` that the outcomes can have, and words of other servers.
        public var levels: [AssuranceWord]
        /// `true` if the metadata names the address where clients register themselves.
        public var hasRegistration = false
        /// `true` if anybody can register a client, without an initial access token (RFC 7591, section 3).
        public var isRegistrationOpen = false
        /// `true` if a client's identifier can be the address of its metadata
        /// (draft-ietf-oauth-client-id-metadata-document).
        public var takesClientDocuments = false
        /// The listener where clients show certificates; `nil` if no listener asks for certificates.
        public var mutualTLS: MutualTLS?
        /// The terms that people have to agree to before the provider issues anything for them; `nil` for no terms. The
        /// operator can exempt clients of the app sign-in service.
        public var terms: Terms?
        /// A simulated register of people. Clients of the app sign-in service receive its results; `nil` for no
        /// register.
        public var simulatedPeople: SimulatedPeople?
        /// Calls addresses of clients and of other providers; `nil` if the provider calls nobody.
        public var calls: (any OutgoingCalls)?
        /// The types of details that people can be asked about (RFC 9396). Each client's own setting says which types
        /// the client may use.
        public var detailTypes: [DetailType] = []
        /// Reports requests that do not fit a client's registration: at most once a minute for each client, as anybody
        /// can send requests in a client's name. Also reports each warning about a client that an operator has just
        /// added or changed (``ClientWarning``).
        public var note: @Sendable (ClientMisfit) -> Void

        /// Creates the configuration of a provider with this issuer.
        public init(
            issuer: String, limits: Limits = Limits(), epoch: String = "", levels: [AssuranceWord] = [],
            note: @escaping @Sendable (ClientMisfit) -> Void = { _ in }
        ) {
            self.issuer = issuer
            self.limits = limits
            self.epoch = epoch
            self.levels = levels
            self.note = note
        }
    }

    let configuration: Configuration
    let store: any OpenIDStore
    let methods: [any SignInMethod]
    /// The way to ask people who sit at no browser; `nil` if the provider has none.
    let backchannel: (any BackchannelMethod)?
    let people: any PersonDirectory
    /// Proofs that the sender of a request holds a key.
    let proofs: KeyProofs
    /// The sessions of people.
    public let sessions: Sessions
    /// Answers if a person may get or use tokens now.
    let standing: Standing
    /// The signing keys.
    public let keys: Keys
    /// Already verified access tokens.
    let verifiedTokens = VerifiedTokens(size: Limits.Fixed.verifiedTokens)
    /// The budget of sign-ins that each browser's source may begin.
    let signIns: Budget
    /// The budget of clients' pushed requests.
    let pushedRequests: Budget
    /// The budgets of sign-ins from one app to another of the same person, and of wrong secrets from one source.
    let nativeSignIns: NativeSignInBudgets
    /// The budget of reports to the operator about each client.
    let notes: SourceBudget
    /// The budget of an app's questions about a phone's answer, for apps that sign their person in. Each sign-in counts
    /// as a source.
    let phoneQuestions: SourceBudget
    /// The keys of clients that keep their keys elsewhere.
    let remoteKeys: RemoteKeySets
    /// The keys of strangers' clients (``ClientRecord/isStranger``). They have a space of their own, and take no place
    /// from other clients' keys.
    let strangersKeys: RemoteKeySets
    /// The metadata of clients whose identifiers are addresses.
    let clientDocuments: ClientDocuments
    let time: TimeSource
    let random: RandomSource

    /// The parameters that may occur more than once (RFC 8707, section 2; RFC 8693, section 2.1).
    static let repeatable = [ResourceIndicator.parameter, "audience"]

    var issuer: String { self.configuration.issuer }
    /// The issuer's scheme, host and port, without the path of an issuer that shares its host.
    var issuerOrigin: String {
        guard let start = self.issuer.firstRange(of: "://")?.upperBound else { return self.issuer }
        return self.issuer[start...].firstIndex(of: "/").map { String(self.issuer[..<$0]) } ?? self.issuer
    }
    var limits: Limits { self.configuration.limits }

    /// Opens the provider. At the first start of a store, `open` creates the signing key and the secret of the pairwise
    /// subjects. At later starts, `open` creates missing keys that sign clients' ID tokens and userinfo answers.
    ///
    /// - Parameters:
    ///   - methods: The ways for people to prove their identity.
    ///   - backchannel: The way to ask people who sit at no browser; `nil` for none.
    ///   - people: The directory of the people behind the accounts.
    /// - Throws: ``StoreError``.
    public static func open(
        _ configuration: Configuration, store: any OpenIDStore, methods: [any SignInMethod],
        backchannel: (any BackchannelMethod)? = nil, people: any PersonDirectory, time: TimeSource = .system,
        random: RandomSource = .system
    ) async throws -> OpenIDProvider {
        let keys = try await Keys.open(
            store, epoch: configuration.epoch, limits: configuration.limits, time: time, random: random)
        let limits = configuration.limits
        let signIns = Budget(limits.signIns)
        let provider = OpenIDProvider(
            configuration: configuration, store: store, methods: methods, backchannel: backchannel,
            people: people,
            proofs: KeyProofs(store: store, keys: keys, limits: configuration.limits, time: time),
            sessions: Sessions(
                store: store, keys: keys, issuer: configuration.issuer, limits: configuration.limits, time: time),
            standing: Standing(store: store, people: people, terms: configuration.terms), keys: keys,
            signIns: signIns,
            pushedRequests: Budget(limits.pushedRequests), nativeSignIns: NativeSignInBudgets(limits),
            notes: SourceBudget(oneIn: limits.pauseOfReports, sources: limits.oauth.clients, protecting: .node),
            phoneQuestions: SourceBudget(
                oneIn: Limits.Fixed.pollingInterval - Limits.Fixed.pollingTolerance, sources: limits.countedSources,
                protecting: .person),
            remoteKeys: RemoteKeySets(calls: configuration.calls, of: .client, limits: limits),
            strangersKeys: RemoteKeySets(calls: configuration.calls, of: .clientDocument, limits: limits),
            clientDocuments: ClientDocuments(calls: configuration.calls, limits: limits), time: time, random: random)
        // A restored store may lack the key of a client's algorithm. If every key is present, this step creates and
        // writes nothing.
        let clients = try await store.clients()
        for face in SigningKeyRecord.Face.allCases {
            let algorithms = Set(clients.filter { $0.settings.face == face }.flatMap(\.settings.answerAlgorithms))
            for algorithm in algorithms {
                do { try await provider.keys.provide(algorithm, of: face, by: nil) } catch let error as StoreError
                    where error.code == .unavailable
                {
                    // The disk is full. Other clients do not need this key, and the token endpoint reports the missing
                    // key.
                }
            }
        }
        return provider
    }

    /// Deletes ended requests of every kind, grants, sessions, authentications, and the names of revoked tokens and
    /// shown proofs that are no longer needed. Returns the number of deleted records; call again until the number is
    /// zero.
    ///
    /// Cost: one store step.
    public func sweep() async throws -> Int {
        let now = self.time.now()
        return try await self.store.sweepAuthorizations(
            at: now, idleSince: now - self.limits.oauth.sessionIdleLifetime, limit: self.limits.sweepBatch)
    }
}

extension AuditEvent.Kind {
    /// A client was registered; the detail is its identifier.
    static let clientAdded = Self(rawValue: "client-added")
    /// A client was deleted; the detail is its identifier.
    static let clientDeleted = Self(rawValue: "client-deleted")
    /// A browser with a session was admitted to a service without a phone. The detail names the service and the methods
    /// of the person's earlier authentication; the address is the browser's.
    static let signedInBySession = Self(rawValue: "signed-in-by-session")
    /// A client showed an authorization code, a device code or an `auth_req_id` again after its use, and the tokens for
    /// it were revoked; the actor is the client.
    static let codeReplayed = Self(rawValue: "code-replayed")
    /// A client showed a refresh token that had already been replaced, and the token's family ended; the actor is the
    /// client.
    static let refreshTokenReused = Self(rawValue: "refresh-token-reused")
    /// A grant ended: its client gave the grant up, never received its pushed tokens, or its refresh token was shown at
    /// the wrong face. The actor is the client, if it is known; the detail is the grant.
    static let grantRevoked = Self(rawValue: "grant-revoked")
    /// A person agreed to the operator's terms; the detail is the version of the terms, the address is the browser's.
    static let termsAgreed = Self(rawValue: "terms-agreed")
}

/// A request in a client's name that does not fit the client's registration, or a dangerous setting of a client. The
/// report is for the operator, who can change the registration or ask the client's developer to change the request.
public struct ClientMisfit: Sendable, Equatable {
    /// The client's identifier.
    public let client: String
    /// The setting, by its name on the command line.
    public let setting: String
    /// The problem, and the remedy.
    public let advice: String
}

/// The budgets of sign-ins with the tokens of another app on the same device.
struct NativeSignInBudgets: Sendable {
    /// The sign-ins of each person. Each showing of a right secret costs a signature and a grant.
    let people: Budget
    /// The wrong secrets of each source.
    let guesses: Budget

    init(_ limits: Limits) {
        self.people = Budget(limits.nativeSignIns)
        self.guesses = Budget(limits.guesses)
    }
}

/// The reason why the provider refused a request, for the request's line in the operator's log.
public struct ProviderRefusal: Sendable, Equatable {
    /// The error code of the answer (RFC 6749).
    public let code: String
    /// The reason in words, without any text from the request.
    public let reason: String?
    /// The client in whose name the request came, if the client is known or the name could be a client's identifier.
    public let client: String?
    /// The client's setting that the request does not fit, by its name on the command line.
    public let setting: String?

    /// Creates the reason of an error. Drops a `client` that could not be the identifier of a client here.
    public init(_ error: OAuthError, client: String? = nil, setting: String? = nil) {
        self.code = error.code.rawValue
        self.reason = [error.message, error.detail].compactMap(\.self).joined(separator: " ")
        self.client = client.flatMap { Self.isClientName($0) ? $0 : nil }
        self.setting = setting
    }

    /// `true` if the text could be the identifier of a client here.
    static func isClientName(_ text: String) -> Bool {
        ClientIDAddress(text) != nil
            || (1...Limits.Fixed.notedClientBytes).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                }
    }
}

/// A complete answer to a client, ready to be written.
public struct ProviderAnswer: Sendable {
    /// The HTTP status.
    public let status: Int
    /// The header fields, among them `Cache-Control` and, with a body, `Content-Type`.
    public internal(set) var headers: [(name: String, value: String)]
    /// The body; `nil` for no body.
    public let body: JSONObject?
    /// The content of a signed answer in place of the body: a compact text, and its media type.
    public let signed: (text: String, type: String)?
    /// The reason of a refusal, for the operator's log.
    public let refusal: ProviderRefusal?
    /// The exhausted budget, if any, for the operator's log.
    public let shortage: Shortage?

    init(
        status: Int, body: JSONObject?, headers: [(name: String, value: String)] = [], refusal: ProviderRefusal? = nil,
        shortage: Shortage? = nil
    ) {
        self.signed = nil
        self.refusal = refusal
        self.shortage = shortage
        self.status = status
        self.body = body
        // Tokens and claims are never cached (RFC 6749, section 5.1).
        self.headers =
            [("Cache-Control", "no-store")] + (body == nil ? [] : [("Content-Type", "application/json")]) + headers
    }

    /// Creates a signed answer with a media type.
    init(signed text: String, type: String) {
        self.status = 200
        self.body = nil
        self.signed = (text, type)
        self.refusal = nil
        self.shortage = nil
        self.headers = [("Cache-Control", "no-store"), ("Content-Type", type)]
    }
}

extension ProviderAnswer {
    /// Creates the answer to a client that has used up a budget (RFC 9126, section 2.3).
    init(_ shortage: Shortage) {
        let error = OAuthError(.temporarilyUnavailable, shortage.remedy)
        self.init(
            status: 429, body: error.json, headers: [("Retry-After", String(shortage.retryAfterSeconds))],
            refusal: ProviderRefusal(error, client: shortage.clientID, setting: shortage.setting), shortage: shortage)
    }
}
