import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import OAuthProvider
import Settings
import Testing
import _Primitives

@Suite("Threat model, Filling the store: what a relying party, and its operator, are told of a budget")
struct DispatchBudgetRoutesTests {
    @Test("Past its budget a client is told for how long and what to do, and the log which client and setting, once")
    func tooMany() async throws {
        var limits = Limits()
        limits.openDispatchBurst = 1
        limits.openDispatchesPerMinute = 6
        let server = try await ServerFixture(limits: limits)
        let (lines, continuation) = AsyncStream.makeStream(of: LogEvent.self)
        let application = Application(
            router: server.assembly.publicRouter(),
            logger: Logger(label: "test") { _ in HandedLog(lines: continuation) })
        let party = try await server.relyingParty()
        let other = try await server.relyingParty()
        try await application.test(.router) { client in
            func dispatch(_ party: RelyingParty) async throws -> (response: TestResponse, object: JSONObject) {
                try await client.send(
                    .post, "/token/dispatch/authentication",
                    ["dispatcher": .string("png-qr-code"), "getUafRequest": .object(["op": .string("Auth")])],
                    headers: [.authorization: party.authorization])
            }
            #expect(try await dispatch(party).object["dispatchResult"] == .string("dispatched"))
            for _ in 0..<3 {
                let (refused, problem) = try await dispatch(party)
                #expect(refused.status == .tooManyRequests)
                #expect(refused.headers[.retryAfter] == "10")
                #expect(refused.headers[.contentType] == "application/problem+json")
                #expect(problem["type"] == .string("urn:countersign:error:too-many-requests"))
                #expect(
                    problem["detail"]
                        == .string(
                            "This client has dispatched too often without a subject. Wait, dispatch with one, or have the "
                                + "operator raise openDispatchesPerMinute."))
            }
            #expect(try await dispatch(other).response.status == .ok)
            #expect(try await dispatch(other).response.status == .tooManyRequests)
            server.clock.advance(by: .seconds(10))
            #expect(try await dispatch(party).response.status == .ok)
        }
        continuation.finish()
        var told: [String] = []
        for await line in lines where line.level >= .warning {
            told.append("\(line.metadata?["setting"] ?? "none") \(line.metadata?["client"] ?? "none")")
        }
        #expect(told == ["openDispatchesPerMinute \(party.id)", "openDispatchesPerMinute \(other.id)"])
    }
}
