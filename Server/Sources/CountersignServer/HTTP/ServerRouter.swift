import HTTPTypes
import Hummingbird

/// The router of a listener. The router knows the methods of every mounted path.
struct ServerRouter {
    /// A function that answers a request.
    typealias Handler = @Sendable (Request, ServerContext) async throws -> Response

    /// The effect of a GET at a path, beside the answer.
    enum GetEffect {
        /// No effect: the answer is the same for everybody. The same function answers HEAD, without the body.
        case reads
        /// A GET may spend, begin or end something, set a cookie, or tell a secret.
        ///
        /// The router answers HEAD without calling the handler. A browser that only fetches ahead (`Sec-Purpose:
        /// prefetch`) is told to come again (503).
        case acts
    }

    private let router = Router(context: ServerContext.self)
    private let mounted = MountedPaths()
    /// The path of the host below which everything is mounted.
    let path: IssuerPath

    /// Creates a router without any mounted path. `issuer` is the address by which people reach the router, if the
    /// address's path counts.
    init(issuer: String = "") { self.path = IssuerPath(of: issuer) }

    /// Returns the finished router, after all paths are mounted.
    func complete() -> Router<ServerContext> {
        self.router.add(middleware: MethodMiddleware(mounted: self.mounted))
        return self.router
    }

    /// Puts middleware around the paths that are mounted from now on, and around requests for unknown paths.
    func add(middleware: any MiddlewareProtocol<Request, Response, ServerContext>) {
        self.router.add(middleware: middleware)
    }

    /// Mounts a path with the methods that the path knows.
    ///
    /// Every other method, known or not, is answered 405 with `Allow` (RFC 9110, sections 9.1 and 15.5.6). A path with
    /// GET also knows HEAD, which changes nothing (section 9.2.1).
    ///
    /// - Parameter get: The effect of a GET. Without this argument the endpoint counts as acting.
    func endpoint(_ path: RouterPath, get: GetEffect = .acts, _ handlers: [HTTPRequest.Method: Handler]) {
        self.mount(RouterPath(self.path.text + path.description), get, handlers)
    }

    /// Mounts metadata at both places where clients look for metadata: below the issuer's path, and in front of the
    /// path.
    func metadata(_ name: String, _ handlers: [HTTPRequest.Method: Handler]) {
        self.endpoint(RouterPath(IssuerPath.wellKnown + name), get: .reads, handlers)
        guard !self.path.text.isEmpty else { return }
        self.mount(RouterPath(IssuerPath.wellKnown + name + self.path.text), .reads, handlers)
    }

    private func mount(_ path: RouterPath, _ effect: GetEffect, _ handlers: [HTTPRequest.Method: Handler]) {
        var handlers = handlers
        if let get = handlers[.get] {
            switch effect {
            case .reads: handlers[.head] = { try await get($0, $1).createHeadResponse() }
            case .acts:
                handlers[.get] = SafeMethods.withoutPrefetching(get)
                handlers[.head] = SafeMethods.head
            }
        }
        for (method, handler) in handlers { self.router.on(path, method: method, use: handler) }
        self.mounted.add(path, Set(handlers.keys))
    }
}
