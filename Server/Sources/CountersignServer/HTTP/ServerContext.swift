import Foundation
import HTTPTypes
public import Hummingbird
public import NIOCore

/// What a request carries on its way through the server.
public struct ServerContext: RequestContext, RemoteAddressRequestContext {
    /// What the HTTP library keeps of a request.
    public var coreContext: CoreRequestContextStorage
    /// The other end of the connection: a proxy's address where one stands in front.
    public let remoteAddress: SocketAddress?
    /// The caller's address after forwarded headers of configured proxies; set by ``ClientAddressMiddleware``.
    public var clientAddress: String

    /// Begins a request's context.
    public init(source: ApplicationRequestContextSource) {
        self.coreContext = .init(source: source)
        self.remoteAddress = source.channel.remoteAddress
        self.clientAddress = source.channel.remoteAddress?.ipAddress ?? "local"
    }

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

/// The router of every listener.
typealias ServerRouter = Router<ServerContext>

extension ServerRouter {
    /// A function that answers a request.
    typealias Handler = @Sendable (Request, ServerContext) async throws -> Response

    private static let knownMethods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect,
    ]

    /// Mounts a path with the methods that it knows; every other method is answered 405 with `Allow` (RFC 9110,
    /// section 15.5.6).
    func endpoint(_ path: RouterPath, _ handlers: [HTTPRequest.Method: Handler]) {
        var allowed = Set(handlers.keys)
        // The router answers HEAD by GET itself.
        if allowed.contains(.get) { allowed.insert(.head) }
        let allow = Self.knownMethods.filter(allowed.contains).map(\.rawValue).joined(separator: ", ")
        for method in Self.knownMethods {
            if let handler = handlers[method] {
                self.on(path, method: method, use: handler)
            } else if !allowed.contains(method) {
                self.on(path, method: method) { _, _ -> Response in
                    throw Problem(
                        .methodNotAllowed, "method-not-allowed", "This address takes \(allow).",
                        headers: [.allow: allow])
                }
            }
        }
    }
}
