import Foundation
import Settings
import Testing
import _Primitives

@testable import CountersignCommand

@Suite(
    "The listeners: a time for each request (RFC 9110, section 15.5.9), and a bound for connections",
    .timeLimit(.minutes(10)))
struct BoundedChannelTests {
    private static var short: Limits {
        var limits = Limits()
        limits.requestDeadline = .milliseconds(20)
        return limits
    }

    @Test("A body that does not come whole is answered 408, and the connection is closed")
    func lateBody() async throws {
        let connections = Listener.connections(9)
        try await Listener.run(Self.short, connections) { port, _ in
            for header in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
                let connection = try RawConnection(port)
                try connection.send(Listener.post("/token/redeem/authentication", header) + "1\r\n{\r\n")
                let answer = try await connection.read()
                #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains("urn:countersign:error:request-timeout"))
            }
        }
        #expect(connections.metrics.contains("countersign_requests_late_total 2\n"))
    }

    @Test("Bytes that keep coming gain no time, also where nobody reads them")
    func trickle() async throws {
        let connections = Listener.connections(9)
        try await Listener.run(Self.short, connections) { port, _ in
            let connection = try RawConnection(port)
            try connection.send(Listener.post("/unread", "Transfer-Encoding: chunked"))
            try await connection.sendUntilClosed("1\r\nx\r\n")
        }
        #expect(connections.metrics.contains("countersign_requests_late_total 1\n"))
    }

    @Test("A head that does not come whole ends with the connection's idle time")
    func lateHead() async throws {
        var limits = Limits()
        limits.connectionIdleTime = .milliseconds(20)
        try await Listener.run(limits) { port, _ in
            for text in ["", "GET /quick HTT", "GET /quick HTTP/1.1\r\nHost: localhost\r\nAccept"] {
                let connection = try RawConnection(port)
                try connection.send(text)
                #expect(try await connection.read() == "")
            }
        }
    }

    @Test("A body in two pieces is taken, and an answer may take longer than a request")
    func honest() async throws {
        try await Listener.run { port, _ in
            let connection = try RawConnection(port)
            try connection.send(Listener.post("/token/redeem/authentication", "Content-Length: 13") + "{\"token\"")
            try connection.send(":\"x\"}")
            #expect(try await connection.read(until: "}").hasPrefix("HTTP/1.1 404 "))
        }
        try await Listener.run(Self.short) { port, gate in
            let patient = try RawConnection(port)
            try patient.send(Listener.get("/slow"))
            _ = await gate.arrivals.first { _ in true }
            // When this one is closed, the other's time is over too.
            let late = try RawConnection(port)
            try late.send(Listener.post("/unread", "Content-Length: 9"))
            #expect(try await late.read().hasSuffix("unread"))
            await gate.release()
            #expect(try await patient.read(until: "slow").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test("Connections that say nothing are cut at the bound, and those who ask are answered")
    func silentOnes() async throws {
        let connections = Listener.connections(3)
        try await Listener.run(Limits(), connections) { port, gate in
            let patient = try RawConnection(port)
            try patient.send(Listener.get("/slow"))
            var arrivals = gate.arrivals.makeAsyncIterator()
            _ = await arrivals.next()
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<20 {
                    let silent = try RawConnection(port)
                    group.addTask { try await silent.read() }
                }
                // All but one, which leaves room for the next.
                for _ in 0..<19 { #expect(try await group.next() == "") }
                let honest = try RawConnection(port)
                try honest.send(Listener.get("/quick"))
                #expect(try await honest.read(until: "quick").hasPrefix("HTTP/1.1 200 "))
                #expect(try await group.next() == "")
            }
            await gate.release()
            #expect(
                try await patient.read(until: "slow").hasPrefix("HTTP/1.1 200 "),
                "a client that is being answered stays")
        }
    }

    @Test("Where all are being answered, the next one waits until one has its answer")
    func waitsForRoom() async throws {
        let connections = Listener.connections(2)
        try await Listener.run(Limits(), connections) { port, gate in
            var arrivals = gate.arrivals.makeAsyncIterator()
            var patient: [RawConnection] = []
            for _ in 0..<2 {
                patient.append(try RawConnection(port))
                try patient.last?.send(Listener.get("/slow"))
                _ = await arrivals.next()
            }
            let next = try RawConnection(port)
            try next.send(Listener.get("/quick"))
            await gate.release()
            #expect(try await next.read(until: "quick").hasPrefix("HTTP/1.1 200 "))
            #expect(try await patient[0].read().hasSuffix("slow"), "it gave its place")
            await gate.release()
            #expect(try await patient[1].read(until: "slow").hasPrefix("HTTP/1.1 200 "))
            #expect(connections.metrics.contains("countersign_connections_limit 2\n"))
        }
    }
}
