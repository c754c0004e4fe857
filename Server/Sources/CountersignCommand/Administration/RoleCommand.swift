import ArgumentParser
import _Primitives

/// `countersign admin role`: the roles of people at a service of personalised identities.
struct RoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "role",
        abstract: "Who has which role at a service of personalised identities.",
        discussion: """
            Of whom nothing is said, they have the default roles of the service. Whoever is given a role has it beside those \
            that they had; whoever loses the last has none, until `role reset` gives the default ones again.

              countersign admin role assign CLIENT administrator alice
            """,
        subcommands: [Assign.self, Revoke.self, Reset.self, List.self]
    )

    /// The role, the person who has the role, and the service.
    struct Place: ParsableArguments {
        @Argument(help: "The client's id.")
        var client: String

        @Argument(help: "The role, by its id in the service's profile.")
        var role: String

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        var path: String {
            RoleCommand.path(self.client, self.account) + "/roles/\(self.role.pathSegment)"
        }
    }

    fileprivate static func path(_ client: String, _ account: String) -> String {
        "\(ServiceCommand.path(client))/accounts/\(account.pathSegment)"
    }

    /// Returns the roles of a person as text.
    fileprivate static func text(_ standing: JSONObject) throws -> String {
        let roles = try standing.strings("roles") ?? []
        let words = roles.isEmpty ? "no role" : roles.joined(separator: " ")
        let isMember = try standing.bool("member") != false
        return words + (try standing.bool("known") == true ? "" : " (by default)")
            + (isMember ? "" : ", and is no member of the organisation whose members alone may come")
    }

    struct Assign: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "assign",
            abstract: "Give a person a role, beside those that they have.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("PUT", self.place.path)
            try self.options.show(answer) { try RoleCommand.text($0) }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "Take a role from a person; whoever loses the last has none.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", self.place.path)
            try self.options.show(answer) { try RoleCommand.text($0) }
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reset",
            abstract: "Forget what was said of a person at a service: from then on they have the default roles.")

        @Argument(help: "The client's id.")
        var client: String

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", RoleCommand.path(self.client, self.account))
            self.options.show(answer) { _ in "Reset." }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the people of whom it is said which roles they have, or show those of one.")

        @Argument(help: "The client's id.")
        var client: String

        @Option(name: .long, help: "One person alone, by their name, or id: and the account's identifier.")
        var account: String?

        @Option(name: .long, help: "Go on after the account of that identifier.")
        var after: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            if let account {
                let answer = try await self.options.call("GET", RoleCommand.path(self.client, account))
                return try self.options.show(answer) { try RoleCommand.text($0) }
            }
            let query = self.after.map { "?after=\($0.pathSegment)" } ?? ""
            let answer = try await self.options.call("GET", "\(ServiceCommand.path(self.client))/accounts\(query)")
            try self.options.show(answer) { object in
                let accounts = try object.objects("accounts")
                guard !accounts.isEmpty else { return "nothing is said of anybody: all have the default roles" }
                return Terminal.table(
                    try accounts.map { account in
                        let roles = try account.strings("roles") ?? []
                        return [
                            try account.requiredString("username"), try account.requiredString("accountId"),
                            roles.isEmpty ? "no role" : roles.joined(separator: " "),
                        ]
                    })
            }
        }
    }
}
