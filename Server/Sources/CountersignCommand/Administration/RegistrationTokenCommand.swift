import ArgumentParser
import _Primitives

/// `countersign admin registration-token`: the tokens with which clients register themselves.
struct RegistrationTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registration-token",
        abstract: "Tokens by which clients register themselves (`serve --client-registration`).",
        subcommands: [Add.self, List.self, Revoke.self]
    )

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Make a token, which is shown this once.",
            discussion: "Whoever has it registers a client at /oauth2/register (RFC 7591), as a third party.")

        @Option(name: .long, help: "How long it is worth something, as 7d or 12h: 90d at most (default: 1d).")
        var lifetime: TimeSpan?

        @Option(name: .long, help: "For how many clients it is (default: 1).")
        var clients: Int?

        @Option(name: .long, help: "A new file of mode 0600 for the token, which is not printed then.")
        var tokenFile: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let file = try self.tokenFile.map { try SecretFile(path: $0) }
            var body: JSONObject = [:]
            body["lifetimeSeconds"] = self.lifetime.map { .integer($0.seconds) }
            body["clients"] = self.clients.map { .integer(Int64($0)) }
            let answer = try await self.options.call("POST", "/registration-tokens", body)
            guard case .object(var object) = answer else { return }
            try file?.take("token", from: &object)
            try self.options.show(.object(object)) {
                let id = try $0.requiredString("id")
                if let path = self.tokenFile { return "id     \(id)\ntoken  in \(path)" }
                return "id     \(id)\ntoken  \(try $0.requiredString("token"))   (shown this once)"
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the tokens that are worth something; never their secrets.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/registration-tokens")
            try self.options.show(answer) { object in
                let tokens = try object.array("tokens") ?? []
                guard !tokens.isEmpty else { return "no tokens" }
                return Terminal.table(
                    try tokens.compactMap { token in
                        guard case .object(let token) = token else { return nil }
                        return [
                            try token.requiredString("id"), "until \(try token.requiredString("expiresAt"))",
                            "for \(try token.integer("left", as: Int64.self) ?? 0) more",
                        ]
                    })
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "End a token; the clients that were registered by it stay.")

        @Argument(help: "The token's id, as `list` shows it.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/registration-tokens/\(self.id.pathSegment)")
            self.options.show(answer) { _ in "Revoked." }
        }
    }
}
