import Foundation
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("The public listener's connections: bounded in all and for each source, and those that stall give way")
struct OpenConnectionsTests {
    /// What connections were told, in order, and a clock to move.
    private final class Record: Sendable {
        private let cuts = Mutex<[String]>([])
        private let told = Mutex<[OpenConnections.Report]>([])
        private let moment = Mutex(Timestamp(seconds: 1_800_000_000))
        private let looks = Mutex<[@Sendable () -> Void]>([])

        /// The connections that were cut.
        var cut: [String] { self.cuts.withLock { $0 } }
        var reports: [OpenConnections.Report] { self.told.withLock { $0 } }
        /// How often room was put off.
        var putOff: Int { self.looks.withLock { $0.count } }
        func advance(_ span: Duration) { self.moment.withLock { $0 = $0 + span } }
        /// Looks again, as was asked for.
        func lookAgain() { for look in self.looks.withLock({ exchange(&$0, with: []) }) { look() } }

        func connections(_ limit: Int, share: Int? = nil, accountShare: Int = .max) -> OpenConnections {
            OpenConnections(
                limit: limit, share: share ?? limit, accountShare: accountShare, courtesy: .seconds(1),
                pauseOfReports: .seconds(60),
                time: TimeSource { self.moment.withLock { $0 } },
                later: { pause, look in
                    #expect(pause > .zero && pause <= .seconds(1))
                    self.looks.withLock { $0.append(look) }
                }
            ) { report in self.told.withLock { $0.append(report) } }
        }

        /// A second after whatever was last.
        func open(_ name: String, _ connections: OpenConnections, source: String? = nil) -> OpenConnections.Connection {
            self.advance(.seconds(1))
            connections.connectionOpened()
            return connections.open(source: source) { self.cuts.withLock { $0.append(name) } }
        }
    }

    /// The same rolls each time.
    private struct RepeatableDice {
        private var state: UInt64 = 7

        mutating func roll(_ sides: Int) -> Int {
            self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(self.state >> 33) % sides
        }
    }

    private static func close(_ connection: OpenConnections.Connection, _ connections: OpenConnections) {
        connections.end(connection)
        connections.connectionClosed()
    }

    @Test("Decision 115: the connection of a proven device leaves its source's share, and comes back after its stream")
    func provenDevices() {
        let record = Record()
        let connections = record.connections(100, share: 2)
        for name in ["a", "b", "c", "d"] {
            let stream = record.open(name, connections, source: "carrier")
            connections.answer(stream)
            connections.holdChannel(stream)
            connections.count(stream, forAccount: "account of \(name)")
        }
        #expect(record.cut.isEmpty, "four devices, and the share is two")
        let fifth = record.open("e", connections, source: "carrier")
        let sixth = record.open("f", connections, source: "carrier")
        #expect(record.cut.isEmpty)
        // An unproven one counts as ever.
        _ = record.open("g", connections, source: "carrier")
        #expect(record.cut == ["e"])
        Self.close(fifth, connections)
        // A stream has ended: the connection counts for its source again.
        connections.count(sixth, forAccount: "account of f")
        _ = record.open("h", connections, source: "carrier")
        #expect(record.cut == ["e"])
        connections.count(sixth, forAccount: nil)
        #expect(record.cut == ["e", "g"], "the one that has waited the longest")
        #expect(record.reports == [.share(source: "carrier")], "once in the pause")
    }

    @Test("Decision 115: an account has its own share, and the bound of all connections holds for devices, too")
    func shareOfAccounts() {
        let record = Record()
        let connections = record.connections(4, share: 4, accountShare: 2)
        func stream(_ name: String, _ account: String, source: String) {
            let connection = record.open(name, connections, source: source)
            connections.answer(connection)
            connections.holdChannel(connection)
            connections.count(connection, forAccount: account)
        }
        stream("a", "alice", source: "home")
        stream("b", "alice", source: "office")
        stream("c", "alice", source: "train")
        #expect(record.cut == ["a"], "the oldest stream of the account, whatever its address")
        stream("d", "bob", source: "home")
        _ = record.open("e", connections, source: "home")
        _ = record.open("f", connections, source: "home")
        #expect(record.cut.count == 3 && record.cut[1] == "b", "the account with the most channels gives way")
    }

    @Test("At the bound the one that has waited the longest is cut, never one that is being answered, nor the new one")
    func cutsTheOldest() {
        let record = Record()
        let connections = record.connections(3)
        connections.answer(record.open("answered", connections))
        let silent = record.open("silent", connections)
        #expect(record.cut.isEmpty && connections.isAcceptingNewConnections())
        _ = record.open("new", connections)
        #expect(record.cut == ["silent"])
        #expect(!connections.isAcceptingNewConnections(), "not before it has ended")
        Self.close(silent, connections)
        #expect(connections.isAcceptingNewConnections())
    }

    @Test("Where all are being answered nobody is cut, and no more are accepted until one has its answer")
    func waitsForAnswers() {
        let record = Record()
        let connections = record.connections(2)
        let first = ["1", "2"].map { record.open($0, connections) }
        #expect(record.cut == ["1"])
        Self.close(first[0], connections)
        let third = record.open("3", connections)
        #expect(record.cut == ["1", "2"])
        Self.close(first[1], connections)
        connections.answer(third)
        let fourth = record.open("4", connections)
        connections.answer(fourth)
        #expect(!connections.isAcceptingNewConnections())
        #expect(record.cut == ["1", "2"])
        // Its answer is complete, and others wait to be let in.
        connections.wait(fourth)
        #expect(record.cut == ["1", "2", "4"])
    }

    @Test("One whose request comes while it is being cut is counted once")
    func countsOnce() {
        let record = Record()
        let connections = record.connections(2)
        let first = record.open("first", connections)
        let second = record.open("second", connections)
        #expect(record.cut == ["first"])
        connections.answer(first)
        connections.wait(first)
        #expect(record.cut == ["first"])
        Self.close(first, connections)
        connections.answer(second)
        _ = record.open("third", connections)
        record.advance(.seconds(1))
        connections.wait(second)
        #expect(record.cut == ["first", "third"], "room is made again")
    }

    @Test("At the bound a client that does not read gives way, then a channel of the source that has the most of them")
    func stalledOnesAndChannels() {
        let record = Record()
        let connections = record.connections(6)
        var opened: [String: OpenConnections.Connection] = [:]
        for (name, source) in [("a", "lone"), ("b", "many"), ("c", "many"), ("d", "many"), ("e", "lone")] {
            let connection = record.open(name, connections, source: source)
            connections.answer(connection)
            connections.holdChannel(connection)
            opened[name] = connection
        }
        if let reading = opened["e"] {
            connections.answer(reading)
            connections.stall(reading)
        }
        // It fills the last place, and asks for something each time that another one has gone.
        connections.answer(record.open("f", connections, source: "new"))
        #expect(record.cut == ["e"])
        for (expected, gone) in [("b", "e"), ("c", "b")] {
            if let gone = opened[gone] { Self.close(gone, connections) }
            connections.answer(record.open("g", connections, source: "new"))
            #expect(record.cut.last == expected)
        }
    }

    @Test("It is the source with the most channels that loses one, however they came and went")
    func largestSource() {
        let record = Record()
        let connections = record.connections(60)
        var held: [String: [(name: String, connection: OpenConnections.Connection)]] = [:]
        var dice = RepeatableDice()
        for number in 0..<2000 {
            let source = "\(dice.roll(12))"
            if held.values.map(\.count).reduce(0, +) < 59, dice.roll(3) > 0 {
                let connection = record.open("\(number)", connections, source: source)
                connections.answer(connection)
                connections.holdChannel(connection)
                held[source, default: []].append(("\(number)", connection))
            } else if let gone = held[source]?.popLast() {
                Self.close(gone.connection, connections)
            }
            guard held.values.map(\.count).reduce(0, +) == 59 else { continue }
            let most = held.values.map(\.count).max()
            let before = record.cut.count
            let new = record.open("new", connections, source: "new")
            connections.answer(new)
            #expect(record.cut.count == before + 1)
            let loser = held.first { $0.value.first?.name == record.cut.last }
            #expect(loser?.value.count == most, "and of it the oldest")
            guard let loser, let cut = held[loser.key]?.removeFirst() else { break }
            Self.close(cut.connection, connections)
            Self.close(new, connections)
        }
        #expect(record.cut.count > 50)
    }

    @Test("While few wait, none is cut that has just begun to: those that do not read are known a little later")
    func keepsWhoHasJustCome() {
        let record = Record()
        let connections = record.connections(4)
        let peers = (1...3).map { record.open("peer \($0)", connections) }
        for peer in peers { connections.answer(peer) }
        let honest = record.open("honest", connections)
        #expect(record.cut.isEmpty && record.putOff == 1)
        // Its next request is on its way.
        connections.answer(honest)
        connections.wait(honest)
        #expect(record.cut.isEmpty && record.putOff == 1, "one look at a time")
        connections.stall(peers[0])
        #expect(record.cut == ["peer 1"])
        record.lookAgain()
        #expect(record.cut == ["peer 1"], "there is room")
        Self.close(peers[0], connections)
        let late = record.open("late", connections)
        connections.answer(late)
        #expect(record.cut == ["peer 1", "honest"], "it has said nothing for a second")
    }

    @Test("A connection that has waited long enough is cut without anybody's doing anything, and no sooner")
    func looksAgain() {
        let record = Record()
        let connections = record.connections(4)
        for number in 1...3 { connections.answer(record.open("\(number)", connections)) }
        _ = record.open("silent", connections)
        record.advance(.milliseconds(999))
        record.lookAgain()
        #expect(record.cut.isEmpty && record.putOff == 1)
        record.advance(.milliseconds(1))
        record.lookAgain()
        #expect(record.cut == ["silent"] && record.putOff == 0)
    }

    @Test("Where many wait the oldest is cut at once: a new one must not wait for a flood that says nothing")
    func floodOfSilence() {
        let small = Record()
        let two = small.connections(2)
        two.answer(small.open("answered", two))
        _ = small.open("new", two)
        #expect(small.cut.isEmpty, "it is not the new one that goes")
        let record = Record()
        let connections = record.connections(4)
        for number in 1...2 { connections.answer(record.open("\(number)", connections)) }
        let silent = record.open("silent", connections)
        record.advance(.seconds(-1))
        _ = record.open("new", connections)
        #expect(record.cut == ["silent"] && record.putOff == 0)
        Self.close(silent, connections)
    }

    @Test("A clock that is set back keeps nobody")
    func clockSetBack() {
        let record = Record()
        // So many that two that wait are few.
        let connections = record.connections(9)
        for number in 1...8 { connections.answer(record.open("\(number)", connections)) }
        let old = record.open("old", connections)
        record.advance(.seconds(-3600))
        connections.answer(record.open("new", connections))
        #expect(record.cut == ["old"])
        Self.close(old, connections)
    }

    @Test("A client that reads on is not one that stalls")
    func readsOn() {
        let record = Record()
        let connections = record.connections(2)
        let reading = record.open("reading", connections)
        connections.answer(reading)
        connections.stall(reading)
        connections.answer(reading)
        connections.answer(record.open("new", connections))
        #expect(record.cut.isEmpty)
        connections.stall(reading)
        #expect(record.cut == ["reading"], "others wait to be let in")
    }

    @Test(
        "Past its share a source loses its own, the one that has waited the longest first, and nobody else's; proxies have none"
    )
    func shares() {
        let record = Record()
        let connections = record.connections(100, share: 4)
        let other = record.open("other", connections, source: "198.51.100.7")
        let states: [(String, (OpenConnections.Connection) -> Void)] = [
            ("channel", connections.holdChannel), ("answering", connections.answer), ("stalled", connections.stall),
            ("waiting", connections.wait),
        ]
        var opened: [String: OpenConnections.Connection] = [:]
        for (name, enter) in states {
            let connection = record.open(name, connections, source: "203.0.113.9")
            connections.answer(connection)
            enter(connection)
            opened[name] = connection
        }
        #expect(record.cut.isEmpty)
        for (count, expected) in ["stalled", "waiting", "channel"].enumerated() {
            connections.answer(record.open("more", connections, source: "203.0.113.9"))
            #expect(record.cut.count == count + 1 && record.cut.last == expected)
            if let gone = opened[expected] { Self.close(gone, connections) }
        }
        _ = record.open("last", connections, source: "203.0.113.9")
        #expect(record.cut.count == 3, "what is being answered ends soon, and a new one comes in")
        #expect(record.reports == [.share(source: "203.0.113.9")], "once a minute")
        for _ in 0..<20 { _ = record.open("proxied", connections, source: nil) }
        connections.answer(other)
        #expect(record.cut.count == 3)
        #expect(connections.metrics.contains("\ncountersign_connections_over_share_total 3\n"))
        #expect(connections.metrics.contains("\ncountersign_connections_share 4\n"))
    }

    @Test("A source that went past its share while all its connections were answered comes back to it afterwards")
    func shareAfterwards() {
        let record = Record()
        let connections = record.connections(100, share: 2)
        let opened = (1...6).map { number in
            let connection = record.open("\(number)", connections, source: "203.0.113.9")
            connections.answer(connection)
            return connection
        }
        #expect(record.cut.isEmpty)
        connections.wait(opened[0])
        connections.holdChannel(opened[1])
        connections.stall(opened[2])
        connections.holdChannel(opened[3])
        #expect(record.cut == ["1", "2", "3", "4"])
        connections.wait(opened[4])
        connections.wait(opened[5])
        #expect(record.cut.count == 4, "these two are its share")
    }

    @Test("Places are given again, however many come and go")
    func manyComeAndGo() {
        let record = Record()
        let connections = record.connections(10, share: 3)
        var open: [OpenConnections.Connection] = []
        for number in 0..<1000 {
            let connection = record.open("\(number)", connections, source: "source \(number % 7)")
            if number % 3 == 0 { connections.answer(connection) }
            if number % 6 == 0 { connections.holdChannel(connection) }
            open.append(connection)
            if open.count > 8 { Self.close(open.remove(at: number % 8), connections) }
        }
        for connection in open { Self.close(connection, connections) }
        #expect(connections.metrics.contains("\ncountersign_connections_open 0\n"))
        let before = record.cut.count
        for number in 0..<9 { _ = record.open("\(number)", connections, source: "source \(number)") }
        #expect(record.cut.count == before, "nothing was left behind")
        _ = record.open("tenth", connections, source: "tenth")
        #expect(record.cut.last == "0")
    }

    @Test("It is reported once a minute that the bound is reached, and the numbers say the rest")
    func tells() {
        let record = Record()
        let connections = record.connections(1)
        for _ in 0..<5 { _ = record.open("x", connections) }
        #expect(record.reports == [.bound])
        record.advance(.seconds(60))
        _ = record.open("x", connections)
        #expect(record.reports == [.bound, .bound])
        connections.countLateRequest()
        connections.countUnreadAnswer()
        let numbers = connections.metrics
        for line in [
            "countersign_connections_open 6", "countersign_connections_limit 1", "countersign_connections_cut_total 5",
            "countersign_requests_late_total 1", "countersign_answers_unread_total 1",
        ] {
            #expect(numbers.contains("\n\(line)\n"), "\(line)")
        }
    }

    @Test("The bound is what the process's limit leaves beside the store, and no more can be asked for")
    func descriptors() throws {
        #expect(try Descriptors.connections(nil, limit: 1024) == 896)
        #expect(try Descriptors.connections(nil, limit: 1_000_000) == 10_000)
        #expect(try Descriptors.connections(20_000, limit: 65_536) == 20_000)
        #expect(try Descriptors.connections(896, limit: 1024) == 896)
        for (wanted, limit) in [(897, 1024), (1, 128)] as [(Int?, Int)] + [(nil, 128), (nil, 20)] {
            let failure = #expect(throws: CommandFailure.self) { try Descriptors.connections(wanted, limit: limit) }
            #expect(failure?.status == .failed && failure?.description.contains("\(limit)") == true)
        }
        #expect(Descriptors.limit > 0)
    }
}
