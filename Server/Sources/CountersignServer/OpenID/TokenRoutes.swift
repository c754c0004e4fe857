import Ceremony
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

    func mount(on router: ServerRouter) {
        self.mountForClients(on: router)
        // Keys and addresses change rarely. A rotation announces its key longer before than this lifetime.
        let seconds = self.limits.oauth.keySetLifetime.components.seconds
        let cached: HTTPFields = [.cacheControl: "public, max-age=\(seconds)"]
        router.endpoint(
            "/oauth2/jwks", get: .reads,
            [
                .get: { _, _ in
                    .json(self.provider.keySet, contentType: "application/jwk-set+json", headers: cached)
                }
            ])
        for name in ["openid-configuration", "oauth-authorization-server"] {
            router.metadata(name, [.get: { _, _ in .json(self.provider.discovery, headers: cached) }])
        }
    }

    /// Mounts the addresses that clients call by themselves, and at which clients may show a certificate.
    func mountForClients(on router: ServerRouter) {
        router.endpoint("/oauth2/token", [.post: self.token])
        router.endpoint("/oauth2/par", [.post: self.push])
        router.endpoint("/oauth2/device_authorization", [.post: self.authorizeDevice])
        router.endpoint("/oauth2/bc-authorize", [.post: self.askPerson])
        router.endpoint("/oauth2/challenge", [.post: self.challenge])
        router.endpoint("/oauth2/revoke", [.post: self.revoke])
        router.endpoint("/oauth2/introspect", [.post: self.introspect])
        router.endpoint("/oauth2/userinfo", [.get: self.userinfo, .post: self.userinfo])
    }

    @Sendable private func token(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await self.form(of: request, context)
            let answer = try await self.provider.token(
                header: Self.authorization(of: request), body: form, source: context.source,
                proofs: Self.proofs(of: request), over: context.connection)
            if answer.status == 200 {
                self.trace?.record(self.eventOfTokens(for: form, request), in: request.trace, context)
            }
            return answer
        }
    }

    @Sendable private func push(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await self.form(of: request, context)
            return try await self.provider.push(
                header: Self.authorization(of: request), body: form, source: context.source,
                proofs: Self.proofs(of: request), over: context.connection)
        }
    }

    @Sendable private func challenge(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
            let answer = try await self.challenges.answer(
                header: Self.authorization(of: request), body: form, proofs: Self.proofs(of: request),
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
            return try await self.provider.askPerson(
                header: Self.authorization(of: request), body: form, over: context.connection)
        }
    }

    @Sendable private func authorizeDevice(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
            return try await self.devices.authorize(
                header: Self.authorization(of: request), body: form, source: context.source, over: context.connection)
        }
    }

    @Sendable private func revoke(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await self.form(of: request, context)
            let answer = try await self.provider.revoke(
                header: Self.authorization(of: request), body: form, over: context.connection)
            if answer.status == 200, self.isApps(form, request) {
                self.trace?.record(.revocationDone, in: request.trace, context)
            }
            return answer
        }
    }

    @Sendable private func introspect(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let form = try await self.form(of: request, context)
            return try await self.provider.introspect(
                header: Self.authorization(of: request), body: form,
                accept: request.headers[values: .accept].joined(separator: ","), over: context.connection)
        }
    }

    @Sendable private func userinfo(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await Self.answer(context) {
            let type = request.headers[.contentType]?.mediaType
            let isForm = request.method == .post && type?.hasSameBytes(as: MediaType.form.rawValue) ?? false
            return try await self.provider.userinfo(
                header: Self.authorization(of: request),
                body: isForm ? request.formText(limit: self.limits.oauth.parameterBytes) : nil,
                method: request.method.rawValue,
                proofs: Self.proofs(of: request), over: context.connection)
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

    /// Returns the header, if there is exactly one. With several headers, the parts of a deployment could each take
    /// another.
    static func authorization(of request: Request) -> String? {
        let values = request.headers[values: .authorization]
        return values.count == 1 ? values[0] : nil
    }

    private static let proof = HTTPField.Name(DPoPProof.header)

    /// Returns all proofs of keys. The provider checks that a request has a single proof.
    static func proofs(of request: Request) -> [String] { Self.proof.map { request.headers[values: $0] } ?? [] }

    static func answer(_ context: ServerContext, _ body: () async throws -> ProviderAnswer) async throws -> Response {
        do {
            let answer = try await body()
            if let shortage = answer.shortage { context.log(shortage) }
            if let refusal = answer.refusal { context.notes.note(RequestRefusal(refusal)) }
            return answer.response
        } catch {
            let interrupted = error as? InterruptedStep
            let problem = ErrorMiddleware().problem(interrupted?.reason ?? error, context)
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
