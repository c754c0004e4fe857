public import Accounts
import AdminAPI
public import AppSignIn
public import Ceremony
public import CeremonyEngine
public import Endpoints
public import Hummingbird
public import Logging
public import OAuthProvider
public import Passwords
import PublicAPI
public import Records
public import Sealing
public import Settings
import Texts
public import UAF
public import UAFRelyingParty
import WebPages
public import _Primitives

/// One server: two engines over one store, wired to each other, and the routers for the listeners.
public struct ServerAssembly: Sendable {
    /// The store of everything that the server keeps: the stores that its parts name.
    public typealias ServerStore = CeremonyStores & OpenIDStore & PasswordAccounts.AccountsStore
        & MailDeliveries.Outbox & IdentityDirectory.Stores & AdministrationStore & OutboxStore & UpstreamStore
        & SealingKeyStore

    /// The choices of an operator.
    public struct Configuration: Sendable {
        /// The server's address, without a slash at its end.
        public var issuer: String
        /// The name that phones show as the asking service at an enrolment.
        public var serviceName: String
        /// The facets that may answer beside the facets of ``apps``.
        public var facets: [FacetID]
        /// The operator's apps, which may answer and open links.
        public var apps: [AppEntry] = []
        /// Reads the models of authenticators and the policies from the operator's files: at the start, and at each
        /// reload.
        public var rules: @Sendable () throws -> RuleSet
        /// The factors that a sign-in takes: alternatives, each a list of factors that are needed together.
        public var factors = CeremonyConfiguration.everyFactor
        /// The ways in which back ends dispatch. A program with a dispatcher of its own adds the dispatcher here.
        public var dispatchers = Dispatchers.standard
        /// The deviations from the standard that responses may have.
        public var lenientReadings: LenientReadings
        /// The extensions of responses that the server understands or that are known to be harmless.
        ///
        /// The operator's own words.
        public var knownExtensions: Set<String>  // check: unicode-words
        /// The protocol versions that responses may have. Requests are of UAF 1.1.
        public var versions: Set<Version> = [.uaf11]
        /// `true` if a registration may have an attestation that the policy does not prefer.
        public var acceptsLessPreferredAttestation = false
        /// `true` if authenticators may be older than their metadata trusts.
        public var acceptsOutdatedAuthenticators = false
        /// The rule by which registrations need evidence about their app; `nil` if the server wants no evidence.
        public var appAttestation: AppAttestationPolicy?
        /// The proxies whose forwarded headers count.
        public var trustedProxies: [AddressBlock]
        /// Every time, count and size.
        public var limits: Limits
        /// The cost of hashing passwords, and the bounds of passwords.
        public var hashing = PasswordLimits()
        /// The list of passwords that people may not choose; `nil` if the server has no list.
        public var breachedPasswords: BreachedPasswordList?
        /// `true` if clients can register themselves (RFC 7591).
        public var hasRegistration = false
        /// `true` if anybody can register a client (RFC 7591, section 3).
        public var isRegistrationOpen = false
        /// `true` if a client's identifier can be the address of its metadata.
        public var takesClientDocuments = false
        /// The issuers that may vouch for the software of self-registered clients.
        public var softwareStatements = SoftwareStatementIssuers()
        /// The terms that people have to agree to before the server issues anything for them; `nil` for no terms.
        public var terms: Terms?
        /// A simulated register of people, whose data clients of the app sign-in service receive; `nil` for no
        /// register.
        public var simulatedPeople: SimulatedPeople?
        /// The names that the app sign-in service uses.
        public var signInService = SignInService.Names()
        /// The calls to addresses that services have named; `nil` if the server calls no such address.
        public var calls: (any OutgoingCalls)?
        /// The listener on which clients show certificates (RFC 8705); `nil` for no such listener.
        public var mutualTLS: CertificateListener?
        /// The sender and the transport of mail; `nil` if the server sends no mail.
        public var mail: (sender: MailSender, transport: any MailTransport)?
        /// The rules of personalised identities: the required soundness of devices, the factors for a person who
        /// changes their own data, and the length of PINs.
        public var identities = IdentityRules()
        /// The PIN service that evaluates the PINs of new activations; `nil` for no PIN service.
        public var pins: (any PinEvaluating)?
        /// The counters of the server.
        public var metrics = ServerMetrics()
        /// The log for events that belong to no single request.
        public var logger = Logger(label: "countersign")

        /// Creates a configuration, with the defaults for arguments that are left out.
        public init(
            issuer: String, serviceName: String = "Countersign", facets: [FacetID],
            rules: @escaping @Sendable () throws -> RuleSet = { RuleSet(metadata: try .builtIn()) },
            // The operator's own words.
            // check: unicode-words
            lenientReadings: LenientReadings = LenientReadings(), knownExtensions: Set<String> = ["fido.uaf.uvm"],
            trustedProxies: [AddressBlock] = [], limits: Limits = Limits()
        ) {
            self.issuer = issuer
            self.serviceName = serviceName
            self.facets = facets
            self.rules = rules
            self.lenientReadings = lenientReadings
            self.knownExtensions = knownExtensions
            self.trustedProxies = trustedProxies
            self.limits = limits
        }

        /// `true` if people reach the server by https.
        public var isSecure: Bool { self.issuer.hasPrefix("https://") }
    }

    /// The choices of the operator.
    public let configuration: Configuration
    /// Sign-ins, transactions and enrolments.
    public let ceremonies: CeremonyEngine
    /// Codes, tokens, sessions and clients.
    public let provider: OpenIDProvider
    /// The ways to sign in.
    let ways: SignInWays
    /// The authorizations of devices without a browser.
    let devices: DeviceAuthorizations
    /// The app sign-in service, beside OpenID Connect.
    public let signInService: SignInService
    /// The lasting grants of services for people.
    public let grants: AccountGrants
    /// People and their devices.
    public let directory: AccountDirectory
    /// The services of personalised identities, and the data of people at the services.
    public let identities: IdentityDirectory
    /// The subjects: the names by which services know people.
    let mappingIDs: MappingIDs
    /// The passwords that people may have beside their phones.
    public let passwords: PasswordAccounts
    /// The administrators.
    public let administrators: Administrators
    /// The recorder of runs' events; `nil` if the server records no runs.
    public let trace: TraceRecorder?
    /// The channels that wait for events.
    public let channels: EventChannels
    let trail: any AuditStore
    let outbox: any OutboxStore
    let mails: any MailDeliveries.Outbox
    let sealing: Sealing
    let registrations: ClientRegistrations
    /// The sign-ins by other providers.
    let upstream: UpstreamSignIns
    /// The other providers by which people can sign in.
    public let upstreamProviders: UpstreamProviders
    let keyStore: any SealingKeyStore
    let resealing = Resealing()
    let lastMail = LastMail()
    let time: TimeSource
    let random: RandomSource

    /// Wires a server over `store`. At the first start of a store the function makes the provider's keys.
    ///
    /// Throws ``StoreError``, `HashingError` if the server could hash no password, and the fault of the operator's
    /// files as ``reloadRules(logger:)`` does.
    public static func open(
        _ configuration: Configuration, store: any ServerStore, sealing: Sealing, trace: TraceRecorder? = nil,
        time: TimeSource = .system, random: RandomSource = .system
    ) async throws -> ServerAssembly {
        let (limits, logger) = (configuration.limits, configuration.logger)
        let directory = AccountDirectory(
            store: store, time: time, random: random, limits: limits,
            endOfSessions: Identities.endOfSessions(limits: limits))
        let rules = try configuration.rules()
        let passwords = try PasswordAccounts(
            store: store, sealing: sealing, limits: limits, hashing: configuration.hashing,
            breached: configuration.breachedPasswords, sendsMail: configuration.mail != nil, time: time, random: random)
        configuration.metrics.watch(.hashingWaiting) { passwords.load.waiting }
        configuration.metrics.watch(.hashingMemory) { passwords.load.memoryKiB * 1024 }
        let lateCeremonies = LateCeremonies()
        let ways = SignInMethods.open(
            SignInFoundation(
                store: store, directory: directory, passwords: passwords, ceremonies: lateCeremonies, limits: limits,
                time: time, random: random))
        var settings = OpenIDProvider.Configuration(
            issuer: configuration.issuer, limits: limits, epoch: sealing.epoch,
            levels: AssuranceLevel.words.map { word in
                AssuranceWord(word.name, levels: word.needed?.met.map(\.rawValue) ?? [])
            }, note: { Self.log($0, logger) })
        settings.uiLocales = Languages.catalogue.all.map(\.tag)
        settings.calls = configuration.calls
        settings.terms = configuration.terms
        settings.simulatedPeople = configuration.simulatedPeople
        settings.detailTypes = DetailTypes.all(textCharacters: limits.transactionCharacters)
        settings.hasRegistration = configuration.hasRegistration
        settings.isRegistrationOpen = configuration.isRegistrationOpen
        settings.takesClientDocuments = configuration.takesClientDocuments
        settings.mutualTLS = configuration.mutualTLS
        let provider = try await OpenIDProvider.open(
            settings,
            store: store, methods: ways.methods,
            backchannel: PhoneAsking(directory: directory, ceremonies: lateCeremonies, random: random),
            people: People(directory: directory, services: ConfirmedClaims(store: store)), time: time, random: random)
        var engine = CeremonyConfiguration(
            issuer: configuration.issuer, serviceName: configuration.serviceName,
            // Without TLS the calling app's own facet stands for the application (founding decision, Loopback).
            appID: configuration.isSecure ? "\(configuration.issuer)/uaf/1.1/facets" : "",
            trustedFacets: configuration.apps.facets(addedTo: configuration.facets), factors: configuration.factors,
            metadata: rules.metadata, policies: rules.policies,
            channelBinding: rules.channelBinding, limits: limits, lenientReadings: configuration.lenientReadings,
            knownExtensions: configuration.knownExtensions)
        engine.apps = configuration.apps
        engine.versions = configuration.versions
        engine.sendsMail = configuration.mail != nil
        engine.identities = configuration.identities
        engine.facetRefused = { Self.log(refusedFacet: $0, logger) }
        engine.pinServiceMissing = {
            logger.error(
                "A phone's PIN is evaluated by a PIN service, and this server has none",
                metadata: ["setting": "--pin-service", "remedy": "countersign pin-service"])
        }
        engine.inventedAccountsRefused = {
            logger.error(
                "The stored document of invented accounts cannot be read: the program's own stands in for it",
                metadata: ["remedy": "countersign admin invented set"])
        }
        engine.acceptsLessPreferredAttestation = configuration.acceptsLessPreferredAttestation
        engine.acceptsOutdatedAuthenticators = configuration.acceptsOutdatedAuthenticators
        engine.appAttestation = configuration.appAttestation
        let ceremonies = try CeremonyEngine(
            configuration: engine, store: store, sealing: sealing, time: time, random: random,
            subjects: Subjects(
                subject: { account, client in
                    try await provider.clients.subject(ofAccount: account, ofClient: client)
                },
                accountID: { subject, client in try await provider.tokens.account(ofSubject: subject, client: client) }),
            dispatchers: configuration.dispatchers,
            signer: ManagerSigner(
                key: { try provider.keys.identitySigningKey(at: $0) },
                publicKeys: { provider.keys.identityPublicKeys(at: $0) }),
            receiptSigner: ReceiptSigner { claims, now in
                try await provider.keys.sign(receipt: claims, issuer: configuration.issuer, at: now)
            },
            inApp: InAppSignIns(authorizations: InAppAuthorizations(provider.authorizations)), pins: configuration.pins,
            letters: ChangeLetters { try await AccountChangeQuestions(passwords).letters(to: $0) })
        lateCeremonies.open(ceremonies)
        let grants = AccountGrants(store: store, limits: limits, time: time)
        let upstream = UpstreamSignIns(provider.authorizations, store: store) { displayName, email in
            directory.newcomer(displayName: displayName, email: email)
        }
        configuration.metrics.watch(.providerWaiting) { upstream.waitingArrivals }
        return ServerAssembly(
            configuration: configuration, ceremonies: ceremonies, provider: provider, ways: ways,
            devices: DeviceAuthorizations(provider.authorizations),
            signInService: SignInService(
                provider, grants: grants, upstream: upstream, names: configuration.signInService), grants: grants,
            directory: directory,
            identities: IdentityDirectory(
                store: store, accounts: directory, sealing: sealing, sendsMail: configuration.mail != nil, time: time,
                random: random, limits: limits),
            mappingIDs: MappingIDs(
                store: store, accounts: directory, pageSize: limits.pageSize, time: time,
                subject: { account, client in
                    try await provider.clients.subject(ofAccount: account, ofClient: client)
                },
                accountID: { subject, client in try await provider.tokens.account(ofSubject: subject, client: client) }),
            passwords: passwords,
            administrators: Administrators(store: store, time: time, random: random, limits: limits), trace: trace,
            channels: EventChannels(
                share: limits.channelsPerSource, deviceShares: EventChannels.DeviceShares(limits), time: time,
                pauseOfReports: limits.pauseOfReports,
                registry: configuration.metrics.registry),
            trail: store, outbox: store, mails: store, sealing: sealing,
            registrations: ClientRegistrations(
                clients: provider.clients, store: store, issuers: configuration.softwareStatements),
            upstream: upstream,
            upstreamProviders: UpstreamProviders(provider.clients, store: store), keyStore: store,
            time: time,
            random: random)
    }

    /// Tells the operator about a difference between a service's registration and its requests.
    @Sendable private static func log(_ misfit: ClientMisfit, _ logger: Logger) {
        logger.notice(
            "A service's request does not fit its registration",
            metadata: [
                "client": "\(misfit.client)", "setting": "\(misfit.setting)", "advice": "\(misfit.advice)",
            ])
    }

    /// Tells the operator, at a start, which settings of the registered clients are dangerous.
    ///
    /// Cost: one query.
    public func logWarnedClients() async throws {
        for (client, warnings) in try await self.provider.clients.warned() {
            for warning in warnings {
                self.configuration.logger.warning(
                    "A client's registration is dangerous",
                    metadata: [
                        "client": "\(client.id)", "setting": "\(warning.setting)", "advice": "\(warning.sentence)",
                    ])
            }
        }
    }

    /// Tells the operator which app has tried to answer without being listed.
    @Sendable private static func log(refusedFacet facet: String, _ logger: Logger) {
        logger.notice(
            "An app that is not in the list of facets was refused",
            metadata: ["facet": "\(facet)", "setting": "--facets"])
    }

    /// Returns the router that everybody reaches: pages, OpenID, phones, back ends, and the admin API behind its
    /// tokens.
    public func publicRouter() -> Router<ServerContext> {
        let (pages, programs) = (self.pages, self.programs)
        let router = self.router(
            issuer: self.configuration.issuer, metrics: self.configuration.metrics, page: pages.outside)
        router.add(middleware: programs.crossOrigin(below: router.path))
        router.mount(self.publicEndpoints(pages, programs).map(\.route))
        router.mount(pages.files)
        let administrators = self.administrators
        self.administration.mount(on: router, guarding: .token { try await administrators.administrator(token: $0) })
        return router.complete()
    }

    /// Returns the router for clients that show a certificate (`mtls_endpoint_aliases`, RFC 8705, section 5). The
    /// listener that passes a request on names the connection of the request.
    public func mutualRouter() -> Router<ServerContext> {
        // The machine in front passes the client's own TLS on, and can add no header. So a header about the request's
        // origin comes from the client, and does not count.
        let router = self.router(metrics: self.configuration.metrics, trustedProxies: [])
        router.mount(self.programs.clientEndpoints.map(\.route))
        return router.complete()
    }

    /// Returns the router for the local command line, through a socket that only the operator can open.
    public func socketRouter() -> Router<ServerContext> {
        let router = self.router()
        self.administration.mount(on: router, guarding: .socket)
        return router.complete()
    }

    /// Returns the router for supervisors, and for the questions of back ends that the public may not ask.
    ///
    /// `isListening` returns `true` if every listener listens. `assertWritable` throws if the store cannot make a step
    /// durable. The router also serves the server's numbers.
    public func operationsRouter(
        isListening: @escaping @Sendable () -> Bool, assertWritable: @escaping @Sendable () async throws -> Void
    ) -> Router<ServerContext> {
        let router = self.router()
        let registry = self.configuration.metrics.registry
        HealthRoutes(isListening: isListening, assertWritable: assertWritable, metrics: { registry.text })
            .mount(on: router)
        router.mount(self.programs.internalEndpoints.map(\.route))
        return router.complete()
    }

    /// - Parameters:
    ///   - issuer: The address by which people reach the router; empty if no people come.
    ///   - page: Makes the page that tells people of a problem; `nil` if no people come.
    private func router(
        issuer: String = "", metrics: ServerMetrics? = nil,
        page: (@Sendable (Problem, ServerContext) -> Response)? = nil, trustedProxies: [AddressBlock]? = nil
    ) -> ServerRouter {
        ServerRouter(
            issuer: issuer, isSecure: self.configuration.isSecure,
            trustedProxies: trustedProxies ?? self.configuration.trustedProxies, metrics: metrics,
            isTraced: self.trace != nil, page: page)
    }

    private var administration: AdminAPI {
        AdminAPI(
            AdminAPI.Parts(
                provider: self.provider, directory: self.directory, passwords: self.passwords, grants: self.grants,
                registrations: self.registrations, upstream: self.upstreamProviders,
                administrators: self.administrators, ceremonies: self.ceremonies, identities: self.identities,
                mappingIDs: self.mappingIDs),
            AdminAPI.Running(
                trail: self.trail, keys: self.keyStore, resealing: self.resealing, mailTest: MailTest(self),
                outbox: self.outbox, lastMail: self.lastMail,
                reload: {
                    let rules = try self.reloadRules(logger: $0)
                    return (rules.metadata, rules.policies)
                }, trace: self.trace, logger: self.configuration.logger),
            words: ClientSettingWords(
                signInMethods: SignInMethods.explainedWords, detailTypes: DetailTypes.names),
            issuer: self.configuration.issuer, limits: self.configuration.limits, time: self.time)
    }
}

/// Tells the provider the names of people that may sign in.
private struct People: PersonDirectory {
    let directory: AccountDirectory
    let services: ConfirmedClaims

    func confirmedClaims(account: String, client: String) async throws -> JSONObject? {
        try await self.services.claims(account: account, client: client)
    }

    func takes(_ account: String, in role: RoleAtService?, at client: String) async throws -> Bool {
        try await self.services.takes(account, in: role, at: client)
    }

    func person(account: String) async throws -> Person? {
        guard let record = try await self.directory.account(id: account), !record.isLocked else { return nil }
        return Person(
            username: record.username?.text, displayName: record.displayName, email: record.email,
            phone: record.phone, address: record.address, profile: record.profile, updatedAt: record.updatedAt)
    }
}
