import Accounts
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Records
import SQLStore
import Testing
import _Primitives

@Suite("Admin API: people and services are edited in place")
struct EditingTests {
    private func kinds(_ server: ServerFixture) async throws -> [String] {
        try await server.database.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
    }

    @Test("a person goes by another name, with devices and all, and the old name is free")
    func rename() async throws {
        let server = try await ServerFixture()
        _ = try await server.deviceAuthorization(username: "alice")
        _ = try await server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
        let before = try await self.kinds(server).count
        try await server.withSocketClient { client in
            let renamed = try await client.send(
                .patch, "/admin/v1/accounts/alice",
                ["username": .string("alice.miller"), "displayName": .string("Alice Miller")])
            #expect(renamed.response.status == .ok)
            #expect(renamed.object["username"] == .string("alice.miller"))
            #expect(renamed.object["displayName"] == .string("Alice Miller"))
            let devices = try await client.send(.get, "/admin/v1/accounts/alice.miller/devices")
            #expect(try devices.object.array("devices")?.count == 1)
            #expect(try await client.send(.get, "/admin/v1/accounts/alice").response.status == .notFound)
            let shown = try await client.send(
                .patch, "/admin/v1/accounts/alice.miller", ["displayName": .string("")])
            #expect(shown.object["displayName"] == nil && shown.object["username"] == .string("alice.miller"))
        }
        let events = try await server.database.auditEntries(after: Int64(before), limit: 99).map(\.event)
        #expect(
            events.map(\.kind.rawValue) == [
                "account-renamed", "account-display-name-changed", "account-display-name-changed",
            ])
        #expect(events.allSatisfy { $0.actor == "socket" && $0.accountID != nil && $0.detail == nil })
    }

    @Test("a name that somebody has, or that is none, changes nothing")
    func refusedNames() async throws {
        let server = try await ServerFixture()
        _ = try await server.assembly.directory.create(username: "alice", displayName: "Alice", by: "test")
        _ = try await server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
        let before = try await self.kinds(server)
        try await server.withSocketClient { client in
            let taken: JSONObject = ["username": .string("bob"), "displayName": .string("B")]
            let none: [JSONObject] = [
                ["username": .string("a b")], ["username": .string("")], ["displayName": .string("x\u{202E}")], [:],
                ["user": .string("x")],
            ]
            let same: JSONObject = ["username": .string("alice")]
            for (body, status) in [(taken, 409), (same, 200)] + none.map({ ($0, 400) }) {
                let answer = try await client.send(.patch, "/admin/v1/accounts/alice", body)
                #expect(answer.response.status.code == status, "\(body)")
            }
            let missing = try await client.send(.patch, "/admin/v1/accounts/nobody", ["username": .string("x")])
            #expect(missing.response.status == .notFound)
            #expect(try await client.send(.get, "/admin/v1/accounts/alice").object["displayName"] == .string("Alice"))
        }
        #expect(try await self.kinds(server) == before)
    }

    @Test("a service gets another name, other addresses and another secret, each said once")
    func client() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        try await server.withSocketClient { client in
            let path = "/admin/v1/clients/\(party.id)"
            let changed = try await client.send(
                .patch, path,
                ["name": .string("Lantern Street Bank"), "redirectUris": .array([.string("https://b.example/cb")])])
            #expect(changed.object["name"] == .string("Lantern Street Bank"))
            #expect(try changed.object.strings("redirectUris") == ["https://b.example/cb"])
            #expect(try changed.object.strings("postLogoutRedirectUris") == ["http://127.0.0.1:8081/bye"])
            #expect(changed.object["clientSecret"] == nil && changed.object["formerSecretEndsAt"] == nil)

            let home = try await client.send(.patch, path, ["clientUri": .string("https://b.example/start")])
            #expect(home.object["clientUri"] == .string("https://b.example/start"))
            let wrong = try await client.send(.patch, path, ["clientUri": .string("javascript:alert(1)")])
            #expect(wrong.response.status == .badRequest)
            #expect(try await client.send(.get, path).object["clientUri"] == .string("https://b.example/start"))
            let homeless = try await client.send(.patch, path, ["clientUri": .string("")])
            #expect(homeless.response.status == .ok && homeless.object["clientUri"] == nil)

            let rotated = try await client.send(.post, path + "/secret", ["overlapSeconds": .integer(3600)])
            let ends = server.clock.now() + .seconds(3600)
            #expect(rotated.object["formerSecretEndsAt"] == .string(ends.description))
            #expect(try rotated.object.requiredString("clientSecret") != party.secret)
            let shown = try await client.send(.get, path)
            #expect(shown.object["clientSecret"] == nil)

            let wildcard: JSONObject = ["redirectUris": .array([.string("https://*.b.example/cb")])]
            let changes: [JSONObject] = [wildcard, ["redirectUris": .array([])], ["name": .string("")], [:]]
            for body in changes {
                let refused = try await client.send(.patch, path, body)
                #expect(refused.response.status == .badRequest, "\(body)")
            }
            for seconds in [Int64(31 * 86_400), -1] {
                let body: JSONObject = ["overlapSeconds": .integer(seconds)]
                let refused = try await client.send(.post, path + "/secret", body)
                #expect(refused.response.status == .badRequest, "\(seconds)")
            }
            let told = try await client.send(.patch, path, wildcard)
            #expect(try told.object.string("detail")?.contains("https://*.b.example/cb has a wildcard") == true)
            #expect(try await client.send(.post, "/admin/v1/clients/none/secret").response.status == .notFound)
        }
        #expect(
            try await self.kinds(server).suffix(5) == [
                "client-renamed", "client-addresses-changed", "client-addresses-changed", "client-addresses-changed",
                "client-secret-rotated",
            ])
    }
}
