import Store
import _Primitives

/// Who has which connection, and which one gives way first.
///
/// Every request moves its connection twice, so that a move costs the same however many there are: connections stand in
/// queues, one of all and one of their source for each place, linked by their slots' numbers.
struct ConnectionTable {
    typealias Cut = @Sendable () -> Void

    /// What a connection does, in the order in which they give way.
    enum Place: Int, CaseIterable {
        /// It has no whole request.
        case waiting
        /// Its client does not read.
        case stalled
        /// It waits for events.
        case channel
        /// Its answer is being made.
        case answering
        /// It has been cut, and has not ended yet.
        case ending
    }

    /// What a table with too many connections can do.
    enum Room {
        case cut(Cut)
        /// Every connection is being answered or has just begun to wait: there may be one to cut after this time.
        case later(Duration)
        /// Every connection is being answered.
        case none
    }

    private struct Slot {
        var place = Place.waiting
        /// Since when it waits for its client, in the first two places.
        var since: Timestamp
        /// Index of its source.
        var source: Int
        var cut: Cut?
    }

    private struct Source {
        /// `nil`: named proxies, whose connections have no share.
        var name: String?
        var live = 0
        /// All that have not ended.
        var connections = 0
        var queues = Queues()
    }

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var sources: [Source] = []
    private var freeSources: [Int] = []
    private var indices: [String?: Int] = [:]
    private var queues = Queues()
    /// Two links a slot: one in the queues of all, one in those of its source.
    private var links = Links()
    private var sourceLinks = Links()
    private var channelHolders = Ranking()
    /// Those that were not cut.
    private(set) var live = 0
    /// Those whose clients do not read.
    var stalled: Int { self.queues.count(of: .stalled) }

    /// A new connection, which waits. Returns its slot.
    mutating func add(source name: String?, at now: Timestamp, cut: @escaping Cut) -> Int {
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

    private mutating func index(of name: String?) -> Int {
        if let index = self.indices[name] { return index }
        let index = self.freeSources.popLast() ?? self.sources.count
        if index == self.sources.count {
            self.sources.append(Source())
            self.channelHolders.grow()
        }
        self.sources[index] = Source(name: name)
        self.indices[name] = index
        return index
    }

    /// Moves a connection to the end of another place's queue. One that has been cut stays where it is.
    /// `since` says from when on it waits for its client.
    mutating func move(_ slot: Int, to place: Place, since: Timestamp? = nil) {
        guard self.slots[slot].place != .ending else { return }
        self.dequeue(slot)
        self.slots[slot].place = place
        if let since { self.slots[slot].since = since }
        self.enqueue(slot)
    }

    /// A connection has ended.
    mutating func remove(_ slot: Int) {
        let source = self.slots[slot].source
        if self.slots[slot].place != .ending { self.cut(slot) }
        self.slots[slot].cut = nil
        self.freeSlots.append(slot)
        self.sources[source].connections -= 1
        if self.sources[source].connections == 0 {
            self.indices[self.sources[source].name] = nil
            self.freeSources.append(source)
        }
    }

    /// Takes out what gives way first among the connections of the same source, but never `newcomer`, until the source
    /// has no more than `share` or all the others are being answered. Named proxies have no share.
    mutating func takePastShare(_ share: Int, ofSourceOf slot: Int, sparing newcomer: Int?) -> [Cut] {
        let source = self.slots[slot].source
        var cuts: [Cut] = []
        while self.sources[source].name != nil, self.sources[source].live > share {
            let queues = self.sources[source].queues
            guard
                let cut = self.take(self.longestWait(queues, but: newcomer, self.sourceLinks))
                    ?? self.take(queues.first(of: .channel, but: newcomer, self.sourceLinks))
            else { break }
            cuts.append(cut)
        }
        return cuts
    }

    /// Takes out what gives way first among all but `newcomer`: what has waited the longest for its client; else a
    /// channel of the source that has the most. As long as few wait, they are kept for `courtesy`.
    mutating func makeRoom(sparing newcomer: Int?, courtesy: Duration, now: Timestamp) -> Room {
        let longest = self.longestWait(self.queues, but: newcomer, self.links)
        let waited = longest.map { now - self.slots[$0].since }
        // Many that say nothing are a flood, and then a new connection must not wait for them. A clock that was set
        // back must not keep anybody here either.
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

    /// The one of the first two places' that has waited the longest for its client.
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

/// What stands before and behind each slot in its queue; -1 for nothing.
private struct Links {
    var before: [Int] = []
    var behind: [Int] = []

    mutating func grow() {
        self.before.append(-1)
        self.behind.append(-1)
    }
}

/// Slots in the order in which they came.
private struct Queue {
    private var head = -1
    private var tail = -1
    private(set) var count = 0

    /// The first that is not `spared`.
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

    /// The first in a queue that is not `spared`.
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

/// Sources by how many channels each has: which one has the most is known at once, however many there are, as every new
/// connection may ask.
private struct Ranking {
    /// The sources with so many channels. Nobody with none is in it.
    private var ranks: [Queue] = [Queue()]
    private var links = Links()
    /// The most that a source has.
    private var most = 0

    /// One of those that have the most; `nil` where nobody has any.
    var first: Int? { self.ranks[self.most].first(but: nil, self.links) }

    /// There is one more source, without channels.
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
        // Whoever was alone with the most still has the most, but for one.
        if self.ranks[self.most].count == 0, self.most > 0 { self.most -= 1 }
    }
}
