import Ceremony
import Endpoints
import HTTPTypes
import Hummingbird
import NIOCore
import OAuth
import OAuthProvider
import Settings
import _Primitives

/// The addresses of the OpenID provider for programs: tokens, claims, keys and the provider's metadata.
///
/// Their failures have the form of RFC 6749, section 5.2.
struct TokenRoutes: Sendable {
    let provider: OpenIDProvider
    let devices: DeviceAuthorizations
    let challenges: Challenges
    let limits: Limits
    let trace: TraceRecorder?

    /// The endpoints of the provider for programs.
    var endpoints: [Endpoint] { self.clientEndpoints + self.descriptions }

    /// The endpoints that clients call by themselves, and at which clients may show a certificate.
    var clientEndpoints: [Endpoint] { self.requests + self.tokens + self.claims }

    private var fields: OAuthFields { OAuthFields(metadata: self.provider.discovery) }

    /// The endpoints at which a client has a person asked.
    private var requests: [Endpoint] {
        // Parameters that are for a browser alone do not belong to a sign-in without a browser.
        let others = ["redirect_uri", "state", "response_mode", "ui_locales", "login_hint", "authorization_details"]
        return [
            Endpoint(
                method: .post, path: "/oauth2/par", id: "pushRequest",
                summary: "Push an authorization request (RFC 9126).", effect: .none, caller: .client,
                headers: [OAuthFields.proof],
                body: (.form, OAuthFields.credentials + self.fields.authorization),
                answers: [
                    .init(
                        status: 201, meaning: "The request has a name.", type: "application/json",
                        members: [
                            .required("request_uri", "For the browser to come with."),
                            .required("expires_in", .integer, "Seconds."),
                        ])
                ], refusals: .oauth, refusing: [Endpoint.tooMany], handler: self.push),
            Endpoint(
                method: .post, path: "/oauth2/device_authorization", id: "authorizeDevice",
                summary: "Have a device without a browser wait for its person (RFC 8628).", effect: .none,
                caller: .client,
                body: (
                    .form, [.optional("scope", "What the client wants, separated by spaces.")] + OAuthFields.credentials
                ),
                answers: [
                    .init(
                        status: 200, meaning: "The device waits.", type: "application/json",
                        members: [
                            .required("device_code", "What the device asks by."),
                            .required("user_code", "What its person types."),
                            .required("verification_uri", "Where they type it."),
                            .required("verification_uri_complete", "The same with the code in it."),
                            .required("expires_in", .integer, "Seconds."),
                            .required("interval", .integer, "Seconds from one question to the next."),
                        ])
                ], refusals: .oauth, refusing: [Endpoint.tooMany], handler: self.authorizeDevice),
            Endpoint(
                method: .post, path: "/oauth2/bc-authorize", id: "askPerson",
                summary: "Have a person asked on their phone (OpenID Connect CIBA Core 1.0).", effect: .signsIn,
                caller: .client,
                body: (
                    .form,
                    [
                        .optional("scope", "What the client wants, separated by spaces."),
                        .optional("login_hint", "The person, by user name."),
                        .optional("id_token_hint", "The person, by an ID token of theirs."),
                        .optional("binding_message", "What the phone shows."),
                        .optional("authorization_details", "What the person is asked in detail, as JSON (RFC 9396)."),
                        .optional("client_notification_token", "What a client is told by that does not ask."),
                        .optional("requested_expiry", "Seconds."),
                    ] + OAuthFields.credentials
                ),
                answers: [
                    .init(
                        status: 200, meaning: "They are asked, if there is such a person.", type: "application/json",
                        members: [
                            .required("auth_req_id", "What the client asks by."),
                            .required("expires_in", .integer, "Seconds."),
                            .optional("interval", .integer, "Seconds from one question to the next."),
                        ])
                ], refusals: .oauth, refusing: [Endpoint.tooMany], handler: self.askPerson),
            Endpoint(
                method: .post, path: "/oauth2/challenge", id: "challenge",
                summary: "Sign a person in, step by step (OAuth 2.0 for First-Party Applications).", effect: .signsIn,
                caller: .client,
                headers: [OAuthFields.proof],
                body: (
                    .form,
                    [
                        .optional("auth_session", "The sign-in that goes on; another one at each step."),
                        .optional("username", "The name, with a password."), .optional("password", "The password."),
                        .optional("otp", "A code beside the password."),
                        .optional(
                            "phone", .choice(["start", "wait"]), "To have a phone asked, or to hear what it has said."),
                    ] + self.fields.authorization.filter { !others.containsBytes(of: $0.name) }
                        + OAuthFields.credentials
                ),
                answers: [
                    .init(
                        status: 200, meaning: "The person is signed in.", type: "application/json",
                        members: [.required("authorization_code", "For the token endpoint.")])
                ], refusals: .oauth,
                refusing: [
                    Endpoint.tooMany, (503, "Nothing was judged. It goes on by the auth_session of the answer."),
                ], handler: self.challenge),
        ]
    }

    private static let tokenField = DescribedField.required("token", "A token that this server gave.")

    /// The endpoints of tokens.
    private var tokens: [Endpoint] {
        [
            Endpoint(
                method: .post, path: "/oauth2/token", id: "giveTokens", summary: "Get tokens.", effect: .lasts,
                caller: .client,
                headers: [OAuthFields.proof],
                body: (
                    .form,
                    [
                        .required(
                            "grant_type", self.fields.choice("grant_types_supported"), "What they are given for."),
                        .optional("code", "A code."), .optional("redirect_uri", "Where the code was sent to."),
                        .optional("code_verifier", "What its challenge was made of."),
                        .optional("refresh_token", "A refresh token."),
                        .optional("device_code", "What a device asks by."),
                        .optional("auth_req_id", "What a client asks by that has had a person asked."),
                        .optional("scope", "What is wanted."),
                        .optional("authorization_details", "A part of what was granted (RFC 9396)."),
                        .optional("subject_token", "The token to exchange (RFC 8693)."),
                        .optional("subject_token_type", "Of which kind it is."),
                        .optional("actor_token", "Who acts, or a device secret."),
                        .optional("actor_token_type", "Of which kind it is."),
                        .optional("requested_token_type", "Of which kind the new one is to be."),
                        .optional("audience", "Where it is to be used."),
                        .optional("device_secret", "What the app has of an earlier sign-in."),
                        .optional("assertion", "What a service account has signed (RFC 7523)."), OAuthFields.resource,
                    ] + OAuthFields.credentials
                ),
                answers: [
                    .init(
                        status: 200, meaning: "Tokens.", type: "application/json",
                        members: [
                            .required("access_token", "Opens userinfo."), .required("token_type", "How it is shown."),
                            .optional("expires_in", .integer, "Seconds."), .optional("scope", "What it is good for."),
                            .optional("id_token", "Who has signed in."), .optional("refresh_token", "Renews them."),
                            .optional("issued_token_type", "What was given for a token."),
                            .optional("device_secret", "What other apps of the device sign in by."),
                        ])
                ], refusals: .oauth, handler: self.token),
            Endpoint(
                method: .post, path: "/oauth2/revoke", id: "revoke", summary: "Give a token up (RFC 7009).",
                effect: .takesAway,
                caller: .client,
                body: (
                    .form,
                    [Self.tokenField, .optional("token_type_hint", "Of which kind it is.")] + OAuthFields.credentials
                ), answers: [.init(status: 200, meaning: "It is worth nothing now.")], refusals: .oauth,
                handler: self.revoke),
            Endpoint(
                method: .post, path: "/oauth2/introspect", id: "introspect",
                summary: "Ask whether a token is good (RFC 7662).", effect: .none, caller: .client,
                body: (
                    .form,
                    [Self.tokenField, .optional("token_type_hint", "Of which kind it is.")] + OAuthFields.credentials
                ),
                answers: [
                    .init(
                        status: 200, meaning: "What it is good for.", type: "application/json",
                        members: [.required("active", .boolean, "Whether it is good now.")])
                ], refusals: .oauth, handler: self.introspect),
        ]
    }

    /// The endpoints at which a client reads the claims of a person.
    private var claims: [Endpoint] {
        [HTTPRequest.Method.get, .post].map { method in
            Endpoint(
                method: method, path: "/oauth2/userinfo", id: method == .get ? "userinfo" : "userinfoByPost",
                summary: method == .get
                    ? "What a client may know of a person."
                    : "What a client may know of a person; the token may come in a form as access_token (RFC 6750, section 2.2).",
                effect: .none, caller: .token, headers: [OAuthFields.proof],
                answers: [
                    .init(
                        status: 200, meaning: "Claims.", type: "application/json",
                        members: [.required("sub", "The person, as this client knows them.")]),
                    .init(status: 200, meaning: "A JWT, for a client with signed userinfo.", type: "application/jwt"),
                ], refusals: .oauth, refusing: [(403, "A token that does not reach so far.")],
                handler: self.userinfo)
        }
    }

    /// The endpoints of the provider's keys and metadata.
    private var descriptions: [Endpoint] {
        // Keys and addresses change rarely. A rotation announces its key longer before than this lifetime.
        let seconds = self.limits.oauth.keySetLifetime.components.seconds
        let cached: HTTPFields = [.cacheControl: "public, max-age=\(seconds)"]
        let members = self.provider.discovery.members.map {
            DescribedField.required($0.name, Self.kind($0.value), "RFC 8414.")
        }
        let keys =
            Endpoint(
                method: .get, path: "/oauth2/jwks", id: "keys", summary: "What tokens are verified with.",
                effect: .none,
                answers: [
                    .init(
                        status: 200, meaning: "A JWK set.", type: "application/jwk-set+json",
                        members: [.required("keys", .objects([.required("kty", "RFC 7517.")]), "Public keys.")])
                ], get: .reads
            ) { _, _ in .json(self.provider.keys.keySet, contentType: "application/jwk-set+json", headers: cached) }
        let documents = ["openid-configuration", "oauth-authorization-server"].map { name in
            Endpoint(
                method: .get, path: IssuerPath.wellKnown + name, id: name, summary: "What the provider can do.",
                effect: .none,
                answers: [.init(status: 200, meaning: "Metadata.", type: "application/json", members: members)],
                get: .reads
            ) { _, _ in .json(self.provider.discovery, headers: cached) }
        }
        return [keys] + documents
    }

    private static func kind(_ value: JSON) -> DescribedField.Kind {
        switch value {
        case .array: .strings
        case .bool: .boolean
        case .integer, .number: .integer
        case .object: .object
        case .string: .string
        }
    }

    @Sendable private func token(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await self.form(of: request, context)
            let answer = try await self.provider.grants.answer(
                header: request.authorization, body: form, source: context.source,
                proofs: request.keyProofs, over: context.connection)
            if answer.status == 200 {
                self.trace?.record(self.eventOfTokens(for: form, request), in: request.trace, context)
            }
            return answer
        }
    }

    @Sendable private func push(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await self.form(of: request, context)
            return try await self.provider.authorizations.push(
                header: request.authorization, body: form, source: context.source,
                proofs: request.keyProofs, over: context.connection)
        }
    }

    @Sendable private func challenge(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
            let answer = try await self.challenges.answer(
                header: request.authorization, body: form, proofs: request.keyProofs,
                over: context.connection,
                place: AppPlace(
                    source: context.source, browser: BrowserWords.describe(userAgent: request.headers[.userAgent]),
                    address: context.clientAddress))
            // Only these two results, right or wrong, judge the password. After any other refusal nobody has looked at
            // the password.
            let isJudged =
                answer.status == 200
                || answer.body?["error"] == .string(OAuthError.Code.insufficientAuthorization.rawValue)
            if isJudged, self.parameters(form)?["password"] != nil {
                self.trace?.record(.passwordJudged, in: request.trace, context)
            }
            return answer
        }
    }

    @Sendable private func askPerson(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
            return try await self.provider.backchannelAuthentications.answer(
                header: request.authorization, body: form, source: context.source, over: context.connection)
        }
    }

    @Sendable private func authorizeDevice(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
            return try await self.devices.authorize(
                header: request.authorization, body: form, source: context.source, over: context.connection)
        }
    }

    @Sendable private func revoke(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await self.form(of: request, context)
            let answer = try await self.provider.revocation.answer(
                header: request.authorization, body: form, source: context.source, over: context.connection)
            if answer.status == 200, self.isApps(form, request) {
                self.trace?.record(.revocationDone, in: request.trace, context)
            }
            return answer
        }
    }

    @Sendable private func introspect(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await self.form(of: request, context)
            return try await self.provider.introspection.answer(
                header: request.authorization, body: form, source: context.source,
                accept: request.headers[values: .accept].joined(separator: ","), over: context.connection)
        }
    }

    @Sendable private func userinfo(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let type = request.headers[.contentType]?.mediaType
            let isForm = request.method == .post && type?.hasSameBytes(as: BodyType.form.rawValue) ?? false
            return try await self.provider.userinfo.answer(
                header: request.authorization,
                body: isForm ? request.formText(limit: self.limits.oauth.parameterBytes) : nil,
                method: request.method.rawValue,
                proofs: request.keyProofs, over: context.connection)
        }
    }

    /// Returns the form as the form came. If a page's script has sent the form, the function notes the form's client.
    private func form(of request: Request, _ context: ServerContext) async throws -> String {
        let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
        if request.headers[.origin] != nil { context.notes.note(script: self.parameters(form)?["client_id"]) }
        return form
    }

    private func parameters(_ form: String) -> OAuth.Parameters? {
        try? OAuth.Parameters(parsing: form, limits: OAuth.Parameters.Limits(bytes: self.limits.oauth.parameterBytes))
    }

    /// Returns `true` if an answered request is an app's. An app has no secret to show.
    private func isApps(_ form: String, _ request: Request) -> Bool {
        guard request.headers[.authorization] == nil, let parameters = self.parameters(form) else { return false }
        return parameters["client_secret"] == nil && parameters["client_assertion"] == nil
    }

    /// Returns the event of tokens in their run: the beginning or renewal of an app's session, or the tokens of another
    /// client.
    private func eventOfTokens(for form: String, _ request: Request) -> TraceEvent {
        guard self.isApps(form, request) else { return .tokensIssued }
        switch ExactText(self.parameters(form)?["grant_type"] ?? "") {
        case "authorization_code", "urn:ietf:params:oauth:grant-type:token-exchange": return .sessionGiven
        case "refresh_token": return .renewalGiven
        default: return .tokensIssued
        }
    }

    static func answer(_ context: ServerContext, _ body: () async throws -> ProviderAnswer) async throws -> Response {
        do {
            let answer = try await body()
            if let shortage = answer.shortage { context.log(shortage) }
            if let refusal = answer.refusal { context.notes.note(RequestRefusal(refusal)) }
            return answer.response
        } catch {
            let interrupted = error as? InterruptedStep
            let problem = context.problem(of: interrupted?.reason ?? error)
            let code: OAuthError.Code =
                switch problem.status.code {
                case 429, 503: .temporarilyUnavailable
                case 500...: .serverError
                default: .invalidRequest
                }
            var body = OAuthError(code, problem.detail).json
            body["auth_session"] = interrupted.map { .string($0.session) }
            return .json(body, status: problem.status, headers: problem.headers)
        }
    }
}

extension ProviderAnswer {
    /// The answer as an HTTP response.
    fileprivate var response: Response {
        var fields = HTTPFields()
        for header in self.headers {
            if let name = HTTPField.Name(header.name) { fields[name] = header.value }
        }
        let bytes =
            self.signed.map { ByteBuffer(string: $0.text) }
            ?? self.body.map { ByteBuffer(bytes: JSON.object($0).serialized) }
        return Response(
            status: HTTPResponse.Status(code: self.status), headers: fields,
            body: bytes.map { .init(byteBuffer: $0) } ?? .init())
    }
}
