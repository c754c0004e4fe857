import Endpoints
import Hummingbird
import _Primitives

/// Begins the answers for waiting pages in a separate task, which takes its stack with it. A task keeps the deepest
/// stack of its life, and a connection's own task waits as long as the page does.
struct EventTaskResponder<Base: HTTPResponder>: HTTPResponder where Base.Context == ServerContext {
    let base: Base

    func respond(to request: Request, context: ServerContext) async throws -> Response {
        // The check of the first letter comes first: every request takes this check, and every path of events begins
        // with this letter.
        guard request.head.path?.utf8.dropFirst().first == UInt8(ascii: "s"),
            request.uri.path.hasBytes(atEnd: "/events")
        else {
            return try await self.base.respond(to: request, context: context)
        }
        return try await withThrowingTaskGroup(of: Response.self) { group in
            group.addTask { try await self.base.respond(to: request, context: context) }
            guard let response = try await group.next() else { throw CancellationError() }
            return response
        }
    }
}
