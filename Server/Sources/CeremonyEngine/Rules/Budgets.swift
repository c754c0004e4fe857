import Store
import _Primitives

/// What strangers, and clients, may have this process do.
struct Budgets: Sendable {
    /// Challenges that a network asks for.
    let challenges: Budget
    /// Sets of codes that a network's pages show.
    let codes: Budget
    /// Tokens and codes from a network that were worth nothing.
    let guesses: Budget
    /// Answers of a network that are refused.
    let refusals: Budget
    /// Requests that a device has proven to be its own.
    let provenRequests: Budget
    /// A client's dispatches to people whom it names.
    let dispatches: Budget
    /// A client's dispatches that name nobody.
    let openDispatches: Budget
    /// A client's dispatches to one person.
    let personDispatches: Budget
    /// How often the operator is told of an app that is not listed and answers from a network.
    let facetNotes: SourceBudget
    /// How often the trail has an entry about such an app that no ceremony names.
    let facetEntries: SourceBudget

    init(_ limits: Limits) {
        let sources = limits.countedSources
        self.facetNotes = SourceBudget(oneIn: limits.pauseOfReports, sources: sources)
        self.facetEntries = SourceBudget(
            burst: Limits.Fixed.refusedFacetEntries, perSecond: Double(Limits.Fixed.refusedFacetEntries) / 3600,
            sources: 1)
        self.challenges = Budget(
            "challengesPerMinute", burst: limits.challengeBurst, perMinute: limits.challengesPerMinute, sources: sources
        )
        self.codes = Budget(
            "codesPerMinute", burst: limits.codeBurst, perMinute: limits.codesPerMinute, sources: sources)
        self.guesses = Budget(
            "guessesPerMinute", burst: limits.guessBurst, perMinute: limits.guessesPerMinute, sources: sources)
        self.refusals = Budget(
            "refusalsPerMinute", burst: limits.refusalBurst, perMinute: limits.refusalsPerMinute, sources: sources)
        self.provenRequests = Budget(
            "provenRequestsPerMinute", burst: limits.provenRequestBurst, perMinute: limits.provenRequestsPerMinute,
            sources: sources, remedy: "Too many requests from this device.")
        self.dispatches = Budget(
            "dispatchesPerMinute", burst: limits.dispatchBurst, perMinute: limits.dispatchesPerMinute, sources: sources,
            remedy: "This client has dispatched too often. Wait, or have the operator raise dispatchesPerMinute.")
        self.openDispatches = Budget(
            "openDispatchesPerMinute", burst: limits.openDispatchBurst, perMinute: limits.openDispatchesPerMinute,
            sources: sources,
            remedy:
                "This client has dispatched too often without a subject. Wait, dispatch with one, or have the operator "
                + "raise openDispatchesPerMinute.")
        self.personDispatches = Budget(
            "personDispatchesPerMinute", burst: limits.personDispatchBurst, perMinute: limits.personDispatchesPerMinute,
            sources: limits.countedPersons, clients: limits.oauth.clients,
            remedy:
                "This client has dispatched to this subject too often. Wait until what it was sent is answered or over, "
                + "or have the operator raise personDispatchesPerMinute.")
    }

    /// Counts a dispatch, before anybody is looked up: a subject that nobody has is counted as one that somebody has.
    ///
    /// Each client has its own of everything, so that none uses up what another needs for the same person. Throws
    /// `tooManyRequests`; nothing is counted then.
    func countDispatch(of client: String, subject: String?, at now: Timestamp) throws(CeremonyError) {
        guard let subject else {
            if let shortage = self.openDispatches.spend(client, of: client, at: now) { throw CeremonyError(shortage) }
            return
        }
        let person = Base64URL.encode(Sealing.digest(ofSecret: subject))
        if let shortage = self.personDispatches.spend(person, of: client, at: now) { throw CeremonyError(shortage) }
        if let shortage = self.dispatches.spend(client, of: client, at: now) {
            self.personDispatches.refund(person, of: client)
            throw CeremonyError(shortage)
        }
    }
}
