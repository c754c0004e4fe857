import ArgumentParser
import _Primitives

/// Commands for the running sessions of a person's personalised apps.
extension IdentityCommand {
    /// The session, and the person who has the session.
    struct SessionPlace: ParsableArguments {
        @Argument(help: "The person's name, or id: and the account's identifier.")
        var username: String

        @Argument(help: "The session's id, as `identity sessions` shows it.")
        var id: String

        var path: String { "/accounts/\(self.username.pathSegment)/identity-sessions/\(self.id.pathSegment)" }
    }

    /// Returns the progress of a session as text.
    static func sessionText(_ session: JSONObject) throws -> String {
        let rows = [
            ["id", try session.requiredString("id")], ["for", try session.requiredString("purpose")],
            ["state", try session.requiredString("state")], ["activation", try session.requiredString("activation")],
            ["service", try session.string("service") ?? ""], ["role", try session.string("role") ?? ""],
            ["since", try session.requiredString("createdAt")],
            ["waits until", try session.requiredString("nextRequestUntil")],
            ["at most until", try session.requiredString("lastRequestBefore")],
        ]
        return Terminal.table(rows.filter { !$0[1].isEmpty })
    }

    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sessions",
            abstract: "List the sessions of a person's personalised apps that go on, the newest first.",
            discussion: "What sessions have come to is what `identity history` lists.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "GET", "/accounts/\(self.username.pathSegment)/open-identity-sessions")
            try self.options.show(answer) { object in
                let sessions = try object.objects("sessions")
                guard !sessions.isEmpty else { return "no sessions" }
                return Terminal.table(
                    try sessions.map { session in
                        [
                            try session.requiredString("id"), try session.requiredString("purpose"),
                            try session.requiredString("state"), try session.string("service") ?? "",
                            "until \(try session.requiredString("nextRequestUntil"))",
                        ]
                    })
            }
        }
    }

    struct Session: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "session",
            abstract: "Show how far a session of a personalised app is.",
            discussion: "Nothing is shown of its code, of factors, and of what the person has confirmed or typed.")

        @OptionGroup var place: SessionPlace
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", self.place.path)
            try self.options.show(answer) { try IdentityCommand.sessionText($0) }
        }
    }

    struct Abort: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "abort",
            abstract: "Give a session up in the place of its app.",
            discussion: """
                What the person has typed in it is forgotten, its page shows that it is over, and the person's history and the \
                audit trail have it. Of one that has come to another end you are told which. While the PIN service is asked \
                about the person's PIN none is given up: they would be left with a failed attempt.
                """)

        @OptionGroup var place: SessionPlace
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", self.place.path)
            self.options.show(answer) { _ in "Given up." }
        }
    }
}
