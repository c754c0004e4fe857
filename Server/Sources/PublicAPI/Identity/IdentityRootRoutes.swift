import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import JOSE
import _Primitives

/// The route of the root key of personalised identities, for comparing, and for programs on the server's own machine.
///
/// An app has the key in its configuration. An app that fetched the key over the network would trust any machine that
/// answers.
struct IdentityRootRoutes: Sendable {
    let identities: Identities

    /// The endpoint of the root's public key.
    var endpoints: [Endpoint] {
        [
            // The first request for the key makes the server make the key.
            Endpoint(
                method: .get, path: "/identity/root", id: "identityRoot",
                summary: "The root's public key, for comparing: whom an app believes stands in its configuration.",
                effect: .none,
                answers: [.init(status: 200, meaning: "A JSON web key.", type: "application/json")],
                refusing: [(404, "The server has not started yet.")], handler: self.root)
        ]
    }

    @Sendable private func root(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let root = try await self.identities.keys.root(), let key = root.publicJSON else {
            throw Problem(.notFound, "not-found", "There is no root key yet.")
        }
        return .json(key)
    }
}
