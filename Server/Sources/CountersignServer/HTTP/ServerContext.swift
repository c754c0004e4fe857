import Foundation
import HTTPTypes
public import Hummingbird
public import NIOCore

/// What a request carries on its way through the server.
public struct ServerContext: RequestContext, RemoteAddressRequestContext {
    /// What the HTTP library keeps of a request.
    public var coreContext: CoreRequestContextStorage
    /// The connection.
    let channel: any Channel
    /// The other end of the connection: a proxy's address where one stands in front.
    public let remoteAddress: SocketAddress?
    /// The caller's address after forwarded headers of configured proxies; set by ``ClientAddressMiddleware``.
    public var clientAddress: String
    /// What the request's line in the log is to say of it.
    let notes = RequestNotes()

    /// Begins a request's context.
    public init(source: ApplicationRequestContextSource) {
        self.coreContext = .init(source: source)
        self.channel = source.channel
        self.remoteAddress = source.channel.remoteAddress
        self.clientAddress = source.channel.remoteAddress?.ipAddress ?? "local"
    }

    /// By what the caller is counted: the address, of IPv6 its first 64 bits. Whoever has one such address has all of
    /// them.
    var source: String { AddressBlock.source(of: self.clientAddress) }

    /// A parameter of the path, percent-decoded.
    ///
    /// Throws a 404 ``Problem`` where it is not UTF-8: nothing has such a name.
    func pathParameter(_ name: String) throws -> String {
        guard let text = self.parameters.get(name)?.removingPercentEncoding, !text.isEmpty else {
            throw Problem(.notFound, "not-found", "There is nothing at this address.")
        }
        return text
    }
}

/// The router of a listener, which knows for every mounted path what it takes.
struct ServerRouter {
    /// A function that answers a request.
    typealias Handler = @Sendable (Request, ServerContext) async throws -> Response

    private let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
    private let mounted = MountedPaths()

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
    /// (RFC 9110, sections 9.1 and 15.5.6).
    func endpoint(_ path: RouterPath, _ handlers: [HTTPRequest.Method: Handler]) {
        for (method, handler) in handlers { self.router.on(path, method: method, use: handler) }
        self.mounted.add(path, Set(handlers.keys))
    }
}
