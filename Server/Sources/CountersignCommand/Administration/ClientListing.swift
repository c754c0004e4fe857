import ArgumentParser
import _Primitives

extension ClientCommand {
    /// `admin client list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List the services.")

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

    /// `admin client show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "show", abstract: "Show a service.")

        @Argument(help: "The client id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/clients/\(self.id.pathSegment)")
            try self.options.show(answer) { try ClientCommand.text($0) }
        }
    }

    /// Returns a client in words.
    static func text(_ client: JSONObject) throws -> String {
        [
            "client id       \(try client.requiredString("clientId"))",
            "name            \(try client.requiredString("name"))",
            try client.bool("disabled") == true ? "switched off    yes" : nil,
            "redirect to     \((try client.strings("redirectUris") ?? []).joined(separator: " "))",
            "sign out to     \((try client.strings("postLogoutRedirectUris") ?? []).joined(separator: " "))",
            "home            \(try client.string("clientUri") ?? "")",
            "ID tokens       \(try client.requiredString("idTokenSignedResponseAlg"))",
            try client.string("idTokenEncryptedResponseAlg").map {
                "encrypted       \($0) \(try client.requiredString("idTokenEncryptedResponseEnc"))"
            },
            "PKCE            \(try client.requiredString("pkce"))",
            "authenticates   \(try client.requiredString("tokenEndpointAuthMethod"))",
            "assertions for  \(try client.requiredString("assertionAudience"))",
            try client.bool("requirePushedAuthorizationRequests") == true ? "requests        pushed" : nil,
            try client.bool("matchNumbers") == true ? "numbers         shown" : nil,
            try client.integer("defaultMaxAge", as: Int64.self).map { "max_age         \($0) s by default" },
            try client.string("userinfoSignedResponseAlg").map { "userinfo        \($0)" },
            try client.string("sectorIdentifierUri").map { "sector          \($0)" },
            try client.bool("dpopBoundAccessTokens") == true ? "key-bound       yes" : nil,
            "grant types     \((try client.strings("grantTypes") ?? []).joined(separator: " "))",
            "scopes          \((try client.strings("scopes") ?? []).joined(separator: " "))",
            "owns            \((try client.strings("resources") ?? []).joined(separator: " "))",
            "asks for        \((try client.strings("audiences") ?? []).joined(separator: " "))",
            "access tokens   \(try client.requiredString("accessTokenFormat"))",
            try client.integer("usedRefreshTokenSeconds", as: Int.self).map { "used tokens     repeated for \($0) s" },
            "at a refresh    \(try client.bool("idTokenAtRefresh") == true ? "an ID token" : "no ID token")",
            try client.bool("channelLinking") == true ? "page and phone  show a text to compare" : nil,
            "sign in by      \((try client.strings("signInMethods") ?? []).joined(separator: " "))",
            "exchanges       \((try client.strings("subjectClients") ?? []).joined(separator: " "))",
            try client.string("mayAct").map { "may act         \($0)" },
            try client.string("ssoGroup").map { "signs in with   \($0)" },
            try client.object("signInService").map { "app sign-in     \(JSON.object($0).text)" },
            try client.strings("warnings").map { "warning         \($0.joined(separator: " "))" },
            try client.string("certificateName").map { "certificate     \($0)" },
            "bound tokens    \(try client.bool("certificateBoundTokens") == true ? "to its certificate" : "to a key, where it shows one")",
            try client.object("jwks").map { "keys            \(try Self.names(ofKeys: $0))" },
            "profile         \(try client.requiredString("profile"))",
            "signs in itself \(try client.bool("signsInDirectly") == true ? "yes" : "no")",
            "signs requests  \(try client.bool("requireSignedRequestObject") == true ? "yes" : "no")",
            "details         \((try client.strings("authorizationDetailsTypes") ?? []).joined(separator: " "))",
            "scripts of      \((try client.strings("origins") ?? []).joined(separator: " "))",
            "whose           \(try client.requiredString("party"))",
            try client.string("registeredBy").map { way in
                switch ExactText(way) {
                case "open-registration": "registered by   itself, unasked: nobody here knows whose it is"
                case "client-id-document": "registered by   nobody: it has a document at that address"
                default: "registered by   itself, with token \(way)"
                }
            },
            try client.string("jwksUri").map { "keys at         \($0)" },
            try client.string("backchannelLogoutUri").map { "logout told to  \($0)" },
            try client.string("statusUri").map { "ends told to    \($0)" },
            "answers by      \(try client.requiredString("backchannelTokenDeliveryMode"))",
            try client.string("backchannelClientNotificationEndpoint").map { "answers told to \($0)" },
            "may deregister  \(try client.bool("mayDeregister") == true ? "yes" : "no")",
            try client.string("formerSecretEndsAt").map { "former secret   taken until \($0)" },
        ].compactMap(\.self).joined(separator: "\n")
    }

    /// Returns the names, types and algorithms of a set's keys.
    private static func names(ofKeys set: JSONObject) throws -> String {
        try (set.array("keys") ?? []).compactMap { key in
            guard case .object(let key) = key else { return nil }
            return [try key.string("kid"), try key.string("kty"), try key.string("alg")].compactMap(\.self)
                .joined(separator: " ")
        }.joined(separator: ", ")
    }
}
