import HTTPTypes
import Hummingbird
import Logging
import Settings
import _Primitives

/// Adds the security headers of every answer. Pages add their own Content-Security-Policy.
struct SecurityHeadersMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    private static let referrerPolicy = HTTPField.Name("Referrer-Policy")
    private static let crossOriginResourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy")

    /// `true` if people reach the server by https, so that browsers should use nothing but https.
    let isSecure: Bool

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        response.headers[.xContentTypeOptions] = "nosniff"
        if let name = Self.referrerPolicy { response.headers[name] = "no-referrer" }
        if response.headers[.contentSecurityPolicy] == nil {
            response.headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
        }
        if let name = Self.crossOriginResourcePolicy { response.headers[name] = "same-origin" }
        if self.isSecure {
            response.headers[.strictTransportSecurity] =
                "max-age=\(Limits.Fixed.transportSecurityLifetime.components.seconds)"
        }
        return response
    }
}

/// Writes one line of the log for each request: method, mounted path, status and time.
///
/// For a refusal the line also has the reference, the reason, the client and the setting. The line never has an
/// address's own path or query, which can hold names and secrets.
struct AccessLogMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    /// The counters of requests; `nil` if the listener does not count.
    let metrics: ServerMetrics?

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        var context = context
        context.registry = self.metrics?.registry
        let response = try await next(request, context)
        let (duration, route) = (ContinuousClock.now - start, context.endpointPath ?? "unknown")
        var metadata: Logger.Metadata = [
            "status": "\(response.status.code)", "milliseconds": "\(duration.milliseconds)",
        ]
        if let refusal = context.notes.refusal {
            metadata["reference"] = "\(context.reference)"
            metadata["error"] = "\(refusal.code)"
            metadata["reason"] = refusal.reason.map { "\($0)" }
            metadata["client"] = refusal.client.map { "\($0)" }
            metadata["account"] = refusal.account.map { "\($0)" }
            metadata["setting"] = refusal.setting.map { "\($0)" }
            self.metrics?.count(.refusals, refusal.code)
        }
        context.logger.info("\(request.method.rawValue) \(route)", metadata: metadata)
        self.metrics?.answered(request.method, route: route, status: response.status.code, after: duration)
        return response
    }
}

/// Refuses addresses that are longer than any address of this server.
struct RequestBoundsMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        guard request.uri.description.utf8.count <= Limits.Fixed.targetBytes else {
            throw Problem(
                HTTPResponse.Status(code: 414, reasonPhrase: "URI Too Long"), "target-too-long",
                "An address has at most \(Limits.Fixed.targetBytes) bytes here.")
        }
        return try await next(request, context)
    }
}
