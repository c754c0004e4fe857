import Settings
import _Primitives

/// The order in which people who come back from other providers are served: the server asks a person's provider now, or
/// the person waits.
///
/// Pure rules. Each provider has a share of the places, so that a slow provider delays only its own people. A free
/// place goes to a person from the network with the fewest people being served, and among these to the person who has
/// waited the longest. If the queue is full, the network with the most people in the queue gives up the place that it
/// took last.
struct ArrivalQueue: Sendable {
    /// A person who has come back from a provider.
    struct Arrival: Sendable, Equatable {
        /// The number of the arrival in this queue.
        let number: Int
        /// The digest of the trip's state: a browser that asks again takes its own place.
        let trip: [UInt8]
        let provider: String
        /// The counted source (a network).
        let source: String
        let since: Timestamp
    }

    /// A decision about an arrival: its turn has come, or it has waited in vain.
    struct Decision: Sendable, Equatable {
        let number: Int
        let isAdmitted: Bool
    }

    private let limits: Limits.OAuth
    private(set) var underWay: [Arrival] = []
    /// The waiting arrivals, in the order in which they came.
    private(set) var waiting: [Arrival] = []

    init(limits: Limits.OAuth) { self.limits = limits }

    /// Adds an arrival.
    mutating func enter(_ arrival: Arrival) -> [Decision] {
        var decisions = self.endWaits(at: arrival.since)
        if let former = self.waiting.firstIndex(where: { $0.trip == arrival.trip }) {
            decisions.append(Decision(number: self.waiting[former].number, isAdmitted: false))
            self.waiting[former] = arrival
        } else {
            self.waiting.append(arrival)
        }
        decisions += self.admit()
        if self.waiting.count > self.limits.waitingArrivals, let last = self.placeToGiveUp() {
            decisions.append(Decision(number: self.waiting.remove(at: last).number, isAdmitted: false))
        }
        return decisions
    }

    /// Removes an arrival whose provider was asked, or that no longer wants to wait.
    mutating func leave(_ number: Int, at now: Timestamp) -> [Decision] {
        self.underWay.removeAll { $0.number == number }
        var decisions: [Decision] = []
        if let place = self.waiting.firstIndex(where: { $0.number == number }) {
            self.waiting.remove(at: place)
            decisions.append(Decision(number: number, isAdmitted: false))
        }
        return decisions + self.endWaits(at: now) + self.admit()
    }

    private mutating func endWaits(at now: Timestamp) -> [Decision] {
        let isLate = { [limit = self.limits.longestArrivalWait] (arrival: Arrival) in now >= arrival.since + limit }
        defer { self.waiting.removeAll(where: isLate) }
        return self.waiting.filter(isLate).map { Decision(number: $0.number, isAdmitted: false) }
    }

    private mutating func admit() -> [Decision] {
        var decisions: [Decision] = []
        while self.underWay.count < self.limits.arrivalsAtOnce, let next = self.nextPlace() {
            let arrival = self.waiting.remove(at: next)
            self.underWay.append(arrival)
            decisions.append(Decision(number: arrival.number, isAdmitted: true))
        }
        return decisions
    }

    /// Returns the place of the next arrival in the queue; `nil` if no arrival can be served.
    private func nextPlace() -> Int? {
        let sources = Self.counts(self.underWay, by: \.source)
        let providers = Self.counts(self.underWay, by: \.provider)
        return self.waiting.indices
            .filter { place in
                providers[ExactText(self.waiting[place].provider), default: 0] < self.limits.arrivalsAtOncePerProvider
            }
            .min {
                sources[ExactText(self.waiting[$0].source), default: 0]
                    < sources[ExactText(self.waiting[$1].source), default: 0]
            }
    }

    private func placeToGiveUp() -> Int? {
        let sources = Self.counts(self.waiting, by: \.source)
        let most = sources.values.max()
        return self.waiting.lastIndex { sources[ExactText($0.source)] == most }
    }

    private static func counts(_ arrivals: [Arrival], by name: KeyPath<Arrival, String>) -> [ExactText: Int] {
        arrivals.reduce(into: [:]) { $0[ExactText($1[keyPath: name]), default: 0] += 1 }
    }
}
