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

        @Option(
            name: .long,
            help: ArgumentHelp(
                "A way to tokens that it may go, as authorization_code; all of them. Repeatable.", valueName: "type"))
        var grantType: [String] = []

        @Option(
            name: .long,
            help: ArgumentHelp(
                "How it proves who it is: client_secret_basic, private_key_jwt, tls_client_auth, self_signed_tls_client_auth, or none for an app on people's own devices.",
                valueName: "method"))
        var authMethod: String?

        @Option(
            name: .long,
            help: ArgumentHelp("With private_key_jwt: a file with its public keys, a JWK set.", valueName: "file"))
        var jwks: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "Whose it is: first-party, or third-party, of which people are asked what it may have.",
                valueName: "first-party|third-party"))
        var party: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "The rules of all its requests: usual, or fapi2 for the FAPI 2.0 Security Profile.",
                valueName: "usual|fapi2"))
        var profile: String?

        @Flag(
            name: .long, inversion: .prefixedNo,
            help: "Whether it has to sign its authorization requests, with a key of --jwks.")
        var requireSignedRequestObject: Bool?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "A scope of its own that it may have, as accounts.read; all of them. Repeatable.", valueName: "scope"))
        var scope: [String] = []

        @Flag(name: .long, help: "Let it have no scopes of its own.")
        var noScope = false

        @Option(
            name: .long,
            help: ArgumentHelp(
                "With --auth-method none: an origin, as https://app.example, whose scripts may read what the app is answered; all of them. Repeatable.",
                valueName: "origin"))
        var origin: [String] = []

        @Option(
            name: .long,
            help: ArgumentHelp(
                "A resource that it owns, as https://api.bank.example; all of them. It sees the tokens for them. Repeatable.",
                valueName: "URI"))
        var resource: [String] = []

        @Flag(name: .long, help: "Let it own no resource.")
        var noResource = false

        @Option(
            name: .long,
            help: ArgumentHelp(
                "A resource of another service that it may ask tokens for; all of them. Repeatable.", valueName: "URI"))
        var audience: [String] = []

        @Flag(name: .long, help: "Let it ask tokens for no resource.")
        var noAudience = false

        @Option(
            name: .long,
            help: ArgumentHelp(
                "What tokens for its resources look like or, without any, its own.", valueName: "jwt|opaque"))
        var accessTokenFormat: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "A way in which people may sign in: phone, password, or provider:NAME; all of them, the first to be offered first. Repeatable.",
                valueName: "way"))
        var signInMethod: [String] = []

        @Option(
            name: .customLong("jwks-uri"),
            help: ArgumentHelp(
                "In the place of --jwks: where the service keeps its public keys itself; an empty text for nowhere.",
                valueName: "address"))
        var jwksURI: String?

        @Option(
            name: .customLong("backchannel-logout-uri"),
            help: ArgumentHelp(
                "Where it is told, without a browser, that a session has ended; an empty text for nowhere.",
                valueName: "address"))
        var backchannelLogoutURI: String?

        @Flag(
            name: .customLong("backchannel-logout-session-required"), inversion: .prefixedNo,
            help: "Whether it needs to be told the session (sid), which it always is.")
        var backchannelLogoutSessionRequired: Bool?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "A service whose tokens it may exchange for its own; all of them. Repeatable.", valueName: "client id"))
        var subjectClient: [String] = []

        @Flag(name: .long, help: "Let it exchange nobody's tokens.")
        var noSubjectClient = false

        @Option(
            name: .long,
            help: ArgumentHelp(
                "How it hears what people have answered whom it has had asked without a browser: it asks, or is told.",
                valueName: "poll|ping|push"))
        var backchannelTokenDeliveryMode: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "The service that alone may act with its tokens; an empty text for none.", valueName: "client id"))
        var mayAct: String?

        @Option(
            name: .long,
            help: "The group of apps that sign in by each other on a device; an empty text for none.")
        var ssoGroup: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "Where it is told what people have answered, for ping and push; an empty text for nowhere.",
                valueName: "address"))
        var backchannelClientNotificationEndpoint: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "What it may ask people to agree to in detail (RFC 9396), as payment; all of it. Repeatable.",
                valueName: "type"))
        var authorizationDetailsType: [String] = []

        @Flag(name: .long, help: "Let it ask people nothing in detail.")
        var noAuthorizationDetailsType = false

        @Option(
            name: .long,
            help: ArgumentHelp(
                "With --auth-method tls_client_auth: the name that its certificate has, as san_dns:client.bank.example; subject_dn, san_uri, san_ip and san_email are others. An empty text for none.",
                valueName: "kind:name"))
        var certificateName: String?

        @Flag(inversion: .prefixedNo, help: "Whether its tokens are bound to the certificate that it shows (RFC 8705).")
        var certificateBoundTokens: Bool?

        /// Whether the service shares a secret with the server, as one does that is registered with nothing else.
        var hasSecret: Bool { self.authMethod.map { $0.hasPrefix("client_secret_") } ?? true }

        func write(to body: inout JSONObject) throws {
            if !self.signInMethod.isEmpty { body["signInMethods"] = .array(self.signInMethod.map(JSON.string)) }
            if !self.grantType.isEmpty { body["grantTypes"] = .array(self.grantType.map(JSON.string)) }
            body["tokenEndpointAuthMethod"] = self.authMethod.map(JSON.string)
            body["jwks"] = try self.jwks.map(Self.keySet)
            body["idTokenSignedResponseAlg"] = self.idTokenSignedResponseAlg.map(JSON.string)
            body["pkce"] = self.pkce.map(JSON.string)
            for (name, list, isNone) in self.lists where isNone || !list.isEmpty {
                body[name] = .array(list.map(JSON.string))
            }
            body["accessTokenFormat"] = self.accessTokenFormat.map(JSON.string)
            body["profile"] = self.profile.map(JSON.string)
            body["requireSignedRequestObject"] = self.requireSignedRequestObject.map(JSON.bool)
            if !self.origin.isEmpty { body["origins"] = .array(self.origin.map(JSON.string)) }
            body["party"] = self.party.map(JSON.string)
            body["jwksUri"] = self.jwksURI.map(JSON.string)
            body["backchannelLogoutUri"] = self.backchannelLogoutURI.map(JSON.string)
            body["backchannelTokenDeliveryMode"] = self.backchannelTokenDeliveryMode.map(JSON.string)
            body["backchannelClientNotificationEndpoint"] =
                self.backchannelClientNotificationEndpoint.map(JSON.string)
            body["backchannelLogoutSessionRequired"] = self.backchannelLogoutSessionRequired.map(JSON.bool)
            body["mayAct"] = self.mayAct.map(JSON.string)
            body["ssoGroup"] = self.ssoGroup.map(JSON.string)
            body["certificateName"] = self.certificateName.map(JSON.string)
            body["certificateBoundTokens"] = self.certificateBoundTokens.map(JSON.bool)
        }

        private var lists: [(name: String, list: [String], isNone: Bool)] {
            [
                ("scopes", self.scope, self.noScope), ("resources", self.resource, self.noResource),
                ("audiences", self.audience, self.noAudience),
                ("subjectClients", self.subjectClient, self.noSubjectClient),
                ("authorizationDetailsTypes", self.authorizationDetailsType, self.noAuthorizationDetailsType),
            ]
        }

        func validate() throws {
            _ = try self.jwks.map(Self.keySet)
            for (name, list, isNone) in self.lists where isNone && !list.isEmpty {
                throw ValidationError("Name \(name), or say that there are none.")
            }
        }

        /// Throws `ValidationError` for a file that is no JSON object. What the keys must be the server says.
        private static func keySet(in path: String) throws -> JSON {
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw ValidationError("\(path) cannot be read.")
            }
            guard case .object(let set)? = try? JSON(parsing: bytes), !set.members.isEmpty else {
                throw ValidationError("\(path) holds no JWK set.")
            }
            return .object(set)
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
            try self.settings.write(to: &body)
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
                        try client.requiredString("tokenEndpointAuthMethod"),
                        (try client.strings("grantTypes") ?? []).joined(separator: " "),
                        try client.bool("mayDeregister") == true ? "may deregister" : "",
                        try client.bool("disabled") == true ? "switched off" : "",
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
                    --id-token-signed-response-alg, --pkce, --grant-type, --sign-in-method, --auth-method, --jwks, --no-jwks, --profile, \
                    --[no-]require-signed-request-object, --origin, --no-origin, --[no-]scope, --[no-]resource, --[no-]audience, --[no-]subject-client, \
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
            // The file first: a secret that can be kept nowhere would be lost.
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
            "authenticates   \(try client.requiredString("tokenEndpointAuthMethod"))",
            "grant types     \((try client.strings("grantTypes") ?? []).joined(separator: " "))",
            "scopes          \((try client.strings("scopes") ?? []).joined(separator: " "))",
            "owns            \((try client.strings("resources") ?? []).joined(separator: " "))",
            "asks for        \((try client.strings("audiences") ?? []).joined(separator: " "))",
            "access tokens   \(try client.requiredString("accessTokenFormat"))",
            "sign in by      \((try client.strings("signInMethods") ?? []).joined(separator: " "))",
            "exchanges       \((try client.strings("subjectClients") ?? []).joined(separator: " "))",
            try client.string("mayAct").map { "may act         \($0)" },
            try client.string("ssoGroup").map { "signs in with   \($0)" },
            try client.string("certificateName").map { "certificate     \($0)" },
            "bound tokens    \(try client.bool("certificateBoundTokens") == true ? "to its certificate" : "to a key, where it shows one")",
            try client.object("jwks").map { "keys            \(try Self.names(ofKeys: $0))" },
            "profile         \(try client.requiredString("profile"))",
            "signs requests  \(try client.bool("requireSignedRequestObject") == true ? "yes" : "no")",
            "asks for        \((try client.strings("authorizationDetailsTypes") ?? []).joined(separator: " "))",
            "scripts of      \((try client.strings("origins") ?? []).joined(separator: " "))",
            "whose           \(try client.requiredString("party"))",
            try client.string("registeredBy").map { "registered by   itself, with token \($0)" },
            try client.string("jwksUri").map { "keys at         \($0)" },
            try client.string("backchannelLogoutUri").map { "logout told to  \($0)" },
            "answers by      \(try client.requiredString("backchannelTokenDeliveryMode"))",
            try client.string("backchannelClientNotificationEndpoint").map { "answers told to \($0)" },
            "may deregister  \(try client.bool("mayDeregister") == true ? "yes" : "no")",
            try client.string("formerSecretEndsAt").map { "former secret   taken until \($0)" },
        ].compactMap(\.self).joined(separator: "\n")
    }

    /// What keys of a set are called, and what they are.
    private static func names(ofKeys set: JSONObject) throws -> String {
        try (set.array("keys") ?? []).compactMap { key in
            guard case .object(let key) = key else { return nil }
            return [try key.string("kid"), try key.string("kty"), try key.string("alg")].compactMap(\.self)
                .joined(separator: " ")
        }.joined(separator: ", ")
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
