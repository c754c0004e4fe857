import JOSE
public import OAuth
public import Store
public import _Primitives

/// Everything that the provider keeps.
public typealias OpenIDStore = AuthorizationStore & BackchannelStore & ClientStore & ConsentStore & DeviceCodeStore
    & DeviceSecretStore & GrantListStore & PushedRequestStore & RefreshStore & RegistrationStore & ReplayStore
    & SessionStore & SignInServiceStore & SigningKeyStore & TermsStore & TokenStore

/// The OpenID provider: authorization code flow with PKCE (RFC 6749, RFC 7636, RFC 9207, OpenID Connect Core 1.0),
/// sessions, signing keys and clients.
///
/// It has no state of its own but a copy of its keys and the budgets of sources: any number of them can answer over one
/// store. What a caller did wrong is a result; only ``StoreError`` and, where said, `OAuthError` are thrown.
public struct OpenIDProvider: Sendable {
    /// What an operator chooses.
    public struct Configuration: Sendable {
        /// A listener that asks clients for their certificates (RFC 8705).
        public struct MutualTLS: Sendable {
            /// Where its addresses begin (`mtls_endpoint_aliases`), without a slash at its end.
            public var origin: String
            /// Whether there are authorities whose certificates count (`tls_client_auth`).
            public var hasAuthorities: Bool

            /// A listener at that address.
            public init(origin: String, hasAuthorities: Bool) {
                self.origin = origin
                self.hasAuthorities = hasAuthorities
            }
        }

        /// The issuer's address, without a slash at its end.
        public var issuer: String
        /// The times, counts and sizes.
        public var limits: Limits
        /// The store's epoch (`Sealing.epoch`).
        public var epoch: String
        /// The words for how sure an authentication can be: every `acr` that the outcomes can have, and those of others.
        public var levels: [AssuranceWord]
        /// Whether the metadata names the address where clients register themselves.
        public var hasRegistration = false
        /// `true` if anybody can register a client, without an initial access token (RFC 7591, section 3).
        public var isRegistrationOpen = false
        /// `true` if a client's identifier can be the address of its metadata
        /// (draft-ietf-oauth-client-id-metadata-document).
        public var takesClientDocuments = false
        /// Where clients show certificates; `nil` where nowhere.
        public var mutualTLS: MutualTLS?
        /// What people have to agree to before anything is issued for them; `nil` for nothing.
        public var terms: Terms?
        /// A simulated register of people, which clients of the app sign-in service are told of; `nil` for none.
        public var simulatedPeople: SimulatedPeople?
        /// How the addresses of clients' keys are called; `nil` where none is.
        public var calls: (any OutgoingCalls)?
        /// What people can be asked in detail (RFC 9396). Which of it a client may ask is its own setting.
        public var detailTypes: [DetailType] = []
        /// Is told what of a client's registration its requests do not fit; of a client once a minute at most, as
        /// anybody can send requests in its name.
        public var note: @Sendable (ClientMisfit) -> Void

        /// A provider of this issuer.
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
    /// How people are asked who sit at no browser, where they are.
    let backchannel: (any BackchannelMethod)?
    let people: any PersonDirectory
    let keys: SigningKeys
    /// Access tokens that need not be verified again.
    let verifiedTokens = VerifiedTokens(size: Limits.Fixed.verifiedTokens)
    /// What the sources of browsers may begin.
    let signIns: Budget
    /// How many requests clients may push.
    let pushedRequests: Budget
    /// How often people's apps may sign in by each other, and how many secrets of theirs a source may have wrong.
    let nativeSignIns: NativeSignInBudgets
    /// How often the operator is told of a client.
    let notes: SourceBudget
    /// How often an app that signs its person in asks what a phone has said: each sign-in is a source.
    let phoneQuestions: SourceBudget
    /// The keys of clients that keep them elsewhere.
    let remoteKeys: RemoteKeySets
    /// The keys of strangers' clients (``ClientRecord/isStranger``), which take no place of the others.
    let strangersKeys: RemoteKeySets
    /// The metadata of clients whose identifiers are addresses.
    let clientDocuments: ClientDocuments
    let time: TimeSource
    let random: RandomSource

    /// The parameters that may occur more than once, each by its own specification (RFC 8707, section 2; RFC 8693, section
    /// 2.1).
    static let repeatable = [ResourceIndicator.parameter, "audience"]

    var issuer: String { self.configuration.issuer }
    /// Scheme, host and port of the issuer, without the path of one that shares its host.
    var issuerOrigin: String {
        guard let start = self.issuer.firstRange(of: "://")?.upperBound else { return self.issuer }
        return self.issuer[start...].firstIndex(of: "/").map { String(self.issuer[..<$0]) } ?? self.issuer
    }
    var limits: Limits { self.configuration.limits }

    /// Opens the provider. At the first start of a store it makes the signing key and the secret of the pairwise
    /// subjects; at any other it makes the keys that clients have their ID tokens signed with and that are not there.
    ///
    /// - Parameters:
    ///   - methods: The ways in which people can prove who they are.
    ///   - backchannel: The way in which people are asked who sit at no browser; `nil` for none.
    ///   - people: Where the names of accounts come from.
    /// - Throws: ``StoreError``.
    public static func open(
        _ configuration: Configuration, store: any OpenIDStore, methods: [any SignInMethod],
        backchannel: (any BackchannelMethod)? = nil, people: any PersonDirectory, time: TimeSource = .system,
        random: RandomSource = .system
    ) async throws -> OpenIDProvider {
        let offered = ProviderKeys(
            subjectSecret: SecretBytes(random.bytes(32)),
            signingKeys: [try await SigningKeys.newKey(.es256, random: random, at: time.now())])
        let keys = try SigningKeys(
            try await store.providerKeys(orFirst: offered), epoch: configuration.epoch,
            retention: configuration.limits.oauth.retiredKeyRetention)
        let limits = configuration.limits
        let signIns = Budget(
            "signInsPerMinute", burst: limits.signInBurst, perMinute: limits.signInsPerMinute,
            sources: limits.countedSources)
        let provider = OpenIDProvider(
            configuration: configuration, store: store, methods: methods, backchannel: backchannel,
            people: people, keys: keys,
            signIns: signIns,
            pushedRequests: Self.pushedRequestBudget(limits), nativeSignIns: NativeSignInBudgets(limits),
            notes: SourceBudget(oneIn: limits.pauseOfReports, sources: limits.oauth.clients),
            phoneQuestions: SourceBudget(
                oneIn: Limits.Fixed.pollingInterval - Limits.Fixed.pollingTolerance, sources: limits.countedSources),
            remoteKeys: RemoteKeySets(calls: configuration.calls, of: .client, limits: limits),
            strangersKeys: RemoteKeySets(calls: configuration.calls, of: .clientDocument, limits: limits),
            clientDocuments: ClientDocuments(calls: configuration.calls, limits: limits), time: time, random: random)
        // A restored store may have a client whose algorithm's key it lacks. Nothing is made or written where all are
        // there.
        let clients = try await store.clients()
        for face in SigningKeyRecord.Face.allCases {
            let algorithms = Set(clients.filter { $0.settings.face == face }.flatMap(\.settings.answerAlgorithms))
            for algorithm in algorithms {
                do { try await provider.provideSigningKey(algorithm, of: face, by: nil) } catch let error as StoreError
                    where error.code == .unavailable
                {
                    // The disk is full. Everybody else's clients need none of it, and the token endpoint says what is
                    // missing.
                }
            }
        }
        return provider
    }

    /// How many sessions go on, of all people.
    ///
    /// Cost: one query, which reads every session.
    public func sessionCount() async throws -> Int {
        let now = self.time.now()
        return try await self.store.sessionCount(at: now, idleSince: now - self.limits.oauth.sessionIdleLifetime)
    }

    /// Deletes what has ended: requests, grants, sessions and authentications. Says how many there were; call again while that is not
    /// zero.
    ///
    /// Cost: one store step.
    public func sweep() async throws -> Int {
        let now = self.time.now()
        return try await self.store.sweepAuthorizations(
            at: now, idleSince: now - self.limits.oauth.sessionIdleLifetime, limit: self.limits.sweepBatch)
    }
}

/// The operator's terms of use that are in force.
public struct Terms: Sendable, Equatable {
    /// A word for this version: another one is other terms.
    public let version: String
    /// Where people read them.
    public let address: String

    /// Terms of these values.
    public init(version: String, address: String) {
        self.version = version
        self.address = address
    }
}

extension AuditEvent.Kind {
    /// A client was registered; the detail is its identifier.
    static let clientAdded = Self(rawValue: "client-added")
    /// A client was deleted; the detail is its identifier.
    static let clientDeleted = Self(rawValue: "client-deleted")
    /// A browser that had a session was let in to a service, without a phone; the detail says to which, how the person
    /// had been authenticated, and the browser's address.
    static let signedInBySession = Self(rawValue: "signed-in-by-session")
    /// A code was shown a second time, and what it gave was revoked; the actor is the client that showed it.
    static let codeReplayed = Self(rawValue: "code-replayed")
    /// A refresh token was shown that another had taken the place of, and its family ended; the actor is the client that
    /// showed it.
    static let refreshTokenReused = Self(rawValue: "refresh-token-reused")
    /// A client gave up what it had been granted; the actor is the client.
    static let grantRevoked = Self(rawValue: "grant-revoked")
    /// A browser was signed out.
    static let signedOut = Self(rawValue: "signed-out")
    /// There is the first signing key of an algorithm; the detail is its name.
    static let signingKeyAdded = Self(rawValue: "signing-key-added")
    /// There are new signing keys; the detail is their names.
    static let signingKeyRotated = Self(rawValue: "signing-key-rotated")
}

/// A request in a client's name that does not fit the client's registration: for the operator, who can change the one,
/// or ask for the other to be changed.
public struct ClientMisfit: Sendable, Equatable {
    /// The client's identifier.
    public let client: String
    /// The setting, by the name that it has on the command line.
    public let setting: String
    /// What is wrong, and what can be done.
    public let advice: String
}

/// What is counted of sign-ins by what another app of a device has.
struct NativeSignInBudgets: Sendable {
    /// Those of each person: a right secret is worth a signature and a grant each time that it is shown.
    let people: Budget
    /// Wrong secrets of each source.
    let guesses: Budget

    init(_ limits: Limits) {
        self.people = Budget(
            "nativeSignInsPerMinute", burst: limits.oauth.nativeSignInBurst,
            perMinute: limits.oauth.nativeSignInsPerMinute, sources: limits.countedSources,
            remedy: "This person's apps have signed in by each other too often. Wait.")
        self.guesses = Budget(
            "guessesPerMinute", burst: limits.guessBurst, perMinute: limits.guessesPerMinute,
            sources: limits.countedSources)
    }
}

/// Why the provider refused a request, for the line in the operator's log that is the request's.
public struct ProviderRefusal: Sendable, Equatable {
    /// The error that the answer has (RFC 6749).
    public let code: String
    /// In words, without anything that came with the request.
    public let reason: String?
    /// The client in whose name it was asked, where it is known or could be one.
    public let client: String?
    /// The setting of the client, as the command line has it, that the request does not fit.
    public let setting: String?

    /// Why an error came about. A `client` that no client of ours could be called is left out.
    public init(_ error: OAuthError, client: String? = nil, setting: String? = nil) {
        self.code = error.code.rawValue
        self.reason = [error.message, error.detail].compactMap(\.self).joined(separator: " ")
        self.client = client.flatMap { Self.isClientName($0) ? $0 : nil }
        self.setting = setting
    }

    /// Whether a client of ours could be called that.
    static func isClientName(_ text: String) -> Bool {
        ClientIDAddress(text) != nil
            || (1...Limits.Fixed.notedClientBytes).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                }
    }
}

/// What the provider tells clients about a person.
public struct Person: Sendable, Equatable {
    /// The name that the person signs in with (`preferred_username`); somebody from another provider may have none.
    public let username: String?
    /// The name that people read (`name`).
    public let displayName: String?
    /// Where the person gets e-mail (`email`, `email_verified`).
    public let email: AccountEmail?
    /// By what number the person can be called (`phone_number`, `phone_number_verified`).
    public let phone: AccountPhone?
    /// Where the person gets post (`address`).
    public let address: PostalAddress?
    /// What else services are told for the scope `profile`, by the names of the claims.
    public let profile: PersonProfile?
    /// When something of this last changed (`updated_at`); `nil` where that is not known.
    public let updatedAt: Timestamp?

    /// A person.
    public init(
        username: String?, displayName: String?, email: AccountEmail? = nil, phone: AccountPhone? = nil,
        address: PostalAddress? = nil, profile: PersonProfile? = nil, updatedAt: Timestamp? = nil
    ) {
        self.profile = profile
        self.updatedAt = updatedAt
        self.phone = phone
        self.address = address
        self.username = username
        self.displayName = displayName
        self.email = email
    }
}

extension Person {
    /// By what the person knows that it is their own account that a page is about.
    var shownName: String {
        self.username ?? self.displayName ?? self.email?.address ?? "somebody without a name"
    }
}

/// Knows the people behind the accounts.
public protocol PersonDirectory: Sendable {
    /// The person of an account that may sign in; `nil` where it is unknown, locked or deleted.
    func person(account: String) async throws -> Person?

    /// What the person has confirmed that a client is told of them, by the names of claims; `nil` for a client that does not
    /// ask people themselves.
    func confirmedClaims(account: String, client: String) async throws -> JSONObject?

    /// Whether a client takes an account that has authenticated in that role, or in none: every client that is no service of
    /// personalised identities; and a service where the account has come to it in a role that it still has there, and may come.
    func takes(_ account: String, in role: RoleAtService?, at client: String) async throws -> Bool
}

extension PersonDirectory {
    /// Most know nothing but names.
    public func confirmedClaims(account: String, client: String) async throws -> JSONObject? { nil }
    /// Most know no services.
    public func takes(_ account: String, in role: RoleAtService?, at client: String) async throws -> Bool { true }
}

/// A complete answer to a client, to be written as it is.
public struct ProviderAnswer: Sendable {
    /// The HTTP status.
    public let status: Int
    /// The header fields, `Content-Type` and `Cache-Control` among them.
    public internal(set) var headers: [(name: String, value: String)]
    /// `nil` for no body.
    public let body: JSONObject?
    /// What is written in place of a body where the answer is signed: a compact text, and its media type.
    public let signed: (text: String, type: String)?
    /// Why, for the operator's log, where it is a refusal.
    public let refusal: ProviderRefusal?
    /// The budget that ran out, for the operator's log, where one did.
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

    /// A signed answer, of that media type.
    init(signed text: String, type: String) {
        self.status = 200
        self.body = nil
        self.signed = (text, type)
        self.refusal = nil
        self.shortage = nil
        self.headers = [("Cache-Control", "no-store"), ("Content-Type", type)]
    }
}
