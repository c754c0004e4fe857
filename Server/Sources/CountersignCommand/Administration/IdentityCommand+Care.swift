import ArgumentParser
import _Primitives

/// Commands for a person whose app rests after wrong attempts, or whose finger is lost.
extension IdentityCommand {
    struct Lift: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "lift-lockout",
            abstract: "End the rest that wrong attempts have cost a personalised app.",
            discussion: """
                Make sure first that it is the person who asks. The attempts stay counted, in a row until one is right and within \
                `lockoutWindow`: too many of them disable the app for good, and nothing lifts that but another code (`activation create --identity`). A sign-in \
                of the app that counts the seconds down goes on when they are over; every other one begins at once.
                """)

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", self.place.path + "/lockout")
            try self.options.show(answer) { try IdentityCommand.text($0) }
        }
    }

    /// The factor, the app of the factor, and the person who has the app.
    struct FactorPlace: ParsableArguments {
        @OptionGroup var activation: Place

        @Argument(help: "The factor's id, as `identity factors` shows it.")
        var factor: String

        var path: String { "\(self.activation.path)/factors/\(self.factor.pathSegment)" }
    }

    fileprivate static func row(_ factor: JSONObject) throws -> [String] {
        [
            try factor.requiredString("id"), try factor.requiredString("type"), try factor.requiredString("model"),
            try factor.requiredString("state"), "since \(try factor.requiredString("createdAt"))",
            "last used \(try factor.string("lastUsedAt") ?? "never")",
        ]
    }

    struct Factors: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "factors", abstract: "List what a personalised app signs with.")

        @OptionGroup var place: Place
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", self.place.path + "/factors")
            try self.options.show(answer) { object in
                let factors = try object.objects("factors")
                return factors.isEmpty ? "no factors" : Terminal.table(try factors.map(IdentityCommand.row))
            }
        }
    }

    struct Factor: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "factor", abstract: "Show one of the factors of a personalised app.")

        @OptionGroup var place: FactorPlace
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", self.place.path)
            try self.options.show(answer) { Terminal.table([try IdentityCommand.row($0)]) }
        }
    }

    struct RemoveFactor: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove-factor", abstract: "Take a finger or a face from a personalised app.",
            discussion: """
                The app goes on with its PIN, and its person can add a finger anew. The device and the PIN stay: without one \
                of them the app could sign nothing. For a lost phone or a forgotten PIN end the activation (`identity end`), \
                and make another code (`activation create --identity`).
                """)

        @OptionGroup var place: FactorPlace
        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", self.place.path)
            self.options.show(answer) { _ in "Removed." }
        }
    }
}
