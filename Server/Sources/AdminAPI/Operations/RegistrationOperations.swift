import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Records
import Settings
import _Primitives

/// The operations for initial access tokens, with which clients register themselves.
struct RegistrationOperations: Sendable {
    let registrations: ClientRegistrations

    private static let token: [AdminOperation.Field] = [
        .required("id", "By what it is ended, and named in the audit trail; it opens nothing."),
        .required("createdAt", "RFC 3339."), .required("expiresAt", "RFC 3339."),
        .required("left", .integer, "How many clients can still be registered by it."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .post, path: "/registration-tokens", id: "addRegistrationToken",
                summary: "Let somebody register clients: make an initial access token (RFC 7591).",
                body: [
                    .optional(
                        "lifetimeSeconds", .integer,
                        "How long it is worth something: \(Limits().oauth.initialTokenLifetime.components.seconds) at most. Default: \(Limits.Fixed.usualInitialTokenLifetime.components.seconds)."
                    ),
                    .optional(
                        "clients", .integer,
                        "For how many clients it is: \(Limits().oauth.initialTokenUses) at most. Default: 1."),
                ], answer: Self.token + [.required("token", "Shown this once.")], status: .created,
                refusals: [(409, "There are as many tokens as one server takes.")], handler: self.add),
            AdminOperation(
                method: .get, path: "/registration-tokens", id: "listRegistrationTokens",
                summary: "List the initial access tokens that are worth something.",
                answer: [.required("tokens", .objects(Self.token), "The oldest first.")], handler: self.list),
            AdminOperation(
                method: .delete, path: "/registration-tokens/{id}", id: "revokeRegistrationToken",
                summary: "End an initial access token; the clients that were registered by it stay.",
                status: .noContent, refusals: [(404, "There is no such token.")], handler: self.revoke),
        ]
    }

    private static func json(_ token: InitialTokenRecord) -> JSONObject {
        [
            "id": .string(token.id), "createdAt": .string(token.createdAt.description),
            "expiresAt": .string(token.expiresAt.description), "left": .integer(Int64(token.left)),
        ]
    }

    @Sendable private func add(_ call: AdminOperation.Call) async throws -> JSONObject {
        do {
            let (token, secret) = try await self.registrations.makeInitialToken(
                lifetime: try call.body.integer("lifetimeSeconds", as: Int64.self).map { .seconds($0) },
                uses: try call.body.integer("clients", as: Int.self), by: call.actor)
            var object = Self.json(token)
            object["token"] = .string(secret)
            return object
        } catch let error as OAuthError {
            throw Problem(.badRequest, "invalid-request", error.message)
        } catch let error as StoreError where error.code == .conflict {
            throw Problem(.conflict, "too-many-tokens", "There are as many tokens as one server takes. End one.")
        }
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        ["tokens": .array(try await self.registrations.initialTokens().map { .object(Self.json($0)) })]
    }

    @Sendable private func revoke(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard try await self.registrations.revokeInitialToken(call.parameters["id"] ?? "", by: call.actor) else {
            throw Problem(.notFound, Problem.Name.notFound, "There is no such token.")
        }
        return [:]
    }
}
