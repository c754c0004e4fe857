import HTTPTypes
import Hummingbird
import OAuthProvider
import Store
import _Primitives

/// Lets the scripts of pages read answers, where an operator has registered the pages' origin for a client (Fetch Standard,
/// section 3.2), at the addresses that programs call. Everything else is a browser's own way, or an administrator's, and no
/// script's: there nothing is said of origins (RFC 9700, section 2.6).
///
/// No cookie comes with such a request, nor would it be read. What a script may read, it could have asked for from its own
/// server.
struct CrossOriginMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    /// The addresses, and the methods that scripts may use there.
    static let addresses: [ExactText: String] = [
        "/oauth2/token": "POST", "/oauth2/par": "POST", "/oauth2/revoke": "POST", "/oauth2/userinfo": "GET, POST",
        "/oauth2/jwks": "GET", "/.well-known/openid-configuration": "GET",
        "/.well-known/oauth-authorization-server": "GET",
    ]
    /// Where the form says whose the request is: only a script of that client's origins reads the answer.
    private static let forms: Set<ExactText> = ["/oauth2/token", "/oauth2/par", "/oauth2/revoke"]

    let provider: OpenIDProvider
    /// Below which path of its host the server is.
    let path: IssuerPath

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        let path = ExactText(self.path.inner(request.uri.path) ?? "")
        guard let methods = Self.addresses[path] else { return try await next(request, context) }
        let origins = request.headers[values: .origin]
        guard origins.count == 1, let origin = origins.first else {
            return try await Self.varying(next(request, context))
        }
        if request.method == .options {
            // What is wanted is in no form yet: whether the client may is seen when it comes.
            guard request.headers[.accessControlRequestMethod] != nil,
                try await self.provider.answersScripts(ofOrigin: origin, client: nil)
            else { return try await next(request, context) }
            return Self.varying(
                Response(
                    status: .noContent,
                    headers: [
                        .accessControlAllowOrigin: origin, .accessControlAllowMethods: methods,
                        .accessControlAllowHeaders: "Authorization, Content-Type, DPoP",
                        .accessControlMaxAge: String(Limits.Fixed.preflightLifetime.components.seconds),
                    ]))
        }
        var response = try await Self.varying(next(request, context))
        let isForm = Self.forms.contains(path)
        // What was given is given: a look-up that fails says no, and is not told in the answer's place.
        guard !isForm || context.notes.script != nil,
            (try? await self.provider.answersScripts(ofOrigin: origin, client: isForm ? context.notes.script : nil))
                ?? false
        else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlExposeHeaders] = "WWW-Authenticate, DPoP-Nonce"
        return response
    }

    /// No cache gives one origin what another was answered.
    private static func varying(_ response: Response) -> Response {
        var response = response
        response.headers[.vary] = "Origin"
        return response
    }
}
