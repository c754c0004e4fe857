import HTTPTypes
import Hummingbird

/// Finds the caller's address: forwarded headers count only from configured proxies (founding decision, Proxies).
struct ClientAddressMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    private static let name = HTTPField.Name("X-Forwarded-For")

    private let addresses: ForwardedAddresses

    init(trustedProxies: [AddressBlock]) { self.addresses = ForwardedAddresses(trustedProxies: trustedProxies) }

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        guard let name = Self.name else { return try await next(request, context) }
        var context = context
        context.clientAddress = self.addresses.caller(of: context.clientAddress, by: request.headers[values: name])
        return try await next(request, context)
    }
}
