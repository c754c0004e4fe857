import Ceremony
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Settings
import _Primitives

/// The routes by which a browser goes to another provider, comes back, and connects the person found there with an
/// account here.
///
/// For a sign-in, the routes answer only the browser that started the request, and only if the service takes the
/// provider. A browser that comes back from confirming a change of an account is passed on to ``confirmed``.
struct UpstreamRoutes: Sendable {
    let signIns: UpstreamSignIns
    /// Takes a browser that comes back from the confirmation of a change; `nil` for a browser that signs in.
    let confirmed: @Sendable (_ provider: String, Request, ServerContext) async throws -> Response?
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let trace: TraceRecorder?

    /// The field that proves that a form stood on a page of this server.
    private static let confirmation = "confirmation"

    /// The endpoints at which a browser goes to another provider and comes back.
    var endpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: "/sign-in/provider/{name}", id: "beginAtProvider",
                summary: "The way to another provider, for people who sign in by it.", effect: .signsIn,
                query: SignInAddress.fields, answers: [.goOn], refusals: .pages,
                refusing: [SignInAddress.unknown, Endpoint.tooMany, (403, "The other provider cannot be reached.")],
                handler: self.answers.page(self.begin)),
            Endpoint(
                method: .get, path: "/sign-in/provider/{name}/callback", id: "arriveFromProvider",
                summary: "Where another provider sends browsers back to (RFC 6749, section 4.1.2; RFC 9207).",
                effect: .signsIn,
                query: [
                    .optional("state", "What the way began with; good once."), .optional("code", "What it gives."),
                    .optional("iss", "Whose answer it is."), .optional("error", "Why it gives nothing."),
                ], answers: [.goOn], refusals: .pages,
                refusing: [
                    SignInAddress.unknown, (403, "The person is not known here, or is not signed in."),
                    (503, "More have come back at once than can wait. Nothing is spent, and the page leads back."),
                ], handler: self.answers.page(self.arrive)),
            Endpoint(
                method: .post, path: "/sign-in/provider/{name}/connect", id: "connectIdentity",
                summary: "The person wants what they are there connected with the account that they sign in to next.",
                effect: .none,
                body: (.form, SignInAddress.fields + [.optional("confirmation", "What the page's form has.")]),
                answers: [.goOn], refusals: .pages, refusing: [SignInAddress.unknown],
                handler: self.answers.page(self.connect)),
        ]
    }

    @Sendable private func begin(_ request: Request, _ context: ServerContext) async throws -> Response {
        let address = try SignInAddress(query: request.uri.query, context)
        let name = try context.pathParameter("name")
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        let answer = try await self.signIns.begin(
            name, request: address.request, browser: browser, source: context.source)
        guard let answer else { throw SignInProblem.unknown }
        // With a single way to sign in, the person has made no choice here.
        if answer.client.isApp, answer.client.methods.count > 1 {
            self.trace?.record(.providerChosen, in: answer.client.run(answer.request), context)
        }
        return self.response(answer, name, browser, context)
    }

    @Sendable private func arrive(_ request: Request, _ context: ServerContext) async throws -> Response {
        let name = try context.pathParameter("name")
        if let answer = try await self.confirmed(name, request, context) { return answer }
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        let place = UpstreamSignIns.Place(
            source: context.source, browser: BrowserWords.describe(userAgent: request.headers[.userAgent]),
            address: context.clientAddress)
        let answer: UpstreamSignIns.Answer?
        do {
            answer = try await self.signIns.arrive(
                name, query: request.uri.query ?? "", browser: browser, place: place)
        } catch let error as OAuthError where error.code == .invalidRequest {
            throw Problem(.badRequest, "invalid-request", "The address is not as a provider sends it.")
        }
        guard let answer else { throw SignInProblem.unknown }
        return self.response(answer, name, browser, context, query: request.uri.query)
    }

    @Sendable private func connect(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
        let address = try SignInAddress(query: form, context)
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        // Another address of the same site can post with the cookie too, but cannot know the token of our page.
        let token = (try? SignInAddress.parameter(Self.confirmation, of: form)) ?? ""
        let expected = self.cookies.formToken(browser, request: address.request)
        guard constantTimeEqual(Array(token.utf8), Array(expected.utf8)),
            try await self.signIns.connect(
                context.pathParameter("name"), request: address.request, browser: browser)
        else { throw SignInProblem.unknown }
        return .seeOther(address.path("/sign-in"))
    }

    /// - Parameter query: The query with which the browser came back; `nil` if the browser goes to the provider only
    ///   now.
    private func response(
        _ answer: UpstreamSignIns.Answer, _ name: String, _ browser: BrowserSecret, _ context: ServerContext,
        query: String? = nil
    ) -> Response {
        context.notes.note(client: answer.client.client)
        let address = SignInAddress(request: answer.request, service: answer.client.client)
        func page(_ outcome: UpstreamPage.Outcome, _ status: HTTPResponse.Status) -> Response {
            let frame = SignInFrame(
                requestID: answer.request, clientName: answer.client.clientName, client: answer.client.client,
                returnOrigin: answer.client.clientOrigin)
            return .page(
                self.answers.pages.html(
                    UpstreamPage(frame: frame, title: answer.title, outcome: outcome, reference: context.reference)),
                status: status)
        }
        /// Reports the refusal to the log and the metrics, by one code.
        func note(_ refusal: RequestRefusal) {
            context.count(.providerSteps, refusal.code)
            context.notes.note(refusal)
        }
        let run = answer.client.run(answer.request)
        switch answer.step {
        case .away(let location):
            self.trace?.record(.providerAsked, in: run, context)
            context.count(.providerSteps, "away")
            return .seeOther(location)
        case .finished:
            self.trace?.record(.personConfirmed, in: run, context)
            context.count(.providerSteps, "finished")
            return .seeOther(address.path("/sign-in/complete"))
        case .unmet(let client):
            note(
                RequestRefusal(
                    code: "upstream-unmet",
                    reason: "The provider \(name) has not authenticated the person surely enough: countersign admin "
                        + "provider change \(name) --level says what its words are worth.", setting: "--level"))
            return self.answers.response(client)
        case .told(let client, let code, let reason):
            note(RequestRefusal(code: code, reason: "The provider \(name): \(reason)"))
            return self.answers.response(client)
        case .unknownPerson:
            note(
                RequestRefusal(
                    code: "upstream-unknown-person",
                    reason: "Nobody here is connected with this person of \(name): they can connect their account, or "
                        + "countersign admin provider change --newcomers created.", setting: "--newcomers"))
            return page(
                .unknownPerson(
                    connection: answer.canConnect
                        ? .init(provider: name, confirmation: self.cookies.formToken(browser, request: answer.request))
                        : nil), .forbidden)
        case .refused(let refusal):
            note(
                RequestRefusal(code: refusal.code.rawValue, reason: "The provider \(name): \(refusal.reason)."))
            return page(.refused(refusal.code.reason), .forbidden)
        case .tooMany(let shortage):
            note(
                RequestRefusal(
                    code: "too-many-requests", reason: "A network has begun too many sign-ins.",
                    setting: shortage.setting))
            return page(.refused(.busy), .tooManyRequests)
        case .crowded:
            note(
                RequestRefusal(
                    code: "providers-busy",
                    reason:
                        "More people have come back from the provider \(name) than can wait for their turn. Nothing "
                        + "is spent: they can go on from the page that they are shown."))
            return page(.crowded(provider: name, query: query ?? ""), .serviceUnavailable)
        }
    }
}

extension UpstreamRefusal.Code {
    /// The reason as the page shows it.
    fileprivate var reason: UpstreamPage.Reason {
        switch self {
        case .declined: .declined
        case .failed: .failed
        case .stale: .stale
        case .keptOut: .keptOut
        }
    }
}
