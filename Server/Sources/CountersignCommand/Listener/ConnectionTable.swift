import Settings
import _Primitives

/// The open connections by source, and the order in which connections give way.
///
/// Every request moves its connection twice, so a move must cost the same for any number of connections. The
/// connections stand in queues, linked by their slots' numbers: for each place a queue of all connections and a queue
/// of their source.
struct ConnectionTable {
    typealias Cut = @Sendable () -> Void

    /// The activity of a connection, in the order in which connections give way.
    enum Place: Int, CaseIterable {
        /// The connection has no complete request.
        case waiting
        /// The connection's client does not read.
        case stalled
        /// The connection waits for events.
        case channel
        /// The connection's answer is being made.
        case answering
        /// The connection has been cut, and has not ended yet.
        case ending
    }

    /// The possibilities of a table with too many connections.
    enum Room {
        case cut(Cut)
        /// Every connection is being answered or has just begun to wait. After this time there may be a connection to
        /// cut.
        case later(Duration)
        /// Every connection is being answered.
        case none
    }

    /// The owner of a connection.
    enum Owner: Hashable {
        /// The network of an address.
        case source(String)
        /// A named proxy, whose connections have no share.
        case proxy
        /// The account of a device that has proved itself, while the device's stream goes on.
        case account(String)
    }

    private struct Slot {
        var place = Place.waiting
        /// The moment from which the connection waits for its client, in the first two places.
        var since: Timestamp
        /// The index of the connection's owner.
        var source: Int
        var cut: Cut?
    }

    private struct Source {
        /// The owner of the connections.
        var name: Owner
        var live = 0
        /// The number of connections that have not ended.
        var connections = 0
        var queues = Queues()
    }

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var sources: [Source] = []
    private var freeSources: [Int] = []
    private var indices: [Owner: Int] = [:]
    private var queues = Queues()
    /// Each slot has two links: one in the queues of all connections, one in the queues of its source.
    private var links = Links()
    private var sourceLinks = Links()
    private var channelHolders = Ranking()
    /// The number of live connections: connections that the table has not cut.
    private(set) var live = 0
    /// The number of connections whose clients do not read.
    var stalled: Int { self.queues.count(of: .stalled) }

    /// Adds a new connection, which waits. Returns the connection's slot.
    mutating func add(source name: Owner, at now: Timestamp, cut: @escaping Cut) -> Int {
        let source = self.index(of: name)
        let slot = self.freeSlots.popLast() ?? self.slots.count
        if slot == self.slots.count {
            self.slots.append(Slot(since: now, source: source, cut: cut))
            self.links.grow()
            self.sourceLinks.grow()
        } else {
            self.slots[slot] = Slot(since: now, source: source, cut: cut)
        }
        self.sources[source].connections += 1
        self.sources[source].live += 1
        self.live += 1
        self.enqueue(slot)
        return slot
    }

    private mutating func index(of name: Owner) -> Int {
        if let index = self.indices[name] { return index }
        let index = self.freeSources.popLast() ?? self.sources.count
        if index == self.sources.count {
            self.sources.append(Source(name: name))
            self.channelHolders.grow()
        }
        self.sources[index] = Source(name: name)
        self.indices[name] = index
        return index
    }

    /// Moves a connection to the end of another place's queue. A cut connection stays in its place.
    ///
    /// `since` is the moment from which the connection waits for its client.
    mutating func move(_ slot: Int, to place: Place, since: Timestamp? = nil) {
        guard self.slots[slot].place != .ending else { return }
        self.dequeue(slot)
        self.slots[slot].place = place
        if let since { self.slots[slot].since = since }
        self.enqueue(slot)
    }

    /// Makes a connection count for another owner. A cut connection stays with its owner.
    mutating func move(_ slot: Int, to owner: Owner) {
        let former = self.slots[slot].source
        guard self.slots[slot].place != .ending, self.sources[former].name != owner else { return }
        self.dequeue(slot)
        self.sources[former].live -= 1
        self.release(former)
        let source = self.index(of: owner)
        self.slots[slot].source = source
        self.sources[source].connections += 1
        self.sources[source].live += 1
        self.enqueue(slot)
    }

    /// Removes a connection that has ended.
    mutating func remove(_ slot: Int) {
        let source = self.slots[slot].source
        if self.slots[slot].place != .ending { self.cut(slot) }
        self.slots[slot].cut = nil
        self.freeSlots.append(slot)
        self.release(source)
    }

    /// Takes a connection from an owner. An owner without connections is forgotten.
    private mutating func release(_ source: Int) {
        self.sources[source].connections -= 1
        guard self.sources[source].connections == 0 else { return }
        self.indices[self.sources[source].name] = nil
        self.freeSources.append(source)
    }

    /// Takes out connections of the same owner, in the order of giving way, but never `newcomer`.
    ///
    /// The function stops when the owner has at most its share of connections, or when all others are being answered.
    ///
    /// - Parameter share: The share of an owner; `nil` for an owner without a share.
    mutating func takePastShare(_ share: (Owner) -> Int?, ofSourceOf slot: Int, sparing newcomer: Int?) -> [Cut] {
        let source = self.slots[slot].source
        guard let share = share(self.sources[source].name) else { return [] }
        var cuts: [Cut] = []
        while self.sources[source].live > share {
            let queues = self.sources[source].queues
            guard
                let cut = self.take(self.longestWait(queues, but: newcomer, self.sourceLinks))
                    ?? self.take(queues.first(of: .channel, but: newcomer, self.sourceLinks))
            else { break }
            cuts.append(cut)
        }
        return cuts
    }

    /// Takes out the connection that gives way first among all but `newcomer`.
    ///
    /// The first to go is the connection that has waited the longest for its client, otherwise a channel of the source
    /// with the most channels. As long as few connections wait, each waiting connection stays for `courtesy`.
    mutating func makeRoom(sparing newcomer: Int?, courtesy: Duration, now: Timestamp) -> Room {
        let longest = self.longestWait(self.queues, but: newcomer, self.links)
        let waited = longest.map { now - self.slots[$0].since }
        // Many silent connections are a flood, and then a new connection must not wait for the silent connections. A
        // clock that was set back must not keep any connection here either.
        let areMany = self.queues.count(of: .waiting) * Limits.Fixed.silentShare > self.live
        if let waited, areMany || waited >= courtesy || waited < .zero, let cut = self.take(longest) {
            return .cut(cut)
        }
        let channel = self.channelHolders.first.flatMap {
            self.sources[$0].queues.first(of: .channel, but: nil, self.sourceLinks)
        }
        if let cut = self.take(channel) { return .cut(cut) }
        return (waited ?? newcomer.map { _ in .zero }).map { .later(courtesy - $0) } ?? .none
    }

    /// Returns the connection of the first two places that has waited the longest for its client.
    private func longestWait(_ queues: Queues, but spared: Int?, _ links: Links) -> Int? {
        let heads = [Place.waiting, .stalled].compactMap { queues.first(of: $0, but: spared, links) }
        return heads.min { self.slots[$0].since < self.slots[$1].since }
    }

    private mutating func take(_ slot: Int?) -> Cut? {
        guard let slot else { return nil }
        self.cut(slot)
        return self.slots[slot].cut
    }

    private mutating func cut(_ slot: Int) {
        self.dequeue(slot)
        self.slots[slot].place = .ending
        self.sources[self.slots[slot].source].live -= 1
        self.live -= 1
    }

    private mutating func enqueue(_ slot: Int) {
        let place = self.slots[slot].place
        self.queues.append(slot, to: place, &self.links)
        let source = self.slots[slot].source
        self.sources[source].queues.append(slot, to: place, &self.sourceLinks)
        if place == .channel {
            self.channelHolders.raise(source, to: self.sources[source].queues.count(of: .channel))
        }
    }

    private mutating func dequeue(_ slot: Int) {
        let place = self.slots[slot].place
        self.queues.remove(slot, from: place, &self.links)
        let source = self.slots[slot].source
        self.sources[source].queues.remove(slot, from: place, &self.sourceLinks)
        if place == .channel {
            self.channelHolders.lower(source, to: self.sources[source].queues.count(of: .channel))
        }
    }
}

/// The neighbours of each slot in its queue, before and behind; -1 for no neighbour.
private struct Links {
    var before: [Int] = []
    var behind: [Int] = []

    mutating func grow() {
        self.before.append(-1)
        self.behind.append(-1)
    }
}

/// Slots in the order of their arrival.
private struct Queue {
    private var head = -1
    private var tail = -1
    private(set) var count = 0

    /// Returns the first slot that is not `spared`.
    func first(but spared: Int?, _ links: Links) -> Int? {
        guard self.head >= 0, self.head == spared else { return self.head < 0 ? nil : self.head }
        let second = links.behind[self.head]
        return second < 0 ? nil : second
    }

    mutating func append(_ slot: Int, _ links: inout Links) {
        links.before[slot] = self.tail
        links.behind[slot] = -1
        if self.tail < 0 { self.head = slot } else { links.behind[self.tail] = slot }
        self.tail = slot
        self.count += 1
    }

    mutating func remove(_ slot: Int, _ links: inout Links) {
        let (before, behind) = (links.before[slot], links.behind[slot])
        if before < 0 { self.head = behind } else { links.behind[before] = behind }
        if behind < 0 { self.tail = before } else { links.before[behind] = before }
        self.count -= 1
    }
}

/// One queue for each place.
private struct Queues {
    private var queues = [Queue](repeating: Queue(), count: ConnectionTable.Place.allCases.count)

    func count(of place: ConnectionTable.Place) -> Int { self.queues[place.rawValue].count }

    /// Returns the first slot in a queue that is not `spared`.
    func first(of place: ConnectionTable.Place, but spared: Int?, _ links: Links) -> Int? {
        self.queues[place.rawValue].first(but: spared, links)
    }

    mutating func append(_ slot: Int, to place: ConnectionTable.Place, _ links: inout Links) {
        self.queues[place.rawValue].append(slot, &links)
    }

    mutating func remove(_ slot: Int, from place: ConnectionTable.Place, _ links: inout Links) {
        self.queues[place.rawValue].remove(slot, &links)
    }
}

/// Sources by the number of their channels. The source with the most channels is known at once, for any number of
/// sources, because every new connection may ask.
private struct Ranking {
    /// The sources by their number of channels. A source without channels is in no rank.
    private var ranks: [Queue] = [Queue()]
    private var links = Links()
    /// The greatest number of channels that a source has.
    private var most = 0

    /// A source with the most channels; `nil` if no source has channels.
    var first: Int? { self.ranks[self.most].first(but: nil, self.links) }

    /// Adds one source, without channels.
    mutating func grow() { self.links.grow() }

    mutating func raise(_ source: Int, to count: Int) {
        if count > 1 { self.ranks[count - 1].remove(source, &self.links) }
        if count == self.ranks.count { self.ranks.append(Queue()) }
        self.ranks[count].append(source, &self.links)
        self.most = max(self.most, count)
    }

    mutating func lower(_ source: Int, to count: Int) {
        self.ranks[count + 1].remove(source, &self.links)
        if count > 0 { self.ranks[count].append(source, &self.links) }
        // A source that was alone with the most channels still has the most, with one channel fewer.
        if self.ranks[self.most].count == 0, self.most > 0 { self.most -= 1 }
    }
}
