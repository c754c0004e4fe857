package import HTTPTypes
package import Hummingbird
import _Primitives

/// The router of a listener. The router knows the methods of every mounted path.
package struct ServerRouter {
    /// A function that answers a request.
    package typealias Handler = @Sendable (Request, ServerContext) async throws -> Response

    /// The effect of a GET at a path, beside the answer.
    package enum GetEffect: Sendable {
        /// No effect: the answer is the same for everybody. The same function answers HEAD, without the body.
        case reads
        /// A GET may spend, begin or end something, set a cookie, or tell a secret.
        ///
        /// The router answers HEAD without calling the handler. A browser that only fetches ahead (`Sec-Purpose:
        /// prefetch`) is told to come again (503).
        case acts
    }

    /// A function that answers one method at one path.
    package struct Route: Sendable {
        let method: HTTPRequest.Method
        /// The path below the issuer's path, with parameters in braces.
        let path: String
        let get: GetEffect
        let handler: Handler

        /// Creates a route. Without `get`, a GET counts as acting.
        package init(
            method: HTTPRequest.Method, path: String, get: GetEffect = .acts, handler: @escaping Handler
        ) {
            self.method = method
            self.path = path
            self.get = get
            self.handler = handler
        }
    }

    private let router = Router(context: ServerContext.self)
    private let mounted = MountedPaths()
    /// The path of the host below which everything is mounted.
    package let path: IssuerPath

    /// Creates a router without any mounted path, with the middleware of every listener.
    ///
    /// - Parameters:
    ///   - issuer: The address by which people reach the router; empty if the address's path does not count.
    ///   - isSecure: `true` if people reach the server by https.
    ///   - trustedProxies: The proxies whose forwarded headers count.
    ///   - metrics: The counters of requests; `nil` if the listener does not count.
    ///   - isTraced: `true` if the server records runs.
    ///   - page: Makes the page that tells people of a problem; `nil` if no people come.
    package init(
        issuer: String = "", isSecure: Bool, trustedProxies: [AddressBlock], metrics: ServerMetrics? = nil,
        isTraced: Bool, page: (@Sendable (Problem, ServerContext) -> Response)? = nil
    ) {
        self.path = IssuerPath(of: issuer)
        self.add(middleware: AccessLogMiddleware(metrics: metrics))
        self.add(middleware: SecurityHeadersMiddleware(isSecure: isSecure))
        if !self.path.text.isEmpty { self.add(middleware: IssuerPathMiddleware(path: self.path)) }
        if isTraced { self.add(middleware: TraceResponseMiddleware()) }
        if page != nil { self.add(middleware: RequestLanguageMiddleware()) }
        self.add(middleware: ErrorMiddleware(page: page))
        self.add(middleware: RequestRulesMiddleware())
        self.add(middleware: RequestBoundsMiddleware())
        self.add(middleware: ClientAddressMiddleware(trustedProxies: trustedProxies))
    }

    /// Returns the finished router, after all paths are mounted.
    package func complete() -> Router<ServerContext> {
        self.router.add(middleware: MethodMiddleware(mounted: self.mounted))
        return self.router
    }

    /// Puts middleware around the paths that are mounted from now on, and around requests for unknown paths.
    package func add(middleware: any MiddlewareProtocol<Request, Response, ServerContext>) {
        self.router.add(middleware: middleware)
    }

    /// Mounts routes: each path once, with the methods of all its routes.
    package func mount(_ routes: [Route]) {
        var paths: [(path: String, get: GetEffect, handlers: [HTTPRequest.Method: Handler])] = []
        for route in routes {
            if let index = paths.firstIndex(where: { $0.path.hasSameBytes(as: route.path) }) {
                paths[index].handlers[route.method] = route.handler
                if route.method == .get { paths[index].get = route.get }
            } else {
                paths.append((route.path, route.get, [route.method: route.handler]))
            }
        }
        for (path, get, handlers) in paths { self.endpoint(RouterPath(path), get: get, handlers) }
    }

    /// Mounts a path with the methods that the path knows.
    ///
    /// Metadata stands at both places where clients look for metadata: below the issuer's path, and in front of the
    /// path.
    ///
    /// Every other method, known or not, is answered 405 with `Allow` (RFC 9110, sections 9.1 and 15.5.6). A path with
    /// GET also knows HEAD, which changes nothing (section 9.2.1).
    ///
    /// - Parameter get: The effect of a GET. Without this argument the endpoint counts as acting.
    package func endpoint(_ path: RouterPath, get: GetEffect = .acts, _ handlers: [HTTPRequest.Method: Handler]) {
        self.mount(RouterPath(self.path.text + path.description), get, handlers)
        guard !self.path.text.isEmpty, path.description.hasBytes(atStart: IssuerPath.wellKnown) else { return }
        self.mount(RouterPath(path.description + self.path.text), get, handlers)
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
