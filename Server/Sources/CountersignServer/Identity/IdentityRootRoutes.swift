import CeremonyEngine
import HTTPTypes
import Hummingbird
import JOSE
import _Primitives

/// The root key of personalised identities, for comparing, and for programs on the server's own machine.
///
/// An app has it in its configuration: whoever fetches it from elsewhere believes whoever answers.
struct IdentityRootRoutes: Sendable {
    let identities: Identities

    func mount(on router: ServerRouter) {
        // The first request for the key has the server make it.
        router.endpoint("/identity/root", [.get: self.root])
    }

    @Sendable private func root(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let root = try await self.identities.keys.root(), let key = root.publicJSON else {
            throw Problem(.notFound, "not-found", "There is no root key yet.")
        }
        return .json(key)
    }
}
