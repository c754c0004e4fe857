import ArgumentParser
import Foundation
import _Primitives

/// `countersign admin identity`: people's personalised apps, the names of people at services, and the server's key for
/// the makers of apps.
struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "People's personalised apps, what they were used for, and the key that apps know the server by.",
        subcommands: [
            Root.self, Keys.self, RotateKey.self, Activations.self, Show.self, Rename.self, Lift.self, Factors.self,
            Factor.self,
            RemoveFactor.self,
            End.self, Sessions.self, Session.self, Abort.self,
            History.self, Agreements.self, Agreement.self, Subjects.self, Subject.self, Whose.self,
        ]
    )

    /// The personalised app or the code, and its person.
    struct Place: ParsableArguments {
        @Argument(help: "The person's name, or id: and the account's identifier.")
        var username: String

        @Argument(help: "The activation's id, as `identity activations` shows it.")
        var id: String

        var path: String { "/accounts/\(self.username.pathSegment)/activations/\(self.id.pathSegment)" }
    }

    /// Returns the state of an activation or a code as text.
    static func text(_ shown: JSONObject) throws -> String {
        let isCode = try shown.requiredString("kind") == "code"
        var lines = [Terminal.table([[try shown.requiredString("id"), try shown.string("name") ?? ""]])]
        lines.append(
            isCode
                ? "a code, until \(try shown.requiredString("expiresAt"))"
                : "\(try (shown.strings("factors") ?? []).joined(separator: "+")), last used "
                    + (try shown.string("lastUsedAt") ?? "never"))
        let counts = try ["failuresInARow", "recentFailures", "attemptsLeft"].map {
            try shown.requiredInteger($0, as: Int64.self)
        }
        lines.append("failed attempts: \(counts[0]) in a row, \(counts[1]) lately; \(counts[2]) more may fail")
        if try shown.bool("disabled") == true { lines.append("disabled") }
        if let until = try shown.string("lockedUntil") {
            let seconds = try shown.integer("lockedSeconds", as: Int64.self) ?? 0
            lines.append("rests until \(until), \(seconds) seconds more")
        }
        return lines.joined(separator: "\n")
    }

    /// Returns a client's name for a person as text.
    fileprivate static func entry(_ entry: JSONObject) throws -> String {
        Terminal.table([
            [
                try entry.requiredString("clientId"), try entry.requiredString("subject"),
                try entry.requiredString("username"), try entry.requiredString("accountId"),
                try entry.bool("told") == true ? "" : "never told",
            ]
        ])
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show a person's personalised app, or a code that waits for one, with its failed attempts.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", self.place.path)
            try self.options.show(answer) { try IdentityCommand.text($0) }
        }
    }

    struct Rename: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rename",
            abstract: "Call a personalised app otherwise: its person sees the name at /account.")

        @OptionGroup var place: Place

        @Argument(help: "What the device is called.")
        var name: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("PATCH", self.place.path, ["name": .string(self.name)])
            try self.options.show(answer) { try IdentityCommand.text($0) }
        }
    }

    struct Subjects: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "subjects",
            abstract: "List what clients were told to call a person, by the clients' ids.",
            discussion: "The audit trail says that you have asked.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var username: String

        @Option(name: .long, help: "Go on after the client of that id.")
        var after: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let query = self.after.map { "?after=\($0.pathSegment)" } ?? ""
            let answer = try await self.options.call(
                "GET", "/accounts/\(self.username.pathSegment)/subjects\(query)")
            try self.options.show(answer) { object in
                let entries = try object.objects("subjects")
                guard !entries.isEmpty else { return "no client was told any" }
                return Terminal.table(
                    try entries.map { [try $0.requiredString("clientId"), try $0.requiredString("subject")] })
            }
        }
    }

    struct Subject: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "subject",
            abstract: "Show what a client calls a person.",
            discussion: "The audit trail says that you have asked, as with `identity whose`.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var username: String

        @Argument(help: "The client's id.")
        var client: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "GET", "/accounts/\(self.username.pathSegment)/subjects/\(self.client.pathSegment)")
            try self.options.show(answer) { try IdentityCommand.entry($0) }
        }
    }

    struct Whose: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "whose",
            abstract: "Find the person whom a client means by a name.",
            discussion: "The audit trail says that you have asked, as with `identity subject`.")

        @Argument(help: "The client's id.")
        var client: String

        @Argument(help: "What the client calls the person: the sub of its tokens.")
        var subject: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "GET", "/clients/\(self.client.pathSegment)/subjects/\(self.subject.pathSegment)")
            try self.options.show(answer) { try IdentityCommand.entry($0) }
        }
    }

    struct Activations: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "activations",
            abstract: "List a person's personalised apps, and the codes that wait for one.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/accounts/\(self.username.pathSegment)/activations")
            try self.options.show(answer) { object in
                let activations = try object.objects("activations").map { activation in
                    let state =
                        try activation.bool("disabled") == true
                        ? "disabled" : try activation.string("lockedUntil").map { "rests until \($0)" } ?? "active"
                    return [
                        try activation.requiredString("id"), try activation.requiredString("name"),
                        try (activation.strings("factors") ?? []).joined(separator: "+"), state,
                    ]
                }
                let offers = try object.objects("offers").map { offer in
                    [
                        try offer.requiredString("id"), try offer.string("name") ?? "", "code",
                        "until \(try offer.requiredString("expiresAt"))",
                    ]
                }
                let rows = activations + offers
                return rows.isEmpty ? "no personalised apps" : Terminal.table(rows)
            }
        }
    }

    struct End: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "end",
            abstract: "Take a personalised app's activation back, or a code that nobody has used.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", self.place.path)
            self.options.show(answer) { _ in "Ended." }
        }
    }

    struct History: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "history",
            abstract: "List what a person's identity was used for, the newest first.")

        @Argument(help: "The person's name.")
        var username: String

        @Option(name: .long, help: "Go on before the session of that number, as the page before says.")
        var before: Int64?

        @Option(name: .long, help: "How many, where fewer are wanted than a page has.")
        var limit: Int64?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let query = [("before", self.before), ("limit", self.limit)].compactMap { name, value in
                value.map { "\(name)=\($0)" }
            }.joined(separator: "&")
            let path = "/accounts/\(self.username.pathSegment)/identity-sessions"
            let answer = try await self.options.call("GET", path + (query.isEmpty ? "" : "?\(query)"))
            try self.options.show(answer) { object in
                let sessions = try object.objects("sessions")
                guard !sessions.isEmpty else { return self.before == nil ? "nothing yet" : "nothing older" }
                let older = try object.integer("older", as: Int64.self).map { "\nOlder ones: --before \($0)" } ?? ""
                let table = Terminal.table(
                    try sessions.map { session in
                        [
                            try session.requiredString("at"), try session.requiredString("purpose"),
                            try session.string("service") ?? "", try session.string("role") ?? "",
                            try session.requiredString("outcome"),
                        ]
                    })
                return table + older
            }
        }
    }

    struct Agreements: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "agreements",
            abstract: "List what a person has agreed to with a personalised identity, the newest first.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/accounts/\(self.username.pathSegment)/agreements")
            try self.options.show(answer, Self.text)
        }

        /// Returns the list of a person's agreements as text.
        static func text(_ answer: JSONObject) throws -> String {
            let agreements = try answer.objects("agreements")
            guard !agreements.isEmpty else { return "nothing yet" }
            return Terminal.table(
                try agreements.map { agreement in
                    [
                        try agreement.requiredString("at"), try agreement.requiredString("session"),
                        try agreement.requiredString("purpose"), try agreement.string("service") ?? "",
                        try agreement.requiredString("role"),
                        try (agreement.strings("attributes") ?? []).joined(separator: ", "),
                        try (agreement.strings("factors") ?? []).joined(separator: "+"),
                    ]
                })
        }
    }

    struct Agreement: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "agreement",
            abstract: "Print the evidence of what a person has agreed to in a session: a JSON object.",
            discussion: """
                The document is what the person was shown, and each signature is verified by the key beside it. Of a PIN \
                there is no signature: with one, whoever has the phone could try PINs. That it was right is what the \
                server says in its statement, which it signs now, by the keys of its key set.
                """)

        @Argument(help: "The person's name.")
        var username: String

        @Argument(help: "The session, as `identity agreements` shows it.")
        var session: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let path = "/accounts/\(self.username.pathSegment)/agreements/\(self.session.pathSegment)"
            // The command prints JSON only: evidence is kept and compared unchanged.
            Terminal.standardOutput(json: try await self.options.call("GET", path))
        }
    }

    struct Root: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "root",
            abstract: "Print the root's public key, a JSON web key.",
            discussion: """
                An app that has this key in its configuration takes from the server what the key has signed, and nothing else. \
                The key is public, but only the right one is of use: hand it over in a way that nobody can change it on, or \
                have its thumbprint compared.

                  countersign admin identity root --file root.jwk
                """)

        @Option(name: .long, help: "The file that the key goes to; without it, standard output.")
        var file: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/identity/root")
            guard case .object(let object) = answer, let key = try object.object("key") else {
                throw CommandFailure(.failed, "the server's answer holds no key")
            }
            let text = JSON.object(key).text + "\n"
            if let file {
                do {
                    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
                } catch {
                    throw CommandFailure(.failed, "\(file) cannot be written")
                }
                return try self.options.show(answer) {
                    "The root key of \(try $0.requiredString("server")), \(try $0.requiredString("thumbprint")): \(file)"
                }
            }
            // The output is the key alone, in the form of an app's configuration.
            self.options.json ? Terminal.standardOutput(json: answer) : Terminal.standardOutput(JSON.object(key).text)
        }
    }
}
