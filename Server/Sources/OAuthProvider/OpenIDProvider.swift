import JOSE
import OAuth
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
///
/// The provider is an object: its parts take some KB together, and most routes capture the provider.
public final class OpenIDProvider: Sendable {
    /// The operator's choices.
    public struct Configuration: Sendable {
        /// The issuer's address, without a slash at its end.
        public var issuer: String
        /// The operator's times, counts and sizes.
        public var limits: Limits
        /// The store's epoch (`Sealing.epoch`).
        public var epoch: String
        /// The words for levels of assurance: every `acr` that the outcomes can have, and words of other servers.
        public var levels: [AssuranceWord]
        /// The languages of the pages, by their tags, for the metadata.
        public var uiLocales: [String] = []
        /// `true` if the metadata names the address where clients register themselves.
        public var hasRegistration = false
        /// `true` if anybody can register a client, without an initial access token (RFC 7591, section 3).
        public var isRegistrationOpen = false
        /// `true` if a client's identifier can be the address of its metadata
        /// (draft-ietf-oauth-client-id-metadata-document).
        public var takesClientDocuments = false
        /// The listener where clients show certificates; `nil` if no listener asks for certificates.
        public var mutualTLS: CertificateListener?
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
    /// The store of all data of the provider.
    package let store: any OpenIDStore
    /// The registered clients.
    public let clients: Clients
    /// The sessions of people.
    public let sessions: Sessions
    /// The signing keys.
    public let keys: Keys
    /// The tokens.
    public let tokens: Tokens
    /// The refresh tokens of grants.
    package let renewals: Renewals
    /// The userinfo endpoint.
    public let userinfo: Userinfo
    /// The introspection endpoint.
    public let introspection: Introspection
    /// The revocation endpoint.
    public let revocation: Revocation
    /// The authorization requests of clients.
    public let authorizations: Authorizations
    /// The requests of clients that have people asked on their phones.
    public let backchannelAuthentications: BackchannelAuthentications
    /// The token endpoint.
    public let grants: Grants
    private let time: TimeSource

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
        let provider = OpenIDProvider(
            configuration, store: store, keys: keys, methods: methods, backchannel: backchannel, people: people,
            time: time, random: random)
        try await provider.clients.provideMissingKeys()
        return provider
    }

    /// Creates the parts over a store and its keys, and connects the parts.
    private init(
        _ configuration: Configuration, store: any OpenIDStore, keys: Keys, methods: [any SignInMethod],
        backchannel: (any BackchannelMethod)?, people: any PersonDirectory, time: TimeSource, random: RandomSource
    ) {
        let limits = configuration.limits
        let proofs = KeyProofs(store: store, keys: keys, limits: limits, time: time)
        let standing = Standing(store: store, people: people, terms: configuration.terms)
        let clients = Clients(
            store: store, keys: keys, rules: configuration.clientRules(methods), choices: configuration.clientChoices,
            time: time, random: random)
        let tokens = Tokens(
            store: store, clients: clients, keys: keys, proofs: proofs, standing: standing, epoch: configuration.epoch)
        let claims = ToldClaims(people: people, standing: standing)
        let renewals = Renewals(store: store, keys: keys, standing: standing, limits: limits, random: random)
        let endpoint = ClientEndpoint(
            clients: clients, proofs: proofs, wrongFace: WrongFace(store: store, clients: clients))
        let sessions = Sessions(store: store, keys: keys, issuer: configuration.issuer, limits: limits, time: time)
        let details = RequestedDetails(known: configuration.detailTypes, signInMethods: methods)
        let authorizations = Authorizations(
            store: store, clients: clients, sessions: sessions, tokens: tokens, endpoint: endpoint, details: details,
            methods: methods, levels: configuration.levels, simulatedPeople: configuration.simulatedPeople)

        self.configuration = configuration
        self.store = store
        self.clients = clients
        self.sessions = sessions
        self.keys = keys
        self.tokens = tokens
        self.renewals = renewals
        self.userinfo = Userinfo(store: store, tokens: tokens, claims: claims)
        self.introspection = Introspection(endpoint: endpoint, tokens: tokens, claims: claims)
        self.revocation = Revocation(store: store, endpoint: endpoint, tokens: tokens)
        self.authorizations = authorizations
        self.backchannelAuthentications = BackchannelAuthentications(
            store: store, backchannel: backchannel, endpoint: endpoint, tokens: tokens, details: details)
        self.grants = Grants(
            store: store, authorizations: authorizations, audiences: TokenAudiences(clients: clients),
            claims: claims, renewals: renewals, backchannel: backchannel)
        self.time = time
    }

    /// Deletes requests of every kind, grants, sessions and authentications that have ended, and the names of revoked
    /// tokens and shown proofs that are no longer needed. Returns the number of deleted records.
    ///
    /// Each step deletes a batch, so that other steps run in between. All steps ask for the moment of the call, and the
    /// call ends with the first step that deletes less than a batch. So the call ends however many records end each
    /// second: an authentication whose session ends during the call counts as ended before the call.
    ///
    /// Cost: one store step for each batch of ``Limits/sweepBatch`` records, and one more.
    @discardableResult
    public func sweep() async throws -> Int {
        let (limits, now) = (self.configuration.limits, self.time.now())
        var count = 0
        while true {
            let deleted = try await self.store.sweepAuthorizations(
                at: now, idleSince: now - limits.oauth.sessionIdleLifetime, limit: limits.sweepBatch)
            count += deleted
            if deleted < limits.sweepBatch { return count }
        }
    }
}

extension OpenIDProvider.Configuration {
    /// Returns the rules for clients of a provider with these ways to sign in.
    fileprivate func clientRules(_ methods: [any SignInMethod]) -> ClientRules {
        ClientRules(
            issuer: self.issuer, limits: self.limits, certificates: self.mutualTLS, levels: self.levels,
            detailTypes: self.detailTypes.map(\.type.name), ways: methods.map(\.ways),
            isWay: { word in methods.contains { $0.isWay(word) } })
    }

    /// The operator's choices about clients.
    fileprivate var clientChoices: Clients.Choices {
        Clients.Choices(
            isRegistrationOpen: self.isRegistrationOpen, takesDocuments: self.takesClientDocuments, calls: self.calls,
            note: self.note)
    }
}
