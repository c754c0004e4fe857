import Accounts
import ArgumentParser
import CeremonyEngine
import CountersignServer
import Foundation
import SQLStore
import Settings
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

        /// The parts of a server over the same folder.
        func withAssembly<Result: Sendable>(_ body: (ServerAssembly) async throws -> Result) async throws -> Result {
            let store = try OpenStore(
                folder: DataFolder(path: self.folder + "/data"), keyFile: KeyFile(path: self.folder + "/key"),
                limits: .init())
            let result = try await body(
                try await store.assembly(.init(issuer: "http://localhost:8080", facets: [])))
            await store.database.close()
            return result
        }

        var options: AdminOptions {
            get throws {
                try AdminOptions.parse(["--data", self.folder + "/data", "--key-file", self.folder + "/key"])
            }
        }

        func run(_ arguments: String...) async throws { try await self.run(arguments) }

        func run(_ arguments: [String]) async throws {
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

    @Test("a list of nobody says so, and a folder without a server where that of the package is")
    func nothingThere() async throws {
        #expect(try AccountCommand.List.text([]) == "no accounts")
        #expect(try ClientCommand.List.text([]) == "no clients")
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        let options = try AdminOptions.parse(["--data", folder, "--key-file", folder + ".key"])
        let failure = await #expect(throws: CommandFailure.self) { try await options.call("GET", "/accounts") }
        #expect(failure?.status == .notFound && failure?.problem.contains(folder) == true)
        #expect(failure?.remedy?.contains("--data /var/lib/countersign") == true)
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
        try await place.run("account", "change", "alice", "--email", "alice@post.example", "--email-verified")
        #expect(try await place.call("GET", "/accounts/alice")["emailVerified"] == .bool(true))
        try await place.run("account", "change", "alice", "--no-email")
        #expect(try await place.call("GET", "/accounts/alice")["email"] == nil)
        try await place.run(
            "account", "change", "alice", "--phone", "+4930901820", "--phone-verified", "--street-address",
            "Main Road 1",
            "--locality", "Berlin")
        let reached = try await place.call("GET", "/accounts/alice")
        #expect(reached["phone"] == .string("+4930901820") && reached["phoneVerified"] == .bool(true))
        #expect(
            reached["address"]
                == .object(["street_address": .string("Main Road 1"), "locality": .string("Berlin")]))
        await self.expect(.failed) { try await place.run("account", "change", "alice", "--phone", "030") }
        try await place.run("account", "consents", "alice")
        await self.expect(.notFound) { try await place.run("account", "consents", "alice", "--revoke", "never") }
        await self.expect(.notFound) { try await place.run("account", "consents", "nobody") }
        try await place.run("account", "change", "alice", "--no-phone", "--no-address")
        let bare = try await place.call("GET", "/accounts/alice")
        #expect(bare["phone"] == nil && bare["address"] == nil)
        try await place.run("account", "change", "alice", "--username", "alicia", "--no-display-name", "--no-email")
        #expect(try await place.call("GET", "/accounts/alicia")["displayName"] == nil)
        await self.expect(.notFound) { try await place.run("account", "change", "alice", "--username", "x") }
        try await place.run("account", "change", "alicia", "--username", "alice", "--display-name", "Alice")
        #expect(try await place.call("GET", "/accounts/alice").string("displayName") == "Alice")
        for wrong in [
            [], ["--display-name", "A", "--no-display-name"], ["--email", "a@b.example", "--no-email"],
            ["--phone", "+4930901820", "--no-phone"], ["--phone-verified"], ["--locality", "Berlin", "--no-address"],
        ] {
            #expect(throws: (any Error).self) {
                try Countersign.parseAsRoot(["admin", "account", "change", "alice"] + wrong)
            }
        }
        try await place.run("account", "add", "bob", "--email", "bob@post.example")
        #expect(try await place.call("GET", "/accounts/bob").string("email") == "bob@post.example")
        await self.expect(.failed) { try await place.run("account", "change", "bob", "--email", "bob") }
        for wrong in [
            ["change", "bob"], ["change", "bob", "--no-email", "--email", "b@x"], ["add", "x", "--email-verified"],
        ] {
            #expect(throws: (any Error).self) { try Countersign.parseAsRoot(["admin", "account"] + wrong) }
        }
        try await place.run("account", "list")
        try await place.run("account", "show", "alice", "--json")
        try await place.run("account", "delete", "alice")
        await self.expect(.notFound) { try await place.run("account", "show", "alice") }
        await self.expect(.notFound) { try await place.run("account", "lock", "alice") }
    }

    @Test("a certificate authority is for a server's address: on its own machine there is no TLS")
    func authorityWithoutAddress() async throws {
        let place = try await Place()
        defer { place.remove() }
        await self.expect(.usage) { try await place.run("account", "list", "--ca-file", "authority.pem") }
    }

    /// What kind of client it is, from the command line on.
    private func kinds(of id: String, keys: String, _ place: Place) async throws {
        func shown() async throws -> JSONObject { try await place.call("GET", "/clients/\(id)") }
        #expect(try await shown().strings("grantTypes") == ["authorization_code"])
        #expect(try await shown().string("tokenEndpointAuthMethod") == "client_secret_basic")
        await self.expect(.failed) { try await place.run("client", "change", id, "--auth-method", "private_key_jwt") }
        try await place.run(
            "client", "change", id, "--auth-method", "private_key_jwt", "--jwks", keys, "--grant-type",
            "authorization_code")
        #expect(try await shown().string("tokenEndpointAuthMethod") == "private_key_jwt")
        #expect(try await shown().object("jwks")?.array("keys")?.count == 1)
        await self.expect(.failed) { try await place.run("client", "change", id, "--no-jwks") }
        await self.expect(.failed) { try await place.run("client", "change", id, "--rotate-secret") }
        await self.expect(.failed) { try await place.run("client", "change", id, "--grant-type", "password") }
        await self.expect(.failed) { try await place.run("client", "change", id, "--auth-method", "other") }
        try await place.run("client", "change", id, "--pkce", "usual")
        for party in ["third-party", "first-party"] {
            try await place.run("client", "change", id, "--party", party)
            #expect(try await shown().string("party") == party)
        }
        await self.expect(.failed) { try await place.run("client", "change", id, "--party", "third") }
        for (flag, isMarked) in [("--direct-sign-in", true), ("--no-direct-sign-in", false)] {
            try await place.run("client", "change", id, flag)
            #expect(try await shown()["signsInDirectly"] == .bool(isMarked))
        }
        let secret = place.folder + "/another"
        try await place.run(
            "client", "change", id, "--auth-method", "client_secret_basic", "--no-jwks", "--rotate-secret",
            "--secret-file", secret)
        #expect(try String(contentsOfFile: secret, encoding: .utf8).count == 44)
        #expect(try await shown().object("jwks") == nil)
        try await place.run("client", "add", "App", "--auth-method", "none", "--redirect-uri", "com.example.app:/cb")
        await self.expect(.failed) {
            try await place.run("client", "add", "Other", "--redirect-uri", "com.example.app:/cb")
        }
        for wrong in [
            ["add", "App", "--auth-method", "none", "--redirect-uri", "com.example.app:/cb", "--secret-file", "x"],
            ["change", id, "--auth-method", "none", "--rotate-secret"],
        ] {
            #expect(throws: (any Error).self) { try Countersign.parseAsRoot(["admin", "client"] + wrong) }
        }
    }

    @Test("what tokens a service may have, and which are for it, are named and taken back")
    func serviceTokens() async throws {
        let place = try await Place()
        defer { place.remove() }
        func clients() async throws -> [JSONObject] {
            let listed = try await place.call("GET", "/clients").array("clients") ?? []
            return listed.compactMap { if case .object(let client) = $0 { client } else { nil } }
        }
        try await place.run("client", "add", "Accounts", "--resource", "urn:api", "--access-token-format", "opaque")
        try await place.run(
            "client", "add", "Report", "--grant-type", "client_credentials", "--scope", "read", "--scope", "write",
            "--audience", "urn:api")
        let (owner, report) = (try await clients()[0], try await clients()[1])
        #expect(try owner.strings("resources") == ["urn:api"] && owner["accessTokenFormat"] == .string("opaque"))
        #expect(try report.strings("scopes") == ["read", "write"] && report.strings("audiences") == ["urn:api"])
        let (ownerID, id) = (try owner.requiredString("clientId"), try report.requiredString("clientId"))
        try await place.run("client", "change", id, "--scope", "read", "--no-audience")
        try await place.run("client", "change", ownerID, "--resource", "urn:other", "--access-token-format", "jwt")
        let changed = try await clients()
        #expect(try changed[1].strings("scopes") == ["read"] && changed[1].strings("audiences") == [])
        #expect(
            try changed[0].strings("resources") == ["urn:other"] && changed[0]["accessTokenFormat"] == .string("jwt"))
        await self.expect(.failed) { try await place.run("client", "change", id, "--resource", "urn:other") }
        for wrong in ["--no-scope --scope a", "--no-resource --resource urn:a", "--no-audience --audience urn:a"] {
            let arguments = ["admin", "client", "change", id] + wrong.split(separator: " ").map(String.init)
            #expect(throws: (any Error).self) { try Countersign.parseAsRoot(arguments) }
        }
    }

    /// What stands in the guide between the mark of that name and the end of the listing after it.
    private static func listing(_ name: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        let guide = try String(contentsOf: root.appending(path: "docs/guides/relying-party.md"), encoding: .utf8)
        let marked = try #require(guide.components(separatedBy: "<!-- tried: \(name) -->\n```").dropFirst().first)
        let listing = try #require(marked.components(separatedBy: "\n```").first)
        return listing.split(separator: "\n").dropFirst().joined(separator: "\n")
    }

    @Test("the commands of the guide for relying parties make the clients that it describes")
    func guide() async throws {
        let place = try await Place()
        defer { place.remove() }
        let keys = place.folder + "/bank.jwks.json"
        try Data(Self.listing("bank.jwks.json").utf8).write(to: URL(filePath: keys))
        let commands = try Self.listing("kinds of clients").replacing("\\\n", with: "").split(separator: "\n")
        for command in commands {
            // Every other piece stood in quotation marks.
            let words = command.split(separator: "\"", omittingEmptySubsequences: false).enumerated().flatMap {
                $0.isMultiple(of: 2) ? $1.split(separator: " ").map(String.init) : [String($1)]
            }
            #expect(words.prefix(2) == ["countersign", "admin"])
            try await place.run(
                words.dropFirst(2).map {
                    $0.contains(".example") ? $0 : $0.replacing("bank.", with: place.folder + "/bank.")
                })
        }
        let clients = try #require(try await place.call("GET", "/clients").array("clients"))
        let methods = clients.compactMap { client -> JSON? in
            guard case .object(let client) = client else { return nil }
            return client["tokenEndpointAuthMethod"]
        }
        #expect(methods == [.string("client_secret_basic"), .string("private_key_jwt"), .string("none")])
        #expect(FileManager.default.fileExists(atPath: place.folder + "/bank.secret"))
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
        let id = try client.requiredString("clientId")
        func permission() async throws -> Bool? { try await place.call("GET", "/clients/\(id)").bool("mayDeregister") }
        #expect(try await permission() == false)
        for (flag, isPermitted) in [("--may-deregister", true), ("--no-may-deregister", false)] {
            try await place.run("client", "change", id, flag)
            #expect(try await permission() == isPermitted)
        }
        await self.expect(.notFound) { try await place.run("client", "change", "never", "--may-deregister") }
        try await place.run("client", "change", id, "--id-token-signed-response-alg", "EdDSA", "--pkce", "nonce")
        let settings = try await place.call("GET", "/clients/\(id)")
        #expect(settings["idTokenSignedResponseAlg"] == .string("EdDSA") && settings["pkce"] == .string("nonce"))
        await self.expect(.failed) { try await place.run("client", "change", id, "--pkce", "off") }
        try await place.run(
            "client", "change", id, "--name", "Renamed", "--redirect-uri", "https://b.example/1", "--redirect",
            "https://b.example/2", "--no-post-logout-redirect-uri")
        let edited = try await place.call("GET", "/clients/\(id)")
        #expect(try edited.string("name") == "Renamed")
        #expect(try edited.strings("redirectUris") == ["https://b.example/1", "https://b.example/2"])
        #expect(try edited.strings("postLogoutRedirectUris") == [])
        func home() async throws -> String? { try await place.call("GET", "/clients/\(id)").string("clientUri") }
        try await place.run("client", "change", id, "--client-uri", "https://b.example/start")
        #expect(try await home() == "https://b.example/start")
        await self.expect(.failed) { try await place.run("client", "change", id, "--client-uri", "start") }
        try await place.run("client", "change", id, "--no-client-uri")
        #expect(try await home() == nil)
        let secretFile = place.folder + "/rotated"
        try await place.run(
            "client", "change", id, "--rotate-secret", "--overlap", "12h", "--secret-file", secretFile)
        #expect(try String(contentsOfFile: secretFile, encoding: .utf8).count == 44)
        #expect(try await place.call("GET", "/clients/\(id)").string("formerSecretEndsAt") != nil)
        await self.expect(.failed) {
            try await place.run("client", "change", id, "--rotate-secret", "--overlap", "31d")
        }
        let keys = place.folder + "/keys.json"
        let set =
            #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"k"}]}"#
        try Data(set.utf8).write(to: URL(filePath: keys))
        for wrong in [
            ["--overlap", "1d"], ["--rotate-secret", "--overlap", "1"], ["--secret-file", "x"],
            ["--post-logout-redirect-uri", "https://b.example", "--no-post-logout-redirect-uri"],
            ["--client-uri", "https://b.example", "--no-client-uri"], ["--jwks", "/nowhere"],
            ["--jwks", secretFile], ["--jwks", keys, "--no-jwks"],
        ] {
            #expect(throws: (any Error).self) {
                try Countersign.parseAsRoot(["admin", "client", "change", id] + wrong)
            }
        }
        #expect(throws: (any Error).self) { try Countersign.parseAsRoot(["admin", "client", "change", id]) }
        try await self.kinds(of: id, keys: keys, place)
        try await place.run("client", "show", id)
        await self.expect(.notFound) { try await place.run("client", "show", "never") }
        // Each line says another thing, in columns, and what has the widest say.
        var full = try await place.call("GET", "/clients/\(id)")
        full["disabled"] = .bool(true)
        full["authorizationDetailsTypes"] = .array([.string("transfer")])
        full["audiences"] = .array([.string("https://api.example")])
        let lines = try ClientCommand.text(full).split(separator: "\n")
        let labels = lines.map { $0.prefix(16) }
        #expect(Set(labels).count == labels.count, "\(labels)")
        #expect(labels.allSatisfy { $0.last == " " }, "\(labels)")
        #expect(lines.contains("switched off    yes") && lines.contains("details         transfer"))
        try await place.run("client", "list", "--json")
        try await place.run("client", "delete", try client.requiredString("clientId"))
        await self.expect(.notFound) { try await place.run("client", "delete", "never") }
        await self.expect(.notFound) { try await place.run("device", "revoke", "never") }
        await self.expect(.notFound) { try await place.run("device", "list", "nobody") }
        await self.expect(.notFound) { try await place.run("device", "rest", "nobody", "never") }
        await self.expect(.notFound) { try await place.run("device", "restore", "nobody", "never") }
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
        _ = try KeyFile(path: otherKey).keys(mayCreate: true, dataFolder: place.folder + "/data")
        await self.expect(.failed) {
            _ = try await AdminOptions.parse(["--data", place.folder + "/data", "--key-file", otherKey])
                .withConnection { try await $0.call("GET", "/accounts") }
        }
        let server = try #require(PublicAddress("http://127.0.0.1:1"))
        let failure = await #expect(throws: CommandFailure.self) {
            _ = try await AdminConnection(place: .network(server, token: "t")).call("GET", "/accounts")
        }
        #expect(failure?.status == .unreachable)
        // The first refusal counts: a client that tried again until the time was over would tell of the time.
        #expect(failure?.problem.contains("Connection refused") == true, "\(failure?.problem ?? "")")
    }

    @Test("why nobody answers at the data folder's socket is told in words, and what to look at")
    func deadSocket() async throws {
        let folder = "/tmp/" + RandomSource.system.token(byteCount: 8)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/admin.socket"
        for words in ["No such file or directory", "Connection refused"] {
            let failure = await #expect(throws: CommandFailure.self) {
                _ = try await AdminConnection(place: .socket(path: path)).call("GET", "/accounts")
            }
            #expect(failure?.status == .unreachable)
            #expect(failure?.problem == "the server does not answer (\(words))")
            #expect(failure?.remedy == "Is `countersign serve` running with this data folder?")
            if !FileManager.default.fileExists(atPath: path) { try Self.leaveSocket(at: path) }
        }
    }

    /// What a server that was killed leaves behind.
    private static func leaveSocket(at path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
    }

    @Test("the document of invented accounts is shown, set by a server that runs, proposed and put back")
    func inventedAccounts() async throws {
        let place = try await Place()
        defer { place.remove() }
        func shown() async throws -> JSONObject { try await place.call("GET", "/invented-accounts") }
        let brought = try await shown()
        #expect(try brought.array("sets")?.isEmpty == false)
        try await place.run("invented", "show")
        // Too few accounts have anything.
        await self.expect(.failed) { try await place.run("invented", "propose") }

        let file = place.folder + "/invented.json"
        let key = #"{"aaid": "C516#0001", "keyIdLength": 32}"#
        func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: file)) }
        await self.expect(.usage) { try await place.run("invented", "set", file) }
        for wrong in ["", "[]", "{"] {
            try write(wrong)
            await self.expect(.usage) { try await place.run("invented", "set", file) }
        }
        let document = #"{"devices": [{"count": 1, "weight": 16}], "sets": [{"weight": 16, "keys": [\#(key)]}]}"#
        try write(document)
        // Which models there are only a server knows that runs.
        await self.expect(.unreachable) { try await place.run("invented", "set", file) }
        #expect(try await shown() == brought)

        try await place.withAssembly { assembly in
            guard case .object(let json) = try JSON(parsing: Array(document.utf8)) else {
                throw RawConnection.Failure()
            }
            try await assembly.ceremonies.inventedAccounts.setKeyDistribution(
                try KeyDistribution(json: json), by: "test")
        }
        #expect(try await shown().array("sets")?.count == 1)
        try await place.run("invented", "reset")
        #expect(try await shown() == brought)
        for wrong in [["set"], ["show", "x"], ["reset", "x"], ["other"]] {
            #expect(throws: (any Error).self) { try Countersign.parseAsRoot(["admin", "invented"] + wrong) }
        }
    }

    @Test("a list of people is all of them, however many the server gives at a time")
    func pages() async throws {
        let place = try await Place()
        defer { place.remove() }
        let count = Limits().pageSize + 1
        try await place.withAssembly { assembly in
            for number in 0..<count {
                _ = try await assembly.directory.create(username: "a+b&\(number)", displayName: nil, by: "test")
            }
        }
        let accounts = try await place.options.withConnection(AccountCommand.List.accounts)
        #expect(Set(accounts).count == count && accounts.count == count)
    }

    @Test("tokens are listed, rotated into a file and revoked")
    func tokens() async throws {
        let place = try await Place()
        defer { place.remove() }
        try await place.run("token", "list")
        #expect(try await place.call("GET", "/tokens")["tokens"] == .array([]))
        let id = try await place.withAssembly { assembly in
            let secret = try #require(try await assembly.administrators.makeLinkIfNone())
            let token = try await assembly.administrators.redeem(secret: secret, source: "a")
            return try #require(try await assembly.administrators.administrator(token: token))
        }
        let file = place.folder + "/token"
        try await place.run("token", "rotate", id, "--token-file", file)
        let token = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
        #expect(
            try await place.withAssembly { try await $0.administrators.administrator(token: token) } == id,
            "the file holds the new token")
        // The file is there: the token that it holds stays valid.
        await self.expect(.failed) { try await place.run("token", "rotate", id, "--token-file", file) }
        #expect(try await place.withAssembly { try await $0.administrators.administrator(token: token) } == id)
        await self.expect(.notFound) {
            try await place.run("token", "rotate", "nobody", "--token-file", place.folder + "/other")
        }
        #expect(!FileManager.default.fileExists(atPath: place.folder + "/other"))
        try await place.run("token", "revoke", id)
        #expect(try await place.withAssembly { try await $0.administrators.administrator(token: token) } == nil)
        await self.expect(.notFound) { try await place.run("token", "revoke", id) }
        try await place.run("key", "rotate")
    }

    @Test("the audit trail is exported between two moments and after a number, and verified")
    func audit() async throws {
        let place = try await Place()
        defer { place.remove() }
        for name in ["alice", "bob"] { try await place.run("account", "add", name) }
        func export(_ arguments: String...) async throws -> [JSONObject] {
            var entries: [JSONObject] = []
            let folder = ["--data", place.folder + "/data", "--key-file", place.folder + "/key"]
            try await AuditCommand.Export.parse(arguments + folder).export {
                if case .object(let entry) = $0 { entries.append(entry) }
            }
            return entries
        }
        let all = try await export()
        let numbers = try all.map { try $0.requiredInteger("number", as: Int.self) }
        #expect(numbers == Array(1...numbers.count))
        let added = try all.filter { try $0.requiredString("kind") == "account-created" }
        #expect(added.count == 2)
        let (first, second) = (try added[0].requiredString("at"), try added[1].requiredString("at"))
        #expect(try await export("--since", second).map { try $0.requiredString("at") }.allSatisfy { $0 >= second })
        #expect(try await export("--until", first).allSatisfy { try $0.requiredString("at") < first })
        #expect(try await export("--since", first).contains(added[0]), "since is included")
        #expect(try await !export("--until", second).contains(added[1]), "until is not")
        #expect(try await export("--since", "2999-01-01T00:00:00Z").isEmpty)
        #expect(try await export("--after", String(numbers.count - 1)).count == 1)
        for wrong in [["--since", "yesterday"], ["--after=-1"]] {
            await self.expect(.usage) {
                try await AuditCommand.Export.parse(wrong + ["--data", place.folder + "/data"]).export { _ in }
            }
        }
        let verify = try AuditCommand.Verify.parse([
            "--json", "--data", place.folder + "/data", "--key-file", place.folder + "/key",
        ])
        try await verify.run()
        await self.expect(.failed) { try verify.report(.object(["intact": .bool(false), "brokenAt": .integer(2)])) }
    }

    @Test("a command that ends takes away its own socket, and not that of the one that has the folder next")
    func socketBeforeLock() async throws {
        let place = try await Place()
        defer { place.remove() }
        let data = place.folder + "/data"
        for _ in 0..<10 {
            let next = try await place.options.withConnection { _ in
                #expect(FileManager.default.fileExists(atPath: data + "/admin.sock"))
                // Somebody who takes the folder the moment that it is free.
                let (isFree, continuation) = AsyncStream.makeStream(of: Bool.self)
                Thread {
                    let lock = open(data + "/lock", O_RDWR | O_CLOEXEC)
                    while flock(lock, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {}
                    let socket = open(data + "/admin.sock", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                    continuation.yield(socket >= 0)
                    close(socket)
                    close(lock)
                    continuation.finish()
                }.start()
                return isFree
            }
            for await isFree in next { #expect(isFree) }
            #expect(FileManager.default.fileExists(atPath: data + "/admin.sock"))
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
