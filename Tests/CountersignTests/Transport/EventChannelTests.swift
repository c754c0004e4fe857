import Countersign
import CountersignTestKit
import Foundation
import Testing

/// A server behind a transport that streams; a test sends the pieces.
private struct PieceTransport: Transport {
    let status: Int
    let type: String
    let pieces: Pieces

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        throw TransportError(.unreachable, "the channel streams")
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        try await read(
            TransportStream(status: self.status, headers: [("content-type", self.type)], pieces: self.pieces))
    }
}

/// The pieces that a test sends, and word of each question for a piece. A question says that the piece before was read.
private struct Pieces: AsyncSequence {
    let sent: AsyncThrowingStream<[UInt8], any Error>
    let asked: AsyncStream<Void>.Continuation

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(sent: self.sent.makeAsyncIterator(), asked: self.asked) }

    struct AsyncIterator: AsyncIteratorProtocol {
        var sent: AsyncThrowingStream<[UInt8], any Error>.AsyncIterator
        let asked: AsyncStream<Void>.Continuation

        mutating func next() async throws -> [UInt8]? {
            self.asked.yield()
            return try await self.sent.next()
        }
    }
}

@Suite("Decision 111: event streams with a limit for silence", .timeLimit(.minutes(10)))
struct EventChannelTests {
    private let clock = FakeClock()
    private let pieces: Pieces
    private let server: AsyncThrowingStream<[UInt8], any Error>.Continuation
    private let questions: AsyncStream<Void>

    init() {
        let (questions, asked) = AsyncStream.makeStream(of: Void.self)
        let (sent, server) = AsyncThrowingStream.makeStream(of: [UInt8].self, throwing: (any Error).self)
        self.pieces = Pieces(sent: sent, asked: asked)
        self.server = server
        self.questions = questions
    }

    private func read(
        status: Int = 200, type: String = "text/event-stream;charset=utf-8", address: String = "https://id.example/e"
    ) async throws -> EventChannel.End<String> {
        let transport = PieceTransport(status: status, type: type, pieces: self.pieces)
        let channel = EventChannel(transport, time: self.clock.timeSource, sleep: self.clock.sleep)
        let request = TransportRequest(
            method: "GET", url: try #require(URL(string: address)), headers: [], body: [], timeout: .seconds(20))
        return try await channel.first(request, silence: .seconds(45)) { event in
            event.type == "wanted" ? event.data : nil
        }
    }

    @Test("The first wanted event is found, in whatever pieces the stream comes")
    func found() async throws {
        for piece in [
            "retry: 10\n\nevent: oth", "er\ndata: 1\n\nevent: wanted\ndata: 2", "\n\nevent: wanted\ndata: 3\n\n",
        ] {
            self.server.yield(Array(piece.utf8))
        }
        guard case .found("2") = try await self.read() else {
            Issue.record("not found")
            return
        }
    }

    @Test("A stream that ends tells the server's pause")
    func ended() async throws {
        self.server.yield(Array("retry: 1000\n\nevent: other\ndata: 1\n\n".utf8))
        self.server.finish()
        guard case .ended(.milliseconds(1000)) = try await self.read() else {
            Issue.record("not ended")
            return
        }
    }

    @Test(
        "An answer that is no event stream is not read",
        arguments: [(404, "text/event-stream"), (503, "text/event-stream"), (200, "text/html"), (204, "")])
    func refused(status: Int, type: String) async throws {
        self.server.yield(Array("event: wanted\ndata: 2\n\n".utf8))
        guard case .refused(status) = try await self.read(status: status, type: type) else {
            Issue.record("not refused")
            return
        }
    }

    @Test("An address that is neither https nor loopback is refused before the transport sees the request")
    func insecure() async throws {
        await #expect(throws: TransportError(.insecure, "")) {
            _ = try await self.read(address: "http://id.example/events")
        }
    }

    @Test("A silence beyond the limit ends the stream, and a comment begins the limit anew")
    func silence() async throws {
        let task = Task { try await self.read() }
        var questions = self.questions.makeAsyncIterator()
        await questions.next()
        await self.clock.untilSleeping()
        for pause in [44, 43, 43] {
            self.clock.advance(by: .seconds(pause))
            self.server.yield(Array(": still here\n\n".utf8))
            await questions.next()
            // The old limit is over, and the watch sleeps for the rest of the new limit.
            self.clock.advance(by: .seconds(1))
            await self.clock.untilSleeping()
        }
        self.clock.advance(by: .seconds(43))
        #expect(self.clock.sleepingCount == 1)
        self.clock.advance(by: .seconds(1))
        await #expect(throws: TransportError(.timedOut, "")) { _ = try await task.value }
    }

    @Test("A server that sends an endless line or event is left")
    func endless() async throws {
        self.server.yield(Array(("data: " + String(repeating: "x", count: 70_000)).utf8))
        await #expect(throws: TransportError(.tooLarge, "")) { _ = try await self.read() }
    }

    @Test("A wanted event before an endless line is found, and without a wanted event the server is left at once")
    func endlessAfterEvent() async throws {
        let endless = "data: " + String(repeating: "x", count: 70_000)
        self.server.yield(Array("event: wanted\ndata: 2\n\n\(endless)".utf8))
        guard case .found("2") = try await self.read() else {
            Issue.record("not found")
            return
        }
        // The connection stays open and silent.
        let other = Self()
        other.server.yield(Array("event: other\ndata: 1\n\n\(endless)".utf8))
        await #expect(throws: TransportError(.tooLarge, "")) { _ = try await other.read() }
    }

    @Test("A broken connection is the transport's error, and a cancelled task a cancellation")
    func broken() async throws {
        self.server.finish(throwing: TransportError(.unreachable, ""))
        await #expect(throws: TransportError(.unreachable, "")) { _ = try await self.read() }

        let other = Self()
        let task = Task { try await other.read() }
        await other.clock.untilSleeping()
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
    }
}
