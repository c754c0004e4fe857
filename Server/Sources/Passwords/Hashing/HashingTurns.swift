import _Primitives

/// Whose turn it is: for whom a hash is made.
public struct HashingTurn: Sendable, Hashable {
    /// Who is counted (a network). Networks take turns.
    public let network: String
    /// Whose password it is. The accounts of a network take turns within those of the network.
    public let account: String

    /// The turn of somebody. Without values it is the server's own.
    public init(network: String = "", account: String = "") {
        self.network = network
        self.account = account
    }
}

/// Jobs that wait: networks take turns, and within the turns of a network its accounts. Pure rules.
///
/// Where a network has more places than its share, or all are taken, the one that has the most gives up the place that it
/// took last, of the account that has the most there. So whoever floods the queue waits for themselves.
struct HashingTurns<Job> {
    private struct Place {
        let number: UInt64
        let job: Job
    }

    private struct Account {
        let name: ExactText
        var places: [Place]
    }

    private struct Network {
        let name: ExactText
        var accounts: [Account]
        var count: Int { self.accounts.reduce(0) { $0 + $1.places.count } }
    }

    private let most: Int
    private let share: Int
    /// The first is the one whose turn is next.
    private var networks: [Network] = []
    /// How many wait.
    private(set) var count = 0

    /// No jobs: at most so many will wait, and at most `share` of one network.
    init(most: Int, share: Int) {
        self.most = most
        self.share = share
    }

    /// Whether a job more of this network would take the place of one of its own.
    func isFull(for turn: HashingTurn) -> Bool {
        let own = self.networks.first { $0.name == ExactText(turn.network) }?.count ?? 0
        return own >= min(self.share, self.most)
    }

    /// Lets a job wait. Gives the one that loses its place for it, which may be the job itself.
    mutating func add(_ job: Job, number: UInt64, of turn: HashingTurn) -> Job? {
        let network = self.placeOfNetwork(ExactText(turn.network))
        let account = self.placeOfAccount(ExactText(turn.account), in: network)
        self.networks[network].accounts[account].places.append(Place(number: number, job: job))
        self.count += 1
        let loser: Int
        if self.networks[network].count > self.share {
            loser = network
        } else if self.count > self.most {
            loser = Self.greatest(self.networks.map(\.count), preferring: network)
        } else {
            return nil
        }
        let counts = self.networks[loser].accounts.map(\.places.count)
        let last = Self.greatest(counts, preferring: loser == network ? account : counts.count - 1)
        let lost = self.networks[loser].accounts[last].places.removeLast()
        self.forgetEmpty()
        return lost.job
    }

    /// The job whose turn is next.
    var next: Job? { self.networks.first?.accounts.first?.places.first?.job }

    /// Takes the job whose turn is next. Its network and its account are the last from then on.
    mutating func takeNext() -> Job? {
        guard !self.networks.isEmpty else { return nil }
        var network = self.networks.removeFirst()
        var account = network.accounts.removeFirst()
        let place = account.places.removeFirst()
        if !account.places.isEmpty { network.accounts.append(account) }
        if !network.accounts.isEmpty { self.networks.append(network) }
        self.count -= 1
        return place.job
    }

    /// Takes a job out that nobody waits for any more; `nil` where it does not wait.
    mutating func remove(_ number: UInt64) -> Job? {
        for network in self.networks.indices {
            for account in self.networks[network].accounts.indices {
                let places = self.networks[network].accounts[account].places
                guard let place = places.firstIndex(where: { $0.number == number }) else { continue }
                let removed = self.networks[network].accounts[account].places.remove(at: place)
                self.forgetEmpty()
                return removed.job
            }
        }
        return nil
    }

    private mutating func placeOfNetwork(_ name: ExactText) -> Int {
        if let place = self.networks.firstIndex(where: { $0.name == name }) { return place }
        self.networks.append(Network(name: name, accounts: []))
        return self.networks.count - 1
    }

    private mutating func placeOfAccount(_ name: ExactText, in network: Int) -> Int {
        if let place = self.networks[network].accounts.firstIndex(where: { $0.name == name }) { return place }
        self.networks[network].accounts.append(Account(name: name, places: []))
        return self.networks[network].accounts.count - 1
    }

    /// The place of the greatest number; of several the preferred one, or the last.
    private static func greatest(_ counts: [Int], preferring preferred: Int) -> Int {
        let most = counts.max()
        return counts[preferred] == most ? preferred : counts.lastIndex { $0 == most } ?? preferred
    }

    /// After a job has gone that was not taken in its turn.
    private mutating func forgetEmpty() {
        self.count -= 1
        for network in self.networks.indices { self.networks[network].accounts.removeAll { $0.places.isEmpty } }
        self.networks.removeAll { $0.accounts.isEmpty }
    }
}
