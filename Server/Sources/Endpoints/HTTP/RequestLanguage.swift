import HTTPTypes
import Hummingbird
package import Texts

/// The languages of the browser whose request the present task answers.
///
/// Every page of an answer is in the language of its request, whichever function makes the page. So the languages
/// belong to the task, and no function passes them on. Reading costs only the answers that have a page.
package enum RequestLanguage {
    @TaskLocal fileprivate static var header: String?

    /// The wishes of the browser; none outside a request.
    package static var wishes: LanguageWishes { LanguageWishes(acceptLanguage: self.header) }
}

/// Keeps the header `Accept-Language` of a request for the task that answers the request.
struct RequestLanguageMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        try await RequestLanguage.$header.withValue(request.headers[.acceptLanguage]) {
            try await next(request, context)
        }
    }
}
