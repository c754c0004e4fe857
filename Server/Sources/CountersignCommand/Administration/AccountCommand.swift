import ArgumentParser
import Store
import _Primitives

/// `countersign admin account`: who can sign in.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "Who can sign in.",
        subcommands: [
            Add.self, Show.self, List.self, Change.self, Lock.self, Unlock.self, Delete.self, Access.self, Revoke.self,
        ]
    )

    /// A person's row as text.
    static func text(_ account: JSONObject) throws -> String {
        let name = try account.string("displayName").map { " (\($0))" } ?? ""
        let email = try account.string("email").map {
            try account.bool("emailVerified") == true ? ", \($0)" : ", \($0) (not verified)"
        }
        let lock = try account.bool("locked") ?? false ? ", locked" : ""
        return Terminal.table([["\(try account.requiredString("username"))\(name)\(email ?? "")\(lock)"]])
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Add a person.")

        @Argument(help: "The name to sign in with: 1 to \(Limits().usernameCharacters) characters.")
        var username: String

        @Option(name: .long, help: "The name to show.")
        var displayName: String?

        @Option(name: .long, help: "An e-mail address, which services see that ask for the scope email.")
        var email: String?

        @Flag(name: .long, help: "You vouch that the address is the person's; services are told so.")
        var emailVerified = false

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard self.email != nil || !self.emailVerified else {
                throw ValidationError("--email-verified needs --email.")
            }
        }

        func run() async throws {
            var body: JSONObject = ["username": .string(self.username)]
            body["displayName"] = self.displayName.map(JSON.string)
            body["email"] = self.email.map(JSON.string)
            if self.email != nil { body["emailVerified"] = .bool(self.emailVerified) }
            let answer = try await self.options.call("POST", "/accounts", body)
            try self.options.show(answer) { "Added \(try AccountCommand.text($0))." }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a person and their devices.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let path = "/accounts/\(self.username.pathSegment)"
            let (account, devices) = try await self.options.withConnection {
                (try await $0.call("GET", path), try await $0.call("GET", path + "/devices"))
            }
            guard case .object(var object) = account, case .object(let list) = devices else { return }
            object["devices"] = list["devices"] ?? .array([])
            try self.options.show(.object(object)) {
                try AccountCommand.text($0) + "\n" + DeviceCommand.text(try list.array("devices") ?? [])
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List everybody.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let accounts = try await self.options.withConnection(Self.accounts)
            try self.options.show(.object(["accounts": .array(accounts)])) { _ in try Self.text(accounts) }
        }

        static func text(_ accounts: [JSON]) throws -> String {
            guard !accounts.isEmpty else { return "no accounts" }
            return try accounts.compactMap { account in
                guard case .object(let account) = account else { return nil }
                return try AccountCommand.text(account)
            }.joined(separator: "\n")
        }

        /// All accounts; the server gives a page at a time.
        static func accounts(over connection: AdminConnection) async throws -> [JSON] {
            var (accounts, query) = ([JSON](), "")
            while case .object(let page) = try await connection.call("GET", "/accounts" + query),
                let more = try page.array("accounts"), case .object(let last)? = more.last
            {
                accounts += more
                query = "?after=" + (try last.requiredString("username")).pathSegment
            }
            return accounts
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a person's names or e-mail address; what is not named stays as it is.",
            discussion: """
                Devices, sessions and what services know the person by stay. An app in which the person signs in by user \
                name needs the new one:

                  countersign admin account change alice --username alice.miller --display-name "Alice Miller"
                  countersign admin account change alice --email alice@example.org --email-verified
                  countersign admin account change alice --no-email
                """
        )

        @Argument(help: "The person's name.")
        var username: String

        @Option(
            name: .customLong("username"),
            help: "The name to sign in with from now on: 1 to \(Limits().usernameCharacters) characters.")
        var newUsername: String?

        @Option(name: .long, help: "The name to show.")
        var displayName: String?

        @Flag(name: .long, help: "Take the name to show away.")
        var noDisplayName = false

        @Option(name: .long, help: "An e-mail address, which services see that ask for the scope email.")
        var email: String?

        @Flag(name: .long, help: "You vouch that the address is the person's; services are told so.")
        var emailVerified = false

        @Flag(name: .long, help: "Take the address away.")
        var noEmail = false

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard !self.names.members.isEmpty || self.email != nil || self.noEmail else {
                throw ValidationError(
                    "Name what to change: --username, --display-name, --no-display-name, --email or --no-email.")
            }
            guard self.email == nil || !self.noEmail else {
                throw ValidationError("Name one: --email ADDRESS or --no-email.")
            }
            guard self.displayName == nil || !self.noDisplayName else {
                throw ValidationError("Name one: --display-name NAME or --no-display-name.")
            }
            guard self.email != nil || !self.emailVerified else {
                throw ValidationError("--email-verified needs --email.")
            }
        }

        private var names: JSONObject {
            var body: JSONObject = [:]
            body["username"] = self.newUsername.map(JSON.string)
            body["displayName"] = self.noDisplayName ? .string("") : self.displayName.map(JSON.string)
            return body
        }

        func run() async throws {
            let path = "/accounts/\(self.username.pathSegment)"
            let answer = try await self.options.withConnection { connection in
                var answer = JSON.object([:])
                if let email = self.email {
                    answer = try await connection.call(
                        "PUT", path + "/email", ["email": .string(email), "emailVerified": .bool(self.emailVerified)])
                } else if self.noEmail {
                    answer = try await connection.call("DELETE", path + "/email")
                }
                // Last, as the person goes by the new name from then on.
                if !self.names.members.isEmpty { answer = try await connection.call("PATCH", path, self.names) }
                return answer
            }
            try self.options.show(answer) { try AccountCommand.text($0) }
        }
    }

    struct Lock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Keep a person from signing in.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("POST", "/accounts/\(self.username.pathSegment)/lock")
            self.options.show(answer) { _ in "Locked." }
        }
    }

    struct Unlock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let a locked person sign in again.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("POST", "/accounts/\(self.username.pathSegment)/unlock")
            self.options.show(answer) { _ in "Unlocked." }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a person with their devices and sessions.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/accounts/\(self.username.pathSegment)")
            self.options.show(answer) { _ in "Deleted." }
        }
    }
}
