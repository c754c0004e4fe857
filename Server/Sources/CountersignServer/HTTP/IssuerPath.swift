import HTTPTypes
import Hummingbird
import _Primitives

/// Below which path of its host the server is, where it shares the host with others: empty where it has one of its own.
///
/// Whoever stands in front passes the path on. What is not below it is not this server's (RFC 8414, section 3: several
/// issuers of one host are told apart by their paths), but for the place of the metadata that is named by the path.
struct IssuerPath: Sendable {
    /// Where metadata are (RFC 8615): in front of the issuer's path (RFC 8414, section 3.1), or below it (OpenID Connect
    /// Discovery, section 4).
    static let wellKnown = "/.well-known/"

    /// With a slash at its beginning and none at its end; or empty.
    let text: String

    /// The path of an issuer's address, which is checked where it is configured.
    init(of issuer: String) {
        let afterScheme = issuer.firstRange(of: "://").map { issuer[$0.upperBound...] } ?? issuer[...]
        self.text = afterScheme.utf8.firstIndex(of: UInt8(ascii: "/")).map { String(afterScheme[$0...]) } ?? ""
    }

    /// The address within the server that a request's path means: `/oauth2/token`, say, wherever that is of its host. `nil`
    /// for what is not this server's.
    func inner(_ path: String) -> String? {
        guard !self.text.isEmpty else { return path }
        if path.hasBytes(atStart: self.text + "/") { return String(path.utf8.dropFirst(self.text.utf8.count)) }
        guard path.hasBytes(atStart: Self.wellKnown), path.hasBytes(atEnd: self.text) else { return nil }
        return String(path.utf8.dropLast(self.text.utf8.count))
    }
}

/// Sends browsers on below the issuer's path, where an answer names an address of this server by its path alone.
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
