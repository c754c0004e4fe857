import ArgumentParser
import Foundation
import _Primitives

/// `countersign admin client`: the services that people sign in to.
struct ClientCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client",
        abstract: "The services that people sign in to (OpenID relying parties).",
        subcommands: [Add.self, List.self, Show.self, Change.self, Delete.self]
    )

    /// What a service's OpenID library asks for.
    struct Settings: ParsableArguments {
        @Option(name: .customLong("id-token-signed-response-alg"), help: "RS256, ES256, PS256 or EdDSA.")
        var idTokenSignedResponseAlg: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "required: every sign-in has a code_challenge; or nonce: one without it is taken too, where it has a nonce.",
                valueName: "required|nonce"))
        var pkce: String?

        var isGiven: Bool { self.idTokenSignedResponseAlg != nil || self.pkce != nil }

        func write(to body: inout JSONObject) {
            body["idTokenSignedResponseAlg"] = self.idTokenSignedResponseAlg.map(JSON.string)
            body["pkce"] = self.pkce.map(JSON.string)
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a service; its secret is shown this once.",
            discussion: """
                With --secret-file the secret goes into a file of mode 0600 and is not printed:

                  countersign admin client add "Demo Bank" --redirect-uri http://127.0.0.1:8081/callback \\
                    --secret-file bank.secret

                ID tokens are signed with RS256, which every OpenID library takes; --id-token-signed-response-alg names \
                another algorithm where the service wants one. A service whose library sends no code_challenge is \
                registered with --pkce nonce.
                """
        )

        @Argument(help: "The name that people see on their phones.")
        var name: String

        @Option(name: .long, help: "An address that a sign-in may return to; compared letter by letter. Repeatable.")
        var redirectURI: [String]

        @Option(name: .long, help: "An address that a sign-out may return to. Repeatable.")
        var postLogoutRedirectURI: [String] = []

        @Option(
            name: .long,
            help: "The page where people find the service: where a sign-in that has run out leads them back to.")
        var clientURI: String?

        @Flag(name: .long, help: "Let it have the keys of people whom it knows deleted, for every service.")
        var mayDeregister = false

        @OptionGroup var settings: Settings

        @Option(name: .long, help: "A new file for the secret.")
        var secretFile: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            var body: JSONObject = [
                "name": .string(self.name), "redirectUris": .array(self.redirectURI.map(JSON.string)),
                "postLogoutRedirectUris": .array(self.postLogoutRedirectURI.map(JSON.string)),
                "mayDeregister": .bool(self.mayDeregister),
            ]
            body["clientUri"] = self.clientURI.map(JSON.string)
            self.settings.write(to: &body)
            let file = try self.secretFile.map { try SecretFile(path: $0) }
            let answer = try await self.options.call("POST", "/clients", body)
            guard case .object(var object) = answer else { return }
            try file?.takeClientSecret(from: &object)
            try self.options.show(.object(object)) {
                var lines = ["client id      \(try $0.requiredString("clientId"))"]
                if let secret = try $0.string("clientSecret") {
                    lines.append("client secret  \(secret)   (shown this once)")
                }
                if let file = self.secretFile { lines.append("client secret  in \(file)") }
                return lines.joined(separator: "\n")
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the services.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/clients")
            try self.options.show(answer) { try Self.text($0.array("clients") ?? []) }
        }

        static func text(_ clients: [JSON]) throws -> String {
            guard !clients.isEmpty else { return "no clients" }
            return Terminal.table(
                try clients.compactMap { client in
                    guard case .object(let client) = client else { return nil }
                    return [
                        try client.requiredString("clientId"), try client.requiredString("name"),
                        (try client.strings("redirectUris") ?? []).joined(separator: " "),
                        try client.requiredString("idTokenSignedResponseAlg"),
                        "pkce \(try client.requiredString("pkce"))",
                        try client.bool("mayDeregister") == true ? "may deregister" : "",
                    ]
                })
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a service.")

        @Argument(help: "The client id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/clients/\(self.id.pathSegment)")
            try self.options.show(answer) { try ClientCommand.text($0) }
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a service; what is not named stays as it is.",
            discussion: """
                Addresses take the place of all that there were. A new secret takes the place of the present one, which is \
                taken for another day (--overlap), so that the service can be told in its own time:

                  countersign admin client change CLIENT-ID --redirect-uri https://bank.example/callback
                  countersign admin client change CLIENT-ID --rotate-secret --overlap 2d --secret-file bank.secret

                A service whose OpenID library sends no code_challenge, but a nonce that it checks:

                  countersign admin client change CLIENT-ID --pkce nonce

                A service that may deregister can have all keys of the people whom it knows deleted. They can sign in \
                nowhere then, until they are enrolled again:

                  countersign admin client change CLIENT-ID --may-deregister
                """
        )

        @Argument(help: "The client id.")
        var id: String

        @Option(name: .long, help: "The name that people see on their phones.")
        var name: String?

        @Option(
            name: [.customLong("redirect-uri"), .customLong("redirect")],
            help: "An address that a sign-in may return to; compared letter by letter. Repeatable.")
        var redirectURI: [String] = []

        @Option(name: .long, help: "An address that a sign-out may return to. Repeatable.")
        var postLogoutRedirectURI: [String] = []

        @Flag(name: .long, help: "Let sign-outs return to no address of the service.")
        var noPostLogoutRedirectURI = false

        @Option(
            name: .long,
            help: "The page where people find the service: where a sign-in that has run out leads them back to.")
        var clientURI: String?

        @Flag(name: .long, help: "Know of no page where people find the service.")
        var noClientURI = false

        @Flag(name: .long, help: "Make a new secret, which is shown this once.")
        var rotateSecret = false

        @Option(
            name: .long,
            help:
                "With --rotate-secret: how long the present one is taken too, as 2d or 12h, 30d at most; 0s for not at all (default: 1d)."
        )
        var overlap: TimeSpan?

        @Option(
            name: .long,
            help: "With --rotate-secret: a new file of mode 0600 for the secret, which is not printed then.")
        var secretFile: String?

        @Flag(
            name: .long, inversion: .prefixedNo,
            help: "Whether it may have the keys of people whom it knows deleted, for every service.")
        var mayDeregister: Bool?

        @OptionGroup var settings: Settings

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard !self.change.members.isEmpty || self.rotateSecret else {
                throw ValidationError(
                    """
                    Name what to change: --name, --redirect-uri, --post-logout-redirect-uri, --client-uri, --rotate-secret, \
                    --id-token-signed-response-alg, --pkce or --[no-]may-deregister.
                    """)
            }
            guard self.rotateSecret || self.overlap == nil && self.secretFile == nil else {
                throw ValidationError("--overlap and --secret-file go with --rotate-secret.")
            }
            guard !self.noPostLogoutRedirectURI || self.postLogoutRedirectURI.isEmpty else {
                throw ValidationError("Name addresses, or --no-post-logout-redirect-uri.")
            }
            guard !self.noClientURI || self.clientURI == nil else {
                throw ValidationError("Name a page, or --no-client-uri.")
            }
        }

        private var change: JSONObject {
            var body: JSONObject = [:]
            body["name"] = self.name.map(JSON.string)
            if !self.redirectURI.isEmpty { body["redirectUris"] = .array(self.redirectURI.map(JSON.string)) }
            if self.noPostLogoutRedirectURI || !self.postLogoutRedirectURI.isEmpty {
                body["postLogoutRedirectUris"] = .array(self.postLogoutRedirectURI.map(JSON.string))
            }
            body["clientUri"] = self.noClientURI ? .string("") : self.clientURI.map(JSON.string)
            body["mayDeregister"] = self.mayDeregister.map(JSON.bool)
            self.settings.write(to: &body)
            return body
        }

        func run() async throws {
            // The file first: a secret that can be kept nowhere would be lost.
            let file = try self.secretFile.map { try SecretFile(path: $0) }
            let path = "/clients/\(self.id.pathSegment)"
            let answer = try await self.options.withConnection { connection in
                var answer = JSON.object([:])
                if !self.change.members.isEmpty { answer = try await connection.call("PATCH", path, self.change) }
                if self.rotateSecret {
                    let body = self.overlap.map { JSONObject([("overlapSeconds", .integer($0.seconds))]) }
                    answer = try await connection.call("POST", path + "/secret", body)
                }
                return answer
            }
            guard case .object(var object) = answer else { return }
            try file?.takeClientSecret(from: &object)
            try self.options.show(.object(object)) {
                var lines = [try ClientCommand.text($0)]
                if let secret = try $0.string("clientSecret") {
                    lines.append("client secret   \(secret)   (shown this once)")
                }
                if let file = self.secretFile { lines.append("client secret   in \(file)") }
                return lines.joined(separator: "\n")
            }
        }
    }

    private static func text(_ client: JSONObject) throws -> String {
        [
            "client id       \(try client.requiredString("clientId"))",
            "name            \(try client.requiredString("name"))",
            "redirect to     \((try client.strings("redirectUris") ?? []).joined(separator: " "))",
            "sign out to     \((try client.strings("postLogoutRedirectUris") ?? []).joined(separator: " "))",
            "home            \(try client.string("clientUri") ?? "")",
            "ID tokens       \(try client.requiredString("idTokenSignedResponseAlg"))",
            "PKCE            \(try client.requiredString("pkce"))",
            "may deregister  \(try client.bool("mayDeregister") == true ? "yes" : "no")",
            try client.string("formerSecretEndsAt").map { "former secret   taken until \($0)" },
        ].compactMap(\.self).joined(separator: "\n")
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a service; its tokens end at once.")

        @Argument(help: "The client id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/clients/\(self.id.pathSegment)")
            self.options.show(answer) { _ in "Deleted." }
        }
    }
}

extension SecretFile {
    /// Writes a new client secret here, and leaves in the answer only where it is.
    fileprivate func takeClientSecret(from answer: inout JSONObject) throws {
        try self.write(try answer.requiredString("clientSecret"))
        answer["clientSecret"] = nil
        answer["clientSecretFile"] = .string(self.path)
    }
}
