import HTTPTypes
import Hummingbird
import OAuthProvider
import Records
import _Primitives

/// The addresses at which clients register themselves and manage their registrations (RFC 7591, RFC 7592). The
/// addresses exist only if the operator allows registration.
struct RegistrationRoutes: Sendable {
    let registrations: ClientRegistrations
    let bodyLimit: Int

    func mount(on router: ServerRouter) {
        router.endpoint("/oauth2/register", [.post: self.register])
        router.endpoint("/oauth2/register/{id}", [.get: self.read, .put: self.replace, .delete: self.delete])
    }

    @Sendable private func register(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await TokenRoutes.answer(context) {
            let body = try await request.jsonObject(limit: self.bodyLimit, leavesOutNull: true)
            return try await self.registrations.register(
                header: TokenRoutes.authorization(of: request), body: body, source: context.source)
        }
    }

    @Sendable private func read(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await TokenRoutes.answer(context) {
            try await self.registrations.read(
                try context.pathParameter("id"), header: TokenRoutes.authorization(of: request))
        }
    }

    @Sendable private func replace(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await TokenRoutes.answer(context) {
            let body = try await request.jsonObject(limit: self.bodyLimit, leavesOutNull: true)
            return try await self.registrations.replace(
                try context.pathParameter("id"), header: TokenRoutes.authorization(of: request), body: body)
        }
    }

    @Sendable private func delete(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await TokenRoutes.answer(context) {
            try await self.registrations.delete(
                try context.pathParameter("id"), header: TokenRoutes.authorization(of: request))
        }
    }
}
