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

    private struct Slot {
        var place = Place.waiting
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
    /// Those that were not cut.
    private(set) var live = 0

    /// A new connection, which waits. Returns its slot.
    mutating func add(source name: String?, cut: @escaping Cut) -> Int {
        let source = self.index(of: name)
        let slot = self.freeSlots.popLast() ?? self.slots.count
        if slot == self.slots.count {
            self.slots.append(Slot(source: source, cut: cut))
            self.links.grow()
            self.sourceLinks.grow()
        } else {
            self.slots[slot] = Slot(source: source, cut: cut)
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
        if index == self.sources.count { self.sources.append(Source()) }
        self.sources[index] = Source(name: name)
        self.indices[name] = index
        return index
    }

    /// Moves a connection to the end of another place's queue. One that has been cut stays where it is.
    mutating func move(_ slot: Int, to place: Place) {
        guard self.slots[slot].place != .ending else { return }
        self.dequeue(slot)
        self.slots[slot].place = place
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

    /// How many connections the source of a connection has that were not cut.
    func liveConnections(ofSourceOf slot: Int) -> Int { self.sources[self.slots[slot].source].live }

    /// Takes out what gives way first among the connections of the same source, but never the connection itself.
    mutating func takeMostStalled(ofSourceOf slot: Int) -> Cut? {
        let queues = self.sources[self.slots[slot].source].queues
        return self.take(queues.first(of: .waiting, but: slot, self.sourceLinks))
            ?? self.take(queues.first(of: .stalled, but: slot, self.sourceLinks))
            ?? self.take(queues.first(of: .channel, but: slot, self.sourceLinks))
    }

    /// Takes out what gives way first among all but `spared`; of the channels one of the source that has the most.
    mutating func takeMostStalled(sparing spared: Int?) -> Cut? {
        if let cut = self.take(self.queues.first(of: .waiting, but: spared, self.links))
            ?? self.take(self.queues.first(of: .stalled, but: spared, self.links))
        {
            return cut
        }
        let largest = self.sources.indices.max {
            self.sources[$0].queues.count(of: .channel) < self.sources[$1].queues.count(of: .channel)
        }
        return largest.flatMap {
            self.take(self.sources[$0].queues.first(of: .channel, but: spared, self.sourceLinks))
        }
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
        self.sources[self.slots[slot].source].queues.append(slot, to: place, &self.sourceLinks)
    }

    private mutating func dequeue(_ slot: Int) {
        let place = self.slots[slot].place
        self.queues.remove(slot, from: place, &self.links)
        self.sources[self.slots[slot].source].queues.remove(slot, from: place, &self.sourceLinks)
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

/// One queue for each place.
private struct Queues {
    private struct Ends {
        var first = -1
        var last = -1
        var count = 0
    }

    private var ends = [Ends](repeating: Ends(), count: ConnectionTable.Place.allCases.count)

    func count(of place: ConnectionTable.Place) -> Int { self.ends[place.rawValue].count }

    /// The first in a queue that is not `spared`.
    func first(of place: ConnectionTable.Place, but spared: Int?, _ links: Links) -> Int? {
        let first = self.ends[place.rawValue].first
        guard first >= 0, first == spared else { return first < 0 ? nil : first }
        let second = links.behind[first]
        return second < 0 ? nil : second
    }

    mutating func append(_ slot: Int, to place: ConnectionTable.Place, _ links: inout Links) {
        let last = self.ends[place.rawValue].last
        links.before[slot] = last
        links.behind[slot] = -1
        if last < 0 { self.ends[place.rawValue].first = slot } else { links.behind[last] = slot }
        self.ends[place.rawValue].last = slot
        self.ends[place.rawValue].count += 1
    }

    mutating func remove(_ slot: Int, from place: ConnectionTable.Place, _ links: inout Links) {
        let (before, behind) = (links.before[slot], links.behind[slot])
        if before < 0 { self.ends[place.rawValue].first = behind } else { links.behind[before] = behind }
        if behind < 0 { self.ends[place.rawValue].last = before } else { links.before[behind] = before }
        self.ends[place.rawValue].count -= 1
    }
}
