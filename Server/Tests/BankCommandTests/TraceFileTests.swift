import Foundation
import Synchronization
import Testing

@testable import BankCommand

@Suite("The bank records its side of a run (W3C Trace Context)")
struct TraceFileTests {
    private struct Line: Decodable {
        let trace: String
        let recorder: String
        let sequence: Int
        let event: String
        let cause: String?
    }

    /// The lines of one sign-in, and the `traceparent` of the request for its tokens.
    private func signIn(traceresponse: String?) async throws -> (lines: [Line], traceparent: [String]) {
        let path = FileManager.default.temporaryDirectory.path + "/bank-trace-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let answered = Answered()
        try await BankFixture.run(trace: try TraceFile(path: path)) { bank in
            bank.provider.state.withLock { $0.traceresponse = traceresponse }
            try await bank.signIn()
            answered.set(bank.provider.state.withLock(\.traceparent))
        }
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
        return (lines, answered.value?.split(separator: "-").map(String.init) ?? [])
    }

    @Test("Its events are counted, its requests name the last one, and what follows an answer names that one's event")
    func namesCauses() async throws {
        let (lines, traceparent) = try await self.signIn(traceresponse: "00-RUN-00000000000000bb-01")
        #expect(lines.map(\.event) == ["sign-in-wanted", "code-exchanged", "signed-in"])
        #expect(lines.map(\.sequence) == [1, 2, 3])
        #expect(Set(lines.map(\.recorder)).count == 1 && Set(lines.map(\.trace)).count == 1)
        #expect(lines.map(\.cause) == [nil, nil, "00000000000000bb"])
        #expect(traceparent == ["00", lines[0].trace, lines[0].recorder + "00000002", "01"])
    }

    @Test(
        "An answer that names no event, or one of another run, is no cause",
        arguments: [
            nil, "", "RUN", "00-RUN-00000000000000b-01", "00-RUN-00000000000000BB-01", "00-RUN-\",\"x\":\"00000-01",
            "00-00000000000000000000000000000001-00000000000000bb-01",
        ])
    func refusesOtherHeaders(header: String?) async throws {
        let (lines, _) = try await self.signIn(traceresponse: header)
        #expect(lines.map(\.cause) == [nil, nil, nil])
    }
}

/// What a closure found out.
private final class Answered: Sendable {
    private let mutex = Mutex<String?>(nil)
    var value: String? { self.mutex.withLock { $0 } }
    func set(_ value: String?) { self.mutex.withLock { $0 = value } }
}
