import CountersignServer
import Hummingbird
import _Primitives

/// Begins the answers to those who wait for events in a task of their own, which takes its stack with it: a task keeps the
/// deepest stack that it ever had, and a connection's own task waits as long as the page does.
struct EventTaskResponder<Base: HTTPResponder>: HTTPResponder where Base.Context == ServerContext {
    let base: Base

    func respond(to request: Request, context: ServerContext) async throws -> Response {
        // The first letter first: this is asked of every request, and every path of events begins so.
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
