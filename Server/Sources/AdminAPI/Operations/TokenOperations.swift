import Accounts
import Endpoints
import HTTPTypes
import Hummingbird
import Records
import _Primitives

/// The operations for administrators' tokens.
struct TokenOperations: Sendable {
    let administrators: Administrators

    private static let token: [AdminOperation.Field] = [
        .required("id", "The administrator, as in the audit trail."), .required("createdAt", "RFC 3339."),
        .required("expiresAt", "RFC 3339."),
    ]

    private static let secret = AdminOperation.Field.required("token", "Shown this once.")
    private static let lifetime = AdminOperation.Field.optional(
        "lifetimeSeconds", .integer, "How long the token is valid: a year at most.")
    private static let notFound = [(status: 404, meaning: "There is no such token.")]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .post, path: "/tokens", id: "createToken",
                summary: "Exchange the secret of the one-time administrator link for a token.",
                body: [.required("secret", "The part of the link after #."), Self.lifetime], answer: [Self.secret],
                status: .created,
                refusals: [
                    (404, "No such secret, or it has expired or been used."),
                    (429, "Too many wrong secrets from this address."),
                ], isOpen: true,
                handler: self.create),
            AdminOperation(
                method: .get, path: "/tokens", id: "listTokens", summary: "List the tokens that are valid.",
                answer: [.required("tokens", .objects(Self.token), "The oldest first.")], handler: self.list),
            AdminOperation(
                method: .delete, path: "/tokens/{id}", id: "revokeToken", summary: "End a token at once.",
                status: .noContent, refusals: Self.notFound, handler: self.revoke),
            AdminOperation(
                method: .post, path: "/tokens/{id}/rotate", id: "rotateToken",
                summary: "Put a new token in place of one, which is worth nothing from then on.",
                body: [Self.lifetime], answer: [Self.secret], refusals: Self.notFound, handler: self.rotate),
        ]
    }

    @Sendable private func create(_ call: AdminOperation.Call) async throws -> JSONObject {
        let secret = try call.body.requiredString("secret")
        let token = try await self.administrators.redeem(
            secret: secret, source: call.source, lifetime: Self.lifetime(call))
        return ["token": .string(token)]
    }

    private static func lifetime(_ call: AdminOperation.Call) throws -> Duration? {
        try call.body.integer("lifetimeSeconds", as: Int64.self).map { .seconds($0) }
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        [
            "tokens": .array(
                try await self.administrators.list().map { administrator in
                    .object([
                        "id": .string(administrator.id), "createdAt": .string(administrator.createdAt.description),
                        "expiresAt": .string(administrator.expiresAt.description),
                    ])
                })
        ]
    }

    @Sendable private func revoke(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.administrators.revoke(id: call.parameters["id"] ?? "", by: call.actor)
        return [:]
    }

    @Sendable private func rotate(_ call: AdminOperation.Call) async throws -> JSONObject {
        [
            "token": .string(
                try await self.administrators.rotate(
                    id: call.parameters["id"] ?? "", by: call.actor, lifetime: Self.lifetime(call)))
        ]
    }
}
