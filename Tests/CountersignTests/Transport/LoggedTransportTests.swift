import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import _Primitives

/// The lines of an app's log, and everything that went over the network meanwhile.
// Safe to share: every access to `state` is within `lock`.
private final class AppLog: @unchecked Sendable {
    private let lock = NSLock()
    private var state: (lines: [TransportLogEntry], traffic: [[UInt8]]) = ([], [])

    var lines: [TransportLogEntry] { self.lock.withLock { self.state.lines } }
    var traffic: [[UInt8]] { self.lock.withLock { self.state.traffic } }

    func write(_ line: TransportLogEntry) { self.lock.withLock { self.state.lines.append(line) } }
    func watch(_ bytes: [UInt8]...) { self.lock.withLock { self.state.traffic += bytes } }

    /// A transport whose exchanges are logged here.
    func over(_ transport: any Transport) -> any Transport {
        // The clock stands, so that no digits of a duration look like a PIN.
        LoggedTransport(
            Watched(transport: transport, log: self), time: TimeSource { Timestamp(seconds: 1_800_000_000) }
        ) { self.write($0) }
    }

    /// The log as text, in each form that an app can write, without the identifiers of operations.
    var text: String {
        var text = ""
        for line in self.lines {
            text += "\(line)\n"
            dump(line, to: &text)
        }
        for identifier in Set(self.lines.compactMap(\.correlationID)) { text = text.replacing(identifier, with: "ID") }
        return text
    }

    /// The words of the whole traffic that are long enough to be a value: names, tokens, keys, parts of bodies.
    var words: Set<String> {
        var words: Set<String> = []
        for bytes in self.traffic {
            let text = String(decoding: bytes, as: UTF8.self)
            words.formUnion(text.split { !($0.isLetter || $0.isNumber) }.map(String.init).filter { $0.count >= 12 })
        }
        return words.subtracting(self.lines.compactMap(\.correlationID))
    }
}

private struct Watched: Transport {
    let transport: any Transport
    let log: AppLog

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let fields = request.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
        self.log.watch(Array(request.url.absoluteString.utf8), Array(fields.utf8), request.body)
        let response = try await self.transport.send(request)
        let answered = response.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
        self.log.watch(Array(answered.utf8), response.body)
        return response
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value { try await self.transport.stream(request, read) }
}

@Suite("Decision 111: the log that an app gives has codes and identifiers, and no value")
struct LoggedTransportTests {
    private static let provider = JwtAuthorizationProvider("virtual-jwt")

    /// Checks that no word of the traffic, and none of these secrets, is in the log.
    private func expectNothing(of secrets: [String], in log: AppLog) {
        let text = log.text
        #expect(!log.lines.isEmpty && log.words.count > 20)
        for secret in secrets { #expect(!text.contains(secret), "\(secret)") }
        for word in log.words { #expect(!text.contains(word), "\(word)") }
    }

    @Test("Every operation of a client logs each exchange, and nothing of a person, a code or a message")
    func operations() async throws {
        let log = AppLog()
        let world = try await World(through: { log.over($0) })
        let operations = world.phone.client.operations
        try await world.enroll("alice", [World.pin])
        try await world.enroll("alice", [World.password])
        _ = try await world.phone.authenticate(
            try await world.server.authentication(username: "alice", text: "Pay 120 EUR to Jo Gardener"))
        _ = try await world.phone.authenticate(username: "alice")
        _ = await world.phone.client.checkServer()
        await world.server.judge(ServerResponse(statusCode: .unknownKeyID))
        #expect(await operationError { _ = try await world.phone.authenticate(username: "alice") } != nil)

        await world.server.intercept { request in
            guard request.url.path().hasPrefix("/account/v1/") else { return nil }
            let body =
                request.method == "GET"
                ? #"{"username":"alice","notices":[],"sessions":[],"grants":[],"questions":[]}"# : ""
            return TransportResponse(
                status: request.method == "GET" ? 200 : 204, headers: [("Content-Type", "application/json")],
                body: Array(body.utf8))
        }
        _ = try await operations.accountActivity.username("alice").authorizationProvider(Self.provider).execute()
        _ = try await operations.accountNotices.username("alice").authorizationProvider(Self.provider).execute()
        _ = try await operations.waitingQuestions.username("alice").authorizationProvider(Self.provider).execute()
        try await operations.sessionRevocation.sessionID("session-of-a-browser")
            .authorizationProvider(Self.provider).execute()
        try await operations.grantRevocation.grantID("grant-of-a-service")
            .authorizationProvider(Self.provider).execute()
        try await operations.deregistration.username("alice").authorizationProvider(Self.provider).execute()

        let requests = await world.server.requests
        #expect(log.lines.count == requests.count)
        #expect(log.lines.allSatisfy { $0.correlationID?.utf8.count == 32 })
        #expect(log.lines.contains { $0.uafStatusCode == 1481 })
        #expect(Set(log.lines.map(\.method)) == ["GET", "POST", "DELETE"])
        let script = world.phone.person.script
        self.expectNothing(
            of: ["alice", "Jo Gardener", "virtual-jwt", "session-of", "grant-of", "Virtual phone", "id.example"]
                + script.pins + script.passwords, in: log)
    }

    @Test("Every function of an identity logs each exchange, and nothing of the person, the PIN or the code")
    func identities() async throws {
        let log = AppLog()
        let script = try RecordedScript(.async, through: { log.over($0) })
        try await script.run()
        #expect(log.lines.allSatisfy { $0.correlationID?.utf8.count == 32 })
        self.expectNothing(of: [VirtualIdentityPhone.pin], in: log)
    }

    @Test("A sign-in by browser and by password logs each exchange, and neither password nor token")
    func signIn() async throws {
        let log = AppLog()
        let world = SignInWorld()
        let app = try await SignIn(
            world.configuration, platform: world.device.platform, transport: log.over(world.server))
        try await app.withBrowser { true }
        _ = try await app.signOut()
        _ = await signInError { try await app.withPassword(username: "alice", password: "secret-of-alice-4711") }
        self.expectNothing(of: ["alice", "4711", "health"], in: log)
    }

    @Test("Each end of an exchange has its line, and the app gets the transport's own answer or error")
    func ends() async throws {
        struct Other: Error {}
        let log = AppLog()
        let clock = FakeClock()
        let trace = TraceContext(trace: TraceID(hash: [UInt8](repeating: 7, count: 32)))
        func send(_ method: String, _ body: @escaping @Sendable () async throws -> TransportResponse) async throws {
            let request = TransportRequest(
                method: method, url: try #require(URL(string: "https://id.example/path?code=4711")),
                headers: [("Traceparent", trace.header())], body: [1], timeout: .seconds(1))
            let transport = LoggedTransport(Answering(answer: body), time: clock.timeSource) { log.write($0) }
            _ = try await transport.send(request)
        }
        @Sendable func answer(
            _ status: Int, _ body: String, _ type: String = "application/fido+uaf; charset=utf-8"
        ) -> TransportResponse {
            TransportResponse(status: status, headers: [("content-type", type)], body: Array(body.utf8))
        }

        try await send("POST") {
            clock.advance(by: .milliseconds(12))
            return answer(200, #"{"statusCode":1498}"#)
        }
        // A number that is no status code of UAF is somebody's value.
        for body in [#"{"statusCode":4711}"#, #"{"statusCode":"1498"}"#, #"{"statusCode":1501}"#, "[]", "x"] {
            try await send("GET") { answer(404, body) }
        }
        try await send("DELETE") { answer(200, #"{"statusCode":1498}"#, "application/json") }
        await #expect(throws: TransportError(.timedOut, "")) {
            try await send("alice") { throw TransportError(.timedOut, "secret") }
        }
        await #expect(throws: CancellationError.self) { try await send("POST") { throw CancellationError() } }
        await #expect(throws: Other.self) { try await send("POST") { throw Other() } }

        let id = trace.trace.text
        #expect(
            log.lines.map(\.description)
                == ["POST answered 200 uaf 1498 \(id) 12 ms"]
                + [String](repeating: "GET answered 404 \(id) 0 ms", count: 5)
                + [
                    "DELETE answered 200 \(id) 0 ms", "OTHER failed timedOut \(id) 0 ms", "POST cancelled \(id) 0 ms",
                    "POST unexpected \(id) 0 ms",
                ])
    }

    @Test("A stream has its line when its reader has ended, and a transport without streams says so")
    func streams() async throws {
        let log = AppLog()
        let request = TransportRequest(
            method: "GET", url: try #require(URL(string: "https://id.example/events")), headers: [], body: [],
            timeout: .seconds(1))
        let (pieces, sent) = AsyncThrowingStream.makeStream(of: [UInt8].self, throwing: (any Error).self)
        sent.yield([1, 2, 3])
        sent.finish()
        let streaming = LoggedTransport(Streaming(pieces: pieces)) { log.write($0) }
        let count = try await streaming.stream(request) { stream in
            #expect(log.lines.isEmpty)
            return try await stream.reduce(into: 0) { $0 += $1.count }
        }
        #expect(count == 3)
        let whole = LoggedTransport(Answering { TransportResponse(status: 200, headers: [], body: []) }) {
            log.write($0)
        }
        await #expect(throws: TransportError(.cannotStream, "")) { try await whole.stream(request) { $0.status } }
        #expect(log.lines.map(\.outcome) == [.answered(200), .failed(.cannotStream)])
        #expect(log.lines.allSatisfy { $0.correlationID == nil })
    }

    @Test("A reader's own error is no failure of the transport, and an error of the connection is one")
    func readers() async throws {
        struct Other: Error {}
        let log = AppLog()
        let request = TransportRequest(
            method: "GET", url: try #require(URL(string: "https://id.example/events")), headers: [], body: [],
            timeout: .seconds(1))
        func stream(
            endingWith end: (any Error)? = nil, _ read: @escaping @Sendable (TransportStream) async throws -> Void
        ) async throws {
            let (pieces, sent) = AsyncThrowingStream.makeStream(of: [UInt8].self, throwing: (any Error).self)
            sent.finish(throwing: end)
            let transport = LoggedTransport(Streaming(pieces: pieces)) { log.write($0) }
            try await transport.stream(request, read)
        }
        await #expect(throws: Other.self) { try await stream { _ in throw Other() } }
        await #expect(throws: TransportError(.tooLarge, "")) {
            try await stream { _ in throw TransportError(.tooLarge, "an endless event") }
        }
        await #expect(throws: CancellationError.self) { try await stream { _ in throw CancellationError() } }
        let cut = TransportError(.unreachable, "cut")
        await #expect(throws: cut) { try await stream(endingWith: cut) { for try await _ in $0 {} } }
        await #expect(throws: Other.self) {
            try await stream(endingWith: cut) { do { for try await _ in $0 {} } catch { throw Other() } }
        }
        await #expect(throws: Other.self) {
            try await stream(endingWith: Other()) { for try await _ in $0 {} }
        }
        try await stream(endingWith: cut) { do { for try await _ in $0 {} } catch {} }
        #expect(
            log.lines.map(\.outcome) == [
                .answered(200), .answered(200), .cancelled, .failed(.unreachable), .failed(.unreachable), .unexpected,
                .answered(200),
            ])
    }

    @Test("A line names the method, and no method that a caller has made up")
    func methods() async throws {
        let url = try #require(URL(string: "https://id.example.com/x"))
        let log = AppLog()
        let transport = log.over(Answering { TransportResponse(status: 204, headers: [], body: []) })
        for method in ["GET", "POST", "PATCH", "DELETE", "SECRET"] {
            _ = try await transport.send(
                TransportRequest(method: method, url: url, headers: [], body: [], timeout: .seconds(1)))
        }
        #expect(log.lines.map(\.method) == ["GET", "POST", "PATCH", "DELETE", "OTHER"])
    }
}

private struct Answering: Transport {
    let answer: @Sendable () async throws -> TransportResponse

    func send(_ request: TransportRequest) async throws -> TransportResponse { try await self.answer() }
}

private struct Streaming: Transport {
    let pieces: AsyncThrowingStream<[UInt8], any Error>

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        throw TransportError(.unreachable, "")
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value { try await read(TransportStream(status: 200, headers: [], pieces: self.pieces)) }
}
