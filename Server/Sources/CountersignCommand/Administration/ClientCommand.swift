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

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Register a service; its secret is shown this once.",
            discussion: """
                With --secret-file the secret goes into a file of mode 0600 and is not printed:

                  countersign admin client add "Demo Bank" --redirect-uri http://127.0.0.1:8081/callback \\
                    --secret-file bank.secret

                ID tokens are signed with RS256, which every OpenID library takes; --id-token-signed-response-alg names \
                another algorithm where the service wants one. Your own service sends a code_challenge with each sign-in or, \
                where it authenticates, a nonce that it checks; one that can send neither is registered with --pkce none.

                An app on people's own devices can keep no secret, and is registered without one; its addresses may be \
                of a scheme of its own, and the port of a loopback address is the app's to choose:

                  countersign admin client add "Demo App" --auth-method none --redirect-uri com.example.app:/signed-in

                A service that signs with a key of its own in the place of a secret:

                  countersign admin client add "Demo Bank" --redirect-uri https://bank.example/callback \
                    --auth-method private_key_jwt --jwks bank.jwks.json

                A service that takes access tokens, and one without people that asks for them:

                  countersign admin client add "Accounts" --resource https://api.bank.example
                  countersign admin client add "Nightly report" --grant-type client_credentials \\
                    --scope accounts.read --audience https://api.bank.example
                """
        )

        @Argument(help: "The name that people see on their phones.")
        var name: String

        @Option(name: .long, help: "An address that a sign-in may return to; compared letter by letter. Repeatable.")
        var redirectURI: [String] = []

        @Option(name: .long, help: "An address that a sign-out may return to. Repeatable.")
        var postLogoutRedirectURI: [String] = []

        @Option(
            name: .long,
            help: "The page where people find the service: where a sign-in that has run out leads them back to.")
        var clientURI: String?

        @Flag(name: .long, help: "Let it have the keys of people whom it knows deleted, for every service.")
        var mayDeregister = false

        @Option(
            name: .long,
            help:
                "With --sign-in-service: what it calls itself, as vamobile. Every other service is given an identifier."
        )
        var clientID: String?

        @OptionGroup var settings: Settings

        @Option(name: .long, help: "A new file for the secret.")
        var secretFile: String?

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard self.secretFile == nil || self.settings.hasSecret else {
                throw ValidationError("--secret-file is for a service that has a secret.")
            }
        }

        func run() async throws {
            var body: JSONObject = [
                "name": .string(self.name), "redirectUris": .array(self.redirectURI.map(JSON.string)),
                "postLogoutRedirectUris": .array(self.postLogoutRedirectURI.map(JSON.string)),
                "mayDeregister": .bool(self.mayDeregister),
            ]
            body["clientUri"] = self.clientURI.map(JSON.string)
            body["clientId"] = self.clientID.map(JSON.string)
            try self.settings.write(to: &body)
            let file = try self.secretFile.map { try SecretFile(path: $0) }
            let answer = try await self.options.call("POST", "/clients", body)
            guard case .object(var object) = answer else { return }
            try file?.take("clientSecret", from: &object)
            try self.options.show(.object(object)) {
                var lines = ["client id      \(try $0.requiredString("clientId"))"]
                if let secret = try $0.string("clientSecret") {
                    lines.append("client secret  \(secret)   (shown this once)")
                }
                if let file = self.secretFile { lines.append("client secret  in \(file)") }
                lines += (try $0.strings("warnings") ?? []).map { "warning        \($0)" }
                return lines.joined(separator: "\n")
            }
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "change",
            abstract: "Change a service; what is not named stays as it is.",
            discussion: """
                Addresses take the place of all that there were. A new secret takes the place of the present one, which is \
                taken for another day (--overlap), so that the service can be told in its own time:

                  countersign admin client change CLIENT-ID --redirect-uri https://bank.example/callback
                  countersign admin client change CLIENT-ID --rotate-secret --overlap 2d --secret-file bank.secret

                A service that is to send a code_challenge with each sign-in, and one that can send neither a code_challenge \
                nor a nonce:

                  countersign admin client change CLIENT-ID --pkce required
                  countersign admin client change CLIENT-ID --pkce none

                A service that takes passwords beside phones; people are asked which way they want:

                  countersign admin client change CLIENT-ID --sign-in-method phone --sign-in-method password

                A service that is to sign with a key of its own, and one that is to have a secret again:

                  countersign admin client change CLIENT-ID --auth-method private_key_jwt --jwks bank.jwks.json
                  countersign admin client change CLIENT-ID --auth-method client_secret_basic --rotate-secret

                A service that is to follow the FAPI 2.0 Security Profile, and an app in the browser whose scripts come \
                from one origin:

                  countersign admin client change CLIENT-ID --profile fapi2 --auth-method private_key_jwt \\
                    --jwks bank.jwks.json --id-token-signed-response-alg ES256
                  countersign admin client change CLIENT-ID --origin https://app.example

                A service that is to get nothing any more, until it is switched on again; nothing of it is lost:

                  countersign admin client change CLIENT-ID --disabled
                  countersign admin client change CLIENT-ID --no-disabled

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

        @Flag(
            name: .long, inversion: .prefixedNo,
            help: "Whether it is switched off: what it has counts for nothing meanwhile, and it gets nothing.")
        var disabled: Bool?

        @Flag(name: .long, help: "Know of no keys of the service.")
        var noJwks = false

        @Flag(name: .long, help: "Let scripts of no page read what the service is answered.")
        var noOrigin = false

        @OptionGroup var settings: Settings

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard try !self.change().members.isEmpty || self.rotateSecret else {
                throw ValidationError(
                    """
                    Name what to change: --name, --redirect-uri, --post-logout-redirect-uri, --client-uri, --rotate-secret, \
                    --id-token-signed-response-alg, --id-token-encrypted-response-alg, --pkce, --grant-type, --sign-in-method, --auth-method, --assertion-audience, --[no-]id-token-at-refresh, --jwks, --no-jwks, --profile, \
                    --[no-]require-signed-request-object, --[no-]direct-sign-in, --origin, --no-origin, --[no-]scope, --[no-]resource, --[no-]audience, --[no-]subject-client, \
                    --may-act, --sso-group, --certificate-name, --[no-]certificate-bound-tokens, --access-token-format, --party, --jwks-uri, --backchannel-logout-uri, \
                    --[no-]backchannel-logout-session-required, --backchannel-token-delivery-mode, --backchannel-client-notification-endpoint, --[no-]authorization-details-type, --[no-]may-deregister or --[no-]disabled.
                    """)
            }
            guard !self.rotateSecret || self.settings.hasSecret else {
                throw ValidationError("--rotate-secret is for a service that has a secret.")
            }
            guard self.rotateSecret || self.overlap == nil && self.secretFile == nil else {
                throw ValidationError("--overlap and --secret-file go with --rotate-secret.")
            }
            guard !self.noPostLogoutRedirectURI || self.postLogoutRedirectURI.isEmpty else {
                throw ValidationError("Name addresses, or --no-post-logout-redirect-uri.")
            }
            guard !self.noJwks || self.settings.jwks == nil else {
                throw ValidationError("Name a file of keys, or --no-jwks.")
            }
            guard !self.noOrigin || self.settings.origin.isEmpty else {
                throw ValidationError("Name origins, or --no-origin.")
            }
            guard !self.noClientURI || self.clientURI == nil else {
                throw ValidationError("Name a page, or --no-client-uri.")
            }
        }

        private func change() throws -> JSONObject {
            var body: JSONObject = [:]
            body["name"] = self.name.map(JSON.string)
            if !self.redirectURI.isEmpty { body["redirectUris"] = .array(self.redirectURI.map(JSON.string)) }
            if self.noPostLogoutRedirectURI || !self.postLogoutRedirectURI.isEmpty {
                body["postLogoutRedirectUris"] = .array(self.postLogoutRedirectURI.map(JSON.string))
            }
            body["clientUri"] = self.noClientURI ? .string("") : self.clientURI.map(JSON.string)
            body["mayDeregister"] = self.mayDeregister.map(JSON.bool)
            body["disabled"] = self.disabled.map(JSON.bool)
            try self.settings.write(to: &body)
            if self.noJwks { body["jwks"] = .object([:]) }
            if self.noOrigin { body["origins"] = .array([]) }
            return body
        }

        func run() async throws {
            // The file comes first: without a file to keep it, a new secret would be lost.
            let file = try self.secretFile.map { try SecretFile(path: $0) }
            let path = "/clients/\(self.id.pathSegment)"
            let change = try self.change()
            let answer = try await self.options.withConnection { connection in
                var answer = JSON.object([:])
                if !change.members.isEmpty { answer = try await connection.call("PATCH", path, change) }
                if self.rotateSecret {
                    let body = self.overlap.map { JSONObject([("overlapSeconds", .integer($0.seconds))]) }
                    answer = try await connection.call("POST", path + "/secret", body)
                }
                return answer
            }
            guard case .object(var object) = answer else { return }
            try file?.take("clientSecret", from: &object)
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
}
