public import Records
public import Settings
public import _Primitives

/// The stores that hold the entire state of personalised identities.
public typealias IdentityStores = AccountStore & IdentityStore & IdentityKeyStore & ServiceStore
    & IdentityConsentStore & PersonalInformationStore & InviteStore & OrganisationStore & ClientStore

/// Personalised identities: the requests of their phones, and the work of operators. The type consists of one part for
/// each use case, and the rules of the parts. An object, as ``CeremonyEngine`` is.
public final class Identities: Sendable {
    /// The server's keys.
    public let keys: IdentityKeys
    /// Offers of activations.
    public let offers: ActivationOffers
    /// Openings of activations by apps.
    public let openings: ActivationOpenings
    /// Enrolments: an activation gets its keys.
    public let enrolments: ActivationEnrolments
    /// The requests of an activation about itself.
    public let activations: OwnActivations
    /// The activations of accounts, for viewers.
    public let listings: ActivationListings
    /// Troubles of activations, and the remedies of operators.
    public let care: ActivationCare
    /// The sessions of accounts, for viewers.
    public let sessions: SessionListings
    /// The consents of people, for viewers.
    public let consents: IdentityConsents
    /// Sessions that apps begin themselves.
    public let appSessions: AppSessions
    /// The start of sessions: activations claim sessions and give answers.
    public let binding: SessionBinding
    /// The judgement of factors.
    public let judgement: FactorJudgement
    /// The end of sessions: a phone gives up a session, prolongs a session or fetches its code.
    public let control: SessionControl
    /// Questions to the PIN service.
    public let pinEvaluations: PinEvaluations
    /// Granted actions: a phone carries out the action that a session has granted.
    public let grantedActions: GrantedActions

    init(
        environment: CeremonyEnvironment, store: any IdentityStores, hub: CeremonyHub, budgets: Budgets,
        keys: ManagerKeys, services: (any InAppServices)?, pins: (any PinEvaluating)?
    ) {
        let envelope = IdentityEnvelope(environment: environment, store: store, keys: keys, budgets: budgets)
        let steps = IdentitySteps(environment: environment, store: store, keys: keys, hub: hub)
        let merges = AccountMerges(environment: environment, store: store)
        let openings = ActivationOpenings(
            environment: environment, store: store, envelope: envelope, merges: merges, pins: pins, hub: hub)
        self.keys = IdentityKeys(keys: keys)
        self.listings = ActivationListings(environment: environment, store: store, hub: hub, budgets: budgets)
        self.care = ActivationCare(environment: environment, store: store)
        self.sessions = SessionListings(environment: environment, store: store, hub: hub)
        self.consents = IdentityConsents(environment: environment, store: store, keys: keys)
        self.offers = ActivationOffers(environment: environment, store: store, keys: keys, budgets: budgets)
        self.openings = openings
        self.enrolments = ActivationEnrolments(
            environment: environment, store: store, envelope: envelope, openings: openings, hub: hub)
        self.activations = OwnActivations(environment: environment, store: store, envelope: envelope)
        self.appSessions = AppSessions(
            environment: environment, store: store, envelope: envelope, services: services, merges: merges,
            budgets: budgets)
        self.binding = SessionBinding(
            environment: environment, envelope: envelope, steps: steps,
            terms: SessionTermsReader(environment: environment))
        self.judgement = FactorJudgement(environment: environment, envelope: envelope, steps: steps, merges: merges)
        self.control = SessionControl(
            environment: environment, store: store, envelope: envelope, steps: steps, services: services)
        self.pinEvaluations = PinEvaluations(
            environment: environment, envelope: envelope, steps: steps, openings: openings, service: pins)
        self.grantedActions = GrantedActions(environment: environment, envelope: envelope, steps: steps)
    }
}

extension Identities {
    /// Returns a function from a moment to the history's entries for sessions that end then, because their device was
    /// removed.
    public static func endOfSessions(limits: Limits) -> @Sendable (_ now: Timestamp) -> SessionEnding {
        { now in { $0.outcomeOfEnd(.failed, at: now, limits: limits) } }
    }
}
