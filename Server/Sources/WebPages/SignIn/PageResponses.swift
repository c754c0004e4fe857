import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import NIOCore
import OAuth
import OAuthProvider
import Pages
import Records
import Texts
import _Primitives

extension Response {
    /// Returns a page that no cache keeps.
    static func page(_ page: RenderedPage, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]) -> Response {
        var headers = headers
        headers[.contentType] = "text/html; charset=utf-8"
        headers[.cacheControl] = "no-store"
        headers[.contentSecurityPolicy] = page.contentSecurityPolicy.description
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: page.html)))
    }
}

extension Request {
    /// Returns the fields of a page's form. Throws a ``Problem``.
    func pageForm(limit: Int) async throws -> OAuth.Parameters {
        let text = try await self.formText(limit: limit)
        guard let form = try? OAuth.Parameters(parsing: text, limits: .init(bytes: limit)) else {
            throw Problem(.badRequest, "malformed-body", "The form is not encoded, or has a field twice.")
        }
        return form
    }
}

extension BrowserCookies {
    /// Refuses a form that did not stand on a page of this server in this browser: other addresses of the same site can
    /// post with the browser's cookies.
    func requireToken(of form: OAuth.Parameters, _ session: SessionSecret) throws {
        guard
            constantTimeEqual(Array((form["confirmation"] ?? "").utf8), Array(self.formToken(session).utf8))
        else { throw Problem(.badRequest, "invalid-request", "The form did not stand on a page of this browser's.") }
    }

    /// Refuses a form in the same way, for a request that the browser has begun.
    func requireToken(of form: OAuth.Parameters, _ browser: BrowserSecret, request: String) throws {
        let expected = self.formToken(browser, request: request)
        guard constantTimeEqual(Array((form["confirmation"] ?? "").utf8), Array(expected.utf8)) else {
            throw Problem(.badRequest, "invalid-request", "The form did not stand on a page of this browser's.")
        }
    }
}

/// Answers people with pages where a program gets a problem document.
///
/// No page is a dead end: each page leads back to the service from which the person came, or to a new try. Each page
/// has the number of its line in the log.
struct PageAnswers: Sendable {
    let renderers: PageRenderers
    let provider: OpenIDProvider

    /// The renderer of the pages in the language of the request that the present task answers.
    var pages: PageRenderer { self.renderers.renderer(for: RequestLanguage.wishes) }

    /// Returns the tag of the language that a person gets by the request that the present task answers; `nil` if the
    /// request tells no language of this server. Languages that a client names (`ui_locales`) come first.
    func languageTag(uiLocales: String? = nil) -> String? {
        self.renderers.languages.tag(for: LanguageWishes(uiLocales: uiLocales), RequestLanguage.wishes)
    }

    /// Returns a handler that turns errors into pages, with the status of the problem document.
    func page(_ handler: @escaping ServerRouter.Handler) -> ServerRouter.Handler {
        { request, context in
            do {
                return try await handler(request, context)
            } catch {
                return await self.error(context.problem(of: error), request, context)
            }
        }
    }

    /// Returns the response that takes a browser to the client with the client's answer, or a response 400 for an
    /// answer that the browser is told here.
    func response(_ answer: ClientAnswer, headers: HTTPFields = [:]) -> Response {
        switch answer {
        case .redirect(let location): .seeOther(location, headers: headers)
        case .told(let text): .json(["errors": .string(text)], status: .badRequest, headers: headers)
        case .post(let posted):
            .page(
                self.pages.html(
                    PostedAnswerPage(address: posted.address, origin: posted.origin, fields: posted.fields.members)),
                headers: headers)
        }
    }

    /// Returns a page about a problem.
    func error(_ problem: Problem, _ request: Request, _ context: ServerContext) async -> Response {
        let service = await self.service(context)
        let named = Failure.Service(name: service?.name)
        var way = service.flatMap { service in
            service.home.map { ErrorPage.Way.service(name: service.name, address: $0) }
        }
        let isReadAgain = request.method == .get
        var detail: String?
        let failure: Failure
        switch problem.name {
        case CeremonyError.Code.wrongBrowser.name: failure = .wrongBrowser(named)
        case Problem.Name.notFound: failure = .signInOver(named)
        case Problem.Name.browserUnknown: failure = .browserUnknown(named, host: self.pages.host)
        case CeremonyError.Code.tooManyRequests.name:
            failure = .tooManySignIns(named, pause: Self.pause(problem), isReadAgain: isReadAgain)
            if isReadAgain { way = .again }
        case Problem.Name.storeUnavailable, Problem.Name.passwordsBusy:
            failure = .busy(named, isReadAgain: isReadAgain)
            if isReadAgain { way = .again }
        case Problem.Name.internal: failure = .faulty(named)
        default:
            failure = .damagedAddress(named)
            detail = problem.detail
        }
        return self.page(ErrorPage(failure, way: way, detail: detail, requestID: context.reference), problem)
    }

    /// Returns a page for a browser that has opened the continuation of another browser's sign-in or change. `words`
    /// name the other browser, as the phone has shown the browser.
    func anotherBrowser(than words: String, _ error: CeremonyError, _ context: ServerContext) async -> Response {
        let problem = context.problem(of: error)
        let service = await self.service(context)
        return self.page(
            ErrorPage(
                .anotherBrowser(words: words),
                way: service.flatMap { service in
                    service.home.map { ErrorPage.Way.service(name: service.name, address: $0) }
                },
                requestID: context.reference, isAddressCopied: true),
            problem)
    }

    /// Returns a page about a service's wrong request, with the reason for the people who can mend the request. Notes
    /// the reason for the request's line in the log.
    func error(_ error: OAuthError, _ context: ServerContext) async -> Response {
        context.notes.note(RequestRefusal(ProviderRefusal(error)))
        let service = await self.service(context)
        let page = ErrorPage(
            .wrongRequest(Failure.Service(name: service?.name)),
            way: service.flatMap { service in service.home.map { .service(name: service.name, address: $0) } },
            detail: error.message, requestID: context.reference)
        return .page(self.pages.html(page), status: .badRequest)
    }

    /// Returns a page about a problem at an address without a page: the address is mistyped, or belongs to a form or a
    /// program.
    @Sendable func outside(_ problem: Problem, _ context: ServerContext) -> Response {
        let failure: Failure =
            switch problem.status.code {
            case 404: .noPage
            case 405: .notAPage
            case 500...: .faultyOutside
            default: .unanswerable
            }
        return self.page(
            ErrorPage(
                failure, detail: [404, 405].contains(problem.status.code) ? nil : problem.detail,
                requestID: context.reference), problem)
    }

    private func page(_ page: ErrorPage, _ problem: Problem) -> Response {
        .page(self.pages.html(page), status: problem.status, headers: problem.headers)
    }

    /// Returns the registered service in the request's address.
    ///
    /// The author of the address chose the service. So a page shows only registered values, and no part of the address.
    private func service(_ context: ServerContext) async -> KnownService? {
        guard let id = context.notes.service else { return nil }
        // If the store cannot be read, the page is about that problem already.
        return (try? await self.provider.clients.service(id)) ?? nil
    }

    private static func pause(_ problem: Problem) -> Failure.Pause {
        problem.headers[.retryAfter].map { .seconds($0) } ?? .moment
    }
}
