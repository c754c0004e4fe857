import CountersignServer
import Foundation
import Hummingbird
import SQLiteStore
import Store
import Testing
import _Primitives

@testable import CountersignCommand

/// A connection without any HTTP library that would mend what it sends. It waits on threads of its own.
private final class RawConnection: Sendable {
    struct Failure: Error {}

    private let descriptor: Int32

    init(_ port: Int) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let connected = Self.withLoopback(port) { connect(self.descriptor, $0, $1.pointee) }
        guard connected == 0 else { throw Failure() }
        // A server that never closes fails the test, and does not hang it.
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(self.descriptor) }

    /// A port at which nobody listens.
    static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        let port = self.withLoopback(0) { address, size -> in_port_t? in
            guard bind(descriptor, address, size.pointee) == 0, getsockname(descriptor, address, size) == 0 else {
                return nil
            }
            return UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_port.bigEndian
        }
        guard let port else { throw Failure() }
        return Int(port)
    }

    private static func withLoopback<Value>(
        _ port: Int, _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Value
    ) -> Value {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &size) }
        }
    }

    func send(_ text: String) throws { guard self.sendAll(text) else { throw Failure() } }

    /// Sends the same again and again until the server has closed. Throws where it takes a thousand times as much as any
    /// deadline of these tests.
    func sendUntilClosed(_ text: String) async throws {
        try await self.onThread {
            let end = ContinuousClock.now + .seconds(30)
            while self.sendAll(text) { guard ContinuousClock.now < end else { throw Failure() } }
        }
    }

    /// What comes until the server has closed, or until it ends in `end`. Throws where neither happens.
    func read(until end: String? = nil) async throws -> String {
        try await self.onThread {
            var received = ""
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(self.descriptor, &buffer, buffer.count, 0)
                if count == 0 || count < 0 && errno == ECONNRESET { return received }
                guard count > 0 else { throw Failure() }
                received += String(decoding: buffer[..<count], as: UTF8.self)
                if let end, received.hasSuffix(end) { return received }
            }
        }
    }

    private func sendAll(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return Foundation.send(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try body() }) }.start()
        }
    }
}

/// Holds answers back until the test lets them go.
private actor Gate {
    nonisolated let arrivals: AsyncStream<Void>
    private let arriving: AsyncStream<Void>.Continuation
    private var held: [CheckedContinuation<Void, Never>] = []

    init() { (self.arrivals, self.arriving) = AsyncStream.makeStream() }

    func pass() async {
        await withCheckedContinuation { continuation in
            self.held.append(continuation)
            self.arriving.yield()
        }
    }

    /// Lets one go, the first that came.
    func release() { if !self.held.isEmpty { self.held.removeFirst().resume() } }

    /// Lets all go.
    func open() { while !self.held.isEmpty { self.release() } }
}

@Suite("The listeners: a time for each request (RFC 9110, section 15.5.9), and a bound for connections")
struct BoundedChannelTests {
    /// Runs the public routes, and three of the test's own, behind a real socket.
    private static func run(
        _ limits: Limits = Limits(), _ connections: OpenConnections? = nil,
        _ test: @escaping @Sendable (_ port: Int, _ gate: Gate) async throws -> Void
    ) async throws {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try OpenStore(
            folder: DataFolder(path: folder + "/data"), keyFile: KeyFile(path: folder + "/key"), limits: limits)
        let gate = Gate()
        let router = try await store.assembly(.init(issuer: "http://localhost:8080", facets: [])).publicRouter()
        router.get("/quick") { _, _ in "quick" }
        router.post("/unread") { _, _ in "unread" }
        router.get("/slow") { _, _ in
            await gate.pass()
            return "slow"
        }
        // Not by HummingbirdTesting: it leaves out who counts connections.
        let port = try RawConnection.freePort()
        let (running, start) = AsyncStream.makeStream(of: Void.self)
        let application = Application(
            router: router, server: .bounded(limits, connections: connections),
            configuration: .init(
                address: .hostname("127.0.0.1", port: port), availableConnectionsDelegate: connections),
            onServerRunning: { _ in start.yield() })
        let result = await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await application.runService(gracefulShutdownSignals: []) }
            _ = await running.first { _ in true }
            let result: Result<Void, any Error>
            do { result = .success(try await test(port, gate)) } catch { result = .failure(error) }
            await gate.open()
            group.cancelAll()
            return result
        }
        await store.database.close()
        try result.get()
    }

    private static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n" }

    private static func post(_ path: String, _ header: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\(header)\r\n\r\n"
    }

    private static var short: Limits {
        var limits = Limits()
        limits.requestDeadline = .milliseconds(20)
        return limits
    }

    @Test("A body that does not come whole is answered 408, and the connection is closed")
    func lateBody() async throws {
        let connections = OpenConnections(limit: 9) {}
        try await Self.run(Self.short, connections) { port, _ in
            for header in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
                let connection = try RawConnection(port)
                try connection.send(Self.post("/token/redeem/authentication", header) + "1\r\n{\r\n")
                let answer = try await connection.read()
                #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains("urn:countersign:error:request-timeout"))
            }
        }
        #expect(connections.metrics.contains("countersign_requests_late_total 2\n"))
    }

    @Test("Bytes that keep coming gain no time, also where nobody reads them")
    func trickle() async throws {
        try await Self.run(Self.short) { port, _ in
            let connection = try RawConnection(port)
            try connection.send(Self.post("/unread", "Transfer-Encoding: chunked"))
            try await connection.sendUntilClosed("1\r\nx\r\n")
        }
    }

    @Test("A head that does not come whole ends with the connection's idle time")
    func lateHead() async throws {
        var limits = Limits()
        limits.connectionIdleTime = .milliseconds(20)
        try await Self.run(limits) { port, _ in
            for text in ["", "GET /quick HTT", "GET /quick HTTP/1.1\r\nHost: localhost\r\nAccept"] {
                let connection = try RawConnection(port)
                try connection.send(text)
                #expect(try await connection.read() == "")
            }
        }
    }

    @Test("A body in two pieces is taken, and an answer may take longer than a request")
    func honest() async throws {
        try await Self.run { port, _ in
            let connection = try RawConnection(port)
            try connection.send(Self.post("/token/redeem/authentication", "Content-Length: 13") + "{\"token\"")
            try connection.send(":\"x\"}")
            #expect(try await connection.read(until: "}").hasPrefix("HTTP/1.1 404 "))
        }
        try await Self.run(Self.short) { port, gate in
            let patient = try RawConnection(port)
            try patient.send(Self.get("/slow"))
            _ = await gate.arrivals.first { _ in true }
            // When this one is closed, the other's time is over too.
            let late = try RawConnection(port)
            try late.send(Self.post("/unread", "Content-Length: 9"))
            #expect(try await late.read().hasSuffix("unread"))
            await gate.release()
            #expect(try await patient.read(until: "slow").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test("Connections that say nothing are cut at the bound, and those who ask are answered")
    func silentOnes() async throws {
        let connections = OpenConnections(limit: 3) {}
        try await Self.run(Limits(), connections) { port, gate in
            let patient = try RawConnection(port)
            try patient.send(Self.get("/slow"))
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
                try honest.send(Self.get("/quick"))
                #expect(try await honest.read(until: "quick").hasPrefix("HTTP/1.1 200 "))
                #expect(try await group.next() == "")
            }
            await gate.release()
            #expect(try await patient.read(until: "slow").hasPrefix("HTTP/1.1 200 "), "who is being answered stays")
        }
    }

    @Test("Where all are being answered, who comes next waits until one has its answer")
    func waitsForRoom() async throws {
        let connections = OpenConnections(limit: 2) {}
        try await Self.run(Limits(), connections) { port, gate in
            var arrivals = gate.arrivals.makeAsyncIterator()
            var patient: [RawConnection] = []
            for _ in 0..<2 {
                patient.append(try RawConnection(port))
                try patient.last?.send(Self.get("/slow"))
                _ = await arrivals.next()
            }
            let next = try RawConnection(port)
            try next.send(Self.get("/quick"))
            await gate.release()
            #expect(try await next.read(until: "quick").hasPrefix("HTTP/1.1 200 "))
            #expect(try await patient[0].read().hasSuffix("slow"), "it gave its place")
            await gate.release()
            #expect(try await patient[1].read(until: "slow").hasPrefix("HTTP/1.1 200 "))
            #expect(connections.metrics.contains("countersign_connections_limit 2\n"))
        }
    }
}
