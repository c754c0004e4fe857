import Foundation
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("The public listener's connections: bounded, and those that say nothing give way")
struct OpenConnectionsTests {
    /// What connections were told, in order, and a clock to move.
    private final class Record: Sendable {
        private let entries = Mutex<[String]>([])
        private let moment = Mutex(Timestamp(seconds: 1_800_000_000))

        /// The connections that were cut.
        var cut: [String] { self.entries.withLock { $0 }.filter { $0 != "report" } }
        var reports: Int { self.entries.withLock { $0 }.count { $0 == "report" } }
        func add(_ entry: String) { self.entries.withLock { $0.append(entry) } }
        func advance(_ span: Duration) { self.moment.withLock { $0 = $0 + span } }

        func connections(_ limit: Int) -> OpenConnections {
            OpenConnections(limit: limit, time: TimeSource { self.moment.withLock { $0 } }) { self.add("report") }
        }
    }

    private static func open(_ name: String, _ connections: OpenConnections, _ record: Record) -> OpenConnections.Wait {
        connections.connectionOpened()
        return connections.wait { record.add(name) }
    }

    @Test("At the bound the one that has waited the longest is cut, never one that is being answered, nor the new one")
    func cutsTheOldest() {
        let record = Record()
        let connections = record.connections(3)
        let answered = Self.open("answered", connections, record)
        connections.answer(answered)
        let silent = Self.open("silent", connections, record)
        #expect(record.cut.isEmpty && connections.isAcceptingNewConnections())
        _ = Self.open("new", connections, record)
        #expect(record.cut == ["silent"])
        #expect(!connections.isAcceptingNewConnections(), "not before it has ended")
        connections.end(silent)
        connections.connectionClosed()
        #expect(connections.isAcceptingNewConnections())
    }

    @Test("Where all are being answered nobody is cut, and no more are accepted until one has its answer")
    func waitsForAnswers() {
        let record = Record()
        let connections = record.connections(2)
        let waits = ["1", "2"].map { Self.open($0, connections, record) }
        #expect(record.cut == ["1"])
        connections.end(waits[0])
        connections.connectionClosed()
        let third = Self.open("3", connections, record)
        #expect(record.cut == ["1", "2"])
        connections.end(waits[1])
        connections.connectionClosed()
        connections.answer(third)
        let fourth = Self.open("4", connections, record)
        connections.answer(fourth)
        #expect(!connections.isAcceptingNewConnections())
        #expect(record.cut == ["1", "2"])
        // Its answer is complete, and others wait to be let in.
        _ = connections.wait(after: fourth) { record.add("4") }
        #expect(record.cut == ["1", "2", "4"])
    }

    @Test("One whose request comes while it is being cut is counted once")
    func countsOnce() {
        let record = Record()
        let connections = record.connections(2)
        let first = Self.open("first", connections, record)
        let second = Self.open("second", connections, record)
        #expect(record.cut.contains("first"))
        connections.answer(first)
        let again = connections.wait(after: first) { record.add("first again") }
        #expect(!record.cut.contains("first again") && !record.cut.contains("second"))
        connections.end(again)
        connections.connectionClosed()
        connections.answer(second)
        _ = Self.open("third", connections, record)
        _ = connections.wait(after: second) { record.add("second") }
        #expect(record.cut.contains("third"), "room is made again")
    }

    @Test("It is reported once a minute that the bound is reached, and the numbers say the rest")
    func tells() {
        let record = Record()
        let connections = record.connections(1)
        var waits: [OpenConnections.Wait] = []
        for _ in 0..<5 { waits.append(Self.open("x", connections, record)) }
        #expect(record.reports == 1)
        record.advance(OpenConnections.pauseOfReports)
        waits.append(Self.open("x", connections, record))
        #expect(record.reports == 2)
        connections.countLateRequest()
        let numbers = connections.metrics
        for line in [
            "countersign_connections_open 6", "countersign_connections_limit 1", "countersign_connections_cut_total 5",
            "countersign_requests_late_total 1",
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
