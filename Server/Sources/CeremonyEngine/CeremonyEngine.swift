public import Store
public import UAF
public import UAFRelyingParty
public import _Primitives

/// Everything that the engine keeps its state in.
public typealias CeremonyStores = AccountStore & CeremonyStore & AuditStore & NoticeStore & InventedAccountStore

/// The engine's names for people as relying parties know them: pairwise, one for each client.
public struct Subjects: Sendable {
    let subject: @Sendable (_ accountID: String, _ clientID: String) async throws -> String
    let accountID: @Sendable (_ subject: String, _ clientID: String) async throws -> String?

    /// `subject` names an account to a client, `accountID` is the way back; `nil` for a name that the client was never
    /// given.
    public init(
        subject: @escaping @Sendable (_ accountID: String, _ clientID: String) async throws -> String,
        accountID: @escaping @Sendable (_ subject: String, _ clientID: String) async throws -> String?
    ) {
        self.subject = subject
        self.accountID = accountID
    }
}

/// Runs ceremonies: sign-ins, transactions and enrolments between people's devices and this server.
///
/// It keeps nothing that another node would lack: every decision is made on a row of the store, inside the step that
/// changes it. Only the wakes of ``CeremonyEvents`` and the budgets live in memory.
public struct CeremonyEngine: Sendable {
    /// What a deployment chooses.
    public struct Configuration: Sendable {
        /// The server's own address, without a slash at its end. Links begin with it.
        public var issuer: String
        /// What phones show as the asking service at an enrolment.
        public var serviceName: String
        /// The UAF AppID. Empty: the calling app's facet stands for it, which only a loopback server may use.
        public var appID: String
        /// Who may call for the application.
        public var trustedFacets: [FacetID]
        /// Which factors a sign-in or a transaction takes.
        public var factors: FactorMatrix
        /// Which factors an enrolment makes.
        public var enrolmentFactors: FactorMatrix
        /// The models of authenticators at the start.
        public var metadata: MetadataCatalog
        /// The policies that relying parties can name, at the start.
        public var policies: PolicyCatalog
        /// What the TLS channel must have been through which a phone got its request, at the start.
        public var channelBinding: ChannelBindingRule
        /// The times, counts and sizes.
        public var limits: Limits
        /// What responses may have that the standard is against. What may be confirmed is not asked here: it is any text
        /// that `TransactionText` takes.
        public var lenientReadings: LenientReadings
        /// Extensions of responses that are understood or known to be harmless, by their identifiers.
        /// The operator's own words.
        public var knownExtensions: Set<String>
        /// The protocol versions that responses may have. Requests are of UAF 1.1.
        public var versions: Set<Version> = [.uaf11]
        /// Whether a registration may be attested otherwise than the policy prefers.
        public var acceptsLessPreferredAttestation = false
        /// Whether authenticators may be older than their metadata trusts.
        public var acceptsOutdatedAuthenticators = false

        /// Called with the name of an app that ``trustedFacets`` does not have, one line of at most 128 characters that
        /// somebody has sent; once a minute at most.
        public var facetRefused: @Sendable (String) -> Void = { _ in }
        /// Called where the stored document of invented accounts is none, once for each such text: the standard one stands
        /// in for it.
        public var inventedAccountsRefused: @Sendable () -> Void = {}

        /// Each of the product's own authenticators that a person answers with, alone.
        public static let everyFactor: FactorMatrix = [[.pin], [.password], [.fingerprint], [.face], [.devicePasscode]]

        /// A configuration with the product's own authenticators.
        public init(
            issuer: String, serviceName: String, appID: String, trustedFacets: [FacetID],
            factors: FactorMatrix = Self.everyFactor, enrolmentFactors: FactorMatrix = Self.everyFactor,
            metadata: MetadataCatalog, policies: PolicyCatalog = PolicyCatalog(),
            channelBinding: ChannelBindingRule = .ignore, limits: Limits = Limits(),
            // The operator's own words.
            lenientReadings: LenientReadings = LenientReadings(), knownExtensions: Set<String> = ["fido.uaf.uvm"]
        ) {
            self.issuer = issuer
            self.serviceName = serviceName
            self.appID = appID
            self.trustedFacets = trustedFacets
            self.factors = factors
            self.enrolmentFactors = enrolmentFactors
            self.metadata = metadata
            self.policies = policies
            self.channelBinding = channelBinding
            self.knownExtensions = knownExtensions
            self.limits = limits
            self.lenientReadings = lenientReadings
        }
    }

    /// What the deployment chose.
    public let configuration: Configuration
    let store: any CeremonyStores
    let sealing: Sealing
    let time: TimeSource
    let random: RandomSource
    let subjects: Subjects
    let rules: CurrentRules
    let hub: CeremonyHub
    let budgets: Budgets
    let distribution = ReadDistribution()

    /// An engine over a store. Throws `RequestError` where the configured factors make no policy.
    public init(
        configuration: Configuration, store: any CeremonyStores, sealing: Sealing, time: TimeSource = .system,
        random: RandomSource = .system, subjects: Subjects
    ) throws {
        self.configuration = configuration
        self.store = store
        self.sealing = sealing
        self.time = time
        self.random = random
        self.subjects = subjects
        self.rules = CurrentRules(
            try Rules(
                configuration, metadata: configuration.metadata, policies: configuration.policies,
                channelBinding: configuration.channelBinding))
        self.hub = CeremonyHub(watchersPerCeremony: configuration.limits.watchersPerCeremony, time: time)
        self.budgets = Budgets(configuration.limits)
    }

    var limits: Limits { self.configuration.limits }

    /// Lets the record's machine judge, and turns a refusal into an error.
    func handle(_ event: CeremonyEvent, _ record: inout CeremonyRecord, at now: Timestamp) throws {
        switch record.handle(event, at: now, lifetime: PhaseLifetime(record.kind, self.limits)) {
        case .proceed, .end: return
        case .refuse(let refusal): throw RefusedEvent(refusal: refusal)
        }
    }
}

/// A machine's refusal on its way out of a step; the caller of the step gives it the name of its own interface.
struct RefusedEvent: Error {
    let refusal: CeremonyRefusal
}

extension SealingPurpose {
    static let serverData = SealingPurpose("uaf server data")
    static let typedCode = SealingPurpose("typed code")
    static let confirmationNumber = SealingPurpose("confirmation number")
    static let deviceSecret = SealingPurpose("device secret")
    static let browserIdentifier = SealingPurpose("browser identifier")
    static let inventedKey = SealingPurpose("invented key")
    static let inventedAccount = SealingPurpose("invented account")
    static let inventedKeyTag = SealingPurpose("invented key tag")
    static let inventedKeyMask = SealingPurpose("invented key mask")
    static let inventedKeyRest = SealingPurpose("invented key rest")
}

extension AuditEvent.Kind {
    static let accountCreated = Self(rawValue: "account-created")
    static let accountLocked = Self(rawValue: "account-locked")
    static let accountUnlocked = Self(rawValue: "account-unlocked")
    static let accountDeleted = Self(rawValue: "account-deleted")
    static let deviceDeleted = Self(rawValue: "device-deleted")
    static let deviceAdded = Self(rawValue: "device-added")
    static let deviceReplaced = Self(rawValue: "device-replaced")
    static let authenticatorAdded = Self(rawValue: "authenticator-added")
    static let activationCreated = Self(rawValue: "activation-created")
    static let dispatchClaimed = Self(rawValue: "dispatch-claimed")
    static let signInClaimed = Self(rawValue: "sign-in-claimed")
    static let registrationAnswered = Self(rawValue: "registration-answered")
    static let confirmationFailed = Self(rawValue: "confirmation-failed")
    static let authenticated = Self(rawValue: "authenticated")
    static let transactionConfirmed = Self(rawValue: "transaction-confirmed")
    static let denied = Self(rawValue: "denied")
    static let failed = Self(rawValue: "failed")
    static let counterWentBack = Self(rawValue: "counter-went-back")
    static let wrongBrowser = Self(rawValue: "wrong-browser")
    static let cancelled = Self(rawValue: "cancelled")
    static let expired = Self(rawValue: "expired")
    static let signedIn = Self(rawValue: "signed-in")
    static let administratorLinkCreated = Self(rawValue: "administrator-link-created")
    static let administratorAdded = Self(rawValue: "administrator-added")
    static let administratorRevoked = Self(rawValue: "administrator-revoked")
    static let administratorTokenRotated = Self(rawValue: "administrator-token-rotated")
}
