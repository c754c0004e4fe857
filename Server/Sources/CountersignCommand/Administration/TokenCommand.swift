import ArgumentParser
import _Primitives

/// `countersign admin token`: the tokens of administrators who administer from another machine.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Administrators' tokens: who may administer from elsewhere.",
        subcommands: [List.self, Revoke.self, Rotate.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the tokens that are valid; never their secrets.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/tokens")
            try self.options.show(answer) { object in
                let tokens = try object.array("tokens") ?? []
                guard !tokens.isEmpty else { return "no tokens" }
                return Terminal.table(
                    try tokens.compactMap { token in
                        guard case .object(let token) = token else { return nil }
                        return [
                            try token.requiredString("id"), "made \(try token.requiredString("createdAt"))",
                            "valid until \(try token.requiredString("expiresAt"))",
                        ]
                    })
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "End a token at once.",
            discussion: "After the last one the server's next start gives a one-time administrator link again."
        )

        @Argument(help: "The token's id, as `list` shows it.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/tokens/\(self.id.pathSegment)")
            self.options.show(answer) { _ in "Revoked." }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Put a new token in place of one, which ends at once; the new one is shown this once.")

        @Argument(help: "The token's id, as `list` shows it.")
        var id: String

        @Option(name: .long, help: "A new file of mode 0600 for the token, which is not printed then.")
        var tokenFile: String?

        @Option(
            name: .long,
            help: "How long the new one is valid, as 90d or 12h: a year at most (default: as long as the one before).")
        var lifetime: TimeSpan?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            // The file comes first: without a file to keep it, a new token would lock its owner out.
            let file = try self.tokenFile.map { try SecretFile(path: $0) }
            let body = self.lifetime.map { JSONObject([("lifetimeSeconds", .integer($0.seconds))]) }
            let answer = try await self.options.call("POST", "/tokens/\(self.id.pathSegment)/rotate", body)
            guard case .object(var object) = answer else { return }
            try file?.take("token", from: &object)
            try self.options.show(.object(object)) {
                if let path = self.tokenFile { return "token  in \(path)" }
                return "export COUNTERSIGN_ADMIN_TOKEN=\(try $0.requiredString("token"))"
            }
        }
    }
}

/// `countersign admin key`: the keys that sign tokens, and the keys that seal stored values.
struct SigningKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "The keys that tokens are signed with, and those that stored values are sealed under.",
        subcommands: [List.self, Rotate.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Which key signs when, and which key-encryption keys the database needs.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            try self.options.show(try await self.options.call("GET", "/keys")) { answer in
                let signing = try (answer.array("signing") ?? []).compactMap { key -> String? in
                    guard case .object(let key) = key else { return nil }
                    let end = try key.string("signsUntil").map { " until \($0)" } ?? ""
                    return "signing  \(try key.requiredString("kid"))  \(try key.requiredString("algorithm"))  "
                        + "from \(try key.requiredString("signsFrom"))\(end)"
                }
                let sealing = try (answer.array("sealing") ?? []).compactMap { key -> String? in
                    guard case .object(let key) = key else { return nil }
                    let isNewest = try key.bool("isNewest") == true
                    return "sealing  \(try key.requiredString("id"))  \(isNewest ? "newest" : "still needed")"
                }
                return (signing + sealing).joined(separator: "\n")
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Publish a new signing key, which signs ten minutes later.",
            discussion: """
                Services may keep the published key set for a while: until then the old key signs. It stays in the set until \
                everything that it signed has expired, so nobody is signed out.

                With --seen the new keys sign at once, and every former key is erased and verifies nothing: what it has \
                signed is refused. Receipts of former keys then need the audit trail.
                """
        )

        @Flag(name: .long, help: "Erase the old keys at once: others may have seen them.")
        var seen = false

        @Option(name: .long, help: "With --seen: since when, RFC 3339. Without it, since now.")
        var seenSince: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            var body: JSONObject? = self.seen || self.seenSince != nil ? ["seen": .bool(self.seen)] : nil
            body?["seenSince"] = self.seenSince.map(JSON.string)
            let answer = try await self.options.call("POST", "/keys/rotate", body)
            self.options.show(answer) { _ in "Rotated." }
        }
    }
}
