public import Records
public import Sealing
import Settings
public import UAF
public import UAFRelyingParty
public import _Primitives

/// The stores that hold the engine's entire state.
public typealias CeremonyStores = AccountStore & CeremonyStore & AuditStore & NoticeStore & InventedAccountStore
    & IdentityStores & DeviceIdentityStore & DispatchTargetStore & ReplayStore & AccountChangeStore & AskingRestStore
    & ReceiptStore & PushCountStore & AttestedAppStore

/// Runs ceremonies: sign-ins, transactions and enrolments between people's devices and this server. The engine consists
/// of one part for each use case, and the rules of the parts.
///
/// The engine keeps no state that another node would lack. Every decision is made on a row of the store, inside the
/// step that changes the row. Only the wakes of ``CeremonyEvents`` and the budgets are in memory.
///
/// The engine is an object: its parts take 22 KB together, and each route captures the engine.
public final class CeremonyEngine: Sendable {
    /// Dispatches: back ends ask a person on a phone.
    public let dispatches: Dispatches
    /// The devices that back ends can name as targets of dispatches.
    public let dispatchTargets: DispatchTargets
    /// Redemptions: phones exchange a token or a code for a request.
    public let redemptions: Redemptions
    /// Requests of phones without a token.
    public let requests: OpenRequests
    /// The answers of phones to registration requests.
    public let registrationAnswers: RegistrationAnswers
    /// The answers of phones to authentication requests.
    public let authenticationAnswers: AuthenticationAnswers
    /// The sign-in page.
    public let signIns: SignIns
    /// Sign-ins that begin with a name at the sign-in page.
    public let askedSignIns: AskedSignIns
    /// The confirmations of changes of accounts.
    public let changes: ChangeConfirmations
    /// Sign-ins without a browser.
    public let backchannel: BackchannelSignIns
    /// Enrolments that operators request.
    public let enrolments: Enrolments
    /// The limits of devices that another device approved a short time ago.
    public let deviceLimits: DeviceLimits
    /// Devices that another device of their person approves.
    public let approvals: DeviceApprovals
    /// Deregistrations that are requested directly.
    public let deregistrations: Deregistrations
    /// Checks the proofs that devices give of their requests with their own keys.
    public let deviceProofs: DeviceProofs
    /// Devices as targets of dispatches, as devices state themselves.
    public let deviceTargets: DeviceTargets
    /// The operations that wait for devices.
    public let deviceOperations: DeviceOperations
    /// The view that back ends have of their dispatches.
    public let sessions: DispatchedSessions
    /// The receipts of confirmed transactions.
    public let receipts: Receipts
    /// Invented accounts for names that have no account.
    public let inventedAccounts: InventedAccounts
    /// Personalised identities.
    public let identities: Identities
    /// Ends ceremonies whose time is over, and deletes old ones.
    public let sweep: Sweep

    private let environment: CeremonyEnvironment

    /// Creates an engine over a store. `dispatchers` are the ways in which back ends dispatch, `signer` has the keys of
    /// personalised identities, `inApp` provides codes if a provider exists, and `pins` is the PIN service. `letters` tell
    /// people of devices that another device has approved.
    ///
    /// Throws `RequestError` if the configured factors make no policy.
    public init(
        configuration: CeremonyConfiguration, store: any CeremonyStores, sealing: Sealing, time: TimeSource = .system,
        random: RandomSource = .system, subjects: Subjects, dispatchers: Dispatchers = .standard,
        signer: ManagerSigner, receiptSigner: ReceiptSigner? = nil, inApp: (any InAppServices)? = nil,
        pins: (any PinEvaluating)? = nil, letters: ChangeLetters = .none
    ) throws {
        let rules = CurrentRules(
            try Rules(
                configuration, metadata: configuration.metadata, policies: configuration.policies,
                channelBinding: configuration.channelBinding))
        let environment = CeremonyEnvironment(
            configuration: configuration, rules: rules, sealing: sealing, time: time, random: random,
            outcomeOfEnd: { $0.outcomeOfEnd($1, at: $2, limits: $3) })
        let hub = CeremonyHub(watchersPerTopic: configuration.limits.watchersPerCeremony, time: time)
        let budgets = Budgets(configuration.limits)
        let endings = Endings(environment: environment, store: store, hub: hub)
        let invented = InventedAccounts(environment: environment, store: store)
        let checks = AnswerChecks(environment: environment, budgets: budgets, trail: store)
        let deregistration = DeregistrationSteps(environment: environment)
        let repeated = RepeatedAnswers(environment: environment, store: store, invented: invented)
        let receipts = Receipts(environment: environment, store: store, subjects: subjects, signer: receiptSigner)

        self.environment = environment
        self.dispatchTargets = DispatchTargets(environment: environment, store: store, subjects: subjects)
        self.dispatches = Dispatches(
            environment: environment, store: store, hub: hub, budgets: budgets, subjects: subjects,
            targets: self.dispatchTargets, dispatchers: dispatchers)
        self.redemptions = Redemptions(
            environment: environment, store: store, hub: hub, budgets: budgets, deregistration: deregistration)
        self.requests = OpenRequests(environment: environment, store: store, budgets: budgets, invented: invented)
        self.deviceLimits = DeviceLimits(environment: environment, store: store)
        self.approvals = DeviceApprovals(
            environment: environment, store: store, hub: hub, budgets: budgets, letters: letters)
        self.registrationAnswers = RegistrationAnswers(
            environment: environment, store: store, hub: hub, checks: checks, endings: endings, invented: invented,
            replacements: Replacements(environment: environment, store: store),
            apps: AppAttestations(environment: environment, store: store), repeated: repeated)
        self.authenticationAnswers = AuthenticationAnswers(
            environment: environment, store: store, hub: hub, checks: checks, endings: endings, invented: invented,
            denials: Denials(environment: environment, store: store, hub: hub, checks: checks, endings: endings),
            numbers: MatchedNumbers(environment: environment, store: store), deviceLimits: self.deviceLimits,
            approvals: self.approvals, receipts: receipts, repeated: repeated)
        let keys = ManagerKeys(environment: environment, store: store, signer: signer)
        self.identities = Identities(
            environment: environment, store: store, hub: hub, budgets: budgets, keys: keys, services: inApp,
            pins: pins)
        self.signIns = SignIns(
            environment: environment, store: store, hub: hub, budgets: budgets, endings: endings,
            logins: LoginCodes(environment: environment, store: store, keys: keys))
        let announcements = DeviceAnnouncements(
            environment: environment, store: store, hub: hub, dispatchers: dispatchers)
        self.askedSignIns = AskedSignIns(
            environment: environment, store: store, signIns: self.signIns, announcements: announcements)
        self.changes = ChangeConfirmations(environment: environment, store: store, signIns: self.signIns)
        self.backchannel = BackchannelSignIns(
            environment: environment, store: store, hub: hub, budgets: budgets, announcements: announcements)
        self.enrolments = Enrolments(environment: environment, store: store, hub: hub)
        self.deregistrations = Deregistrations(
            environment: environment, store: store, subjects: subjects, steps: deregistration,
            deviceLimits: self.deviceLimits)
        self.deviceProofs = DeviceProofs(environment: environment, store: store, budgets: budgets)
        self.deviceTargets = DeviceTargets(
            environment: environment, store: store, budgets: budgets, dispatchers: dispatchers)
        self.deviceOperations = DeviceOperations(
            environment: environment, store: store, hub: hub, changes: DeviceChanges(hub: hub, store: store))
        self.sessions = DispatchedSessions(environment: environment, store: store, hub: hub, subjects: subjects)
        self.receipts = receipts
        self.inventedAccounts = invented
        self.sweep = Sweep(environment: environment, store: store, endings: endings)
    }

    /// The deployment's choices.
    public var configuration: CeremonyConfiguration { self.environment.configuration }
    /// The authenticator models in use now.
    public var metadata: MetadataCatalog { self.environment.rules.value.metadata }
    /// The policies that can be named now.
    public var policies: PolicyCatalog { self.environment.rules.value.policies }
    /// The supported protocol versions, the lowest first.
    public var versions: [Version] { self.environment.rules.value.relyingParty.versions.sorted() }

    /// Replaces the models, policies and TLS channels for every later request and answer. Throws `RequestError`, and
    /// changes nothing, if the configured factors make no policy of the models.
    public func replaceRules(
        metadata: MetadataCatalog, policies: PolicyCatalog, channelBinding: ChannelBindingRule
    ) throws {
        self.environment.rules.replace(
            by: try Rules(
                self.configuration, metadata: metadata, policies: policies, channelBinding: channelBinding))
    }
}
