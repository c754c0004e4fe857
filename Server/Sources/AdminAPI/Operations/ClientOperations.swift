import Endpoints
import HTTPTypes
import Hummingbird
import JOSE
import OAuth
import OAuthProvider
import Records
import Settings
import _Primitives

/// The operations for clients: the services that people sign in to.
struct ClientOperations: Sendable {
    let provider: OpenIDProvider
    let words: ClientSettingWords

    private static let client: [AdminOperation.Field] = [
        .required("clientId", "What the service calls itself in requests."),
        .required("name", "What people see on their phones."),
        .required("redirectUris", .strings, "Where a sign-in may return to."),
        .required("postLogoutRedirectUris", .strings, "Where a sign-out may return to."),
        .optional("clientUri", "Where people find it: a page that leads them back to it has a link there."),
        .required("idTokenSignedResponseAlg", "What its ID tokens are signed with."),
        .optional("idTokenEncryptedResponseAlg", "How the key of its ID tokens reaches it, where they are encrypted."),
        .optional("idTokenEncryptedResponseEnc", "What its ID tokens are encrypted with."),
        .required("pkce", "What its authorization codes are bound to: usual, required, nonce or none."),
        .required("grantTypes", .strings, "The ways to tokens that it may go."),
        .required("tokenEndpointAuthMethod", "How it proves who it is."),
        .required("assertionAudience", "Whom the assertions of private_key_jwt name: issuer or token-endpoint."),
        .optional("jwks", .object, "The public keys that it signs with, a JWK set (RFC 7517)."),
        .required("signInMethods", .strings, "The ways in which people may sign in to it."),
        .required("profile", "The rules that all of its requests follow: usual or fapi2."),
        .required("requireSignedRequestObject", .boolean, "Whether it signs its authorization requests (RFC 9101)."),
        .required(
            "requirePushedAuthorizationRequests", .boolean, "Whether it pushes its authorization requests (RFC 9126)."),
        .required("matchNumbers", .boolean, "Whether it shows the numbers that people type on their phones."),
        .optional("defaultMaxAge", .integer, "The max_age of its requests that have none, in seconds."),
        .required("dpopBoundAccessTokens", .boolean, "Whether its tokens are bound to a key of its own (RFC 9449)."),
        .optional("userinfoSignedResponseAlg", "What answers of the userinfo endpoint are signed with."),
        .optional("sectorIdentifierUri", "The document of its sector, if it has registered itself with one."),
        .required("origins", .strings, "Where the scripts of an app in the browser come from."),
        .required(
            "authorizationDetailsTypes", .strings, "What it may ask people to agree to in detail (RFC 9396)."),
        .required("signsInDirectly", .boolean, "Whether its app may sign people in without a browser."),
        .required("mayDeregister", .boolean, "Whether it may have the keys of people whom it knows deleted."),
        .required("scopes", .strings, "The scopes of its own, beside those of OpenID Connect."),
        .required("resources", .strings, "The resources that it owns (RFC 8707)."),
        .required("audiences", .strings, "The resources of others that it may ask tokens for."),
        .required("accessTokenFormat", "What tokens for its resources, or its own, look like: jwt or opaque."),
        .optional(
            "usedRefreshTokenSeconds", .integer,
            "How long after its first use a refresh token that nothing binds gives the same next token; missing for the server's own time."
        ),
        .required("idTokenAtRefresh", .boolean, "Whether the answer to a refresh has an ID token."),
        .required("channelLinking", .boolean, "Whether a dispatch can have a text that page and phone show."),
        .required("subjectClients", .strings, "The services whose tokens it may exchange for its own (RFC 8693)."),
        .optional("mayAct", "The service that alone may act with its tokens."),
        .optional("ssoGroup", "The group of apps of a device that sign in by each other."),
        .required(
            "certificateBoundTokens", .boolean,
            "Whether its tokens are bound to the certificate that it shows (RFC 8705)."),
        .optional("certificateName", "The name that its certificate has, as KIND:NAME."),
        .required("party", "Whose it is: first-party or third-party."),
        .optional("jwksUri", "Where they are, if it keeps them itself."),
        .optional("backchannelLogoutUri", "Where it is told, without a browser, that a session has ended."),
        .optional("backchannelLogoutSessionRequired", .boolean, "Whether it has said that it needs the session's sid."),
        .optional("statusUri", "Where it is told how the sessions that it dispatches end."),
        .required("backchannelTokenDeliveryMode", "How it hears what people have answered: poll, ping or push."),
        .optional("backchannelClientNotificationEndpoint", "Where it is told what people have answered."),
        .required("disabled", .boolean, "Whether it is switched off."),
        .optional(
            "signInService", .members(Self.signInService),
            "What it is to the app sign-in service, if it is a client of it."
        ),
        .optional("warnings", .strings, "What is dangerous about it."),
        .optional(
            "registeredBy",
            "How a third party's service came by itself: the initial access token that it registered with, open-registration or client-id-document."
        ),
        .optional("formerSecretEndsAt", "Until when the secret before the present one is taken too, RFC 3339."),
    ]

    /// The settings of a client for the app sign-in service.
    private static let signInService: [AdminOperation.Field] = [
        .optional(
            "authentication", .choice(SignInServiceSettings.Answers.allCases.map(\.rawValue)),
            "cookie for a web site, api for an app, service_account for a service that acts for people by statements that it signs. A new client has api."
        ),
        .optional(
            "pkce", .boolean,
            "Whether its codes are bound to a challenge. Default: true; false is for a client with private_key_jwt."),
        .optional("antiCsrf", .boolean, "Whether it shows an anti-CSRF token with its refresh token."),
        .optional("accessTokenSeconds", .integer, "How long its access tokens live: 60 to 1800. Default: 300."),
        .optional(
            "refreshTokenSeconds", .integer,
            "How long its session goes on without being renewed: 300 to 3888000 (45 days). Default: 1800."),
        .optional("accessTokenAudience", "Whom its access tokens are for: one word."),
        .optional(
            "accessTokenAttributes", .strings,
            "What its access tokens say of a person: first_name, last_name, email, all_emails."),
        .optional(
            "accessTokenUserAttributes", .strings,
            "Of a service account: what its access tokens may say of whom it acts for, in words of its own."),
        .optional("sharedSessions", .boolean, "Whether its sessions are passed on: of an app to the web, and back."),
        .optional("enforcedTerms", .boolean, "Whether its people have to agree to the terms. Default: true."),
        .optional(
            "serviceLevels", .strings,
            "The words that it may ask levels by (acr), each WORD or WORD=NEEDED, where NEEDED is a level of this server."
        ),
        .optional("jsonApiCompatibility", .boolean, "Whether its JSON stands in a member data. Default: true."),
        .optional(
            "queryParameters", .boolean, "Whether it may send what belongs into a body in the address of a POST."),
        .optional(
            "anyScheme", .boolean,
            "Whether it may be answered at a scheme that no domain stands behind. Any app can take that."),
        .optional(
            "backEndCookies", .boolean,
            "Whether requests with its cookies count that say nothing of a page, because its back end sends them. A link of somebody else's can sign people out whose browser is too old for Sec-Fetch-Site."
        ),
        .optional(
            "shortVerifiers", .boolean,
            "Whether a code_verifier of 32 hexadecimal digits is taken, which RFC 7636 does not allow."),
    ]

    private static let home = "The page where people find it and can start again: https, or http to a loopback address."

    private var settings: [AdminOperation.Field] {
        [
            .optional("idTokenSignedResponseAlg", "RS256, ES256, PS256 or EdDSA. A new service has RS256."),
            .optional(
                "idTokenEncryptedResponseAlg",
                "ECDH-ES, RSA-OAEP-256 or RSA-OAEP, to the first key of its set that fits, for ID tokens that are encrypted as well as signed; none for those of a new service, which are signed alone."
            ),
            .optional(
                "idTokenEncryptedResponseEnc",
                "With idTokenEncryptedResponseAlg: A256GCM, A128GCM, A256CBC-HS512 or, where nothing is named, A128CBC-HS256."
            ),
            .optional(
                "userinfoSignedResponseAlg",
                "RS256, ES256, PS256 or EdDSA, for answers of the userinfo endpoint as a signed JWT; none for JSON, which a new service gets."
            ),
            .optional(
                "dpopBoundAccessTokens", .boolean,
                "Whether its tokens are bound to a key of its own: then each request for tokens has a DPoP proof."),
            .optional(
                "requirePushedAuthorizationRequests", .boolean,
                "Whether it pushes its authorization requests: then every other request is refused."),
            .optional(
                "matchNumbers", .boolean,
                "Whether it shows the number that a person types on the phone, where the phone asks without a code: without it a CIBA request needs a binding_message."
            ),
            .optional(
                "defaultMaxAge", .integer,
                "The max_age of its requests that have none, in seconds; -1 for no such age, as a new service has."),
            .optional(
                "pkce",
                "usual: your own service that authenticates, of the usual profile, sends a code_challenge or, with the scope openid, a nonce, and every other service a code_challenge; a new service has this. required: every sign-in has a code_challenge. nonce: as usual, and refused for others. none: your own service may send neither, with a warning."
            ),
            .optional(
                "grantTypes", .strings,
                "All of them; a new service has authorization_code. One that only takes tokens for its resources needs none."
            ),
            .optional(
                "tokenEndpointAuthMethod",
                "client_secret_basic, client_secret_post (the same: a new service has a secret), private_key_jwt, tls_client_auth, self_signed_tls_client_auth, or none for an app on people's own devices. A change ends what it proved itself by before."
            ),
            .optional(
                "assertionAudience", .choice(ClientSettings.AssertionAudience.allCases.map(\.rawValue)),
                "With private_key_jwt: issuer, for assertions that name the issuer alone, as a new service has it; token-endpoint, for assertions that name that address, too, with a warning."
            ),
            .optional(
                "jwks", .object,
                "The public keys that it signs with, a JWK set: RSA of 2048 bits or more, P-256 or Ed25519. An empty object for none."
            ),
            .optional(
                "scopes", .strings,
                "All of its own, beside those of OpenID Connect: what it may have for itself and ask people for."),
            .optional(
                "resources", .strings,
                "All that it owns: absolute URIs without a fragment, none of them another service's or this server's. It sees the tokens for them at the introspection endpoint."
            ),
            .optional("audiences", .strings, "All resources of others that it may ask tokens for."),
            .optional(
                "accessTokenFormat",
                "What tokens for its resources look like or, without any, its own: jwt (RFC 9068; a new service has this) or opaque."
            ),
            .optional(
                "usedRefreshTokenSeconds", .integer,
                "How long after its first use a refresh token that nothing binds (of a client without a secret or a key) gives the same next token: 1 to 3600, or 0 for the server's own time, 600."
            ),
            .optional(
                "idTokenAtRefresh", .boolean,
                "Whether the answer to a refresh has an ID token, where the scope openid was granted. That of a new service has."
            ),
            .optional(
                "channelLinking", .boolean,
                "Whether a dispatch can have a text that page and phone show for a comparison. NIST SP 800-63B-4, section 3.1.3, is against it: such an answer counts as one factor."
            ),
            .optional("subjectClients", .strings, "All services whose tokens it may exchange, by their client ids."),
            .optional(
                "mayAct",
                "The client id of the service that alone may act with tokens that it is given. An empty text for none."),
            .optional(
                "ssoGroup",
                "The name of the group of apps that sign in by each other on a device. An empty text for none."),
            .optional(
                "certificateName",
                "With tls_client_auth: the name that its certificate has, as KIND:NAME, where KIND is subject_dn (as text, RFC 4514), san_dns, san_uri, san_ip or san_email. An empty text for none."
            ),
            .optional(
                "certificateBoundTokens", .boolean,
                "Whether its tokens are bound to the certificate that it shows at mtls_endpoint_aliases (RFC 8705, section 3). Then it has to show one."
            ),
            .optional(
                "signInMethods", .strings,
                "The ways in which people may sign in to it, all of them, the first to be offered first: \(self.words.signInMethods). A new service has \(AuthenticationRecord.phoneMethod)."
            ),
            .optional(
                "profile", .choice(ClientProfile.Security.allCases.map(\.rawValue)),
                "usual, or fapi2 for the FAPI 2.0 Security Profile: private_key_jwt or a certificate, requests that are pushed, tokens that are bound to a key or a certificate, and no RS256. A setting that contradicts it is refused."
            ),
            .optional(
                "requireSignedRequestObject", .boolean, "Whether it has to sign its authorization requests (RFC 9101)."),
            .optional(
                "signsInDirectly", .boolean,
                "Whether its app, which must be yours (first-party), may sign people in without a browser: it sees their passwords."
            ),
            .optional(
                "origins", .strings,
                "For an app in the browser, without a way to authenticate: the origins whose scripts may read what it is answered, as https://app.example. All of them."
            ),
            .optional(
                "party",
                "first-party: yours; a new service is. third-party: somebody else's, and people are asked what it may have."
            ),
            .optional(
                "jwksUri",
                "Where they are in the place of that, which the service changes by itself: https, or http to a loopback address. An empty text for nowhere."
            ),
            .optional(
                "backchannelLogoutUri",
                "Where it is told, without a browser, that a session has ended: https, or http to a loopback address. An empty text for nowhere."
            ),
            .optional(
                "backchannelLogoutSessionRequired", .boolean,
                "Whether it needs the session's sid, which it always gets."),
            .optional(
                "statusUri",
                "Where it is told how the sessions that it dispatches end: https, or http to a loopback address. An empty text for nowhere."
            ),
            .optional(
                "backchannelTokenDeliveryMode",
                "How it hears what people have answered whom it has had asked without a browser: poll, ping or push. A new service asks: poll."
            ),
            .optional(
                "backchannelClientNotificationEndpoint",
                "Where it is told, for ping and push: https, or http to a loopback address. An empty text for nowhere."),
            .optional(
                "authorizationDetailsTypes", .strings,
                "What it may ask people to agree to in detail (RFC 9396): \(self.words.detailTypes). A new service may ask nothing."
            ),
            .optional(
                "signInService", .members(Self.signInService),
                "What it is to the app sign-in service; what is missing stays as it is. It is a client of that and of nothing else, and authenticates by none or private_key_jwt. An empty object makes it a client of OpenID Connect."
            ),
            .optional(
                "mayDeregister", .boolean,
                "Whether it may have the keys of people whom it knows deleted, with which they sign in to every service. A new service may not."
            ),
        ]
    }

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .post, path: "/clients", id: "addClient", summary: "Register a service.",
                body: [
                    .required("name", "1 to \(Limits().nameCharacters) characters."),
                    .optional(
                        "clientId",
                        "What a client of the app sign-in service calls itself; every other one is given an identifier."
                    ),
                    .optional(
                        "redirectUris", .strings,
                        "Absolute addresses, compared letter by letter: one at least for a service that signs people in."
                    ),
                    .optional("postLogoutRedirectUris", .strings, "Absolute addresses."),
                    .optional("clientUri", Self.home),
                ] + self.settings,
                answer: Self.client + [
                    .optional("clientSecret", "Shown this once; a service that shares no secret has none.")
                ], status: .created,
                refusals: [(409, "There are as many services as one server takes.")], handler: self.add),
            AdminOperation(
                method: .get, path: "/clients", id: "listClients", summary: "List the services.",
                answer: [.required("clients", .objects(Self.client), "The oldest first.")],
                handler: self.list),
            AdminOperation(
                method: .get, path: "/clients/{id}", id: "showClient", summary: "Show a service.",
                answer: Self.client, refusals: Self.notFound, handler: self.show),
            AdminOperation(
                method: .patch, path: "/clients/{id}", id: "changeClient",
                summary: "Change a service; what is missing stays as it is.",
                body: [
                    .optional("name", "1 to \(Limits().nameCharacters) characters."),
                    .optional(
                        "redirectUris", .strings,
                        "All of them. Sign-ins that are under way to an address which is missing end."),
                    .optional("postLogoutRedirectUris", .strings, "All of them."),
                    .optional("clientUri", Self.home + " An empty text for none."),
                    .optional(
                        "disabled", .boolean,
                        "Whether it is switched off: nobody signs in to it, it gets nothing, and what it has counts for nothing until it is switched on again."
                    ),
                ] + self.settings, answer: Self.client,
                refusals: Self.notFound, handler: self.change),
            AdminOperation(
                method: .post, path: "/clients/{id}/secret", id: "rotateClientSecret",
                summary: "Give a service a new secret; for a while the one before is taken too.",
                body: [
                    .optional(
                        "overlapSeconds", .integer,
                        "For how long the one before is taken too: \(Limits().oauth.clientSecretOverlap.components.seconds) at most, "
                            + "0 for not at all. Default: \(Limits.Fixed.usualSecretOverlap.components.seconds).")
                ],
                answer: Self.client + [.required("clientSecret", "Shown this once.")],
                refusals: Self.notFound, handler: self.rotateSecret),
            AdminOperation(
                method: .delete, path: "/clients/{id}", id: "deleteClient",
                summary: "Delete a service; its tokens end at once.", status: .noContent,
                refusals: Self.notFound, handler: self.delete),
        ]
    }

    private static let notFound = [(status: 404, meaning: "There is no such client.")]

    private static func json(_ client: ClientRecord) -> JSONObject {
        var object: JSONObject = [
            "clientId": .string(client.id), "name": .string(client.name), "disabled": .bool(client.settings.isDisabled),
            "redirectUris": .array(client.redirectURIs.map(JSON.string)),
            "postLogoutRedirectUris": .array(client.postLogoutRedirectURIs.map(JSON.string)),
            "idTokenSignedResponseAlg": .string(client.settings.idTokenAlgorithm.rawValue),
            "pkce": .string(client.settings.codeBinding.rawValue),
            "profile": .string(client.settings.profile.security.rawValue),
            "signsInDirectly": .bool(client.settings.profile.signsInDirectly),
            "requireSignedRequestObject": .bool(client.settings.profile.requiresSignedRequests),
            "requirePushedAuthorizationRequests": .bool(client.settings.profile.requiresPushedRequests),
            "matchNumbers": .bool(client.settings.profile.matchesNumbers),
            "dpopBoundAccessTokens": .bool(client.settings.tokens.keyBound),
            "origins": .array(client.settings.profile.origins.map(JSON.string)),
            "authorizationDetailsTypes": .array(client.settings.profile.detailTypes.map(JSON.string)),
            "mayDeregister": .bool(client.settings.mayDeregister),
            "party": .string(client.settings.party.rawValue),
            "backchannelTokenDeliveryMode": .string(client.settings.answers.mode.rawValue),
            "grantTypes": .array(client.settings.grantTypes.map(JSON.string)),
            "tokenEndpointAuthMethod": .string(client.settings.authenticationMethod),
            "assertionAudience": .string(client.settings.assertionAudience.rawValue),
            "idTokenAtRefresh": .bool(client.settings.tokens.refreshesIDToken),
            "channelLinking": .bool(client.settings.tokens.linksChannels),
            "scopes": .array(client.settings.tokens.scopes.map(JSON.string)),
            "resources": .array(client.settings.tokens.resources.map(JSON.string)),
            "audiences": .array(client.settings.tokens.audiences.map(JSON.string)),
            "accessTokenFormat": .string(client.settings.tokens.format.rawValue),
            "subjectClients": .array(client.settings.tokens.subjects.map(JSON.string)),
            "signInMethods": .array(client.settings.signInMethods.map(JSON.string)),
        ]
        if let encryption = client.settings.tokens.idTokenEncryption {
            object["idTokenEncryptedResponseAlg"] = .string(encryption.algorithm.rawValue)
            object["idTokenEncryptedResponseEnc"] = .string(encryption.content.rawValue)
        }
        object["defaultMaxAge"] = client.settings.profile.defaultMaximumAge.map { .integer($0.components.seconds) }
        object["userinfoSignedResponseAlg"] = client.settings.tokens.userinfoAlgorithm.map { .string($0.rawValue) }
        object["sectorIdentifierUri"] = client.settings.sectorIdentifierURI.map(JSON.string)
        object["mayAct"] = client.settings.tokens.actor.map(JSON.string)
        object["signInService"] = client.settings.signInService.map { .object($0.json) }
        object["usedRefreshTokenSeconds"] = client.settings.tokens.usedRefreshTokenLifetime.map {
            .integer($0.components.seconds)
        }
        let warnings = ClientWarning.all(of: client).map(\.sentence)
        if !warnings.isEmpty { object["warnings"] = .array(warnings.map(JSON.string)) }
        object["ssoGroup"] = client.settings.tokens.group.map(JSON.string)
        object["certificateName"] = client.settings.certificateName.map { .string($0.text) }
        object["certificateBoundTokens"] = .bool(client.settings.tokens.certificateBound)
        object["jwks"] = client.settings.keySet.flatMap { try? JSON(parsing: Array($0.utf8)) }
        object["backchannelLogoutUri"] = client.settings.logout.map { .string($0.text) }
        object["backchannelLogoutSessionRequired"] = client.settings.logout.map { .bool($0.needsSession) }
        object["statusUri"] = client.settings.statusAddress.map(JSON.string)
        object["backchannelClientNotificationEndpoint"] = client.settings.answers.address.map(JSON.string)
        object["registeredBy"] = client.registration.map { registration in
            switch registration {
            case .invited(_, let initialToken): .string(initialToken)
            case .open: .string("open-registration")
            case .document: .string("client-id-document")
            }
        }
        object["jwksUri"] = client.settings.keySetAddress.map(JSON.string)
        object["clientUri"] = client.clientURI.map(JSON.string)
        object["formerSecretEndsAt"] = client.formerSecret.map { .string($0.endsAt.description) }
        return object
    }

    /// Returns the encryption of ID tokens that a body asks for; `nil` if the body names no encryption.
    private static func encryption(_ body: JSONObject) throws -> IDTokenEncryptionChange? {
        do {
            return try IDTokenEncryptionChange(
                algorithm: try body.string("idTokenEncryptedResponseAlg"),
                content: try body.string("idTokenEncryptedResponseEnc"))
        } catch let error as OAuthError {
            throw Problem(.badRequest, "invalid-client-metadata", error.message ?? "idTokenEncryptedResponseAlg")
        }
    }

    /// Returns the settings that a body names.
    private static func change(_ body: JSONObject) throws -> ClientChange {
        var change = ClientChange(
            name: try body.string("name"), redirectURIs: try body.strings("redirectUris"),
            postLogoutRedirectURIs: try body.strings("postLogoutRedirectUris"),
            clientURI: try body.string("clientUri"),
            idTokenAlgorithm: try body.string("idTokenSignedResponseAlg").map { name in
                guard let algorithm = JWSAlgorithm(rawValue: name) else {
                    throw Problem(
                        .badRequest, "invalid-client-metadata",
                        "idTokenSignedResponseAlg is RS256, ES256, PS256 or EdDSA.")
                }
                return algorithm
            },
            codeBinding: try body.string("pkce").map { name in
                guard let binding = ClientSettings.CodeBinding(rawValue: name) else {
                    throw Problem(.badRequest, "invalid-client-metadata", "pkce is usual, required, nonce or none.")
                }
                return binding
            }, mayDeregister: try body.bool("mayDeregister"), grantTypes: try body.strings("grantTypes"),
            authenticationMethod: try body.string("tokenEndpointAuthMethod"),
            keySet: try body.object("jwks").map { $0.members.isEmpty ? "" : JSON.object($0).text },
            tokens: TokenSettingsChange(
                scopes: try body.strings("scopes"), resources: try body.strings("resources"),
                audiences: try body.strings("audiences"),
                format: try body.string("accessTokenFormat").map { name in
                    guard let format = TokenSettings.Format(rawValue: name) else {
                        throw Problem(
                            .badRequest, "invalid-client-metadata", "accessTokenFormat is jwt or opaque.")
                    }
                    return format
                }, subjects: try body.strings("subjectClients"), actor: try body.string("mayAct"),
                group: try body.string("ssoGroup"), certificateBound: try body.bool("certificateBoundTokens"),
                idTokenEncryption: try Self.encryption(body),
                usedRefreshTokenLifetime: try body.integer("usedRefreshTokenSeconds", as: Int32.self).map {
                    .seconds($0)
                },
                refreshesIDToken: try body.bool("idTokenAtRefresh")),
            signInMethods: try body.strings("signInMethods"),
            profile: ClientProfileChange(
                security: try body.string("profile").map { name in
                    guard let security = ClientProfile.Security(rawValue: name) else {
                        throw Problem(.badRequest, "invalid-client-metadata", "profile is usual or fapi2.")
                    }
                    return security
                }, requiresSignedRequests: try body.bool("requireSignedRequestObject"),
                origins: try body.strings("origins"), detailTypes: try body.strings("authorizationDetailsTypes"),
                signsInDirectly: try body.bool("signsInDirectly")),
            party: try body.string("party").map { name in
                guard let party = ClientSettings.Party(rawValue: name) else {
                    throw Problem(
                        .badRequest, "invalid-client-metadata", "party is first-party or third-party.")
                }
                return party
            })
        change.assertionAudience = try body.string("assertionAudience").map { name in
            guard let audience = ClientSettings.AssertionAudience(rawValue: name) else {
                throw Problem(
                    .badRequest, "invalid-client-metadata", "assertionAudience is issuer or token-endpoint.")
            }
            return audience
        }
        change.tokens.keyBound = try body.bool("dpopBoundAccessTokens")
        change.tokens.linksChannels = try body.bool("channelLinking")
        change.tokens.userinfoAlgorithm = try body.string("userinfoSignedResponseAlg").map { name in
            if name.hasSameBytes(as: "none") { return .unsigned }
            guard let algorithm = JWSAlgorithm(rawValue: name) else {
                throw Problem(
                    .badRequest, "invalid-client-metadata",
                    "userinfoSignedResponseAlg is RS256, ES256, PS256, EdDSA or none.")
            }
            return .signed(algorithm)
        }
        change.profile.requiresPushedRequests = try body.bool("requirePushedAuthorizationRequests")
        change.profile.matchesNumbers = try body.bool("matchNumbers")
        change.profile.defaultMaximumAge = try body.integer("defaultMaxAge", as: Int64.self).map { .seconds($0) }
        change.isDisabled = try body.bool("disabled")
        change.signInService = try body.object("signInService")
        change.keySetAddress = try body.string("jwksUri")
        change.answerMode = try body.string("backchannelTokenDeliveryMode").map { name in
            guard let mode = ClientSettings.AnswerDelivery.Mode(rawValue: name) else {
                throw Problem(
                    .badRequest, "invalid-client-metadata", "backchannelTokenDeliveryMode is poll, ping or push.")
            }
            return mode
        }
        change.answerAddress = try body.string("backchannelClientNotificationEndpoint")
        change.certificateName = try body.string("certificateName").map { text in
            guard let name = text.isEmpty ? ClientCertificateName(.subject, "") : ClientCertificateName(text) else {
                let kinds = ClientCertificateName.Kind.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(
                    .badRequest, "invalid-client-metadata", "certificateName is KIND:NAME, with a kind of \(kinds).")
            }
            return name
        }
        change.logoutURI = try body.string("backchannelLogoutUri")
        change.statusURI = try body.string("statusUri")
        change.logoutNeedsSession = try body.bool("backchannelLogoutSessionRequired")
        return change
    }

    @Sendable private func add(_ call: AdminOperation.Call) async throws -> JSONObject {
        let redirects = try call.body.strings("redirectUris") ?? []
        let change = try Self.change(call.body)
        // A client that takes tokens and signs nobody in exchanges no codes.
        let isResource = redirects.isEmpty && change.tokens.resources?.isEmpty == false
        do {
            let registered = try await self.provider.clients.register(
                name: try call.body.requiredString("name"), redirectURIs: redirects,
                postLogoutRedirectURIs: try call.body.strings("postLogoutRedirectUris") ?? [],
                clientURI: try call.body.string("clientUri"),
                settings: try change.changed(isResource ? ClientSettings(grantTypes: []) : ClientSettings()),
                id: try call.body.string("clientId"), by: call.actor)
            var object = Self.json(registered.client)
            object["clientSecret"] = registered.secret.map(JSON.string)
            return object
        } catch let error as OAuthError {
            throw Problem(.badRequest, "invalid-client-metadata", error.message)
        } catch let error as StoreError where error.code == .conflict {
            throw Problem(
                .conflict, "too-many-clients",
                "There are as many services as one server takes, or one calls itself so. Delete one that is not used any more."
            )
        }
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        ["clients": .array(try await self.provider.clients.all().map { .object(Self.json($0)) })]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard let client = try await self.provider.clients.client(call.parameters["id"] ?? "") else {
            throw Self.noClient
        }
        return Self.json(client)
    }

    @Sendable private func change(_ call: AdminOperation.Call) async throws -> JSONObject {
        let change = try Self.change(call.body)
        guard change != ClientChange() else { throw JSONError(.missing, "a setting") }
        do {
            let id = call.parameters["id"] ?? ""
            guard let client = try await self.provider.clients.change(id, change, by: call.actor) else {
                throw Self.noClient
            }
            return Self.json(client)
        } catch let error as OAuthError {
            throw Problem(.badRequest, "invalid-client-metadata", error.message)
        }
    }

    @Sendable private func rotateSecret(_ call: AdminOperation.Call) async throws -> JSONObject {
        do {
            let seconds = try call.body.integer("overlapSeconds", as: Int64.self)
            let overlap = seconds.map { Duration.seconds($0) }
            let id = call.parameters["id"] ?? ""
            guard
                let rotated = try await self.provider.clients.rotateSecret(
                    ofClient: id, overlap: overlap, by: call.actor)
            else { throw Self.noClient }
            var object = Self.json(rotated.client)
            object["clientSecret"] = rotated.secret.map(JSON.string)
            return object
        } catch let error as OAuthError {
            throw Problem(.badRequest, "invalid-client-metadata", error.message)
        }
    }

    private static var noClient: Problem { Problem(.notFound, Problem.Name.notFound, "There is no such client.") }

    @Sendable private func delete(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard try await self.provider.clients.delete(call.parameters["id"] ?? "", by: call.actor) else {
            throw Self.noClient
        }
        return [:]
    }
}
