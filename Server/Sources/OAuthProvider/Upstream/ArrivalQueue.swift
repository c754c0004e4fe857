import Store
import _Primitives

/// Which of the people who have come back from other providers their provider is asked for now, and who waits.
///
/// Pure rules. One provider has a share of the places, so that one that is slow keeps nobody waiting who comes from another.
/// A free place goes to whoever comes from the network of which the fewest are asked for, and among those to whoever has
/// waited the longest. Where the queue is full, the network that has the most in it gives up the place that it took last.
struct ArrivalQueue: Sendable {
    /// Somebody who has come back.
    struct Arrival: Sendable, Equatable {
        /// By what they are known here.
        let number: Int
        /// The digest of the trip's state: a browser that asks again takes its own place.
        let trip: [UInt8]
        let provider: String
        /// Who is counted (a network).
        let source: String
        let since: Timestamp
    }

    /// That somebody's turn has come, or that they have waited in vain.
    struct Decision: Sendable, Equatable {
        let number: Int
        let isAdmitted: Bool
    }

    private let limits: Limits.OAuth
    private(set) var underWay: [Arrival] = []
    /// In the order in which they came.
    private(set) var waiting: [Arrival] = []

    init(limits: Limits.OAuth) { self.limits = limits }

    /// Takes somebody in.
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

    /// Lets somebody go whose provider was asked, or who does not want to wait any more.
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

    /// Whose turn it is, by their place in the queue; `nil` where nobody can be asked for.
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
