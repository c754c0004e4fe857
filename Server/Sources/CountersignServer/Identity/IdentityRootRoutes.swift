import CeremonyEngine
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

    func mount(on router: ServerRouter) {
        // The first request for the key makes the server make the key.
        router.endpoint("/identity/root", [.get: self.root])
    }

    @Sendable private func root(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let root = try await self.identities.keys.root(), let key = root.publicJSON else {
            throw Problem(.notFound, "not-found", "There is no root key yet.")
        }
        return .json(key)
    }
}
