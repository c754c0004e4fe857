import CeremonyEngine
import CountersignServer
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Records
import SQLStore
import Testing
import _Primitives

@Suite("Threat model, What a name tells: an operator sets what invented accounts look like")
struct InventedAccountRoutesTests {
    private static let path = "/admin/v1/invented-accounts"

    @Test("The document is shown, set, refused and taken away; a proposal needs accounts and sets nothing")
    func document() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let standard = try await client.send(.get, Self.path).object
            #expect(standard == KeyDistribution.standard.json)
            var own = standard
            own["devices"] = .array([.object(["count": .integer(1), "weight": .integer(16)])])
            let set = try await client.send(.put, Self.path, own)
            #expect(set.response.status == .ok && set.object == own)
            #expect(try await client.send(.get, Self.path).object == own)
            var wrong = own
            wrong["devices"] = .array([.object(["count": .integer(1), "weight": .integer(15)])])
            let refused = try await client.send(.put, Self.path, wrong)
            #expect(refused.response.status == .unprocessableContent)
            #expect(
                refused.object["detail"]
                    == .string("Nothing was changed: the weights of devices do not add up to 16."))
            let proposal = try await client.send(.get, Self.path + "/proposal")
            #expect(proposal.response.status == .conflict)
            #expect(try await client.send(.get, Self.path).object == own)
            #expect(try await client.send(.delete, Self.path).response.status == .noContent)
            #expect(try await client.send(.get, Self.path).object == standard)
        }
        let events = try await server.database.auditEntries(after: 0, limit: 99).map(\.event)
        #expect(events.map(\.kind.rawValue).suffix(2) == ["invented-accounts-set", "invented-accounts-set"])
        #expect(events.last?.actor == "socket")
    }
}
