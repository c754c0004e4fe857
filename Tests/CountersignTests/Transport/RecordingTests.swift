import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("The SDK records its side of a run")
struct RecordingTests {
    /// A phone that records, from when it is enrolled, and the file that it writes to.
    private struct Recorded {
        let world: World
        private let path = NSTemporaryDirectory() + "trace-" + RandomSource.system.token(byteCount: 8)

        init(enrolled: Bool = true) async throws {
            self.world = try await World(traceRecorder: try TraceRecorder(path: self.path))
            if enrolled {
                try await self.world.enroll()
                try Data().write(to: URL(fileURLWithPath: self.path))
            }
        }

        /// Everything that was written, and the file's end.
        func events() throws -> [TraceEvent] {
            defer { try? FileManager.default.removeItem(atPath: self.path) }
            return try SequenceDiagram(files: [try self.text]).events
        }

        var text: String { get throws { try String(contentsOfFile: self.path, encoding: .utf8) } }
    }

    @Test("An enrolment: the token, the person, the answer")
    func enrolment() async throws {
        let recorded = try await Recorded(enrolled: false)
        try await recorded.world.enroll()
        #expect(try recorded.events() == [.tokenRedeemed, .personVerified, .registrationSent])
    }

    @Test("An authentication: the token, the person, the answer")
    func authentication() async throws {
        let recorded = try await Recorded()
        _ = try await recorded.world.phone.authenticate(try await recorded.world.server.authentication())
        #expect(try recorded.events() == [.tokenRedeemed, .personVerified, .authenticationSent])
    }

    @Test("Without a token there is no redemption")
    func inApp() async throws {
        let recorded = try await Recorded()
        let person = recorded.world.phone.person
        _ =
            try await recorded.world.phone.client.operations.authentication.username("alice")
            .authenticatorSelector(person).pinUserVerifier(person).execute()
        #expect(try recorded.events() == [.personVerified, .authenticationSent])
    }

    @Test("A silent authenticator verifies nobody")
    func nobodyVerified() async throws {
        let recorded = try await Recorded(enrolled: false)
        try await recorded.world.enroll("alice", [World.possession])
        #expect(try recorded.events() == [.tokenRedeemed, .registrationSent])
    }

    @Test(
        "Nobody is verified by giving up, and the report that there is no answer is none",
        arguments: [VirtualPerson.Question.authenticator, .pin])
    func cancelled(at question: VirtualPerson.Question) async throws {
        let recorded = try await Recorded()
        recorded.world.phone.person.script.reactions[question] = .cancels
        let payload = try await recorded.world.server.authentication()
        _ = await operationError { _ = try await recorded.world.phone.authenticate(payload) }
        #expect(await recorded.world.server.clientErrorCodes == [FidoErrorCode.userCanceled.rawValue])
        #expect(try recorded.events() == [.tokenRedeemed])
    }

    @Test("A wrong PIN verifies nobody")
    func wrongPin() async throws {
        let recorded = try await Recorded()
        recorded.world.phone.person.script.pins = ["000000", "135790"]
        _ = try await recorded.world.phone.authenticate(try await recorded.world.server.authentication())
        #expect(recorded.world.phone.person.asked.filter { $0.question == .pin }.count == 2)
        #expect(try recorded.events() == [.tokenRedeemed, .personVerified, .authenticationSent])
    }

    @Test("A token that may not be sent is not redeemed")
    func foreignHost() async throws {
        let recorded = try await Recorded()
        let payload = try OutOfBandPayload(
            redeemData: OutOfBandPayload.RedeemData(
                token: "token", redeemURL: try #require(URL(string: "https://elsewhere.example/token/redeem"))))
        await #expect(throws: OperationError(.hostNotAllowed)) {
            _ = try await recorded.world.phone.redeem(payload)
        }
        #expect(try recorded.events().isEmpty)
    }

    @Test("W3C Trace Context: all requests of one operation carry the id that its events have")
    func oneTrace() async throws {
        let recorded = try await Recorded()
        let server = recorded.world.server
        await server.use(appID: "https://id.example.com/uaf/1.1/facets")
        recorded.world.phone.person.script.reactions[.pin] = .cancels
        let before = await server.requests.count
        let payload = try await server.authentication()
        _ = await operationError { _ = try await recorded.world.phone.authenticate(payload) }
        let requests = await server.requests.dropFirst(before)
        let traces = requests.map { request in
            request.headers.filter { $0.name == "traceparent" }.map { TraceContext(header: $0.value)?.trace.text }
        }
        let text = try recorded.text
        #expect(try recorded.events() == [.tokenRedeemed])
        // The token, the list of facets, the report.
        #expect(traces.count == 3)
        #expect(Set(traces).count == 1)
        #expect(traces[0].count == 1)
        #expect(text.contains("\"trace\":\"\(try #require(traces[0][0]))\""))
    }

    @Test(
        "Requests name the event that they are sent because of, and events the answer that they follow",
        arguments: [-7_200_000, 0, 7_200_000])
    func causes(skew: Int64) async throws {
        let paths = ["server", "phone"].map {
            NSTemporaryDirectory() + "\($0)-" + RandomSource.system.token(byteCount: 8)
        }
        defer { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
        let servers = try TraceRecorder(
            path: paths[0], time: TimeSource { TimeSource.system.now() + .milliseconds(skew) })
        let world = try await World(
            traceRecorder: try TraceRecorder(path: paths[1]),
            through: { RecordingServer(server: $0, recorder: servers) })
        try await world.enroll()
        let texts = try paths.map { try String(contentsOfFile: $0, encoding: .utf8) }
        #expect(
            try SequenceDiagram(files: texts.reversed()).events == [
                .tokenRedeemed, .requestAnswered, .personVerified, .registrationSent, .confirmationNumberShown,
            ])
        let server = try texts[0].split(separator: "\n").map { try Line(String($0)) }
        let phone = try texts[1].split(separator: "\n").map { try Line(String($0)) }
        #expect(server.map(\.cause) == [phone[0].id, phone[2].id])
        #expect(phone.map(\.cause) == [nil, server[0].id, nil])
    }

    /// A line of a recorded file: its event by the name that causes have, and the cause.
    private struct Line {
        let id: String
        let cause: String?

        init(_ text: String) throws {
            guard case .object(let object) = try JSON(parsing: text) else { throw JSONError(.wrongType, "no object") }
            let sequence = String(try object.requiredInteger("sequence", as: Int.self), radix: 16)
            self.id =
                try object.requiredString("recorder") + String(repeating: "0", count: 8 - sequence.count) + sequence
            self.cause = try object.string("cause")
        }
    }

    @Test("W3C Trace Context: each operation has an id of its own, with and without a recorder")
    func traces() async throws {
        let world = try await World()
        for name in ["alice", "bob"] { try await world.enroll(name) }
        let person = world.phone.person
        let result: AuthenticationSuccess = try await world.phone.client.operations.authentication.username("alice")
            .authenticatorSelector(person).pinUserVerifier(person).execute()
        let provider = try #require(result.authorizationProvider)
        _ =
            try? await world.phone.client.operations.accountActivity.username("alice").authorizationProvider(provider)
            .execute()
        let traces = await world.server.requests.map { request in
            request.headers.first { $0.name == "traceparent" }.flatMap { TraceContext(header: $0.value)?.trace }
        }
        #expect(traces.allSatisfy { $0 != nil })
        #expect(Set(traces).count == 4)
    }
}

/// A server that records what it answers, and names it in its answers.
private struct RecordingServer: Transport {
    let server: VirtualServer
    let recorder: TraceRecorder

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let header = request.headers.first { $0.name == "traceparent" }?.value
        let context = try #require(header.flatMap(TraceContext.init(header:)))
        let isRedemption = request.url.path().contains("redeem")
        var response = try await self.server.send(request)
        let event = self.recorder.record(isRedemption ? .requestAnswered : .confirmationNumberShown, in: context)
        response.headers.append(("TraceResponse", TraceContext(trace: context.trace, cause: event).header()))
        return response
    }
}
