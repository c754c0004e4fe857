import Countersign
import CountersignTestKit
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// A server on a loopback port that answers each connection once, by its request's path, with raw bytes.
// Safe to share: every access to `requests` is within `lock`.
private final class LoopbackServer: @unchecked Sendable {
    let port: UInt16
    private let socket: Int32
    private let lock = NSLock()
    private var requests: [String] = []
    private let answer: @Sendable (String) -> [UInt8]?

    /// `answer` gets the request's path; without an answer the connection stays open and silent.
    init(_ answer: @escaping @Sendable (String) -> [UInt8]?) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> UInt16? in
                guard bind(socket, generic, length) == 0, listen(socket, 16) == 0,
                    getsockname(socket, generic, &length) == 0
                else { return nil }
                return UInt16(bigEndian: pointer.pointee.sin_port)
            }
        }
        self.port = try #require(port)
        self.socket = socket
        self.answer = answer
        Thread.detachNewThread { [self] in self.serve() }
    }

    /// Everything that was received, one text a connection.
    var received: [String] { self.lock.withLock { self.requests } }

    /// The thread that accepts closes the socket: its number may belong to another one from then on.
    func stop() { shutdown(self.socket, Int32(SHUT_RDWR)) }

    private func serve() {
        var silent: [Int32] = []
        while true {
            let connection = accept(self.socket, nil, nil)
            guard connection >= 0 else { break }
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while !Self.isComplete(bytes) {
                let count = read(connection, &buffer, buffer.count)
                guard count > 0 else { break }
                bytes += buffer.prefix(count)
            }
            let request = String(decoding: bytes, as: UTF8.self)
            self.lock.withLock { self.requests.append(request) }
            let path = request.split(separator: " ").dropFirst().first.map(String.init) ?? ""
            guard let answer = self.answer(path) else {
                silent.append(connection)
                continue
            }
            _ = answer.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            close(connection)
        }
        for connection in silent { close(connection) }
        close(self.socket)
    }

    private static func isComplete(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let head = text.range(of: "\r\n\r\n") else { return false }
        let length = text[..<head.lowerBound].lowercased().split(separator: "\r\n")
            .first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).filter { !$0.isWhitespace }) }
        return text[head.upperBound...].utf8.count >= length ?? 0
    }
}

@Suite("The default transport, over Foundation's URL loading", .timeLimit(.minutes(10)))
struct URLSessionTransportTests {
    private static func response(_ status: String, _ headers: [String] = [], _ body: String = "") -> [UInt8] {
        let head = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + headers
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    }

    private func request(
        _ server: LoopbackServer, _ path: String, method: String = "POST", body: String = "",
        timeout: Duration = .seconds(20),
        maximum: Int = 65_536
    ) throws -> TransportRequest {
        TransportRequest(
            method: method, url: try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)")),
            headers: [("Content-Type", "application/json"), ("X-One", "1")], body: Array(body.utf8), timeout: timeout,
            maximumResponseLength: maximum)
    }

    @Test("Method, headers and body arrive, and so do status, headers and body of the answer")
    func exchange() async throws {
        let server = try LoopbackServer { _ in Self.response("404 Not Found", ["X-Two: 2"], "no") }
        defer { server.stop() }
        let answer = try await URLSessionTransport().send(
            try self.request(server, "/path?x=1", body: "{\"token\":\"t\"}"))
        #expect(answer.status == 404)
        #expect(answer.header("x-two") == "2" && answer.header("X-TWO") == "2" && answer.header("x-three") == nil)
        #expect(answer.body == Array("no".utf8))
        let received = try #require(server.received.first)
        #expect(received.hasPrefix("POST /path?x=1 HTTP/1.1\r\n"))
        #expect(received.contains("X-One: 1\r\n") && received.contains("Content-Type: application/json\r\n"))
        #expect(received.hasSuffix("\r\n\r\n{\"token\":\"t\"}"))
        _ = try await URLSessionTransport().send(try self.request(server, "/get", method: "GET"))
        #expect(server.received.last?.hasPrefix("GET /get HTTP/1.1\r\n") == true)
    }

    @Test("A redirect is an answer and is not followed", arguments: [301, 302, 303, 307, 308])
    func redirects(status: Int) async throws {
        let server = try LoopbackServer { _ in Self.response("\(status) Moved", ["Location: /elsewhere"]) }
        defer { server.stop() }
        let answer = try await URLSessionTransport().send(try self.request(server, "/start", body: "x"))
        #expect(answer.status == status && answer.header("Location") == "/elsewhere")
        #expect(server.received.count == 1)
    }

    @Test("A cookie that the server sets does not come back")
    func cookies() async throws {
        let server = try LoopbackServer { _ in Self.response("200 OK", ["Set-Cookie: session=1; Path=/"]) }
        defer { server.stop() }
        let transport = URLSessionTransport()
        _ = try await transport.send(try self.request(server, "/one"))
        _ = try await transport.send(try self.request(server, "/two"))
        #expect(server.received.count == 2)
        #expect(!server.received.joined().lowercased().contains("cookie"))
    }

    @Test("Cookies of one answer are told apart as the server has sent them, dates and commas included")
    func severalCookies() async throws {
        let sent = [
            "a=1; Path=/; Expires=Fri, 15 Jan 2027 08:00:00 GMT; Secure; HttpOnly",
            "b=; Path=/v0/sign_in/refresh; Max-Age=0",
            "c=x,y z; Path=/", "d=%7B%22e%22%3A1%7D; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ]
        let fields = sent.map { "Set-Cookie: \($0)" } + ["Vary: Cookie, Origin"]
        let server = try LoopbackServer { _ in Self.response("200 OK", fields) }
        defer { server.stop() }
        let answer = try await URLSessionTransport().send(try self.request(server, "/"))
        #expect(answer.headers.filter { $0.name.lowercased() == "set-cookie" }.map(\.value) == sent)
        #expect(answer.headers.first { $0.name.lowercased() == "vary" }?.value == "Cookie, Origin")
    }

    @Test("An answer that may be cached is fetched again")
    func cache() async throws {
        let server = try LoopbackServer { _ in Self.response("200 OK", ["Cache-Control: max-age=1000"], "x") }
        defer { server.stop() }
        let transport = URLSessionTransport()
        for _ in 0..<2 { _ = try await transport.send(try self.request(server, "/same", method: "GET")) }
        #expect(server.received.count == 2)
    }

    @Test("A server that says nothing is left at the set time and no sooner, with a network error")
    func stalled() async throws {
        let server = try LoopbackServer { _ in nil }
        defer { server.stop() }
        let clock = FakeClock()
        let request = try self.request(server, "/", timeout: .seconds(20))
        let exchange = Task { try await URLSessionTransport(sleep: clock.sleep).send(request) }
        await clock.untilSleeping()
        clock.advance(by: .milliseconds(19_999))
        #expect(clock.sleepingCount == 1)
        clock.advance(by: .milliseconds(1))
        #expect(clock.sleepingCount == 0)
        await #expect(throws: TransportError(.timedOut, "")) { _ = try await exchange.value }
    }

    @Test("By itself it waits by the time that passes")
    func realTime() async throws {
        let server = try LoopbackServer { _ in nil }
        defer { server.stop() }
        let request = try self.request(server, "/", timeout: .seconds(1))
        await #expect(throws: TransportError(.timedOut, "")) { _ = try await URLSessionTransport().send(request) }
    }

    @Test("The time is the configuration's, and the operation ends with a network error")
    func configuredTime() async throws {
        let server = try LoopbackServer { _ in nil }
        defer { server.stop() }
        var configuration = ClientConfiguration(baseURL: try #require(URL(string: "http://127.0.0.1:\(server.port)")))
        configuration.networkTimeout = .seconds(40)
        let clock = FakeClock()
        let transport = URLSessionTransport(sleep: clock.sleep)
        let client = try await VirtualPhone(configuration: configuration, transport: transport).client
        let operation = Task {
            await operationError { _ = try await client.operations.registration.username("alice").execute() }
        }
        await clock.untilSleeping()
        clock.advance(by: .milliseconds(39_999))
        #expect(clock.sleepingCount == 1)
        clock.advance(by: .milliseconds(1))
        #expect(clock.sleepingCount == 0)
        #expect(await operation.value?.code == .networkError)
    }

    @Test("An answer that is too long, one that is none, and a server that is not there are typed errors")
    func failures() async throws {
        let long = try LoopbackServer { _ in Self.response("200 OK", [], String(repeating: "x", count: 1001)) }
        defer { long.stop() }
        let request = try self.request(long, "/", maximum: 1000)
        await #expect(throws: TransportError(.tooLarge, "")) { _ = try await URLSessionTransport().send(request) }
        let rude = try LoopbackServer { _ in [] }
        let cut = try self.request(rude, "/")
        await #expect(throws: TransportError(.unreachable, "")) { _ = try await URLSessionTransport().send(cut) }
        rude.stop()
        await #expect(throws: TransportError(.unreachable, "")) { _ = try await URLSessionTransport().send(cut) }
    }

    private func error(_ request: TransportRequest) async -> TransportError? {
        do { _ = try await URLSessionTransport().send(request) } catch { return error as? TransportError }
        return nil
    }

    /// Foundation on Linux does not tell a refused connection from a connection that was lost.
    @Test("No error claims that the request was not sent: without a connection, after a lost connection, or too late")
    func unsent() async throws {
        let rude = try LoopbackServer { _ in [] }
        let cut = try self.request(rude, "/", body: "x")
        let lost = try #require(await self.error(cut))
        #expect(lost.code == .unreachable && !lost.isUnsent && rude.received.count == 1)
        rude.stop()
        var nowhere = cut
        // Port 1 is of no server here.
        nowhere.url = try #require(URL(string: "http://127.0.0.1:1/"))
        let refused = try #require(await self.error(nowhere))
        #expect(refused.code == .unreachable && !refused.isUnsent)
        let silent = try LoopbackServer { _ in nil }
        defer { silent.stop() }
        let late = try await self.timedOut(silent)
        #expect(late.code == .timedOut && !late.isUnsent)
    }

    @Test("A lost connection is not taken for a refused connection, though the host's first address refused")
    func secondAddress() async throws {
        // The server has only the IPv4 address of `localhost`. Where `localhost` has `::1` too, `::1` refuses first.
        let rude = try LoopbackServer { _ in [] }
        defer { rude.stop() }
        var request = try self.request(rude, "/", body: "x")
        request.url = try #require(URL(string: "http://localhost:\(rude.port)/"))
        let lost = try #require(await self.error(request))
        #expect(lost.code == .unreachable && !lost.isUnsent && rude.received.count == 1)
    }

    /// The error of a request whose time is over while the server has the request.
    private func timedOut(_ server: LoopbackServer) async throws -> TransportError {
        let clock = FakeClock()
        let request = try self.request(server, "/", timeout: .seconds(20))
        let task = Task { () -> TransportError? in
            do {
                _ = try await URLSessionTransport(sleep: { try await clock.sleep(for: $0) }).send(request)
            } catch { return error as? TransportError }
            return nil
        }
        while server.received.isEmpty { await Task.yield() }
        await clock.untilSleeping()
        clock.advance(by: .seconds(20))
        return try #require(await task.value)
    }

    @Test("An answer without an end is left at its limit")
    func endless() async throws {
        let head = Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".utf8)
        let server = try LoopbackServer { _ in head + [UInt8](repeating: 120, count: 2_000_000) }
        defer { server.stop() }
        let request = try self.request(server, "/", maximum: 10_000)
        await #expect(throws: TransportError(.tooLarge, "")) { _ = try await URLSessionTransport().send(request) }
        let wide = try self.request(server, "/", maximum: 2_000_000)
        #expect(try await URLSessionTransport().send(wide).body.count == 2_000_000)
    }

    @Test("Many exchanges of one transport do not mix")
    func concurrent() async throws {
        let server = try LoopbackServer { path in Self.response("200 OK", [], "answer to \(path)") }
        defer { server.stop() }
        let transport = URLSessionTransport()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<30 {
                let request = try self.request(server, "/\(index)", method: "GET")
                group.addTask { try await transport.send(request).body == Array("answer to /\(index)".utf8) }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test("A cancelled task ends the exchange")
    func cancelled() async throws {
        let server = try LoopbackServer { _ in nil }
        defer { server.stop() }
        let request = try self.request(server, "/")
        let task = Task { _ = try await URLSessionTransport().send(request) }
        while server.received.isEmpty { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
