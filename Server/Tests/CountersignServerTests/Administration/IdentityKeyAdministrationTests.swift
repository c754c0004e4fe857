import CountersignServer
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Admin API: the keys that phones of personalised identities seal to, and those that sign for them (decision 84)")
struct IdentityKeyAdministrationTests {
    @Test("Keys are listed with their turns and without themselves, one is made by hand, and no more than can be")
    func keys() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let path = "/admin/v1/identity/keys"
            let listed = try await client.send(.get, path).object
            let first = try #require(try listed.list("sealing").first)
            #expect(try listed.list("sealing").count == 1 && first.string("state") == "current")
            #expect(Set(first.members.map(\.name)) == ["id", "since", "until", "erasedAt", "state"])
            let signing = try listed.list("signing")
            let all = try await client.send(.get, "/admin/v1/keys").object.list("signing")
            #expect(try signing.map { try $0.string("state") } == ["current"])
            #expect(try all.contains { try $0.string("kid") == signing[0].string("id") })

            let rotated = try await client.send(.post, path + "/rotate")
            #expect(rotated.response.status == .ok)
            let keys = try rotated.object.list("sealing")
            #expect(
                try keys.map { try $0.string("state") } == ["current", "former"]
                    && keys[1].string("id") == first.string("id"))
            #expect(try await client.send(.get, path).object == rotated.object)
            for _ in 2..<Limits.Fixed.sealingKeys {
                #expect(try await client.send(.post, path + "/rotate").response.status == .ok)
            }
            let more = try await client.send(.post, path + "/rotate")
            #expect(more.response.status == .conflict && more.response.text.contains("wait until one is erased"))

            // Those that sign are the provider's: they turn with them.
            #expect(try await client.send(.post, "/admin/v1/keys/rotate").response.status == .noContent)
            let next = try await client.send(.get, path).object.list("signing")
            #expect(try next.map { try $0.string("state") } == ["next", "current"])
        }
        let entries = try await server.database.auditEntries(after: 0, limit: 999).map(\.event)
            .filter { $0.kind.rawValue == "identity-sealing-key-added" }
        #expect(entries.count == Limits.Fixed.sealingKeys - 1 && entries.allSatisfy { $0.actor == "socket" })
    }
}
