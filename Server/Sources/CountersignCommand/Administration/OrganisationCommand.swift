import ArgumentParser
import _Primitives

/// `countersign admin organisation`: organisations of people. A service can admit the members of an organisation alone.
struct OrganisationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "organisation",
        abstract: "Organisations, to whose members a service of personalised identities can keep itself.",
        subcommands: [
            Add.self, List.self, Show.self, Rename.self, Remove.self, Members.self, AddMember.self, RemoveMember.self,
        ]
    )

    fileprivate static func path(_ id: String) -> String { "/organisations/\(id.pathSegment)" }

    fileprivate static func row(_ organisation: JSONObject) throws -> [String] {
        [try organisation.requiredString("id"), try organisation.requiredString("name")]
    }

    /// The organisation, and the member.
    struct Place: ParsableArguments {
        @Argument(help: "The organisation's id.")
        var id: String

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var account: String

        var path: String { "\(OrganisationCommand.path(self.id))/members/\(self.account.pathSegment)" }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "add", abstract: "Add an organisation.")

        @Argument(help: "What operators call it; unique.")
        var name: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("POST", "/organisations", ["name": .string(self.name)])
            try self.options.show(answer) { Terminal.table([try OrganisationCommand.row($0)]) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List the organisations.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/organisations")
            try self.options.show(answer) { object in
                let organisations = try object.objects("organisations")
                guard !organisations.isEmpty else { return "no organisations" }
                return Terminal.table(try organisations.map(OrganisationCommand.row))
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "show", abstract: "Show an organisation.")

        @Argument(help: "The organisation's id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", OrganisationCommand.path(self.id))
            try self.options.show(answer) { Terminal.table([try OrganisationCommand.row($0)]) }
        }
    }

    struct Rename: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rename", abstract: "Call an organisation otherwise.")

        @Argument(help: "The organisation's id.")
        var id: String

        @Argument(help: "Its other name.")
        var name: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "PATCH", OrganisationCommand.path(self.id), ["name": .string(self.name)])
            try self.options.show(answer) { Terminal.table([try OrganisationCommand.row($0)]) }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Delete an organisation with its memberships.",
            discussion: "Open invitations to it are taken back. One that a service keeps itself to stays.")

        @Argument(help: "The organisation's id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", OrganisationCommand.path(self.id))
            self.options.show(answer) { _ in "Removed." }
        }
    }

    struct Members: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "members", abstract: "List the members of an organisation.")

        @Argument(help: "The organisation's id.")
        var id: String

        @Option(name: .long, help: "Go on after the account of that identifier.")
        var after: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let query = self.after.map { "?after=\($0.pathSegment)" } ?? ""
            let answer = try await self.options.call("GET", "\(OrganisationCommand.path(self.id))/members\(query)")
            try self.options.show(answer) { object in
                let members = try object.objects("members")
                guard !members.isEmpty else { return "no members" }
                return Terminal.table(
                    try members.map { [try $0.requiredString("username"), try $0.requiredString("accountId")] })
            }
        }
    }

    struct AddMember: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add-member", abstract: "Make a person a member of an organisation.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("PUT", self.place.path)
            self.options.show(answer) { _ in "Added." }
        }
    }

    struct RemoveMember: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove-member", abstract: "End a person's membership.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", self.place.path)
            self.options.show(answer) { _ in "Removed." }
        }
    }
}
