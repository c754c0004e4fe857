import HTTPTypes
import Hummingbird
import _Primitives

/// Finds the caller's address: forwarded headers count only from configured proxies (founding decision, Proxies).
///
/// `X-Forwarded-For` is read from its end: the last address that no trusted proxy has is the caller's, as everything
/// before it can be invented.
struct ClientAddressMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    let trustedProxies: [AddressBlock]

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        guard self.isTrusted(context.clientAddress), let name = HTTPField.Name("X-Forwarded-For") else {
            return try await next(request, context)
        }
        var context = context
        // Each is read only as far as the one behind it is a proxy's.
        for field in request.headers[values: name].joined(separator: ",").splitBytes(at: ",").reversed()
        where !field.isEmpty {
            let address = String(decoding: field.utf8.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
            guard AddressBlock(address) != nil else { break }
            context.clientAddress = address
            guard self.isTrusted(address) else { break }
        }
        return try await next(request, context)
    }

    private func isTrusted(_ address: String) -> Bool { self.trustedProxies.contains { $0.contains(address) } }
}
