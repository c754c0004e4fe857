import AppSignIn
import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import NIOCore
import OAuth
import OAuthProvider
import Pages
import Settings
import _Primitives

/// The addresses of the app sign-in service. As long as the service has no client, every address answers 404.
///
/// The failures are `{"errors": TEXT}`, as the service's clients read failures.
struct SignInServiceRoutes: Sendable {
    let service: SignInService
    let provider: OpenIDProvider
    let answers: PageAnswers
    let browsers: BrowserCookies
    let cookies: SignInServiceCookieFields
    let limits: Limits
    let trace: TraceRecorder?
    let time: TimeSource

    static let root = "/v0/sign_in"
    /// The path on which sessions are renewed. Browsers send the cookie of the refresh token to this path alone.
    static let refreshPath = "\(Self.root)/refresh"

    private typealias Answering = @Sendable (SignInService, SignInServiceRequest) async throws -> SignInServiceAnswer

    private static let missing = (status: 404, meaning: "The app sign-in service has no client.")
    private static let kept: [DescribedField] = [
        .optional("refresh_token", "The token that was given last, where it is in no cookie."),
        .optional("anti_csrf_token", "What came with it, where the client has such tokens and it is in no cookie."),
        .optional("client_id", "The client, where it says so: then it has to be the session's."),
    ]
    private static let keyProof = DescribedField.optional("DPoP", "A proof of a key (RFC 9449).")

    private static let given = Endpoint.Answer(
        status: 200, meaning: "Tokens; for a web site an empty object, and four cookies.", type: "application/json")
    private static let tooManySignIns = (status: 429, meaning: "Too many sign-ins were begun.")
    private static let gone = Endpoint.Answer(status: 302, meaning: "The browser goes on.")
    private static let done = Endpoint.Answer(status: 200, meaning: "It has ended.")

    /// The endpoints of the service.
    var endpoints: [Endpoint] {
        self.starts + self.sessionEndpoints + [
            Endpoint(
                method: .get, path: UpstreamProviders.signedOutPath, id: "returnSignedOut",
                summary: "Come back from another provider, signed out.", effect: .takesAway,
                query: [.required("state", "What the browser was sent there with.")],
                answers: [Self.gone, .page], refusals: .signInService, refusing: [Self.missing],
                handler: self.takeBack),
            Endpoint(
                method: .get, path: "/sign_in/openid_connect/certs", id: "appKeys",
                summary: "What access tokens of the app sign-in service are signed with.", effect: .none,
                answers: [.init(status: 200, meaning: "A JWK set.", type: "application/jwk-set+json")],
                refusing: [Self.missing], get: .reads, handler: self.keys),
        ]
    }

    /// The endpoints at which a browser or an app begins.
    private var starts: [Endpoint] {
        [
            Self.endpoint(
                .get, "authorize", id: "beginAppSignIn", "Begin a sign-in.", .signsIn,
                query: [
                    .required("client_id", "The client."), .required("type", "By whom the person signs in."),
                    .required("acr", "How surely the person has to be authenticated."),
                    .optional("operation", "What the person has come for."),
                    .optional(
                        "code_challenge", "What the code is bound to (RFC 7636): of all that are not let do without."),
                    .optional("code_challenge_method", "S256."), .optional("state", "Comes back as it is."),
                    .optional("scope", "device_sso, for an app that opens sessions of the web."),
                ],
                answers: [.init(status: 303, meaning: "The browser signs in."), Self.gone],
                refusing: [Self.tooManySignIns], handler: self.authorize),
            self.call(
                .get, "authorize_sso", id: "openAppFromWeb", "Open an app from a web site's session.", .lasts,
                query: [
                    .required("client_id", "The app."), .required("code_challenge", "What the code is bound to."),
                    .required("code_challenge_method", "S256."), .optional("state", "Comes back as it is."),
                    .optional("app_name", "What people call the app."),
                ], answers: [Self.gone], refusing: [Self.tooManySignIns]
            ) { try await $0.passedOn.authorizeSSO($1) },
            self.call(
                .post, "token", id: "appTokens",
                "Tokens for a code, a session of the web for an app's, or a service account's token.", .lasts,
                body: [
                    .required(
                        "grant_type", "authorization_code, or that of token exchange or of jwt-bearer (RFC 7523)."),
                    .optional("code", "The code."), .optional("code_verifier", "What its challenge was made of."),
                    .optional("client_assertion", "What a client has signed that authenticates by a key of its own."),
                    .optional("client_assertion_type", "Its kind."),
                    .optional("assertion", "What a service account has signed."),
                    .optional("client_id", "The client; at an exchange the one that gets the session."),
                    .optional("subject_token", "The app's access token."), .optional("subject_token_type", "Its kind."),
                    .optional("actor_token", "The device's secret."), .optional("actor_token_type", "Its kind."),
                ], answers: [Self.given], refusing: [Self.tooManySignIns]
            ) { try await $0.tokens.answer($1) },
        ]
    }

    /// The endpoints of a session: its tokens, its end and its person.
    private var sessionEndpoints: [Endpoint] {
        [
            self.call(
                .post, "refresh", id: "renewAppSession", "Renew a session.", .lasts, body: Self.kept,
                answers: [Self.given]
            ) { try await $0.renewals.refresh($1) },
            self.call(
                .post, "revoke", id: "endAppSession", "End a session, or all of a device.", .takesAway,
                body: Self.kept + [.optional("device_secret", "The device's secret: all its sessions end.")],
                answers: [Self.done]
            ) { try await $0.renewals.revoke($1) },
            self.call(
                .get, "revoke_all_sessions", id: "endAllSessionsByLink", "End all sessions of a person.", .takesAway,
                answers: [Self.done], refusing: [(403, "The access token has expired.")]
            ) { try await $0.signOuts.revokeAll($1) },
            self.call(
                .post, "revoke_all_sessions", id: "endAllSessions", "End all sessions of a person.", .takesAway,
                body: [.optional("anti_csrf_token", "What came with the session.")], answers: [Self.done],
                refusing: [(403, "The access token has expired.")]
            ) { try await $0.signOuts.revokeAll($1) },
            self.call(
                .get, "logout", id: "signAppOutByLink", "Sign out.", .takesAway,
                query: [
                    .required("client_id", "The client."), .optional("anti_csrf_token", "What came with the session."),
                ], answers: [Self.done, Self.gone]
            ) { try await $0.signOuts.logout($1) },
            self.call(
                .post, "logout", id: "signAppOut", "Sign out.", .takesAway,
                body: [
                    .required("client_id", "The client."), .optional("anti_csrf_token", "What came with the session."),
                ], answers: [Self.done, Self.gone]
            ) { try await $0.signOuts.logout($1) },
            self.call(
                .get, "introspect", id: "appPerson", "Whose session it is.", .none,
                answers: [.init(status: 200, meaning: "A document of JSON:API.", type: "application/json")],
                refusing: [(403, "The access token has expired.")]
            ) { try await $0.introspection.answer($1) },
        ]
    }

    /// Returns the endpoint of a call that the service answers by itself.
    private func call(
        _ method: HTTPRequest.Method, _ name: String, id: String, _ summary: String, _ effect: Endpoint.Effect,
        query: [DescribedField] = [], body: [DescribedField]? = nil, answers: [Endpoint.Answer],
        refusing: [(status: Int, meaning: String)] = [], _ answering: @escaping Answering
    ) -> Endpoint {
        let path = "\(Self.root)/\(name)"
        return Self.endpoint(
            method, name, id: id, summary, effect, query: query, body: body, answers: answers, refusing: refusing
        ) { try await self.answer($0, $1, at: path, answering) }
    }

    private static func endpoint(
        _ method: HTTPRequest.Method, _ name: String, id: String, _ summary: String, _ effect: Endpoint.Effect,
        query: [DescribedField] = [], body: [DescribedField]? = nil, answers: [Endpoint.Answer],
        refusing: [(status: Int, meaning: String)] = [], handler: @escaping ServerRouter.Handler
    ) -> Endpoint {
        Endpoint(
            method: method, path: "\(Self.root)/\(name)", id: id, summary: summary, effect: effect, query: query,
            headers: body == nil ? [] : [Self.keyProof], body: body.map { (.form, $0) }, answers: answers,
            refusals: .signInService, refusing: refusing + [Self.missing, (401, "No session.")], handler: handler)
    }

    @Sendable private func keys(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.requireClients()
        let seconds = self.limits.oauth.keySetLifetime.components.seconds
        return .json(
            self.service.keySet, contentType: "application/jwk-set+json",
            headers: [.cacheControl: "public, max-age=\(seconds)"])
    }

    /// Begins a sign-in of a browser: the browser goes on to the provider in the address, or to the page of the phone
    /// or the password. The cookies of an earlier sign-in are deleted.
    @Sendable private func authorize(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.requireClients()
        let asked: SignInServiceRequest
        do { asked = try await self.read(request, context, at: "\(Self.root)/authorize") } catch let problem as Problem
        {
            return self.response(problem, context)
        }
        let browser = self.browsers.browser(of: request) ?? self.browsers.newBrowser()
        let fields = [self.browsers.set(browser)] + self.cookies.endings
        switch try await self.service.authorizations.authorize(asked, browser: browser) {
        case .signIn(let id, let client, let provider):
            context.notes.note(client: client)
            if let trace {
                let run = try await self.provider.run(ofSignIn: id, browser)
                // The address names the way that the person has chosen.
                trace.record(.providerChosen, in: run, context)
                trace.record(.authorizationRequested, in: run, context)
            }
            let path = provider.map { "/sign-in/provider/\($0)" } ?? "/sign-in"
            return .seeOther(SignInAddress(request: id, service: client).path(path), headers: HTTPFields(fields))
        case .tooMany(let shortage):
            context.log(shortage)
            return self.response(
                Problem(
                    .tooManyRequests, CeremonyError.Code.tooManyRequests.name, shortage.remedy,
                    headers: [.retryAfter: String(shortage.retryAfterSeconds)]), context)
        case .answered(let answer): return self.response(answer, context)
        }
    }

    /// Takes a browser that comes back from a provider after signing out at the provider.
    @Sendable private func takeBack(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.requireClients()
        let asked: SignInServiceRequest
        do { asked = try await self.read(request, context, at: UpstreamProviders.signedOutPath) } catch let problem
            as Problem
        {
            return self.response(problem, context)
        }
        switch try await self.service.signOuts.returned(asked) {
        case .answered(let answer): return self.response(answer, context)
        case .page(let name, let home):
            return .page(self.answers.pages.html(SignedOutPage(clientName: name, returnLink: home)))
        }
    }

    private func answer(_ request: Request, _ context: ServerContext, at path: String, _ answering: Answering)
        async throws -> Response
    {
        try await self.requireClients()
        let asked: SignInServiceRequest
        do { asked = try await self.read(request, context, at: path) } catch let problem as Problem {
            return self.response(problem, context)
        }
        let answer = try await answering(self.service, asked)
        if let event = Self.event(of: answer, to: asked) { self.trace?.record(event, in: request.trace, context) }
        return self.response(answer, context)
    }

    /// Returns the event of an answer in its run; `nil` for an answer without an event.
    private static func event(of answer: SignInServiceAnswer, to asked: SignInServiceRequest) -> TraceEvent? {
        guard answer.status == 200 else { return nil }
        var isBrowsers = false
        if case .set = answer.cookies { isBrowsers = true }
        switch ExactText(asked.path) {
        case "/v0/sign_in/token":
            switch ExactText(asked.parameters["grant_type"] ?? "") {
            case "authorization_code": return isBrowsers ? .tokensIssued : .sessionGiven
            case "urn:ietf:params:oauth:grant-type:token-exchange": return .webSessionGiven
            default: return nil
            }
        case "/v0/sign_in/refresh": return isBrowsers ? .tokensIssued : .renewalGiven
        case "/v0/sign_in/revoke": return .revocationDone
        // This page is the only page of a web view that the server sees.
        case "/v0/sign_in/introspect": return asked.cookies[.accessToken] == nil ? nil : .pageRequested
        default: return nil
        }
    }

    private func requireClients() async throws {
        guard try await self.service.isOffered() else {
            throw Problem(.notFound, Problem.Name.notFound, "There is nothing at this address.")
        }
    }

    // MARK: Requests

    /// Reads a request: the form, the JSON body, or the query if the request has no body.
    private func read(_ request: Request, _ context: ServerContext, at path: String) async throws
        -> SignInServiceRequest
    {
        let bytes =
            try await request.method == .get
            ? ByteBuffer() : request.body(of: [.form, .json], limit: self.limits.oauth.parameterBytes, orNone: true)
        let isJSON = request.headers[.contentType]?.mediaType.hasSameBytes(as: BodyType.json.rawValue) ?? false
        let parameters: OAuth.Parameters
        let isInAddress = bytes.readableBytes == 0
        do {
            if isInAddress {
                parameters = try Self.parameters(request.uri.query ?? "", self.limits)
            } else if isJSON {
                parameters = try Self.parameters(json: bytes, self.limits)
            } else {
                guard let text = String(validating: bytes.readableBytesView, as: UTF8.self) else {
                    throw Problem(.badRequest, "malformed-body", "The form is not UTF-8.")
                }
                parameters = try Self.parameters(OAuth.Parameters.encodingRest(ofForm: text), self.limits)
            }
        } catch let error as OAuthError {
            throw Problem(.badRequest, "malformed-body", error.message)
        } catch let error as JSONError {
            throw Problem(
                .badRequest, "malformed-body", "The body is not the JSON that is asked for: \(error.reason).")
        }
        return SignInServiceRequest(
            parameters: parameters, isInAddress: isInAddress && request.method != .get && !parameters.members.isEmpty,
            cookies: self.cookies.values(of: request), authorization: request.authorization,
            proofs: request.keyProofs, method: request.method.rawValue, path: path,
            origin: Self.origin(of: request), site: Self.site.flatMap { request.headers[$0] },
            saysPage: [Self.site, Self.referer, .origin].compactMap(\.self).contains { request.headers[$0] != nil },
            source: context.source,
            address: context.clientAddress)
    }

    private static func parameters(_ text: String, _ limits: Limits) throws(OAuthError) -> OAuth.Parameters {
        try OAuth.Parameters(parsing: text, limits: .init(bytes: limits.oauth.parameterBytes))
    }

    /// Returns the members of an object that are not empty. Throws `JSONError` if a member is no text.
    private static func parameters(json bytes: ByteBuffer, _ limits: Limits) throws -> OAuth.Parameters {
        let value = try JSON(
            parsing: bytes.readableBytesView, limits: JSONLimits(bytes: limits.oauth.parameterBytes))
        guard case .object(let object) = value else { throw JSONError(.wrongType, "the body is not an object") }
        var parameters: OAuth.Parameters = [:]
        for member in object.members {
            guard let text = try object.string(member.name), !text.isEmpty else { continue }
            parameters.append(member.name, text)
        }
        return parameters
    }

    private static let site = HTTPField.Name("Sec-Fetch-Site")
    private static let referer = HTTPField.Name("Referer")

    /// Returns scheme, host and port of the page that has caused a request, as `Origin` or `Referer` says; `nil`
    /// without both.
    private static func origin(of request: Request) -> String? {
        if let origin = request.headers[.origin] { return origin }
        guard let referer = Self.referer.flatMap({ request.headers[$0] }) else { return nil }
        return try? RedirectURI(String(referer.prefix { $0 != "#" })).origin
    }

    // MARK: Answers

    /// Returns the answer to a request that is no request of the service, in the form that the service's clients read.
    private func response(_ problem: Problem, _ context: ServerContext) -> Response {
        context.notes.note(RequestRefusal(code: problem.name, reason: problem.detail, client: nil, setting: nil))
        return .json(
            ["errors": .string(problem.detail ?? problem.status.reasonPhrase)], status: problem.status,
            headers: problem.headers)
    }

    private func response(_ answer: SignInServiceAnswer, _ context: ServerContext) -> Response {
        if let shortage = answer.shortage { context.log(shortage) }
        if let refusal = answer.refusal { context.notes.note(RequestRefusal(refusal)) }
        var headers: HTTPFields = [.cacheControl: "no-store"]
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        switch answer.cookies {
        case .keep: break
        case .set(let tokens):
            for field in self.cookies.fields(tokens, at: self.time.now()) { headers.append(field) }
        case .delete: for field in self.cookies.endings { headers.append(field) }
        }
        if let location = answer.location { headers[.location] = location }
        guard let body = answer.body else {
            return Response(status: HTTPResponse.Status(code: answer.status), headers: headers)
        }
        return .json(body, status: HTTPResponse.Status(code: answer.status), headers: headers)
    }
}
