import ArgumentParser
import Records
import _Primitives

/// `countersign admin provider`: the other providers by which people can sign in.
struct ProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Other providers by which people can sign in (OpenID Connect, OAuth 2.0).",
        discussion: """
            Register this server there first, with the address .../sign-in/provider/NAME/callback. A service then takes \
            the provider with `client change --sign-in-method provider:NAME`.
            """,
        subcommands: [Add.self, List.self, Show.self, Change.self, Remove.self, Links.self, Unlink.self]
    )

    /// Returns the settings of a provider as text.
    static func text(_ provider: JSONObject) throws -> String {
        let levels = try (provider.array("levels") ?? []).compactMap { value -> String? in
            guard case .object(let level) = value else { return nil }
            return "\(try level.requiredString("theirs"))=\(try level.requiredString("ours"))"
        }
        func list(_ name: String) throws -> String { try (provider.strings(name) ?? []).joined(separator: " ") }
        var rows = [
            ["name", try provider.requiredString("name")], ["title", try provider.string("title") ?? ""],
            ["kind", try provider.requiredString("kind")], ["issuer", try provider.requiredString("issuer")],
            ["client id", try provider.requiredString("clientId")],
            ["authenticates by", try provider.string("tokenEndpointAuthMethod") ?? ""],
            ["register there", try provider.requiredString("redirectUri")], ["scopes", try list("scopes")],
            ["levels", levels.joined(separator: " ")], ["usual level", try provider.string("usualLevel") ?? ""],
            ["asked for", try Self.levelRequests(provider)], ["level claim", try provider.string("levelClaim") ?? ""],
            ["level hint", try provider.string("levelHint") ?? ""],
            ["newcomers", try provider.string("newcomers") ?? ""], ["e-mail domains", try list("emailDomains")],
        ]
        if let address = try provider.string("postLogoutRedirectUri") { rows.append(["signs out, back to", address]) }
        if let address = try provider.string("authorizationEndpoint") { rows.append(["authorization", address]) }
        return Terminal.table(rows.filter { !$0[1].isEmpty })
    }

    private static func levelRequests(_ provider: JSONObject) throws -> String {
        try (provider.array("levelRequests") ?? []).compactMap { value -> String? in
            guard case .object(let request) = value else { return nil }
            let raised = try request.strings("raised") ?? []
            return
                "\(try request.requiredString("asked"))=\((try request.strings("sent") ?? []).joined(separator: ","))"
                + (raised.isEmpty ? "" : " (then \(raised.joined(separator: ",")))")
        }.joined(separator: " ")
    }

    /// The settings of a provider that an operator can give.
    struct Settings: ParsableArguments {
        @Option(name: .long, help: "By what people know it.")
        var title: String?

        @Option(name: .long, help: "With --kind oauth2: where browsers are sent.")
        var authorizationEndpoint: String?

        @Option(name: .long, help: "With --kind oauth2: where codes are exchanged.")
        var tokenEndpoint: String?

        @Option(name: .long, help: "With --kind oauth2: where it says whose a token is.")
        var userinfoEndpoint: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "How this server shows it who it is: client_secret_basic, client_secret_post, private_key_jwt (by the keys of /oauth2/jwks), or none.",
                valueName: "method"))
        var authMethod: String?

        @Flag(name: .long, help: "Read the secret that the two share from standard input.")
        var secretStdin = false

        @Option(name: .long, help: "A scope that it is asked for; all of them. Repeatable.")
        var scope: [String] = []

        @Option(
            name: .long,
            help: ArgumentHelp(
                "What a word of its for a level (acr) is worth here, as urn:example:mfa=urn:countersign:acr:two-factor; all of them. Repeatable.",
                valueName: "theirs=ours"))
        var level: [String] = []

        @Option(
            name: .long,
            help: ArgumentHelp(
                "What it is sent (acr_values, with commas between) where a client of the app sign-in service asks for a word, as loa1=http://idp.example/loa/1; all of them, and then no others may be asked for. Repeatable.",
                valueName: "asked=sent"))
        var levelRequest: [String] = []

        @Option(
            name: .long,
            help: ArgumentHelp(
                "What it is sent for a word of --level-request by a second trip of whoever can be authenticated more surely there than they were. Repeatable.",
                valueName: "asked=sent"))
        var raisedLevel: [String] = []

        @Option(name: .long, help: "The claim of its ID tokens that has its word for a level, where that is not acr.")
        var levelClaim: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "By which claim of its ID tokens it is known that somebody can be authenticated more surely there, as verified_at or level_of_assurance=3; an empty text for none.",
                valueName: "name[=value]"))
        var levelHint: String?

        @Flag(
            name: .long, inversion: .prefixedNo,
            help: "Whether people who sign out of the app sign-in service are sent there to be signed out as well.")
        var signOut: Bool?

        @Option(name: .long, help: "What a sign-in by it is worth of which it says no such word.")
        var usualLevel: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "What becomes of somebody who comes for the first time: refused, or created, with an account of their own.",
                valueName: "refused|created"))
        var newcomers: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "A domain of e-mail addresses that it decides about: its word counts that such an address is the person's; all of them. Repeatable.",
                valueName: "domain"))
        var emailDomain: [String] = []

        @Option(name: .long, help: "With --kind oauth2: the member of its userinfo that tells people apart.")
        var subjectClaim: String?

        func write(to body: inout JSONObject) throws {
            for (name, value) in [
                ("title", self.title), ("authorizationEndpoint", self.authorizationEndpoint),
                ("tokenEndpoint", self.tokenEndpoint), ("userinfoEndpoint", self.userinfoEndpoint),
                ("tokenEndpointAuthMethod", self.authMethod), ("usualLevel", self.usualLevel),
                ("newcomers", self.newcomers), ("subjectClaim", self.subjectClaim),
                ("levelClaim", self.levelClaim), ("levelHint", self.levelHint),
            ] {
                if let value { body[name] = .string(value) }
            }
            body["signsOut"] = self.signOut.map(JSON.bool)
            if !self.scope.isEmpty { body["scopes"] = .array(self.scope.map(JSON.string)) }
            if !self.emailDomain.isEmpty { body["emailDomains"] = .array(self.emailDomain.map(JSON.string)) }
            if !self.level.isEmpty { body["levels"] = .array(try self.level.map(Self.level)) }
            if !self.levelRequest.isEmpty { body["levelRequests"] = try self.levelRequests }
            if self.secretStdin { body["clientSecret"] = .string(try Terminal.secretFromStandardInput()) }
        }

        func validate() throws {
            _ = try self.level.map(Self.level)
            _ = try self.levelRequests
        }

        /// The levels that clients request, each with the values that the server sends to the provider.
        private var levelRequests: JSON {
            get throws {
                let raised = try self.raisedLevel.map(Self.levelRequest)
                let requests = try self.levelRequest.map(Self.levelRequest)
                if let lone = raised.first(where: { raised in !requests.contains { $0.asked == raised.asked } }) {
                    throw ValidationError("--raised-level \(lone.asked) has no --level-request beside it.")
                }
                return .array(
                    requests.map { request in
                        let second = raised.filter { $0.asked == request.asked }.flatMap(\.sent)
                        return .object([
                            "asked": .string(request.asked), "sent": .array(request.sent.map(JSON.string)),
                            "raised": .array(second.map(JSON.string)),
                        ])
                    })
            }
        }

        /// Reads `ASKED=SENT,SENT`: the word of a client, and the words that are sent to the provider. The client's
        /// word has no equals sign. The provider's words may have equals signs.
        private static func levelRequest(_ text: String) throws -> (asked: String, sent: [String]) {
            let parts = text.splitBytes(at: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
                throw ValidationError("A level that is asked for is its word, an equals sign, and what is sent.")
            }
            return (parts[0], parts[1].splitBytes(at: ",").map(String.init))
        }

        /// Reads `THEIRS=OURS`: a word of the provider, and the level of this server. The provider's word may have an
        /// equals sign. This server's word has none.
        private static func level(_ text: String) throws -> JSON {
            let parts = text.splitBytes(at: "=")
            guard parts.count > 1, let ours = parts.last else {
                throw ValidationError("A level is its word, an equals sign, and a level of this server.")
            }
            return .object([
                "theirs": .string(parts.dropLast().joined(separator: "=")), "ours": .string(String(ours)),
            ])
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Let people sign in by another provider.",
            discussion: """
                Its secret comes on standard input, so that no command line and no list of processes has it:

                  countersign admin provider add staff --title "Staff accounts" --issuer https://id.staff.example \\
                    --client-id countersign --secret-stdin < staff.secret
                """)

        @Argument(help: "By what clients name it: small letters, digits and hyphens. It never changes.")
        var name: String

        @Option(name: .long, help: "Its identifier, https. It never changes.")
        var issuer: String

        @Option(name: .long, help: "What this server is called there.")
        var clientID: String

        @Option(name: .long, help: ArgumentHelp("What it speaks.", valueName: "openid|oauth2"))
        var kind = "openid"

        @OptionGroup var settings: Settings
        @OptionGroup var options: AdminOptions

        func run() async throws {
            var body: JSONObject = [
                "name": .string(self.name), "issuer": .string(self.issuer), "clientId": .string(self.clientID),
                "kind": .string(self.kind),
            ]
            try self.settings.write(to: &body)
            let added = try await self.options.call("POST", "/providers", body)
            try self.options.show(added) { try ProviderCommand.text($0) }
            if case .object(let object) = added, let trouble = try object.string("trouble") {
                Terminal.standardError("Nobody can sign in by it yet: \(trouble).")
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the other providers; never their secrets.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/providers")
            try self.options.show(answer) { object in
                let providers = try object.array("providers") ?? []
                guard !providers.isEmpty else { return "no providers" }
                return Terminal.table(
                    try providers.compactMap { provider in
                        guard case .object(let provider) = provider else { return nil }
                        return [
                            try provider.requiredString("name"), try provider.string("title") ?? "",
                            try provider.requiredString("issuer"),
                        ]
                    })
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "show", abstract: "Show another provider.")

        @Argument(help: "Its name.")
        var name: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/providers/\(self.name.pathSegment)")
            try self.options.show(answer) { try ProviderCommand.text($0) }
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "change",
            abstract: "Change another provider; what is not named stays as it is.")

        @Argument(help: "Its name.")
        var name: String

        @Option(name: .long, help: "What this server is called there.")
        var clientID: String?

        @OptionGroup var settings: Settings
        @OptionGroup var options: AdminOptions

        func run() async throws {
            var body: JSONObject = [:]
            body["clientId"] = self.clientID.map(JSON.string)
            try self.settings.write(to: &body)
            let answer = try await self.options.call("PATCH", "/providers/\(self.name.pathSegment)", body)
            try self.options.show(answer) { try ProviderCommand.text($0) }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Take another provider away, with all connections to it.",
            discussion: "Sessions that began by it end. Accounts stay: those without another way in need one.")

        @Argument(help: "Its name.")
        var name: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/providers/\(self.name.pathSegment)")
            self.options.show(answer) { _ in "Removed." }
        }
    }

    struct Links: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "links",
            abstract: "List the identities at other providers that a person is connected with.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/accounts/\(self.username.pathSegment)/links")
            try self.options.show(answer) { object in
                let links = try object.array("links") ?? []
                guard !links.isEmpty else { return "no connections" }
                return Terminal.table(
                    try links.compactMap { link in
                        guard case .object(let link) = link else { return nil }
                        return [
                            try link.requiredString("id"), try link.requiredString("provider"),
                            try link.requiredString("subject"), "since \(try link.requiredString("createdAt"))",
                        ]
                    })
            }
        }
    }

    struct Unlink: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unlink",
            abstract: "End such a connection, and what the person has signed in to by it.")

        @Argument(help: "The person's name, or id: and the account's identifier.")
        var username: String

        @Argument(help: "The connection's id, as `links` shows it.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let path = "/accounts/\(self.username.pathSegment)/links/\(self.id.pathSegment)"
            let answer = try await self.options.call("DELETE", path)
            self.options.show(answer) { _ in "Ended." }
        }
    }
}
