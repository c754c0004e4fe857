import Countersign
import CountersignBackend
import CountersignTestKit
import Foundation
import JOSE
import Synchronization
import Testing
import _Primitives

/// A server with one dispatched session. The test decides about streams, and about each status document.
private final class SessionServer: Transport {
    /// The answer to a request for the event stream.
    enum Stream: Sendable {
        /// The transport gives answers only as a whole.
        case none
        /// The server answers with a status and no events.
        case refused(Int)
        /// The server sends these texts, and ends the answer.
        case events([String])
        /// The connection breaks after these texts.
        case broken([String])
        /// The server sends these texts, and is silent from then on.
        case silent([String])
    }

    struct State {
        var streams: [Stream]
        var documents: [JSONObject]
        var askedStatus = 200
        var requests: [TransportRequest] = []
    }

    let key: SigningKey
    let state: Mutex<State>

    init(streams: [Stream], documents: [JSONObject] = []) throws {
        self.key = try SigningKey(kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: "k1")
        self.state = Mutex(State(streams: streams, documents: documents))
    }

    var requests: [TransportRequest] { self.state.withLock { $0.requests } }
    /// The paths of the requests, without discovery and keys.
    var paths: [String] { self.requests.map { $0.url.path() }.filter { $0.hasPrefix("/status") } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let (status, document) = self.state.withLock { state in
            state.requests.append(request)
            guard request.url.path() == "/status" else { return (200, JSONObject()) }
            return (state.askedStatus, state.documents.isEmpty ? [:] : state.documents.removeFirst())
        }
        switch request.url.path() {
        case "/.well-known/openid-configuration":
            return self.json([
                "issuer": .string("https://id.example"), "token_endpoint": .string("https://id.example/oauth2/token"),
                "userinfo_endpoint": .string("https://id.example/oauth2/userinfo"),
                "jwks_uri": .string("https://id.example/oauth2/jwks"),
            ])
        case "/oauth2/jwks": return self.json(JWKSet([self.key.publicKey!]).publicJSON)
        default: return self.json(document, status: status)
        }
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        let stream = self.state.withLock { state in
            state.requests.append(request)
            return state.streams.isEmpty ? Stream.none : state.streams.removeFirst()
        }
        let (pieces, sent) = AsyncThrowingStream.makeStream(of: [UInt8].self, throwing: (any Error).self)
        var status = 200
        switch stream {
        case .none: throw TransportError(.cannotStream, "")
        case .refused(let other):
            status = other
            sent.finish()
        case .events(let texts):
            for text in texts { sent.yield(Array(text.utf8)) }
            sent.finish()
        case .broken(let texts):
            for text in texts { sent.yield(Array(text.utf8)) }
            sent.finish(throwing: TransportError(.unreachable, ""))
        case .silent(let texts): for text in texts { sent.yield(Array(text.utf8)) }
        }
        return try await read(
            TransportStream(
                status: status, headers: [("Content-Type", status == 200 ? "text/event-stream" : "application/json")],
                pieces: pieces))
    }

    private func json(_ object: JSONObject, status: Int = 200) -> TransportResponse {
        TransportResponse(status: status, headers: [], body: JSON.object(object).serialized)
    }
}

private final class Pauses: Sendable {
    let list = Mutex<[Duration]>([])
}

@Suite("Decision 111: a back end waits for the end of a session", .timeLimit(.minutes(10)))
struct SessionStatusTests {
    private static let session = "s-1_A"
    private static let waiting: JSONObject = [
        "status": .string("tokenCreated"), "timestamp": .string("2027-01-15T08:00:00.000Z"),
    ]
    private static let failed: JSONObject = [
        "status": .string("failed"), "timestamp": .string("2027-01-15T08:00:00.000Z"), "clientErrorCode": .integer(3),
        "tokenInformation": .object(["tokenResult": .string("tokenRedeemed")]),
    ]

    private let clock = FakeClock()

    /// A back end whose pauses between two questions end by `pause`; the watch of a stream waits on the clock.
    private func backend(
        _ server: SessionServer, issuer: String = "https://id.example",
        pausing pause: (@Sendable (Duration) async throws -> Void)? = nil
    ) -> IdentityBackend {
        let clock = self.clock
        return IdentityBackend(
            BackendConfiguration(
                issuer: issuer, clientID: "town-app", clientSecret: SecretBytes(Array("s3cret".utf8)),
                redirectURI: "https://town.example/app"),
            transport: server, time: clock.timeSource,
            sleep: { duration in
                guard duration < .seconds(45), let pause else { return try await clock.sleep(for: duration) }
                try await pause(duration)
            })
    }

    private func event(_ document: JSONObject, _ type: String = "status") -> String {
        "event: \(type)\ndata: \(JSON.object(document).text)\n\n"
    }

    private func expect(
        _ code: BackendError.Code, _ server: SessionServer, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: BackendError.self, sourceLocation: sourceLocation) {
            try await self.backend(server).finalStatus(ofSession: Self.session)
        }
        #expect(error?.code == code, sourceLocation: sourceLocation)
    }

    /// Waits for the session, and returns the status with the pauses between two questions, which take no time.
    private func status(_ server: SessionServer) async throws -> (status: SessionStatus, pauses: [Duration]) {
        let pauses = Pauses()
        let backend = self.backend(server) { pause in pauses.list.withLock { $0.append(pause) } }
        return (try await backend.finalStatus(ofSession: Self.session), pauses.list.withLock { $0 })
    }

    @Test("The final event of the stream is the status, and nothing is asked beside the stream")
    func streams() async throws {
        let events = ["retry: 1000\n\n", self.event(Self.waiting), ": still here\n\n", self.event(Self.failed)]
        let server = try SessionServer(streams: [.silent(events)])
        let status = try await self.backend(server).finalStatus(ofSession: Self.session)
        #expect(status.state == .failed && status.clientErrorCode == 3 && !status.isTokenOverdue)
        #expect(status.subject == nil && status.confirmation == nil)
        #expect(server.paths == ["/status/s-1_A/events"])
        let headers = try #require(server.requests.first).headers
        #expect(headers.contains { $0 == ("Accept", "text/event-stream") })
        #expect(headers.contains { $0 == ("Authorization", "Basic dG93bi1hcHA6czNjcmV0") })
    }

    @Test("Where nothing streams, the back end asks again every two seconds", arguments: [nil, 404, 429, 503])
    func asksAgain(refusal: Int?) async throws {
        let server = try SessionServer(
            streams: [refusal.map { .refused($0) } ?? .none], documents: [Self.waiting, Self.waiting, Self.failed])
        let (status, pauses) = try await self.status(server)
        #expect(status.state == .failed && pauses == [.seconds(2), .seconds(2)])
        #expect(server.paths == ["/status/s-1_A/events", "/status", "/status", "/status"])
        let asked = try #require(server.requests.last)
        #expect(asked.method == "POST" && asked.body == Array(#"{"sessionId":"s-1_A"}"#.utf8))
    }

    @Test("A stream that ends or breaks is followed by a question and another stream, after the server's pause")
    func connectsAgain() async throws {
        for (stream, pause) in [
            (SessionServer.Stream.events(["retry: 3000\n\n", self.event(Self.waiting)]), Duration.seconds(3)),
            (.events(["retry: 0\n\n"]), .seconds(1)), (.events([]), .seconds(2)),
            (.broken(["retry: 3000\n\n"]), .seconds(2)),
        ] {
            let server = try SessionServer(
                streams: [stream, .events([self.event(Self.failed)])], documents: [Self.waiting])
            let (status, pauses) = try await self.status(server)
            #expect(status.state == .failed && pauses == [pause])
            #expect(server.paths == ["/status/s-1_A/events", "/status", "/status/s-1_A/events"])
        }
    }

    @Test("A stream that is held back is left after 45 seconds of silence, and the back end asks again")
    func silence() async throws {
        let server = try SessionServer(streams: [.silent([])], documents: [Self.failed])
        let backend = self.backend(server)
        let task = Task { try await backend.finalStatus(ofSession: Self.session) }
        await self.clock.untilSleeping()
        self.clock.advance(by: .milliseconds(44_999))
        #expect(self.clock.sleepingCount == 1)
        self.clock.advance(by: .milliseconds(1))
        #expect(try await task.value.state == .failed)
        #expect(server.paths == ["/status/s-1_A/events", "/status"])
    }

    @Test("A name that is no identifier is unknown, and no other path of the server is asked")
    func identifiers() async throws {
        let server = try SessionServer(streams: [])
        for name in ["", "../oauth2/jwks", "a/b", "a?b", "ä", String(repeating: "a", count: 129)] {
            let status = try await self.backend(server).finalStatus(ofSession: name)
            #expect(status.state == .unknown)
        }
        #expect(server.requests.isEmpty)
    }

    @Test("Refusals of the server have their codes", arguments: [401, 403, 404, 429, 503])
    func refusals(status: Int) async throws {
        let server = try SessionServer(streams: [])
        server.state.withLock { $0.askedStatus = status }
        let code: BackendError.Code =
            switch status {
            case 401, 403: .clientRefused
            case 429, 503: .serverUnreachable
            default: .serverMisconfigured
            }
        await self.expect(code, server)
    }

    @Test(
        "A status document that is not one is refused, from the stream and from a question",
        arguments: [
            #"{}"#, #"{"status":"done"}"#, #"{"status":1}"#, #"{"status":"failed","clientErrorCode":"3"}"#, "[]", "x",
        ])
    func malformed(document: String) async throws {
        await self.expect(
            .answerNotTrusted, try SessionServer(streams: [.events(["event: status\ndata: \(document)\n\n"])]))
        guard case .object(let object)? = try? JSON(parsing: Array(document.utf8)) else { return }
        await self.expect(.answerNotTrusted, try SessionServer(streams: [], documents: [object]))
    }

    @Test("A secret goes to no address in the clear")
    func refusesClear() async throws {
        let server = try SessionServer(streams: [.events([self.event(Self.failed)])])
        let backend = self.backend(server, issuer: "http://id.example")
        let error = await #expect(throws: BackendError.self) {
            try await backend.finalStatus(ofSession: Self.session)
        }
        #expect(error?.code == .serverMisconfigured && server.requests.isEmpty)
    }

    @Test("A cancelled task waits no longer, neither on a stream nor between two questions")
    func cancelled() async throws {
        for stream in [SessionServer.Stream.silent([]), .none] {
            let backend = self.backend(try SessionServer(streams: [stream], documents: [Self.waiting]))
            let task = Task { try await backend.finalStatus(ofSession: Self.session) }
            await self.clock.untilSleeping()
            task.cancel()
            let error = await #expect(throws: BackendError.self) { try await task.value }
            #expect(error?.code == .cancelled)
        }
    }

    // MARK: The signed result

    /// The claims of a result that is right.
    private var claims: JSONObject {
        [
            "iss": .string("https://id.example"), "aud": .string("town-app"), "sub": .string("pairwise-1"),
            "session_id": .string(Self.session), "exp": .integer(self.clock.now().seconds + 300),
            "auth_time": .integer(self.clock.now().seconds),
            "transaction_hash": .string(Base64URL.encode([UInt8](repeating: 7, count: 32))),
            "transaction_content_type": .string("text/plain"), "amr": .array([.string("pin"), .string("swk")]),
            "acr": .string("urn:countersign:acr:two-factor"),
        ]
    }

    /// A server whose session succeeded with a result.
    private func server(
        _ claims: JSONObject, type: String = "transaction-confirmation+jwt", state: String = "succeeded",
        signedBy other: SigningKey? = nil
    ) throws -> SessionServer {
        let server = try SessionServer(streams: [])
        let result = try JWS.sign(JSON.object(claims).serialized, type: type, with: other ?? server.key)
        let document: JSONObject = [
            "status": .string(state), "timestamp": .string("2027-01-15T08:00:00.000Z"),
            "subject": .string("pairwise-1"), "result": .string(result),
        ]
        server.state.withLock { $0.streams = [.events([self.event(document)])] }
        return server
    }

    @Test("A confirmed transaction has the values of the verified result")
    func confirmation() async throws {
        let status = try await self.backend(try self.server(self.claims)).finalStatus(ofSession: Self.session)
        #expect(status.state == .succeeded && status.subject == "pairwise-1")
        let confirmation = try #require(status.confirmation)
        #expect(confirmation.subject == "pairwise-1" && confirmation.contentType == "text/plain")
        #expect(confirmation.contentHash == [UInt8](repeating: 7, count: 32))
        #expect(confirmation.methods == ["pin", "swk"])
        #expect(confirmation.assurance == "urn:countersign:acr:two-factor")
        #expect(confirmation.confirmedAt == Timestamp(seconds: self.clock.now().seconds))
        #expect(confirmation.signedResult.split(separator: ".").count == 3)
        #expect(!"\(status) \(confirmation)".contains("pairwise-1"))
        var dumped = ""
        dump(status, to: &dumped)
        #expect(!dumped.contains("pairwise-1") && !dumped.contains(confirmation.signedResult))
    }

    @Test(
        "A result in which a claim is wrong or missing confirms nothing",
        arguments: [
            "iss", "aud", "sub", "session_id", "exp", "auth_time", "transaction_hash", "transaction_content_type",
        ])
    func wrongClaims(name: String) async throws {
        var claims = self.claims
        claims[name] = nil
        await self.expect(.answerNotTrusted, try self.server(claims))
        switch name {
        case "exp": claims[name] = .string("later")
        case "auth_time", "sub", "transaction_content_type": claims[name] = .bool(true)
        case "transaction_hash": claims[name] = .string(Base64URL.encode([7, 7]))
        default: claims[name] = .string("other")
        }
        await self.expect(.answerNotTrusted, try self.server(claims))
    }

    @Test("A genuine result has a code of its own from the end of its validity on, and confirms nothing")
    func expired() async throws {
        var claims = self.claims
        // The accepted difference of the clocks is 30 seconds.
        claims["exp"] = .integer(self.clock.now().seconds - 29)
        let status = try await self.backend(try self.server(claims)).finalStatus(ofSession: Self.session)
        #expect(status.confirmation != nil)
        claims["exp"] = .integer(self.clock.now().seconds - 30)
        await self.expect(.resultExpired, try self.server(claims))
        for (name, other) in [("iss", "https://other.example"), ("aud", "other"), ("session_id", "other")] {
            var foreign = claims
            foreign[name] = .string(other)
            await self.expect(.answerNotTrusted, try self.server(foreign))
        }
    }

    @Test("A result by another key, of another type, or of a session without success confirms nothing")
    func wrongResults() async throws {
        let other = try SigningKey(kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: "k1")
        await self.expect(.answerNotTrusted, try self.server(self.claims, signedBy: other))
        await self.expect(.answerNotTrusted, try self.server(self.claims, type: "JWT"))
        await self.expect(.answerNotTrusted, try self.server(self.claims, state: "failed"))
        let server = try SessionServer(streams: [
            .events([self.event(["status": .string("succeeded"), "result": .integer(1)])])
        ])
        await self.expect(.answerNotTrusted, server)
    }
}
