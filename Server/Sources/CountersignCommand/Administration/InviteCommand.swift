import ArgumentParser
import _Primitives

/// `countersign admin invite`: invitations to organisations and services.
struct InviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Invitations to organisations and to services of personalised identities.",
        discussion: """
            Whoever has an account with the invited address accepts it there. For anybody else an account is made, which is \
            theirs with its first activation, or goes into the one that they have already.

              countersign admin invite create new@post.example --service CLIENT --role customer
            """,
        subcommands: [Create.self, List.self, Show.self, Prolong.self, Revoke.self]
    )

    fileprivate static func path(_ id: String) -> String { "/invites/\(id.pathSegment)" }

    fileprivate static func text(_ invite: JSONObject) throws -> String {
        let rows = [
            ["id", try invite.requiredString("id")], ["for", try invite.requiredString("email")],
            ["state", try invite.requiredString("state")], ["organisation", try invite.string("organisation") ?? ""],
            ["service", try invite.string("service") ?? ""], ["role", try invite.string("role") ?? ""],
            ["until", try invite.requiredString("expiresAt")],
            ["account made for it", try invite.string("provisionalAccount") ?? ""],
            ["accepted by", try invite.string("acceptedBy") ?? ""],
        ]
        return Terminal.table(rows.filter { !$0[1].isEmpty })
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Invite somebody.",
            discussion: "Name an organisation, or a service and a role there, or both.")

        @Argument(help: "The e-mail address of who is invited.")
        var email: String

        @Option(name: .long, help: "The organisation, by its id.")
        var organisation: String?

        @Option(name: .long, help: "The service, by its client's id.")
        var service: String?

        @Option(name: .long, help: "The role there, by its id.")
        var role: String?

        @Option(name: .long, help: "How long it can be accepted, as 7d or 12h.")
        var lifetime: TimeSpan?

        @Flag(name: .long, help: "Send no mail: the link is handed over otherwise.")
        var noMail = false

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard (self.service == nil) == (self.role == nil) else {
                throw ValidationError("--service and --role go together.")
            }
            guard self.organisation != nil || self.service != nil else {
                throw ValidationError("Name what the invitation is for: --organisation, or --service and --role.")
            }
        }

        func run() async throws {
            var body: JSONObject = ["email": .string(self.email)]
            body["organisation"] = self.organisation.map(JSON.string)
            body["service"] = self.service.map(JSON.string)
            body["role"] = self.role.map(JSON.string)
            body["lifetimeSeconds"] = self.lifetime.map { .integer($0.seconds) }
            if self.noMail { body["mail"] = .bool(false) }
            let answer = try await self.options.call("POST", "/invites", body)
            try self.options.show(answer) { invite in
                let way =
                    try invite.bool("mailed") == true
                    ? "A letter with this link is on its way:" : "No letter is sent. Hand this link to the person:"
                return "\(try InviteCommand.text(invite))\n\(way)\n\(try invite.requiredString("link"))"
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List invitations, the newest first.")

        @Option(name: .long, help: "Those of one address.")
        var email: String?

        @Option(name: .long, help: "Go on before the invitation of that id.")
        var before: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let query = [("email", self.email), ("before", self.before)].compactMap { name, value in
                value.map { "\(name)=\($0.pathSegment)" }
            }.joined(separator: "&")
            let answer = try await self.options.call("GET", "/invites" + (query.isEmpty ? "" : "?\(query)"))
            try self.options.show(answer) { object in
                let invites = try object.objects("invites")
                guard !invites.isEmpty else { return "no invitations" }
                return Terminal.table(
                    try invites.map { invite in
                        let place = [
                            try invite.string("organisation"), try invite.string("service"), try invite.string("role"),
                        ].compactMap(\.self).joined(separator: " ")
                        return [
                            try invite.requiredString("id"), try invite.requiredString("email"),
                            try invite.requiredString("state"), place,
                        ]
                    })
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show what became of an invitation.")

        @Argument(help: "The invitation's id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", InviteCommand.path(self.id))
            try self.options.show(answer) { try InviteCommand.text($0) }
        }
    }

    struct Prolong: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "prolong",
            abstract: "Have an open invitation be accepted for longer.",
            discussion: """
                Its link goes on as it is. Whom it is for, and to what, stays: for anything else make another one, and take \
                this one back.
                """)

        @Argument(help: "The invitation's id.")
        var id: String

        @Option(name: .long, help: "How long it can be accepted from now on, as 7d or 12h.")
        var lifetime: TimeSpan

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "PATCH", InviteCommand.path(self.id), ["lifetimeSeconds": .integer(self.lifetime.seconds)])
            try self.options.show(answer) { try InviteCommand.text($0) }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "Take an open invitation back, with the account that was made for it.")

        @Argument(help: "The invitation's id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", InviteCommand.path(self.id))
            self.options.show(answer) { _ in "Taken back." }
        }
    }
}
