import HTTPTypes
import Hummingbird
import Synchronization
import _Primitives

/// The methods of every mounted path, for requests with a method that no mounted path takes.
final class MountedPaths: Sendable {
    private struct Mounted {
        let parts: [String]
        let allow: String
    }

    /// The order of the methods in `Allow`.
    private static let order: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete]

    private let paths = Mutex<[Mounted]>([])

    func add(_ path: RouterPath, _ methods: Set<HTTPRequest.Method>) {
        let allow = Self.order.filter(methods.contains).map(\.rawValue).joined(separator: ", ")
        self.paths.withLock { $0.append(Mounted(parts: Self.parts(path.description), allow: allow)) }
    }

    /// Returns the value of `Allow`; `nil` if nothing is mounted at the path.
    func allow(_ path: String) -> String? {
        let parts = Self.parts(path)
        return self.paths.withLock { paths in
            paths.first { mounted in
                mounted.parts.count == parts.count
                    && zip(mounted.parts, parts).allSatisfy { $0.hasSameBytes(as: $1) || Self.isParameter($0) }
            }?.allow
        }
    }

    private static func parts(_ path: String) -> [String] {
        path.splitBytes(at: "/").filter { !$0.isEmpty }.map(String.init)
    }

    private static func isParameter(_ part: String) -> Bool {
        part.hasBytes(atStart: ":") || part.hasBytes(atStart: "{")
    }
}

/// Answers a request for a mounted path with the methods of the path, if the path does not take the request's method.
struct MethodMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let mounted: MountedPaths

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            guard let allow = self.mounted.allow(request.uri.path) else { throw error }
            throw Problem(
                .methodNotAllowed, "method-not-allowed", "This address takes \(allow).", headers: [.allow: allow])
        }
    }
}
