import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import _Primitives

/// Recognises a relying party's back end by the client's id and secret.
struct ClientAuthorization: Sendable {
    let provider: OpenIDProvider

    /// Returns the client of a request. Throws a 401 ``Problem``.
    func client(of request: Request) async throws -> AuthenticatedClient {
        do {
            return try await self.provider.clients.authenticate(header: request.authorization)
        } catch let error as OAuthError {
            throw Problem(
                .unauthorized, "unauthorized", "A client's id and secret are needed.",
                headers: [.wwwAuthenticate: error.challenge(scheme: "Basic", realm: "countersign")])
        }
    }

    /// Returns `true` if a request shows the credentials of a client.
    static func isClaimed(by request: Request) -> Bool {
        request.headers[.authorization].map { Substring($0.utf8.prefix(6)).asciiLowercased.hasSameBytes(as: "basic ") }
            ?? false
    }
}
