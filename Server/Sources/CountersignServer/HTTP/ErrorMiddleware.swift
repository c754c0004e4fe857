import HTTPTypes
import Hummingbird
import Logging
import Store
import _Primitives

/// The ring boundary: whatever a route throws becomes an answer, in this one place.
///
/// A caller's mistake is never a 500. What is a 500 is logged with its reason; the answer holds nothing of it.
struct ErrorMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            return self.problem(error, context).response
        }
    }

    private func problem(_ error: any Error, _ context: ServerContext) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case let error as JSONError:
            return Problem(.badRequest, "malformed-body", "The body is not the JSON that is asked for: \(error.reason).")
        case let error as StoreError where error.code == .unavailable:
            context.logger.error("The store is unavailable", metadata: ["reason": "\(error)"])
            return Problem(
                .serviceUnavailable, "store-unavailable", "The server cannot store anything just now.",
                headers: [.retryAfter: "5"])
        case let error as HTTPError where error.status == .notFound:
            return Problem(.notFound, "not-found", "There is nothing at this address.")
        case let error as HTTPError:
            return Problem(error.status, "request-refused")
        default:
            context.logger.error("A request failed", metadata: ["reason": "\(error)"])
            return Problem(.internalServerError, "internal")
        }
    }
}
