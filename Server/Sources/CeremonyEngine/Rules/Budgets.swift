import Sealing
import Settings
import _Primitives

/// The budgets of work that strangers, devices and clients may cause in this process.
struct Budgets: Sendable {
    /// Challenges at the request of a network.
    let challenges: Budget
    /// Sets of codes, and changes that are counted as codes, on the pages of a network or by an activation.
    let codes: Budget
    /// Worthless tokens and codes, and requests without a valid proof, from a network.
    let guesses: Budget
    /// Refused answers from a network.
    let refusals: Budget
    /// Proven requests of a device.
    let provenRequests: Budget
    /// Changes of a device's dispatch target.
    let targetChanges: Budget
    let deviceApprovals: Budget
    /// A client's dispatches to named people.
    let dispatches: Budget
    /// A client's dispatches without a named person.
    let openDispatches: Budget
    /// A client's dispatches to one person.
    let personDispatches: Budget
    /// Reports to the operator about apps outside the list, by network.
    let facetNotes: SourceBudget
    /// Trail entries about such apps without a ceremony.
    let facetEntries: SourceBudget

    init(_ limits: Limits) {
        let sources = limits.countedSources
        self.facetNotes = SourceBudget(oneIn: limits.pauseOfReports, sources: sources, protecting: .node)
        self.facetEntries = SourceBudget(
            burst: Limits.Fixed.refusedFacetEntries, perSecond: Double(Limits.Fixed.refusedFacetEntries) / 3600,
            sources: 1, protecting: .node)
        self.challenges = Budget(limits.challenges)
        self.codes = Budget(limits.codes)
        self.guesses = Budget(limits.guesses)
        self.refusals = Budget(limits.refusals)
        self.provenRequests = Budget(limits.provenRequests)
        self.targetChanges = Budget(limits.targetChanges)
        self.deviceApprovals = Budget(limits.deviceApprovals)
        self.dispatches = Budget(limits.dispatches)
        self.openDispatches = Budget(limits.openDispatches)
        self.personDispatches = Budget(limits.personDispatches)
    }

    /// Counts a dispatch before any look-up of a person, so that an unknown subject is counted like a known subject.
    ///
    /// Each client has its own budgets, so that no client uses up another client's budget for the same person. Throws
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
