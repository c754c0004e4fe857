import CeremonyEngine
import CountersignServer
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Synchronization
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("Metadata and policies are reloaded without a restart; a bad file changes nothing")
struct RuleReloadTests {
    private struct BadFile: Error, CustomStringConvertible {
        let description = "policy bad.json: silentPolicy"
    }

    /// What an operator's folders hold.
    private final class Files: Sendable {
        private let rules = Mutex<RuleSet?>(nil)

        init() throws { try self.put(policy: nil) }

        func put(policy: String?) throws {
            var rules = RuleSet(metadata: try .builtIn())
            if let policy {
                try rules.policies.add(
                    Policy(accepted: [[MatchCriteria(aaid: [try AAID("C516#0003")])]]), named: policy,
                    metadata: rules.metadata)
            }
            let read = rules
            self.rules.withLock { $0 = read }
        }

        func spoil() { self.rules.withLock { $0 = nil } }

        func read() throws -> RuleSet {
            guard let rules = self.rules.withLock({ $0 }) else { throw BadFile() }
            return rules
        }
    }

    @Test func reload() async throws {
        let files = try Files()
        let server = try await ServerFixture(rules: { try files.read() })
        try await server.withSocketClient { client in
            func policies(_ object: JSONObject) throws -> [String]? { try object.strings("policies") }
            #expect(try policies(try await client.send(.get, "/admin/v1/metadata").object) == [])
            try files.put(policy: "finger")
            #expect(try policies(try await client.send(.get, "/admin/v1/metadata").object) == [])
            let reloaded = try await client.send(.post, "/admin/v1/metadata/reload")
            #expect(reloaded.response.status == .ok)
            #expect(try policies(reloaded.object) == ["finger"])
            #expect(try reloaded.object.strings("models")?.contains("C516#0003") == true)
            files.spoil()
            let refused = try await client.send(.post, "/admin/v1/metadata/reload")
            #expect(refused.response.status.code == 422)
            #expect(refused.object["type"] == .string("urn:countersign:error:unusable-rules"))
            #expect(try refused.object.string("detail")?.contains("bad.json") == true)
            #expect(try policies(try await client.send(.get, "/admin/v1/metadata").object) == ["finger"])
        }
        await #expect(throws: BadFile.self) { _ = try await ServerFixture(rules: { try files.read() }) }
    }

    /// The log that the operator has set up, not one beside it.
    @Test func aReloadIsInTheServersLog() async throws {
        let files = try Files()
        let (lines, continuation) = AsyncStream.makeStream(of: LogEvent.self)
        let server = try await ServerFixture(
            rules: { try files.read() }, logger: Logger(label: "test") { _ in HandedLog(lines: continuation) })
        try await server.withSocketClient { client in
            _ = try await client.send(.post, "/admin/v1/metadata/reload")
            files.spoil()
            _ = try await client.send(.post, "/admin/v1/metadata/reload")
        }
        continuation.finish()
        let messages = await lines.reduce(into: []) { $0.append($1.message.description) }
        #expect(messages == ["Metadata and policies were reloaded", "Metadata and policies stay as they were"])
    }

    @Test("The facet list has an entry a version, and is not sent twice (FIDO AppID and Facets 1.1 §3.1.3)")
    func facets() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let list = try await client.send(.get, "/uaf/1.1/facets")
            #expect(list.response.headers[.contentType] == "application/fido.trusted-apps+json")
            #expect(list.response.headers[.cacheControl] == "public, max-age=3600")
            let entries = try #require(try list.object.array("trustedFacets"))
            #expect(
                entries == [
                    .object([
                        "version": .object(["major": .integer(1), "minor": .integer(1)]),
                        "ids": .array([.string("linux:program:countersign-phone")]),
                    ])
                ])
            let tag = try #require(list.response.headers[.eTag])
            let again = try await client.send(.get, "/uaf/1.1/facets", headers: [.ifNoneMatch: tag])
            #expect(again.response.status == .notModified && again.response.body.readableBytes == 0)
            let other = try await client.send(.get, "/uaf/1.1/facets", headers: [.ifNoneMatch: "\"x\""])
            #expect(other.response.status == .ok)
        }
    }
}
