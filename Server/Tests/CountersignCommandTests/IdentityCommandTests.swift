import ArgumentParser
import Foundation
import PersonalInformation
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@testable import CountersignCommand

/// The commands run as they do on a server's machine where no server runs: over the database itself.
@Suite("countersign admin: services of personalised identities, and what people have there")
struct IdentityCommandTests {
    private static let profile = #"""
        {"roles":[{"id":"user","factors":[["biometric","device"],["pin","device"]],"default":true},
                  {"id":"admin","factors":[["pin","device"]]}],"attributes":{"givenName":"required"}}
        """#

    /// A folder with a database, a client and a person.
    private final class Place {
        let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
        private(set) var client = ""

        init() async throws {
            let database = try OpenStore(
                folder: DataFolder(path: self.folder + "/data"), keyFile: KeyFile(path: self.folder + "/key"),
                limits: .init()
            ).database
            await database.close()
            try await self.run("account", "add", "anna")
            let added = try await self.call(
                "POST", "/clients",
                ["name": .string("Portal"), "redirectUris": .array([.string("https://portal.example/in")])])
            self.client = try added.requiredString("clientId")
        }

        deinit { try? FileManager.default.removeItem(atPath: self.folder) }

        func file(_ text: String) throws -> String {
            let path = "\(self.folder)/file-\(UUID().uuidString)"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        private var place: [String] { ["--data", self.folder + "/data", "--key-file", self.folder + "/key"] }

        func run(_ arguments: String...) async throws {
            var command = try #require(
                try Countersign.parseAsRoot(["admin"] + arguments + self.place) as? any AsyncParsableCommand)
            try await command.run()
        }

        func call(_ method: String, _ path: String, _ body: JSONObject? = nil) async throws -> JSONObject {
            let answer = try await AdminOptions.parse(self.place)
                .withConnection { try await $0.call(method, path, body) }
            guard case .object(let object) = answer else { return [:] }
            return object
        }

        func service() async throws -> JSONObject { try await self.call("GET", "/clients/\(self.client)/service") }

        /// What becomes of the database while no command has it.
        func change(_ body: (SQLStore, _ account: String) async throws -> Void) async throws {
            let account = try await self.call("GET", "/accounts/anna").requiredString("id")
            let database = try OpenStore(
                folder: DataFolder(path: self.folder + "/data"), keyFile: KeyFile(path: self.folder + "/key"),
                limits: .init()
            ).database
            do { try await body(database, account) } catch {
                await database.close()
                throw error
            }
            await database.close()
        }

        func trail() async throws -> [String] {
            var kinds: [String] = []
            try await self.change { database, _ in
                kinds = try await database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
            }
            return kinds
        }
    }

    private func expect(
        _ status: CommandFailure.Status, _ word: String = "", _ body: () async throws -> Void
    ) async {
        let failure = await #expect(throws: CommandFailure.self) { try await body() }
        #expect(failure?.status == status)
        let said = "\(failure?.problem ?? "") \(failure?.remedy ?? "")"
        #expect(word.isEmpty || said.contains(word), "\(said)")
    }

    @Test("a service is set by a file, changed by options, shown, listed and removed")
    func service() async throws {
        let place = try await Place()
        await self.expect(.notFound) { try await place.run("service", "show", place.client) }
        await self.expect(.notFound) { try await place.run("service", "set", place.client, "--in-app") }
        await self.expect(.usage, "--file") { try await place.run("service", "set", place.client) }
        let file = try place.file(Self.profile)
        try await place.run("service", "set", place.client, "--file", file, "--require-invitation")
        let set = try await place.service()
        #expect(try set.bool("requiresInvitation") == true && set.array("roles")?.count == 2)
        try await place.run(
            "service", "set", place.client, "--no-require-invitation", "--in-app", "--push", "--no-active",
            "--no-default-roles", "--attribute", "email=optional", "--login-domain", "*.portal.example")
        let changed = try await place.service()
        for (name, value) in [
            ("requiresInvitation", false), ("inApp", true), ("push", true), ("active", false), ("defaultRoles", false),
        ] { #expect(try changed.bool(name) == value, "\(name)") }
        #expect(changed["attributes"] == .object(["email": .string("optional")]))
        #expect(try changed.strings("loginDomains") == ["*.portal.example"] && changed["roles"] == set["roles"])
        try await place.run("service", "set", place.client, "--default-roles", "--newcomers")
        let open = try await place.service()
        #expect(try open.bool("newcomers") == true && ServiceCommand.text(open).contains("newcomers, by mail"))
        await self.expect(.failed, "only those who were invited") {
            try await place.run("service", "set", place.client, "--require-invitation")
        }
        try await place.run("service", "set", place.client, "--no-default-roles", "--no-newcomers")
        // What is shown can be set again.
        try await place.run("service", "set", place.client, "--file", place.file(JSON.object(changed).text))
        #expect(try await place.service() == changed)
        for text in [try ServiceCommand.text(changed), try ServiceCommand.text(set)] {
            #expect(text.contains("biometric+device or pin+device") && text.contains("user (default)"))
        }
        try await place.run("service", "show", place.client)
        try await place.run("service", "list", "--json")
        try await place.run("service", "list")
        try await place.run("service", "remove", place.client)
        await self.expect(.notFound) { try await place.run("service", "remove", place.client) }
        try await place.run("service", "list")
    }

    @Test("a profile that is none is refused with what to do, and a file that cannot be read, too")
    func wrongProfiles() async throws {
        let place = try await Place()
        for (text, word) in [
            (#"{"roles":[]}"#, "at least one role"),
            (#"{"roles":[{"id":"a","factors":[["device"]]}]}"#, "without its person"),
            (#"{"roles":[{"id":"a","factors":[["pin"]]}],"loginDomains":["x y"]}"#, "bank.example"),
        ] {
            let file = try place.file(text)
            await self.expect(.failed, word) { try await place.run("service", "set", place.client, "--file", file) }
        }
        for text in ["[]", "{", ""] {
            let file = try place.file(text)
            await self.expect(.usage, "--help") { try await place.run("service", "set", place.client, "--file", file) }
        }
        await self.expect(.usage) { try await place.run("service", "set", place.client, "--file", "/none/such") }
        for wrong in [["--attribute", "email"], ["--attribute", "a=b=c"]] {
            #expect(throws: (any Error).self) {
                try Countersign.parseAsRoot(["admin", "service", "set", place.client] + wrong)
            }
        }
    }

    @Test("roles are assigned, revoked, reset and listed")
    func roles() async throws {
        let place = try await Place()
        try await place.run("service", "set", place.client, "--file", place.file(Self.profile))
        func roles() async throws -> [String]? {
            try await place.call("GET", "/clients/\(place.client)/service/accounts/anna").strings("roles")
        }
        try await place.run("role", "list", place.client)
        try await place.run("role", "assign", place.client, "admin", "anna")
        #expect(try await roles() == ["user", "admin"])
        try await place.run("role", "list", place.client)
        try await place.run("role", "list", place.client, "--account", "anna")
        for role in ["user", "admin"] { try await place.run("role", "revoke", place.client, role, "anna") }
        #expect(try await roles() == [])
        try await place.run("role", "list", place.client, "--account", "anna")
        try await place.run("role", "reset", place.client, "anna")
        #expect(try await roles() == ["user"])
        await self.expect(.notFound, "no such role: it has user, admin") {
            try await place.run("role", "assign", place.client, "owner", "anna")
        }
        await self.expect(.notFound, "no such account.") {
            try await place.run("role", "revoke", place.client, "admin", "nobody")
        }
        await self.expect(.notFound, "service set") {
            try await place.run("role", "assign", "none", "admin", "anna")
        }
        await self.expect(.notFound) { try await place.run("role", "list", "none") }
    }

    @Test("values come from a file, and are listed, renamed, made primary, verified and removed")
    func attributes() async throws {
        let place = try await Place()
        func values() async throws -> [JSONObject] {
            try await place.call("GET", "/accounts/anna/attributes?values=true").objects("attributes")
        }
        try await place.run("attribute", "list", "anna")
        for (alias, value) in [("Home", "anna@home.example\n"), ("Work", "anna@work.example")] {
            try await place.run("attribute", "add", "anna", "email", "--alias", alias, "--file", place.file(value))
        }
        #expect(try await values().map { try $0.string("value") } == ["anna@home.example", "anna@work.example"])
        let id = try await values()[1].requiredString("id")
        try await place.run("attribute", "set-primary", "anna", id)
        try await place.run("attribute", "rename", "anna", id, "Office")
        try await place.run("attribute", "verify", "anna", id)
        let first = try await values()[0]
        #expect(
            try first.string("alias") == "Office" && first.bool("primary") == true && first.bool("verified") == true)
        try await place.run("attribute", "show", "anna", id)
        try await place.run("attribute", "show", "anna", id, "--values", "--json")
        await self.expect(.notFound) { try await place.run("attribute", "show", "anna", "none") }
        try await place.run("attribute", "verify", "anna", id, "--withdraw")
        #expect(try await values()[0].bool("verified") == false)
        try await place.run("attribute", "list", "anna", "--values")
        try await place.run("attribute", "remove", "anna", id)
        #expect(try await values().map { try $0.bool("primary") } == [true])
        await self.expect(.notFound) { try await place.run("attribute", "remove", "anna", id) }
        let (wrong, right) = (try place.file("anna"), try place.file("a@b.example"))
        await self.expect(.failed, "NAME@HOST") {
            try await place.run("attribute", "add", "anna", "email", "--file", wrong)
        }
        await self.expect(.failed, "givenName") {
            try await place.run("attribute", "add", "anna", "shoeSize", "--file", right)
        }
        await self.expect(.usage) { try await place.run("attribute", "add", "anna", "email", "--file", "/none/such") }
        // No option takes a value.
        #expect(throws: (any Error).self) {
            try Countersign.parseAsRoot(["admin", "attribute", "add", "anna", "email", "a@b.example"])
        }
    }

    @Test("agreements are listed, and of one that there is not none is printed")
    func agreements() async throws {
        let place = try await Place()
        try await place.run("identity", "agreements", "anna")
        let none = try await place.call("GET", "/accounts/anna/agreements")
        #expect(try IdentityCommand.Agreements.text(none) == "nothing yet")
        let login: JSONObject = [
            "at": .string("2026-01-31T12:34:56Z"), "session": .string("s1"), "purpose": .string("userLogin"),
            "service": .string("portal"), "role": .string("user"),
            "attributes": .array([.string("givenName"), .string("email")]),
            "factors": .array([.string("pin"), .string("device")]),
        ]
        let own: JSONObject = [
            "at": .string("2026-01-30T12:34:56Z"), "session": .string("s2"), "purpose": .string("changePin"),
            "role": .string("user"), "attributes": .array([]), "factors": .array([.string("device")]),
        ]
        let listed: JSONObject = ["agreements": .array([.object(login), .object(own)])]
        #expect(
            try IdentityCommand.Agreements.text(listed) == """
                2026-01-31T12:34:56Z  s1  userLogin  portal  user  givenName, email  pin+device
                2026-01-30T12:34:56Z  s2  changePin          user                    device
                """)
        await self.expect(.notFound) { try await place.run("identity", "agreements", "nobody") }
        await self.expect(.notFound) { try await place.run("identity", "agreement", "anna", "none") }
    }

    @Test("further addresses are added, listed, shown, verified and removed")
    func emails() async throws {
        let place = try await Place()
        func emails() async throws -> [JSONObject] {
            try await place.call("GET", "/accounts/anna/emails").objects("emails")
        }
        try await place.run("email", "list", "anna")
        try await place.run("email", "add", "anna", "anna@post.example")
        try await place.run("email", "add", "anna", "anna@work.example", "--verified", "--json")
        #expect(try await emails().map { try $0.bool("verified") } == [false, true])
        try await place.run("email", "list", "anna")
        let id = try await emails()[0].requiredString("id")
        try await place.run("email", "show", "anna", id)
        try await place.run("email", "verify", "anna", id)
        #expect(try await emails()[0].bool("verified") == true)
        try await place.run("email", "verify", "anna", id, "--withdraw")
        #expect(try await emails()[0].bool("verified") == false)
        await self.expect(.failed, "NAME@HOST") { try await place.run("email", "add", "anna", "anna") }
        await self.expect(.failed, "as many") { try await place.run("email", "add", "anna", "Anna@post.example") }
        try await place.run("email", "remove", "anna", id)
        #expect(try await emails().map { try $0.string("email") } == ["anna@work.example"])
        for verb in ["show", "verify", "remove"] {
            await self.expect(.notFound) { try await place.run("email", verb, "anna", id) }
        }
        await self.expect(.notFound) { try await place.run("email", "list", "nobody") }
        await self.expect(.notFound) { try await place.run("email", "add", "nobody", "x@post.example") }
    }

    @Test("the root key goes to a file as apps are configured with it, the same each time")
    func root() async throws {
        let place = try await Place()
        let file = place.folder + "/root.jwk"
        try await place.run("identity", "root", "--file", file)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let root = try await place.call("GET", "/identity/root")
        #expect(try text == JSON.object(root.requiredObject("key")).text + "\n")
        #expect(try root.requiredObject("key")["d"] == nil)
        try await place.run("identity", "root")
        try await place.run("identity", "root", "--json")
        await self.expect(.failed, "cannot be written") {
            try await place.run("identity", "root", "--file", "/none/such/root.jwk")
        }
        #expect(try await place.call("GET", "/identity/root") == root)
    }

    @Test("the keys that phones seal to are listed, and one is made by hand")
    func keys() async throws {
        let place = try await Place()
        try await place.run("identity", "keys")
        func states() async throws -> [String?] {
            try await place.call("GET", "/identity/keys").objects("sealing").map { try $0.string("state") }
        }
        #expect(try await states() == ["current"])
        try await place.run("identity", "rotate-key")
        try await place.run("identity", "rotate-key", "--json")
        #expect(try await states() == ["current", "former", "former"])
        try await place.run("identity", "keys", "--json")
        let signing = try await place.call("GET", "/identity/keys").objects("signing")
        #expect(try signing.map { try $0.string("state") } == ["current"])
        #expect(try await place.trail().filter { $0 == "identity-sealing-key-added" }.count == 2)
    }

    @Test("a code is shown and ended, and what is no activation of the person's is neither shown, renamed nor ended")
    func activations() async throws {
        let place = try await Place()
        try await place.run("account", "add", "bert")
        try await place.run("identity", "activations", "anna")
        try await place.run("activation", "create", "anna", "--identity", "--name", "Phone")
        try await place.run("identity", "activations", "anna")
        func codes() async throws -> [JSONObject] {
            try await place.call("GET", "/accounts/anna/activations").objects("offers")
        }
        let id = try #require(try await codes().first).requiredString("id")
        try await place.run("identity", "show", "anna", id)
        try await place.run("identity", "show", "anna", id, "--json")
        let shown = try IdentityCommand.text(try await place.call("GET", "/accounts/anna/activations/\(id)"))
        #expect(shown.contains("Phone") && shown.contains("a code, until") && shown.contains("0 in a row"))
        for (person, code) in [("bert", id), ("anna", "none"), ("nobody", id)] {
            await self.expect(.notFound) { try await place.run("identity", "show", person, code) }
            await self.expect(.notFound) { try await place.run("identity", "end", person, code) }
            await self.expect(.notFound) { try await place.run("identity", "rename", person, code, "Tablet") }
        }
        #expect(try await codes().count == 1)
        try await place.run("identity", "end", "anna", id)
        #expect(try await codes().isEmpty)
        await self.expect(.notFound) { try await place.run("identity", "end", "anna", id) }
    }

    @Test("sessions that go on are listed, and of one that there is not none is shown or given up")
    func sessions() async throws {
        let place = try await Place()
        try await place.run("identity", "sessions", "anna")
        try await place.run("identity", "sessions", "anna", "--json")
        await self.expect(.notFound) { try await place.run("identity", "sessions", "nobody") }
        for verb in ["session", "abort"] {
            await self.expect(.notFound) { try await place.run("identity", verb, "anna", "none") }
        }
        let shown: JSONObject = [
            "id": .string("s1"), "purpose": .string("userLogin"), "state": .string("prepared"), "ended": .bool(false),
            "activation": .string("a1"), "service": .string("portal"), "createdAt": .string("2026-01-01T00:00:00Z"),
            "nextRequestUntil": .string("2026-01-01T00:03:00Z"), "lastRequestBefore": .string("2026-01-01T00:15:00Z"),
        ]
        let text = try IdentityCommand.sessionText(shown)
        for words in ["s1", "userLogin", "prepared", "a1", "portal", "2026-01-01T00:03:00Z", "2026-01-01T00:15:00Z"] {
            #expect(text.contains(words), "\(text)")
        }
    }

    @Test("what is no activation of the person's has no rest to end and no factors, and neither has a code")
    func care() async throws {
        let place = try await Place()
        try await place.run("activation", "create", "anna", "--identity", "--name", "Phone")
        let code = try #require(try await place.call("GET", "/accounts/anna/activations").objects("offers").first)
            .requiredString("id")
        for (person, id) in [("anna", code), ("anna", "none"), ("nobody", code)] {
            await self.expect(.notFound) { try await place.run("identity", "lift-lockout", person, id) }
            await self.expect(.notFound) { try await place.run("identity", "factors", person, id) }
            for verb in ["factor", "remove-factor"] {
                await self.expect(.notFound) { try await place.run("identity", verb, person, id, "none") }
            }
        }
    }

    @Test("an app's text says how it stands, what has failed and how long it rests")
    func text() throws {
        let shown: JSONObject = [
            "id": .string("a1"), "kind": .string("activation"), "name": .string("Phone"),
            "factors": .array([.string("device"), .string("pin")]), "createdAt": .string("2026-01-01T00:00:00Z"),
            "failuresInARow": .integer(3), "recentFailures": .integer(4), "attemptsLeft": .integer(6),
            "lockedUntil": .string("2026-01-01T00:01:00Z"), "lockedSeconds": .integer(42), "disabled": .bool(true),
        ]
        let text = try IdentityCommand.text(shown)
        for words in [
            "a1", "Phone", "device+pin, last used never", "3 in a row, 4 lately; 6 more", "disabled",
            "rests until 2026-01-01T00:01:00Z, 42 seconds more",
        ] { #expect(text.contains(words), "\(text)") }
    }

    @Test("what a person's identity was used for is listed, and choices are listed and forgotten")
    func history() async throws {
        let place = try await Place()
        try await place.run("service", "set", place.client, "--file", place.file(Self.profile))
        try await place.run("identity", "history", "anna")
        try await place.run("attribute", "choices", "anna")
        await self.expect(.notFound) { try await place.run("identity", "history", "nobody") }
        await self.expect(.notFound) { try await place.run("attribute", "choices", "nobody") }
        await self.expect(.notFound) { try await place.run("attribute", "forget-choice", "anna", place.client) }
        try await place.run("attribute", "add", "anna", "givenName", "--file", place.file("Anna"))
        let value = try #require(try await place.call("GET", "/accounts/anna/attributes").objects("attributes").first)
            .requiredString("id")
        let client = place.client
        try await place.change { database, account in
            try await database.applyIdentityOutcome(
                IdentityOutcomeChange(
                    accountID: account, service: client, at: Timestamp(milliseconds: 0),
                    selection: [.givenName: value],
                    history: IdentityHistoryRecord(
                        purpose: "login", service: client, role: "user", outcome: .finished,
                        at: Timestamp(milliseconds: 0)), limits: Limits()))
        }
        try await place.run("identity", "history", "anna")
        try await place.run("identity", "history", "anna", "--json")
        let sessions = try await place.call("GET", "/accounts/anna/identity-sessions").objects("sessions")
        #expect(try sessions.map { try $0.string("role") } == ["user"])
        try await place.run("attribute", "choices", "anna")
        try await place.run("attribute", "choices", "anna", "--client", place.client)
        await self.expect(.notFound) { try await place.run("attribute", "choices", "anna", "--client", "none") }
        let choices = try await place.call("GET", "/accounts/anna/choices").objects("choices")
        #expect(try choices.map { try $0.string("value") } == [value])
        try await place.run("attribute", "forget-choice", "anna", place.client)
        #expect(try await place.call("GET", "/accounts/anna/choices").objects("choices").isEmpty)
        await self.expect(.notFound) { try await place.run("attribute", "forget-choice", "anna", place.client) }
        #expect(try await place.trail().filter { $0 == "attribute-choice-removed" }.count == 1)
    }

    @Test("a client's name for a person is shown, found once it was told, and in the trail each time")
    func subjects() async throws {
        let place = try await Place()
        try await place.run("identity", "subject", "anna", place.client)
        try await place.run("identity", "subject", "anna", place.client, "--json")
        let subject = try await place.call("GET", "/accounts/anna/subjects/\(place.client)").requiredString("subject")
        await self.expect(.notFound) { try await place.run("identity", "whose", place.client, subject) }
        await self.expect(.notFound) { try await place.run("identity", "subject", "nobody", place.client) }
        await self.expect(.notFound) { try await place.run("identity", "subject", "anna", "none") }
        #expect(try await place.trail().filter { $0 == "subject-looked-up" }.count == 3)
        try await place.run("identity", "subjects", "anna")
        try await place.run("identity", "subjects", "anna", "--after", place.client)
        await self.expect(.notFound) { try await place.run("identity", "subjects", "nobody") }
        #expect(try await place.trail().filter { $0 == "subjects-listed" }.count == 2)
    }

    @Test("organisations and invitations are made, listed and taken back")
    func organisations() async throws {
        let place = try await Place()
        try await place.run("organisation", "list")
        try await place.run("organisation", "add", "Club")
        await self.expect(.failed, "taken") { try await place.run("organisation", "add", "Club") }
        let id = try #require(try await place.call("GET", "/organisations").objects("organisations").first)
            .requiredString("id")
        try await place.run("organisation", "rename", id, "Choir")
        try await place.run("organisation", "show", id)
        await self.expect(.notFound) { try await place.run("organisation", "show", "none") }
        try await place.run("organisation", "members", id)
        try await place.run("organisation", "add-member", id, "anna")
        #expect(try await place.call("GET", "/organisations/\(id)/members").objects("members").count == 1)
        try await place.run("organisation", "members", id)
        try await place.run("organisation", "list")
        try await place.run("invite", "list")
        try await place.run("invite", "create", "new@post.example", "--organisation", id, "--lifetime", "7d")
        let invite = try #require(try await place.call("GET", "/invites").objects("invites").first)
        let name = try invite.requiredString("id")
        try await place.run("invite", "list", "--email", "new@post.example")
        try await place.run("invite", "show", name)
        try await place.run("invite", "prolong", name, "--lifetime", "10d")
        let later = try await place.call("GET", "/invites/\(name)").requiredString("expiresAt")
        #expect(try later > invite.requiredString("expiresAt"))
        await self.expect(.failed, "take it back") {
            try await place.run("invite", "prolong", name, "--lifetime", "1d")
        }
        await self.expect(.failed, "twice as long") {
            try await place.run("invite", "prolong", name, "--lifetime", "400d")
        }
        await self.expect(.notFound) { try await place.run("invite", "prolong", "none", "--lifetime", "1d") }
        try await place.run("invite", "revoke", name)
        await self.expect(.failed, "make another one") {
            try await place.run("invite", "prolong", name, "--lifetime", "10d")
        }
        await self.expect(.failed, "already") { try await place.run("invite", "revoke", name) }
        await self.expect(.notFound) { try await place.run("invite", "show", "none") }
        await self.expect(.failed) {
            try await place.run("invite", "create", "x@post.example", "--organisation", id, "--lifetime", "400d")
        }
        try await place.run("organisation", "remove-member", id, "anna")
        await self.expect(.notFound) { try await place.run("organisation", "remove-member", id, "anna") }
        try await place.run("organisation", "remove", id)
        await self.expect(.notFound) { try await place.run("organisation", "remove", id) }
        for wrong in [["x@y.example"], ["x@y.example", "--service", "c"], ["x@y.example", "--role", "r"]] {
            #expect(throws: (any Error).self) { try Countersign.parseAsRoot(["admin", "invite", "create"] + wrong) }
        }
    }
}
