import ArgumentParser
import Foundation
import SQLiteStore
import Store
import Testing
import _Primitives

@testable import CountersignCommand

/// The commands run as they do on a server's machine where no server runs: over the database itself.
@Suite("countersign admin: what it does and its exit codes")
struct AdminCommandTests {
    private struct Place {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"

        init() async throws {
            let database = try OpenStore(
                folder: DataFolder(path: self.folder + "/data"), keyFile: KeyFile(path: self.folder + "/key"),
                limits: .init()
            ).database
            await database.close()
        }

        func remove() { try? FileManager.default.removeItem(atPath: self.folder) }

        var options: AdminOptions {
            get throws {
                try AdminOptions.parse(["--data", self.folder + "/data", "--key-file", self.folder + "/key"])
            }
        }

        func run(_ arguments: String...) async throws {
            let all = ["admin"] + arguments + ["--data", self.folder + "/data", "--key-file", self.folder + "/key"]
            var command = try #require(try Countersign.parseAsRoot(all) as? any AsyncParsableCommand)
            try await command.run()
        }

        func call(_ method: String, _ path: String, _ body: JSONObject? = nil) async throws -> JSONObject {
            let answer = try await self.options.withConnection { try await $0.call(method, path, body) }
            guard case .object(let object) = answer else { return [:] }
            return object
        }
    }

    private func expect(_ status: CommandFailure.Status, _ body: () async throws -> Void) async {
        let failure = await #expect(throws: CommandFailure.self) { try await body() }
        #expect(failure?.status == status)
    }

    @Test("accounts are added, listed, locked, unlocked and deleted")
    func accounts() async throws {
        let place = try await Place()
        defer { place.remove() }
        try await place.run("account", "add", "alice", "--display-name", "Alice Example")
        await self.expect(.failed) { try await place.run("account", "add", "alice") }
        await self.expect(.failed) { try await place.run("account", "add", "with space") }
        #expect(try await place.call("GET", "/accounts/alice").string("displayName") == "Alice Example")
        try await place.run("account", "lock", "alice")
        #expect(try await place.call("GET", "/accounts/alice")["locked"] == .bool(true))
        try await place.run("account", "unlock", "alice")
        #expect(try await place.call("GET", "/accounts/alice")["locked"] == .bool(false))
        try await place.run("account", "list")
        try await place.run("account", "show", "alice", "--json")
        try await place.run("account", "delete", "alice")
        await self.expect(.notFound) { try await place.run("account", "show", "alice") }
        await self.expect(.notFound) { try await place.run("account", "lock", "alice") }
    }

    @Test("services and devices: what is not there is exit code 3")
    func clientsAndDevices() async throws {
        let place = try await Place()
        defer { place.remove() }
        let secret = place.folder + "/secret"
        try await place.run(
            "client", "add", "Demo Bank", "--redirect-uri", "https://bank.example/in", "--secret-file", secret)
        let attributes = try FileManager.default.attributesOfItem(atPath: secret)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        guard case .object(let client)? = try await place.call("GET", "/clients").array("clients")?.first else {
            Issue.record("no client")
            return
        }
        #expect(try client.string("name") == "Demo Bank")
        await self.expect(.failed) {
            try await place.run("client", "add", "Other", "--redirect-uri", "javascript:alert(1)")
        }
        try await place.run("client", "list", "--json")
        try await place.run("client", "delete", try client.requiredString("clientId"))
        await self.expect(.notFound) { try await place.run("client", "delete", "never") }
        await self.expect(.notFound) { try await place.run("device", "revoke", "never") }
        await self.expect(.notFound) { try await place.run("device", "list", "nobody") }
        await self.expect(.notFound) { try await place.run("activation", "create", "nobody") }
    }

    @Test("what only a server knows is asked of a server that runs: exit code 5 where none does, and nothing changes")
    func withoutServer() async throws {
        let place = try await Place()
        defer { place.remove() }
        try await place.run("account", "add", "alice")
        await self.expect(.unreachable) { try await place.run("metadata", "show") }
        await self.expect(.unreachable) { try await place.run("metadata", "reload", "--json") }
        await self.expect(.unreachable) { try await place.run("activation", "create", "alice", "--policy", "finger") }
        try await place.run("activation", "create", "alice")
        await self.expect(.notFound) {
            _ = try await AdminOptions.parse(["--data", place.folder + "/none"]).withConnection(toServer: true) {
                try await $0.call("GET", "/metadata")
            }
        }
    }

    @Test("a folder without data, a wrong key and a server that does not answer")
    func unreachable() async throws {
        let place = try await Place()
        defer { place.remove() }
        await self.expect(.notFound) {
            _ = try await AdminOptions.parse(["--data", place.folder + "/none"]).withConnection {
                try await $0.call("GET", "/accounts")
            }
        }
        let otherKey = place.folder + "/other-key"
        _ = try KeyFile(path: otherKey).key(mayCreate: true, dataFolder: place.folder + "/data")
        await self.expect(.failed) {
            _ = try await AdminOptions.parse(["--data", place.folder + "/data", "--key-file", otherKey])
                .withConnection { try await $0.call("GET", "/accounts") }
        }
        await self.expect(.unreachable) {
            _ = try await AdminConnection(place: .network(address: "http://127.0.0.1:1", token: "t"))
                .call("GET", "/accounts")
        }
    }

    @Test("a secret's file is never written over")
    func secretFile() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try SecretFile(path: path).write("one")
        #expect(throws: CommandFailure.self) { try SecretFile(path: path).write("two") }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "one\n")
    }
}
