import HTTPTypes
import Hummingbird
import NIOCore
import OAuth
import Pages
import Store

extension Response {
    /// A page, never kept by a cache.
    static func page(_ page: RenderedPage, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]) -> Response {
        var headers = headers
        headers[.contentType] = "text/html; charset=utf-8"
        headers[.cacheControl] = "no-store"
        headers[.contentSecurityPolicy] = page.contentSecurityPolicy.description
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: page.html)))
    }
}

/// Answers people where a program would get a problem document.
struct PageAnswers: Sendable {
    let pages: PageRenderer

    /// A handler whose errors are told as pages, with the status that the problem document would have.
    func page(_ handler: @escaping ServerRouter.Handler) -> ServerRouter.Handler {
        { request, context in
            do {
                return try await handler(request, context)
            } catch {
                return self.error(ErrorMiddleware().problem(error, context), context)
            }
        }
    }

    /// A page about a problem.
    func error(_ problem: Problem, _ context: ServerContext) -> Response {
        let words = Self.words(of: problem)
        return .page(
            self.pages.html(
                ErrorPage(headline: words.headline, explanation: words.explanation, requestID: context.reference)),
            status: problem.status, headers: problem.headers)
    }

    /// A page about what a service asked for wrongly.
    func error(_ error: OAuthError, _ context: ServerContext) -> Response {
        .page(
            self.pages.html(
                ErrorPage(
                    headline: "The service’s request cannot be followed",
                    explanation: error.message ?? "Go back to the service and start again.",
                    requestID: context.reference)),
            status: .badRequest)
    }

    private static func wait(_ problem: Problem) -> String {
        problem.headers[.retryAfter].map { $0 == "1" ? "a second" : "\($0) seconds" } ?? "a moment"
    }

    private static func words(of problem: Problem) -> (headline: String, explanation: String) {
        switch problem.name {
        case "wrong-browser":
            (
                "This is not the browser that started",
                "A sign-in can only be finished in the browser in which it began. If somebody sent you this link, do not "
                    + "follow it."
            )
        case "not-found":
            (
                "This sign-in is not known here",
                "It has ended, or it was started in another browser. Go back to the service and start again."
            )
        case "too-many-requests":
            (
                "Too many sign-ins at once",
                "Very many sign-ins were started from the network that you are in. Wait \(Self.wait(problem)), then load "
                    + "this page again."
            )
        case "store-unavailable":
            ("The server is busy", "Nothing is lost. Wait a moment, then load this page again.")
        case "internal": ("Something went wrong", "It is not your doing. Go back to the service and start again.")
        default:
            ("This address is not complete", problem.detail ?? "Go back to the service and start again.")
        }
    }
}

/// Shows people a page, not a document for programs, where nothing is mounted.
struct MissingPageMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let answers: PageAnswers

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            guard request.headers[values: .accept].contains(where: { $0.utf8.firstRange(of: "text/html".utf8) != nil })
            else { throw error }
            context.notes.note(RequestRefusal(code: "not-found", reason: "There is nothing at this address."))
            let page = ErrorPage(
                headline: "There is no page here",
                explanation: "The address may be incomplete. Go back to where you came from and try again.",
                requestID: context.reference)
            return .page(self.answers.pages.html(page), status: .notFound)
        }
    }
}
