import HTTPTypes
import Hummingbird
import _Primitives

/// The path of the server on its host, if the server shares the host; empty if the server has a host of its own.
///
/// A proxy in front passes the path on. An address outside the path is not this server's (RFC 8414, section 3: paths
/// tell the issuers of one host apart). The only exception is the place of the metadata, whose address ends with the
/// path.
package struct IssuerPath: Sendable {
    /// The place of metadata (RFC 8615): in front of the issuer's path (RFC 8414, section 3.1), or below the path
    /// (OpenID Connect Discovery, section 4).
    package static let wellKnown = "/.well-known/"

    /// The path, with a slash at its beginning and none at its end; or empty.
    package let text: String

    /// Reads the path of an issuer's address. The configuration has checked the address.
    package init(of issuer: String) {
        let afterScheme = issuer.firstRange(of: "://").map { issuer[$0.upperBound...] } ?? issuer[...]
        self.text = afterScheme.utf8.firstIndex(of: UInt8(ascii: "/")).map { String(afterScheme[$0...]) } ?? ""
    }

    /// Returns the address within the server for a request's path: `/oauth2/token`, say, wherever the server is on its
    /// host. `nil` for an address that is not this server's.
    package func inner(_ path: String) -> String? {
        guard !self.text.isEmpty else { return path }
        if path.hasBytes(atStart: self.text + "/") { return String(path.utf8.dropFirst(self.text.utf8.count)) }
        guard path.hasBytes(atStart: Self.wellKnown), path.hasBytes(atEnd: self.text) else { return nil }
        return String(path.utf8.dropLast(self.text.utf8.count))
    }
}

/// Adds the issuer's path to a redirect whose location is a path of this server.
struct IssuerPathMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let path: IssuerPath

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        if let location = response.headers[.location], location.hasBytes(atStart: "/") {
            response.headers[.location] = self.path.text + location
        }
        return response
    }
}
