import ArgumentParser
import CountersignServer
import Foundation
import WebPages
import _Primitives

extension ClientCommand {
    /// The settings that a service's OpenID library needs.
    struct Settings: ParsableArguments {
        @Option(name: .customLong("id-token-signed-response-alg"), help: "RS256, ES256, PS256 or EdDSA.")
        var idTokenSignedResponseAlg: String?

        @Option(
            name: .customLong("id-token-encrypted-response-alg"),
            help: ArgumentHelp(
                "Encrypt its ID tokens, too, to a key of its set: ECDH-ES, RSA-OAEP-256 or RSA-OAEP; or none.",
                valueName: "alg"))
        var idTokenEncryptedResponseAlg: String?

        @Option(
            name: .customLong("id-token-encrypted-response-enc"),
            help: ArgumentHelp(
                "With that: A256GCM, A128GCM, A256CBC-HS512 or A128CBC-HS256 (default).", valueName: "enc"))
        var idTokenEncryptedResponseEnc: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "What its codes are bound to. usual: your own service that authenticates sends a code_challenge or, with the scope openid, a nonce, every other a code_challenge. required: each has a code_challenge. nonce: as usual, and refused where the service is none of yours. none: your own service may send neither; each start warns of it.",
                valueName: "usual|required|nonce|none"))
        var pkce: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "With private_key_jwt: whom its assertions name. issuer: the issuer alone. token-endpoint: that address, too; each start warns of it.",
                valueName: "issuer|token-endpoint"))
        var assertionAudience: String?

        @Flag(
            name: .customLong("id-token-at-refresh"), inversion: .prefixedNo,
            help: "Whether the answer to a refresh has an ID token, where openid was granted.")
        var idTokenAtRefresh: Bool?

        @Flag(
            name: .customLong("channel-linking"), inversion: .prefixedNo,
            help: """
                Whether a dispatch can have a text that page and phone show, and the person compares. NIST SP \
                800-63B-4, section 3.1.3, is against it: such an answer counts as one factor.
                """)
        var channelLinking: Bool?

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
            help: ArgumentHelp(
                "With private_key_jwt: a file with its public keys, a JWK set, or certificates or public keys in PEM.",
                valueName: "file"))
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

        @Flag(
            name: .long, inversion: .prefixedNo, help: "Whether it has to push its authorization requests (RFC 9126).")
        var requirePushedAuthorizationRequests: Bool?

        @Flag(
            name: .long, inversion: .prefixedNo,
            help: "Whether it shows the number that a person types on the phone, where the phone asks without a code.")
        var matchNumbers: Bool?

        @Flag(
            name: .customLong("dpop-bound-access-tokens"), inversion: .prefixedNo,
            help: "Whether its tokens are bound to a key of its own: each request for tokens has a DPoP proof.")
        var dpopBoundAccessTokens: Bool?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "The max_age of its requests that have none; -1 for no such age.", valueName: "seconds"))
        var defaultMaxAge: Int64?

        @Option(
            name: .customLong("userinfo-signed-response-alg"),
            help: ArgumentHelp(
                "Sign the answers of the userinfo endpoint: RS256, ES256, PS256 or EdDSA; or none.", valueName: "alg"))
        var userinfoSignedResponseAlg: String?

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
            name: .customLong("used-refresh-token-seconds"),
            help: ArgumentHelp(
                "How long after its first use a refresh token that nothing binds gives the same next one: 1 to 3600; 0 for the server's own time, 600.",
                valueName: "seconds"))
        var usedRefreshTokenSeconds: Int32?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "A way in which people may sign in: \(SignInMethods.words); all of them, the first to be offered first. Repeatable.",
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

        @Option(
            name: .customLong("status-uri"),
            help: ArgumentHelp(
                "Where it is told how the sessions that it dispatches end; an empty text for nowhere.",
                valueName: "address"))
        var statusURI: String?

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
                "What it may ask people to agree to in detail (RFC 9396), as \(DetailTypes.names); all of it. Repeatable.",
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

        @Flag(
            name: .long, inversion: .prefixedNo,
            help: "Whether its app, which must be yours, may sign people in without a browser: it sees their passwords."
        )
        var directSignIn: Bool?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "Make it a client of the app sign-in service, by a setting of that: authentication=cookie, sharedSessions=true, serviceLevels=loa1,loa3=LEVEL … Repeatable; what is not named stays.",
                valueName: "name=value"))
        var signInService: [String] = []

        @Flag(name: .long, help: "Let it be a client of OpenID Connect again.")
        var noSignInService = false

        /// `true` if the service shares a secret with the server. A service that is registered without a method has a
        /// secret, too.
        var hasSecret: Bool { self.authMethod.map { $0.hasPrefix("client_secret_") } ?? true }

        func write(to body: inout JSONObject) throws {
            if !self.signInMethod.isEmpty { body["signInMethods"] = .array(self.signInMethod.map(JSON.string)) }
            if !self.grantType.isEmpty { body["grantTypes"] = .array(self.grantType.map(JSON.string)) }
            body["tokenEndpointAuthMethod"] = self.authMethod.map(JSON.string)
            body["jwks"] = try self.jwks.map(Self.keySet)
            body["idTokenSignedResponseAlg"] = self.idTokenSignedResponseAlg.map(JSON.string)
            body["idTokenEncryptedResponseAlg"] = self.idTokenEncryptedResponseAlg.map(JSON.string)
            body["idTokenEncryptedResponseEnc"] = self.idTokenEncryptedResponseEnc.map(JSON.string)
            body["pkce"] = self.pkce.map(JSON.string)
            body["assertionAudience"] = self.assertionAudience.map(JSON.string)
            body["idTokenAtRefresh"] = self.idTokenAtRefresh.map(JSON.bool)
            body["channelLinking"] = self.channelLinking.map(JSON.bool)
            for (name, list, isNone) in self.lists where isNone || !list.isEmpty {
                body[name] = .array(list.map(JSON.string))
            }
            body["accessTokenFormat"] = self.accessTokenFormat.map(JSON.string)
            body["usedRefreshTokenSeconds"] = self.usedRefreshTokenSeconds.map { .integer(Int64($0)) }
            body["profile"] = self.profile.map(JSON.string)
            body["requireSignedRequestObject"] = self.requireSignedRequestObject.map(JSON.bool)
            body["requirePushedAuthorizationRequests"] = self.requirePushedAuthorizationRequests.map(JSON.bool)
            body["matchNumbers"] = self.matchNumbers.map(JSON.bool)
            body["dpopBoundAccessTokens"] = self.dpopBoundAccessTokens.map(JSON.bool)
            body["defaultMaxAge"] = self.defaultMaxAge.map(JSON.integer)
            body["userinfoSignedResponseAlg"] = self.userinfoSignedResponseAlg.map(JSON.string)
            if !self.origin.isEmpty { body["origins"] = .array(self.origin.map(JSON.string)) }
            body["party"] = self.party.map(JSON.string)
            body["jwksUri"] = self.jwksURI.map(JSON.string)
            body["backchannelLogoutUri"] = self.backchannelLogoutURI.map(JSON.string)
            body["statusUri"] = self.statusURI.map(JSON.string)
            body["backchannelTokenDeliveryMode"] = self.backchannelTokenDeliveryMode.map(JSON.string)
            body["backchannelClientNotificationEndpoint"] =
                self.backchannelClientNotificationEndpoint.map(JSON.string)
            body["backchannelLogoutSessionRequired"] = self.backchannelLogoutSessionRequired.map(JSON.bool)
            body["mayAct"] = self.mayAct.map(JSON.string)
            body["ssoGroup"] = self.ssoGroup.map(JSON.string)
            body["certificateName"] = self.certificateName.map(JSON.string)
            body["signsInDirectly"] = self.directSignIn.map(JSON.bool)
            if self.noSignInService { body["signInService"] = .object([:]) }
            if !self.signInService.isEmpty { body["signInService"] = .object(try Self.document(self.signInService)) }
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

        /// Returns the settings of the app sign-in service, from `NAME=VALUE`. Lists have commas between their words.
        private static func document(_ settings: [String]) throws -> JSONObject {
            var document: JSONObject = [:]
            for setting in settings {
                let parts = setting.splitBytes(at: "=", maxSplits: 1).map(String.init)
                guard parts.count == 2, !parts[0].isEmpty else {
                    throw ValidationError("--sign-in-service takes NAME=VALUE, as sharedSessions=true.")
                }
                let value = parts[1]
                document[parts[0]] =
                    switch parts[0] {
                    case "accessTokenAttributes", "accessTokenUserAttributes", "serviceLevels":
                        .array(value.splitBytes(at: ",").filter { !$0.isEmpty }.map { .string(String($0)) })
                    case "authentication", "accessTokenAudience": .string(value)
                    default:
                        switch value {
                        case "true": .bool(true)
                        case "false": .bool(false)
                        default: Int64(value).map(JSON.integer) ?? .string(value)
                        }
                    }
            }
            return document
        }

        func validate() throws {
            _ = try Self.document(self.signInService)
            guard self.signInService.isEmpty || !self.noSignInService else {
                throw ValidationError("Name settings of the app sign-in service, or say that it is no client of it.")
            }
            _ = try self.jwks.map(Self.keySet)
            for (name, list, isNone) in self.lists where isNone && !list.isEmpty {
                throw ValidationError("Name \(name), or say that there are none.")
            }
        }

        /// Returns the key set in a file. Throws `ValidationError` for a file with other content.
        ///
        /// The server checks the keys themselves.
        private static func keySet(in path: String) throws -> JSON {
            do {
                return .object(try PublicKeyFile(path: path).keySet)
            } catch {
                throw ValidationError(error.description)
            }
        }
    }
}
