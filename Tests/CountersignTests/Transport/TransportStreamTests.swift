import Countersign
import CountersignTestKit
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// A server on a loopback port that sends a single connection the bytes that a test tells it to send.
// Safe to share: the sockets are numbers that never change, and every access to `connection` is within `lock`.
private final class PieceServer: @unchecked Sendable {
    let port: UInt16
    private let socket: Int32
    private let lock = NSLock()
    private var connection: Int32?

    init() throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> UInt16? in
                guard bind(socket, generic, length) == 0, listen(socket, 1) == 0,
                    getsockname(socket, generic, &length) == 0
                else { return nil }
                return UInt16(bigEndian: pointer.pointee.sin_port)
            }
        }
        self.port = try #require(port)
        self.socket = socket
    }

    deinit {
        if let connection { close(connection) }
        close(self.socket)
    }

    func request(timeout: Duration = .seconds(20), maximum: Int = 65_536) throws -> TransportRequest {
        TransportRequest(
            method: "GET", url: try #require(URL(string: "http://127.0.0.1:\(self.port)/events")),
            headers: [("Accept", "text/event-stream")], body: [], timeout: timeout, maximumResponseLength: maximum)
    }

    /// Takes the connection and reads its request to the end, on a thread of its own.
    func receive() async -> String {
        await self.onThread {
            let connection = accept(self.socket, nil, nil)
            self.lock.withLock { self.connection = connection }
            var text = ""
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while !text.hasSuffix("\r\n\r\n") {
                let count = read(connection, &buffer, buffer.count)
                guard count > 0 else { break }
                text += String(decoding: buffer.prefix(count), as: UTF8.self)
            }
            return text
        }
    }

    func send(_ text: String) {
        guard let connection = self.lock.withLock({ self.connection }) else { return }
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Ends the answer.
    func end() {
        guard let connection = self.lock.withLock({ self.connection }) else { return }
        shutdown(connection, Int32(SHUT_WR))
    }

    /// Returns as soon as the other end has closed the connection.
    func untilClosed() async {
        await self.onThread {
            guard let connection = self.lock.withLock({ self.connection }) else { return }
            var buffer = [UInt8](repeating: 0, count: 1024)
            while read(connection, &buffer, buffer.count) > 0 {}
        }
    }

    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}

@Suite("Decision 111: the default transport gives answers while they arrive", .timeLimit(.minutes(10)))
struct TransportStreamTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

    @Test("Status and header fields come first, then each piece before the next piece is sent")
    func pieces() async throws {
        let server = try PieceServer()
        let request = try server.request()
        async let result = URLSessionTransport().stream(request) { stream in
            // Nothing of the body was sent when the reader begins.
            var texts = ["\(stream.status) \(stream.header("content-type") ?? "")"]
            server.send("one")
            for try await piece in stream {
                texts.append(String(decoding: piece, as: UTF8.self))
                if texts.count == 2 { server.send("two") } else { server.end() }
            }
            return texts
        }
        let received = await server.receive()
        #expect(received.hasPrefix("GET /events HTTP/1.1\r\n") && received.contains("text/event-stream"))
        server.send(Self.head)
        #expect(try await result == ["200 text/event-stream", "one", "two"])
    }

    @Test("A reader that has enough closes the connection, and so does a reader that throws")
    func closes() async throws {
        struct Enough: Error {}
        for isThrowing in [false, true] {
            let server = try PieceServer()
            let request = try server.request()
            let task = Task {
                try await URLSessionTransport().stream(request) { stream in
                    if isThrowing { throw Enough() }
                    return stream.status
                }
            }
            _ = await server.receive()
            server.send(Self.head)
            await server.untilClosed()
            if isThrowing {
                await #expect(throws: Enough.self) { try await task.value }
            } else {
                #expect(try await task.value == 200)
            }
        }
    }

    @Test("A cancelled task closes the connection, before the answer and while it arrives", arguments: [false, true])
    func cancelled(isArriving: Bool) async throws {
        let server = try PieceServer()
        let request = try server.request()
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await URLSessionTransport().stream(request) { stream in
                beginning.yield()
                for try await _ in stream {}
            }
        }
        _ = await server.receive()
        if isArriving {
            server.send(Self.head)
            for await _ in begun { break }
        }
        task.cancel()
        await server.untilClosed()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("The time limit ends with the header fields")
    func timeLimit() async throws {
        let clock = FakeClock()
        let transport = URLSessionTransport(sleep: clock.sleep)
        let silent = try PieceServer()
        let request = try silent.request(timeout: .seconds(20))
        let task = Task { try await transport.stream(request) { $0.status } }
        _ = await silent.receive()
        await clock.untilSleeping()
        clock.advance(by: .seconds(20))
        await #expect(throws: TransportError(.timedOut, "")) { try await task.value }

        let server = try PieceServer()
        let second = try server.request(timeout: .seconds(20))
        async let bytes = transport.stream(second) { stream in
            clock.advance(by: .seconds(3600))
            server.send("late")
            server.end()
            return try await stream.reduce(into: []) { $0 += $1 }
        }
        _ = await server.receive()
        server.send(Self.head)
        #expect(try await bytes == Array("late".utf8))
    }

    @Test("A reader that is too slow ends the stream at the limit of unread bytes")
    func slowReader() async throws {
        let server = try PieceServer()
        let request = try server.request(maximum: 10_000)
        async let count = URLSessionTransport().stream(request) { stream in
            server.send(String(repeating: "x", count: 8_000))
            server.send(String(repeating: "x", count: 8_000))
            // The transport gives up while nobody reads.
            await server.untilClosed()
            var count = 0
            await #expect(throws: TransportError(.tooLarge, "")) {
                for try await piece in stream { count += piece.count }
            }
            return count
        }
        _ = await server.receive()
        server.send(Self.head)
        #expect(try await count <= 10_000)
    }

    @Test("A longer answer than the limit is read by a reader that keeps up")
    func longAnswer() async throws {
        let server = try PieceServer()
        let request = try server.request(maximum: 10_000)
        async let count = URLSessionTransport().stream(request) { stream in
            var count = 0
            server.send(String(repeating: "x", count: 8_000))
            for try await piece in stream {
                count += piece.count
                guard count % 8_000 == 0 else { continue }
                if count < 40_000 { server.send(String(repeating: "x", count: 8_000)) } else { server.end() }
            }
            return count
        }
        _ = await server.receive()
        server.send(Self.head)
        #expect(try await count == 40_000)
    }

    @Test("A connection that breaks in an answer is an error after the bytes that arrived; a redirect is an answer")
    func endings() async throws {
        let broken = try PieceServer()
        let first = try broken.request()
        async let bytes = URLSessionTransport().stream(first) { stream in
            var bytes: [UInt8] = []
            await #expect(throws: TransportError(.unreachable, "")) {
                for try await piece in stream { bytes += piece }
            }
            return bytes
        }
        _ = await broken.receive()
        broken.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntw")
        broken.end()
        #expect(try await bytes == Array("onetw".utf8))

        let moved = try PieceServer()
        let second = try moved.request()
        async let answer = URLSessionTransport().stream(second) { "\($0.status) \($0.header("Location") ?? "")" }
        _ = await moved.receive()
        moved.send("HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/\r\nContent-Length: 0\r\n\r\n")
        #expect(try await answer == "302 https://elsewhere.example/")
    }

    @Test("A second reader beside a reader that waits gets an error, and the first reader goes on")
    func secondReader() async throws {
        let server = try PieceServer()
        let request = try server.request()
        async let results = URLSessionTransport().stream(request) { stream in
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        var pieces = stream.makeAsyncIterator()
                        do {
                            return String(decoding: try await pieces.next() ?? [], as: UTF8.self)
                        } catch {
                            return "refused"
                        }
                    }
                }
                // Nothing has arrived yet, so only a refusal ends.
                let first = await group.next()
                server.send("one")
                return [first, await group.next()]
            }
        }
        _ = await server.receive()
        server.send(Self.head)
        #expect(try await results == ["refused", "one"])
    }

    @Test("A transport without streams says so before anything is sent")
    func without() async throws {
        let transport = WholeAnswers()
        let request = TransportRequest(
            method: "GET", url: try #require(URL(string: "https://id.example/")), headers: [], body: [],
            timeout: .seconds(1))
        await #expect(throws: TransportError(.cannotStream, "")) { try await transport.stream(request) { $0.status } }
    }
}

/// An app's transport from before there were streams.
private struct WholeAnswers: Transport {
    func send(_ request: TransportRequest) async throws -> TransportResponse {
        Issue.record("nothing is sent")
        throw TransportError(.unreachable, "")
    }
}
