import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Settings
import _Primitives

/// The addresses of the OpenID provider for browsers: authorization and sign-out.
///
/// Both take a form as well as a query. A form from another site comes without cookies, so the routes turn the form
/// into a navigation first.
struct AuthorizationRoutes: Sendable {
    let provider: OpenIDProvider
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let trace: TraceRecorder?

    /// The field that proves that a form stood on a page of this server.
    private static let confirmation = "confirmation"

    /// The endpoints of authorization and sign-out.
    var endpoints: [Endpoint] {
        let parameters =
            [
                .required("client_id", "The client."),
                .optional("request_uri", "The name of a request that the client has pushed."),
            ] + OAuthFields(metadata: self.provider.discovery).authorization
        let logout: [DescribedField] = [
            .optional("id_token_hint", "An ID token of the person who is to be signed out."),
            .optional("client_id", "The client."),
            .optional("post_logout_redirect_uri", "Where to go then: an address that the client has registered."),
            OAuthFields.state,
        ]
        return [
            Endpoint(
                method: .get, path: "/oauth2/authorize", id: "authorize", summary: "Begin a sign-in.", effect: .signsIn,
                query: parameters, answers: [.page, .goOn], refusals: .pages, refusing: [Endpoint.tooMany],
                handler: self.answers.page(self.authorize)),
            Endpoint(
                method: .post, path: "/oauth2/authorize", id: "authorizeByForm", summary: "Begin a sign-in.",
                effect: .signsIn,
                body: (.form, parameters), answers: [.page, .goOn], refusals: .pages, refusing: [Endpoint.tooMany],
                handler: self.answers.page(self.authorizeForm)),
            Endpoint(
                method: .get, path: SignOutQuestionPage.path, id: "logout", summary: "Sign the browser out.",
                effect: .takesAway, query: logout,
                answers: [.page, .goOn], refusals: .pages, handler: self.answers.page(self.logout)),
            Endpoint(
                method: .post, path: SignOutQuestionPage.path, id: "logoutByForm", summary: "Sign the browser out.",
                effect: .takesAway,
                body: (.form, logout), answers: [.page, .goOn], refusals: .pages,
                handler: self.answers.page(self.logoutForm)),
        ]
    }

    @Sendable private func authorize(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.authorize(request.uri.query ?? "", request, context)
    }

    @Sendable private func authorizeForm(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await self.form(of: request)
        guard self.cookies.browser(of: request) != nil else { return .seeOther("/oauth2/authorize?\(form)") }
        return try await self.authorize(form, request, context)
    }

    private func authorize(_ text: String, _ request: Request, _ context: ServerContext) async throws -> Response {
        let known = self.cookies.browser(of: request)
        let browser = known ?? self.cookies.newBrowser()
        let session = self.cookies.session(of: request)
        let answer = try await self.provider.authorizations.authorize(
            text, browser: browser, session: session, source: context.source, address: context.clientAddress
        ) { context.notes.note(RequestRefusal($0)) }
        switch answer {
        case .signIn(let id, let client):
            try await self.recordRequest(id, browser, context)
            let address = SignInAddress(request: id, service: client)
            return .seeOther(address.path("/sign-in"), headers: HTTPFields([self.cookies.set(browser)]))
        case .consent(let id, let client):
            try await self.recordRequest(id, browser, context)
            let address = SignInAddress(request: id, service: client)
            return .seeOther(address.path("/sign-in/consent"), headers: HTTPFields([self.cookies.set(browser)]))
        case .client(let answer):
            // The server asked nobody: the browser has a session.
            if context.notes.refusal == nil { context.count(.signIns, "session") }
            return self.answers.response(answer)
        case .tooMany(let shortage):
            self.note(serviceOf: text, context)
            throw context.refusal(shortage)
        case .page(let error):
            self.note(serviceOf: text, context)
            return await self.answers.error(error, context)
        }
    }

    private func recordRequest(_ id: String, _ browser: BrowserSecret, _ context: ServerContext) async throws {
        guard let trace else { return }
        trace.record(.authorizationRequested, in: try await self.provider.run(ofSignIn: id, browser), context)
    }

    @Sendable private func logout(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.logout(request.uri.query ?? "", confirmed: false, request, context)
    }

    @Sendable private func logoutForm(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await self.form(of: request)
        guard let session = self.cookies.session(of: request) else {
            return .seeOther("\(SignOutQuestionPage.path)?\(form)")
        }
        // Another address of the same site can post with the cookie too, but cannot know the token of our page.
        let limits = Parameters.Limits(bytes: self.limits.oauth.parameterBytes)
        let token = (try? Parameters(parsing: form, limits: limits))?[Self.confirmation] ?? ""
        let confirmed = constantTimeEqual(Array(token.utf8), Array(self.cookies.formToken(session).utf8))
        return try await self.logout(form, confirmed: confirmed, request, context)
    }

    private func logout(_ text: String, confirmed: Bool, _ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        let session = self.cookies.session(of: request)
        switch try await self.provider.sessions.logout(text, session: session, confirmed: confirmed) {
        case .redirect(let location): return .seeOther(location, headers: HTTPFields([self.cookies.endSession]))
        case .signedOut:
            return .page(
                self.answers.pages.html(SignedOutPage()), headers: HTTPFields([self.cookies.endSession]))
        case .askPerson(let clientName, let fields):
            var shown = fields.members
            if let session { shown.append((Self.confirmation, self.cookies.formToken(session))) }
            let target = fields["post_logout_redirect_uri"].flatMap {
                try? RedirectURI(registered: $0).origin
            }
            return .page(
                self.answers.pages.html(
                    SignOutQuestionPage(clientName: clientName, fields: shown, returnOrigin: target)))
        case .page(let error):
            self.note(serviceOf: text, context)
            return await self.answers.error(error, context)
        }
    }

    /// Notes the service in the parameters, for the pages that lead back to the service.
    private func note(serviceOf text: String, _ context: ServerContext) {
        let limits = Parameters.Limits(bytes: self.limits.oauth.parameterBytes)
        context.notes.note(service: (try? Parameters(parsing: text, limits: limits))?["client_id"])
    }

    /// Returns a form that can stand in an address: encoded as browsers encode forms, and short enough for an address.
    private func form(of request: Request) async throws -> String {
        let text = try await request.formText(limit: Limits.Fixed.targetBytes - Limits.Fixed.pathBytes)
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
            throw Problem(.badRequest, "malformed-body", "The form is not encoded.")
        }
        return text
    }
}
