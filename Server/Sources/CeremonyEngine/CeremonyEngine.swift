public import Store
public import UAF
public import UAFRelyingParty
public import _Primitives

/// Everything that the engine keeps its state in.
public typealias CeremonyStores = AccountStore & CeremonyStore & AuditStore & NoticeStore & InventedAccountStore
    & IdentityStores & DeviceIdentityStore & ReplayStore & AccountChangeStore

/// Runs ceremonies: sign-ins, transactions and enrolments between people's devices and this server. It is its parts,
/// one for each use case, and what they go by.
///
/// It keeps nothing that another node would lack: every decision is made on a row of the store, inside the step that
/// changes it. Only the wakes of ``CeremonyEvents`` and the budgets live in memory.
public struct CeremonyEngine: Sendable {
    /// Where back ends have something asked on a phone.
    public let dispatches: Dispatches
    /// Where phones exchange a token or a code for a request.
    public let redemptions: Redemptions
    /// Requests that phones ask for without a token.
    public let requests: OpenRequests
    /// Where phones answer registration requests.
    public let registrationAnswers: RegistrationAnswers
    /// Where phones answer authentication requests.
    public let authenticationAnswers: AuthenticationAnswers
    /// The sign-in page.
    public let signIns: SignIns
    /// Where changes of accounts are confirmed.
    public let changes: ChangeConfirmations
    /// Sign-ins without a browser.
    public let backchannel: BackchannelSignIns
    /// Enrolments that operators ask for.
    public let enrolments: Enrolments
    /// Deregistrations that are asked for directly.
    public let deregistrations: Deregistrations
    /// What devices say for themselves.
    public let deviceProofs: DeviceProofs
    /// What back ends see of what they dispatched.
    public let sessions: DispatchedSessions
    /// What accounts look like that nobody has.
    public let inventedAccounts: InventedAccounts
    /// Personalised identities.
    public let identities: Identities
    /// Ends and deletes what is over.
    public let sweep: Sweep

    private let environment: CeremonyEnvironment

    /// An engine over a store. `signer` has the keys of personalised identities, `inApp` is the provider of codes where there
    /// is one, and `pins` the PIN service.
    ///
    /// Throws `RequestError` where the configured factors make no policy.
    public init(
        configuration: CeremonyConfiguration, store: any CeremonyStores, sealing: Sealing, time: TimeSource = .system,
        random: RandomSource = .system, subjects: Subjects, signer: ManagerSigner,
        inApp: (any InAppServices)? = nil, pins: (any PinEvaluating)? = nil
    ) throws {
        let rules = CurrentRules(
            try Rules(
                configuration, metadata: configuration.metadata, policies: configuration.policies,
                channelBinding: configuration.channelBinding))
        let environment = CeremonyEnvironment(
            configuration: configuration, rules: rules, sealing: sealing, time: time, random: random)
        let hub = CeremonyHub(watchersPerCeremony: configuration.limits.watchersPerCeremony, time: time)
        let budgets = Budgets(configuration.limits)
        let endings = Endings(environment: environment, store: store, hub: hub)
        let invented = InventedAccounts(environment: environment, store: store)
        let checks = AnswerChecks(environment: environment, budgets: budgets, trail: store)
        let deregistration = DeregistrationSteps(environment: environment)

        self.environment = environment
        self.dispatches = Dispatches(environment: environment, store: store, budgets: budgets, subjects: subjects)
        self.redemptions = Redemptions(
            environment: environment, store: store, hub: hub, budgets: budgets, deregistration: deregistration)
        self.requests = OpenRequests(environment: environment, store: store, budgets: budgets, invented: invented)
        self.registrationAnswers = RegistrationAnswers(
            environment: environment, store: store, hub: hub, checks: checks, endings: endings, invented: invented,
            replacements: Replacements(environment: environment, store: store))
        self.authenticationAnswers = AuthenticationAnswers(
            environment: environment, store: store, hub: hub, checks: checks, endings: endings, invented: invented)
        let keys = ManagerKeys(environment: environment, store: store, signer: signer)
        self.identities = Identities(
            environment: environment, store: store, hub: hub, budgets: budgets, keys: keys, services: inApp,
            pins: pins)
        self.signIns = SignIns(
            environment: environment, store: store, hub: hub, budgets: budgets, endings: endings,
            logins: LoginCodes(environment: environment, store: store, keys: keys))
        self.changes = ChangeConfirmations(environment: environment, store: store, signIns: self.signIns)
        self.backchannel = BackchannelSignIns(environment: environment, store: store, budgets: budgets)
        self.enrolments = Enrolments(environment: environment, store: store, hub: hub)
        self.deregistrations = Deregistrations(
            environment: environment, store: store, subjects: subjects, steps: deregistration)
        self.deviceProofs = DeviceProofs(environment: environment, store: store, budgets: budgets)
        self.sessions = DispatchedSessions(environment: environment, store: store, hub: hub, subjects: subjects)
        self.inventedAccounts = invented
        self.sweep = Sweep(environment: environment, store: store, endings: endings)
    }

    /// What the deployment chose.
    public var configuration: CeremonyConfiguration { self.environment.configuration }
    /// The models that take part now.
    public var metadata: MetadataCatalog { self.environment.rules.value.metadata }
    /// The policies that can be named now.
    public var policies: PolicyCatalog { self.environment.rules.value.policies }
    /// The protocol versions that are spoken, the lowest first.
    public var versions: [Version] { self.environment.rules.value.relyingParty.versions.sorted() }

    /// Goes by other models, policies and TLS channels from now on, for every request and answer that comes after.
    /// Throws `RequestError`, and changes nothing, where the configured factors make no policy of the models.
    public func replaceRules(
        metadata: MetadataCatalog, policies: PolicyCatalog, channelBinding: ChannelBindingRule
    ) throws {
        self.environment.rules.replace(
            by: try Rules(
                self.configuration, metadata: metadata, policies: policies, channelBinding: channelBinding))
    }
}
