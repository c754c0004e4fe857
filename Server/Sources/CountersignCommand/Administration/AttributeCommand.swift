import Accounts
import ArgumentParser
import Foundation
import Records
import _Primitives

/// `countersign admin attribute`: people's values of the attributes that services of personalised identities request.
struct AttributeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attribute",
        abstract: "What people have of the attributes that services of personalised identities ask for.",
        discussion: """
            There may be several values of an attribute, each with an alias, which is all that a phone is shown. Values come \
            from a file or standard input, so that no command line and no list of processes has them:

              countersign admin attribute add alice email --alias Work --verified < address.txt
            """,
        subcommands: [
            Add.self, List.self, Show.self, SetPrimary.self, Rename.self, Verify.self, Remove.self, Choices.self,
            ForgetChoice.self,
        ]
    )

    fileprivate static func path(_ account: String) -> String { "/accounts/\(account.pathSegment)/attributes" }

    fileprivate static func row(_ value: JSONObject) throws -> [String] {
        let marks = [
            try value.bool("primary") == true ? "primary" : nil, try value.bool("verified") == true ? "verified" : nil,
        ].compactMap(\.self)
        return [
            try value.requiredString("id"), try value.requiredString("attribute"), try value.requiredString("alias"),
            try value.string("value") ?? "", marks.joined(separator: ", "),
        ]
    }

    fileprivate static func text(_ value: JSONObject) throws -> String { Terminal.table([try Self.row(value)]) }

    /// The value, and the person who has the value.
    struct Place: ParsableArguments {
        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        @Argument(help: "The value's id, as `attribute list` shows it.")
        var id: String

        var path: String { "\(AttributeCommand.path(self.account))/\(self.id.pathSegment)" }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Add a value of an attribute to a person, from a file or standard input.",
            discussion: """
                The attributes: \(IdentityDirectory.attributeNames). A birthdate is YYYY-MM-DD, an address JSON, \
                and a nationality two letters.
                """)

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        @Argument(help: "What it is a value of.")
        var attribute: String

        @Option(name: .long, help: "What its owner calls it. Default: the attribute's name, with a number.")
        var alias: String?

        @Option(name: .long, help: "The file of the value; without it, standard input.", completion: .file())
        var file: String?

        @Flag(name: .long, help: "You vouch for it.")
        var verified = false

        @OptionGroup var options: AdminOptions

        func run() async throws {
            var body: JSONObject = [
                "attribute": .string(self.attribute), "value": .string(try self.value()),
                "verified": .bool(self.verified),
            ]
            body["alias"] = self.alias.map(JSON.string)
            let answer = try await self.options.call("POST", AttributeCommand.path(self.account), body)
            try self.options.show(answer) { try AttributeCommand.text($0) }
        }

        private func value() throws -> String {
            guard let file else { return try Terminal.secretFromStandardInput() }
            guard let data = FileManager.default.contents(atPath: file),
                let text = String(validating: Array(data), as: UTF8.self)
            else {
                throw CommandFailure(
                    .usage, "there is no text in \(file)", remedy: "Name a file of UTF-8 text that you may read.")
            }
            // A line end that an editor adds to a file does not belong to the value.
            return String(text.splitBytes(at: "\n", maxSplits: 1)[0])
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List what a person has: aliases, and with --values the values themselves.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        @Flag(name: .long, help: "Show the values.")
        var values = false

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "GET", AttributeCommand.path(self.account) + (self.values ? "?values=true" : ""))
            try self.options.show(answer) { object in
                let values = try object.objects("attributes")
                guard !values.isEmpty else { return "no values" }
                return Terminal.table(try values.map(AttributeCommand.row))
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show what a person calls a value, and with --values the value itself.")

        @OptionGroup var place: Place

        @Flag(name: .long, help: "Show the value.")
        var values = false

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", self.place.path + (self.values ? "?values=true" : ""))
            try self.options.show(answer) { try AttributeCommand.text($0) }
        }
    }

    struct SetPrimary: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set-primary", abstract: "Have a value offered first, in the place of the one that was.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("PATCH", self.place.path, ["primary": .bool(true)])
            try self.options.show(answer) { try AttributeCommand.text($0) }
        }
    }

    struct Rename: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "rename", abstract: "Call a value otherwise.")

        @OptionGroup var place: Place

        @Argument(help: "What its owner calls it.")
        var alias: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("PATCH", self.place.path, ["alias": .string(self.alias)])
            try self.options.show(answer) { try AttributeCommand.text($0) }
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Say that a value is true, or that nobody knows.")

        @OptionGroup var place: Place

        @Flag(name: .long, help: "Nobody vouches for it any more.")
        var withdraw = false

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("PATCH", self.place.path, ["verified": .bool(!self.withdraw)])
            try self.options.show(answer) { try AttributeCommand.text($0) }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Delete a value.",
            discussion: "A service that got it gets no other: the person is asked again.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", self.place.path)
            self.options.show(answer) { _ in "Removed." }
        }
    }

    struct Choices: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "choices",
            abstract: "List which value of each attribute a person has chosen for which service: names, no values.",
            discussion:
                "None is set here: a choice is what the person has agreed to. `forget-choice` has them asked again.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        @Option(name: .long, help: "What is chosen for one service, by its client's id.")
        var client: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let path = "/accounts/\(self.account.pathSegment)/choices"
            let answer = try await self.options.call("GET", path + (self.client.map { "/\($0.pathSegment)" } ?? ""))
            try self.options.show(answer) { object in
                let choices = try object.objects("choices")
                guard !choices.isEmpty else { return "nothing is chosen" }
                return Terminal.table(
                    try choices.map { choice in
                        try ["service", "attribute", "alias", "value"].map { try choice.requiredString($0) }
                    })
            }
        }
    }

    struct ForgetChoice: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "forget-choice",
            abstract: "Forget what a person has chosen for a service: they are asked again there.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        @Argument(help: "The client's id.")
        var client: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "DELETE", "/accounts/\(self.account.pathSegment)/choices/\(self.client.pathSegment)")
            self.options.show(answer) { _ in "Forgotten." }
        }
    }
}
