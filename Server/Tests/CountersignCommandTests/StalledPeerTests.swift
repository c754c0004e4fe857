import Foundation
import Settings
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("Peers that stop reading (threat model, Floods)", .timeLimit(.minutes(10)))
struct StalledPeerTests {
    private static var quickLooks: Limits {
        var limits = Limits()
        limits.answerLook = .milliseconds(20)
        return limits
    }

    /// Opens connections that ask for more than anybody keeps for them, and read nothing of it.
    private static func stall(_ count: Int, _ port: Int) throws -> [RawConnection] {
        try (0..<count).map { _ in
            let connection = try RawConnection(port, hasSmallWindow: true)
            try connection.send(Listener.get("/large"))
            return connection
        }
    }

    @Test("A peer that does not read is cut, and one that reads has the whole answer")
    func isCut() async throws {
        let connections = Listener.connections(9)
        try await Listener.run(Self.quickLooks, connections) { port, _ in
            let stalled = try Self.stall(1, port)
            let honest = try RawConnection(port)
            try honest.send(Listener.get("/large"))
            let answer = try await honest.read(until: "x", count: Listener.largeBytes)
            #expect(answer.utf8.count > Listener.largeBytes)
            _ = stalled.count
        }
        // So short a period that a machine with much to do would be too slow a reader itself.
        var limits = Self.quickLooks
        limits.answerPeriod = .milliseconds(100)
        try await Listener.run(limits, connections) { port, _ in
            try await Self.stall(1, port)[0].waitUntilReset()
        }
        #expect(connections.metrics.contains("\ncountersign_answers_unread_total 1\n"))
    }

    @Test("With more of them than connections, others are answered as before; each source past its share loses its own")
    func leaveRoom() async throws {
        // A share of so many nobody reaches. One of as many as there are connections can be reached: the listener accepts
        // what came at once in one go, and counts after it.
        for share in [1000, 40] {
            let connections = Listener.connections(200, share: share)
            try await Listener.run(Self.quickLooks, connections, source: "203.0.113.9") { port, _ in
                let stalled = try Self.stall(220, port)
                // At the bound nobody needs to wait for it; past its share a source loses whatever stalls already.
                while share < connections.limit, connections.stalled < share {
                    await Task.yield()
                }
                for _ in 0..<20 {
                    let honest = try RawConnection(port)
                    try honest.send(Listener.get("/quick"))
                    #expect(try await honest.read(until: "quick").hasPrefix("HTTP/1.1 200 "))
                }
                _ = stalled.count
            }
            let isWithinShare = connections.metrics.contains("\ncountersign_connections_over_share_total 0\n")
            #expect(isWithinShare == (share > connections.limit))
        }
    }

    @Test("A server that stops waits for no peer longer than the drain, and answers those that read")
    func drain() async throws {
        var limits = Limits()
        #expect(limits.drainTime <= .seconds(30) && limits.operatorDrainTime <= .seconds(30))
        limits.drainTime = .milliseconds(300)
        // Nothing but the drain ends them.
        limits.answerPeriod = .seconds(3600)
        limits.acknowledgementTime = .seconds(3600)
        limits.connectionIdleTime = .seconds(3600)
        let port = Mutex(0)
        let answer = Mutex<Task<String, any Error>?>(nil)
        let stalled = Mutex<[RawConnection]>([])
        // The listener is stopped while all of them wait for their answers.
        try await Listener.run(limits, Listener.connections(300)) { number, gate in
            port.withLock { $0 = number }
            let opened = try Self.stall(20, number)
            stalled.withLock { $0 = opened }
            let patient = try RawConnection(number)
            try patient.send(Listener.get("/slow"))
            _ = await gate.arrivals.first { _ in true }
            answer.withLock { $0 = Task { try await patient.read() } }
        }
        // It has ended, or this would not be reached.
        let read = try await answer.withLock { $0 }?.value
        #expect(read?.hasSuffix("slow") == true)
        #expect(throws: RawConnection.Failure.self) { try RawConnection(port.withLock { $0 }) }
        #expect(stalled.withLock { $0.count } == 20)
    }

    @Test("A peer that has read nothing for two looks is cut then, and not at the end of the drain")
    func unreadWhileStopping() async throws {
        var limits = Self.quickLooks
        // Nothing but the looks ends them.
        limits.drainTime = .seconds(3600)
        limits.stopTime = .seconds(7200)
        limits.answerPeriod = .seconds(3600)
        limits.acknowledgementTime = .seconds(3600)
        let (stop, connections) = (ServerStop(limits: limits), Listener.connections(300))
        let answer = Mutex<Task<String, any Error>?>(nil)
        let stalled = Mutex<[RawConnection]>([])
        try await Listener.run(limits, connections, stop: stop) { port, gate in
            let opened = try Self.stall(20, port)
            stalled.withLock { $0 = opened }
            let patient = try RawConnection(port)
            try patient.send(Listener.get("/slow"))
            _ = await gate.arrivals.first { _ in true }
            while connections.stalled < 20 {
                try Task.checkCancellation()
                await Task.yield()
            }
            answer.withLock { $0 = Task { try await patient.read() } }
        }
        #expect(try await answer.withLock { $0 }?.value.hasSuffix("slow") == true)
        #expect(stop.account == ServerStop.Account(closed: 1, unread: 20, requestsCut: 0))
        #expect(stalled.withLock { $0.count } == 20)
    }

    @Test("Connections have what is left of the whole stop, however long their own drain is")
    func sharedDeadline() async throws {
        var limits = Limits()
        limits.drainTime = .seconds(3600)
        let moment = Mutex(ContinuousClock.now)
        let stop = ServerStop(limits: limits) { moment.withLock { $0 } }
        let waiting = Mutex<[RawConnection]>([])
        let (stopTime, cut) = (limits.stopTime, 3)
        try await Listener.run(limits, Listener.connections(300), stop: stop) {
            while stop.account.requestsCut < cut, !Task.isCancelled { await Task.yield() }
        } _: { port, gate in
            for _ in 0..<cut {
                let connection = try RawConnection(port)
                try connection.send(Listener.get("/slow"))
                waiting.withLock { $0.append(connection) }
                _ = await gate.arrivals.first { _ in true }
            }
            // The listener is told of the stop when the time of the connections is over.
            stop.begin()
            moment.withLock { $0 += stopTime - Limits.Fixed.stopReserve }
        }
        #expect(stop.account == ServerStop.Account(closed: 0, unread: 0, requestsCut: cut))
        #expect(waiting.withLock { $0.count } == cut)
    }

    @Test("A server that stops answers the request that has come, and says that the connection ends with that answer")
    func lastRequest() async throws {
        let stop = ServerStop(limits: Limits())
        try await Listener.run(stop: stop) { port, _ in
            stop.begin()
            let connection = try RawConnection(port)
            try connection.send(Listener.get("/quick") + Listener.get("/quick"))
            let answer = try await connection.read()
            #expect(answer.lowercased().contains("\r\nconnection: close\r\n"))
            #expect(answer.components(separatedBy: "HTTP/1.1 200 ").count == 2, "of two requests one is answered")
        }
    }
}
