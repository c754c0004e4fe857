import HTTPTypes
import Hummingbird

/// The router of a listener, which knows for every mounted path what it takes.
struct ServerRouter {
    /// A function that answers a request.
    typealias Handler = @Sendable (Request, ServerContext) async throws -> Response

    /// What a GET at a path does beside being answered.
    enum GetEffect {
        /// Nothing: its answer is the same for everybody. HEAD is answered by the same function, without the body.
        case reads
        /// It may spend, begin or end something, set a cookie, or tell a secret. HEAD is answered without asking anybody, and
        /// a browser that only fetches ahead (`Sec-Purpose: prefetch`) is told to come again (503).
        case acts
    }

    private let router = Router(context: ServerContext.self)
    private let mounted = MountedPaths()
    /// Below which path of its host everything is mounted.
    let path: IssuerPath

    /// A router without anything mounted; `issuer` is the address that people reach it by, where its path counts.
    init(issuer: String = "") { self.path = IssuerPath(of: issuer) }

    /// The router, once everything is mounted.
    func complete() -> Router<ServerContext> {
        self.router.add(middleware: MethodMiddleware(mounted: self.mounted))
        return self.router
    }

    /// Puts middleware around what is mounted from now on, and around what is not mounted at all.
    func add(middleware: any MiddlewareProtocol<Request, Response, ServerContext>) {
        self.router.add(middleware: middleware)
    }

    /// Mounts a path with the methods that it knows; every other method, known or not, is answered 405 with `Allow`
    /// (RFC 9110, sections 9.1 and 15.5.6). With GET a path knows HEAD, which changes nothing (section 9.2.1).
    ///
    /// - Parameter get: What a GET does; an endpoint that says nothing counts as one that acts.
    func endpoint(_ path: RouterPath, get: GetEffect = .acts, _ handlers: [HTTPRequest.Method: Handler]) {
        self.mount(RouterPath(self.path.text + path.description), get, handlers)
    }

    /// Mounts metadata at both places where clients look for them: below the issuer's path, and in front of it.
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
