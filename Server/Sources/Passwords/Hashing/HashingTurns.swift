import _Primitives

/// The turn for a hash: the network and the account that need the hash.
public struct HashingTurn: Sendable, Hashable {
    /// The network, for the counts. Networks take turns.
    public let network: String
    /// The account of the password. The accounts of a network take turns within the network's turns.
    public let account: String

    /// Creates a turn. Without values the turn is the server's own.
    public init(network: String = "", account: String = "") {
        self.network = network
        self.account = account
    }
}

/// Waiting jobs: networks take turns, and within the turns of a network its accounts. Pure rules.
///
/// A place must be given up if a network exceeds its share, or if all places are taken. The network with the most
/// places then gives up the latest place of its account with the most places. So a flood of the queue delays only its
/// own network.
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
    /// The networks in the order of their turns, the next first.
    private var networks: [Network] = []
    /// The number of waiting jobs.
    private(set) var count = 0

    /// Creates an empty queue for at most `most` jobs, and at most `share` jobs of one network.
    init(most: Int, share: Int) {
        self.most = most
        self.share = share
    }

    /// `true` if another job of the network takes the place of one of the network's jobs, or gets no place. The network
    /// has then used up its share, or all places are taken and no other network would have more places.
    func isFull(for turn: HashingTurn) -> Bool {
        let own = self.networks.first { $0.name == ExactText(turn.network) }?.count ?? 0
        guard own < self.share else { return true }
        return self.count >= self.most && self.networks.allSatisfy { $0.count <= own + 1 }
    }

    /// Adds a waiting job. Returns the job that loses its place, which may be the added job; `nil` if none does.
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

    /// Takes the job whose turn is next. Its network and its account then become the last.
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

    /// Removes a job whose caller no longer waits; `nil` if the job is not waiting.
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

    /// Returns the index of the greatest number; among equals the preferred index, or else the last.
    private static func greatest(_ counts: [Int], preferring preferred: Int) -> Int {
        let most = counts.max()
        return counts[preferred] == most ? preferred : counts.lastIndex { $0 == most } ?? preferred
    }

    /// Cleans up after a job was removed out of its turn.
    private mutating func forgetEmpty() {
        self.count -= 1
        for network in self.networks.indices { self.networks[network].accounts.removeAll { $0.places.isEmpty } }
        self.networks.removeAll { $0.accounts.isEmpty }
    }
}
