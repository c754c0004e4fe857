import Endpoints
import HTTPTypes
import Hummingbird
import OAuthProvider
import Settings
import _Primitives

/// Lets the scripts of pages read answers at the addresses for programs, if an operator has registered the pages'
/// origin for a client (Fetch Standard, section 3.2).
///
/// All other addresses are for a browser's navigation or for administrators, and not for scripts. Their answers say
/// nothing of origins (RFC 9700, section 2.6).
///
/// Such a request carries no cookie, and the server would not read a cookie. A script gets nothing that its own server
/// could not request.
struct CrossOriginMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    /// The addresses, and the methods that scripts may use at each address.
    static let addresses: [ExactText: String] = [
        "/oauth2/token": "POST", "/oauth2/par": "POST", "/oauth2/revoke": "POST", "/oauth2/userinfo": "GET, POST",
        "/oauth2/jwks": "GET", "/.well-known/openid-configuration": "GET",
        "/.well-known/oauth-authorization-server": "GET",
    ]
    /// The addresses whose form names the client: only a script of the client's origins reads the answer.
    private static let forms: Set<ExactText> = ["/oauth2/token", "/oauth2/par", "/oauth2/revoke"]

    let provider: OpenIDProvider
    /// The path of the server on its host.
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
            // The request's form is still unknown. The server checks the client's permission when the form comes.
            guard request.headers[.accessControlRequestMethod] != nil,
                try await self.provider.clients.answersScripts(ofOrigin: origin, client: nil)
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
        // The answer has already been given. A failing look-up counts as a refusal, and its error does not replace the
        // answer.
        guard !isForm || context.notes.script != nil,
            (try? await self.provider.clients.answersScripts(
                ofOrigin: origin, client: isForm ? context.notes.script : nil))
                ?? false
        else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlExposeHeaders] = "WWW-Authenticate, DPoP-Nonce"
        return response
    }

    /// Adds `Vary`, so that no cache gives one origin the answer for another origin.
    private static func varying(_ response: Response) -> Response {
        var response = response
        response.headers[.vary] = "Origin"
        return response
    }
}
