import ArgumentParser
import _Primitives

/// `countersign admin email`: the further e-mail addresses of people, beside the first address.
struct EmailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "email",
        abstract: "The e-mail addresses that people have beside the first one.",
        discussion: """
            Only a verified one is offered as an alias and told to a service as verified, and an invitation to it finds its \
            person. The first address is the account's own: `account change --email`.

              countersign admin email add alice alice@work.example --verified
            """,
        subcommands: [Add.self, List.self, Show.self, Verify.self, Remove.self]
    )

    fileprivate static func path(_ account: String) -> String { "/accounts/\(account.pathSegment)/emails" }

    fileprivate static func row(_ email: JSONObject) throws -> [String] {
        [
            try email.requiredString("id"), try email.requiredString("email"),
            try email.bool("verified") == true ? "verified" : "",
        ]
    }

    /// The address, and the person who has the address.
    struct Place: ParsableArguments {
        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        @Argument(help: "The address's id, as `email list` shows it.")
        var id: String

        var path: String { "\(EmailCommand.path(self.account))/\(self.id.pathSegment)" }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "add", abstract: "Add an address to a person.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        @Argument(help: "The address.")
        var email: String

        @Flag(name: .long, help: "You vouch that it is the person's.")
        var verified = false

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "POST", EmailCommand.path(self.account),
                ["email": .string(self.email), "verified": .bool(self.verified)])
            try self.options.show(answer) { Terminal.table([try EmailCommand.row($0)]) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the further addresses of a person.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", EmailCommand.path(self.account))
            try self.options.show(answer) { object in
                let emails = try object.objects("emails")
                guard !emails.isEmpty else { return "no further addresses" }
                return Terminal.table(try emails.map(EmailCommand.row))
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a further address of a person.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", self.place.path)
            try self.options.show(answer) { Terminal.table([try EmailCommand.row($0)]) }
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Say that an address is the person's, or that nobody knows.")

        @OptionGroup var place: Place

        @Flag(name: .long, help: "Nobody vouches for it any more.")
        var withdraw = false

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("PATCH", self.place.path, ["verified": .bool(!self.withdraw)])
            self.options.show(answer) { _ in self.withdraw ? "Not verified any more." : "Verified." }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Delete a further address of a person.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", self.place.path)
            self.options.show(answer) { _ in "Removed." }
        }
    }
}
