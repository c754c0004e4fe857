public import Store
public import _Primitives

/// Everything that personalised identities keep their state in.
public typealias IdentityStores = AccountStore & IdentityStore & IdentityKeyStore & ServiceStore
    & IdentityConsentStore & PersonalInformationStore & InviteStore & OrganisationStore & ClientStore

/// Personalised identities: the requests of their phones, and what operators do for them. It is its parts, one for each use
/// case, and what they go by.
public struct Identities: Sendable {
    /// The server's keys.
    public let keys: IdentityKeys
    /// Offers of activations.
    public let offers: ActivationOffers
    /// Where apps open an activation.
    public let openings: ActivationOpenings
    /// Where an activation gets its keys.
    public let enrolments: ActivationEnrolments
    /// What an activation asks and wants of itself.
    public let activations: OwnActivations
    /// What accounts have of activations, for those who look at them.
    public let listings: ActivationListings
    /// What is wrong with activations, and what operators do about it.
    public let care: ActivationCare
    /// The sessions of accounts, for those who look at them.
    public let sessions: SessionListings
    /// What people have agreed to, for those who look at it.
    public let consents: IdentityConsents
    /// Where apps begin sessions themselves.
    public let begins: SessionBegins
    /// Where activations claim sessions and give answers.
    public let starts: SessionStarts
    /// Where factors are judged.
    public let finishes: SessionFinishes
    /// Where sessions are given up, prolonged, and their codes fetched.
    public let ends: SessionEnds
    /// Where the PIN service is asked.
    public let pinEvaluations: PinEvaluations
    /// Where what was granted is done.
    public let completions: Completions

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
        self.begins = SessionBegins(
            environment: environment, store: store, envelope: envelope, services: services, merges: merges,
            budgets: budgets)
        self.starts = SessionStarts(
            environment: environment, envelope: envelope, steps: steps,
            terms: SessionTermsReader(environment: environment))
        self.finishes = SessionFinishes(environment: environment, envelope: envelope, steps: steps, merges: merges)
        self.ends = SessionEnds(
            environment: environment, store: store, envelope: envelope, steps: steps, services: services)
        self.pinEvaluations = PinEvaluations(
            environment: environment, envelope: envelope, steps: steps, openings: openings, service: pins)
        self.completions = Completions(environment: environment, envelope: envelope, steps: steps)
    }
}

extension Identities {
    /// What the history has of sessions that end because somebody takes their device away, at a moment.
    public static func endOfSessions(limits: Limits) -> @Sendable (_ now: Timestamp) -> SessionEnding {
        { CeremonyRecord.ending(.failed, at: $0, limits: limits) }
    }
}
