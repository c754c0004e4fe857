import Endpoints
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

    /// The endpoints of registration.
    var endpoints: [Endpoint] {
        let metadata: [DescribedField] = [
            .required("redirect_uris", .strings, "Where a sign-in may return to."),
            .optional("client_name", "What people see."), .optional("client_uri", "Where people find the service."),
            .optional("grant_types", .strings, "The ways to tokens."),
            .optional("response_types", .strings, "code, and nothing else."),
            .optional("token_endpoint_auth_method", "How the client proves who it is."),
            .optional("jwks", .object, "Its public keys."), .optional("jwks_uri", "Where they are."),
            .optional("post_logout_redirect_uris", .strings, "Where a sign-out may return to."),
            .optional("id_token_signed_response_alg", "What its ID tokens are signed with."),
            .optional("id_token_encrypted_response_alg", "How the key of its ID tokens reaches it."),
            .optional("id_token_encrypted_response_enc", "What its ID tokens are encrypted with."),
            .optional("backchannel_logout_uri", "Where it is told that a session has ended."),
            .optional("backchannel_logout_session_required", .boolean, "Whether it needs the session's sid."),
            .optional("software_statement", "Who vouches for the software."),
            .optional("dpop_bound_access_tokens", .boolean, "Whether its tokens are bound to a key (RFC 9449)."),
            .optional(
                "require_pushed_authorization_requests", .boolean, "Whether it pushes its requests (RFC 9126)."),
            .optional("require_signed_request_object", .boolean, "Whether it signs its requests (RFC 9101)."),
            .optional(
                "tls_client_certificate_bound_access_tokens", .boolean,
                "Whether its tokens are bound to its certificate (RFC 8705)."),
            .optional("default_max_age", .integer, "The max_age of its requests that have none, in seconds."),
            .optional("userinfo_signed_response_alg", "What userinfo is signed with."),
            .optional("sector_identifier_uri", "The list of its sector's redirect addresses."),
        ]
        let answer = [
            DescribedField.required("client_id", "The client."),
            .required("registration_client_uri", "Where it manages itself."),
            .required("registration_access_token", "What it manages itself by."),
            .optional("ignored_members", .strings, "The members that were not kept."),
        ]
        let refusing = [(status: 400, meaning: "What a client cannot be."), (status: 401, meaning: "No such token.")]
        return [
            Endpoint(
                method: .post, path: "/oauth2/register", id: "registerClient", summary: "Register a client.",
                effect: .none,
                caller: .token, body: (.json, metadata),
                answers: [.init(status: 201, meaning: "It is registered.", type: "application/json", members: answer)],
                refusals: .oauth,
                refusing: refusing + [Endpoint.tooMany, (503, "There are too many clients.")], handler: self.register),
            Endpoint(
                method: .get, path: "/oauth2/register/{id}", id: "readClient", summary: "A client's registration.",
                effect: .none,
                caller: .token,
                answers: [.init(status: 200, meaning: "It.", type: "application/json", members: answer)],
                refusals: .oauth, refusing: refusing, handler: self.read),
            Endpoint(
                method: .put, path: "/oauth2/register/{id}", id: "replaceClient", summary: "Replace a registration.",
                effect: .none,
                caller: .token, body: (.json, [.required("client_id", "The client.")] + metadata),
                answers: [.init(status: 200, meaning: "It is changed.", type: "application/json", members: answer)],
                refusals: .oauth, refusing: refusing, handler: self.replace),
            Endpoint(
                method: .delete, path: "/oauth2/register/{id}", id: "deleteClient", summary: "Delete a registration.",
                effect: .none,
                caller: .token, answers: [.init(status: 204, meaning: "It is gone.")], refusals: .oauth,
                refusing: refusing, handler: self.delete),
        ]
    }

    @Sendable private func register(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await TokenRoutes.answer(context) {
            let body = try await request.jsonObject(limit: self.bodyLimit, leavesOutNull: true)
            return try await self.registrations.register(
                header: request.authorization, body: body, source: context.source)
        }
    }

    @Sendable private func read(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await TokenRoutes.answer(context) {
            try await self.registrations.read(
                try context.pathParameter("id"), header: request.authorization)
        }
    }

    @Sendable private func replace(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await TokenRoutes.answer(context) {
            let body = try await request.jsonObject(limit: self.bodyLimit, leavesOutNull: true)
            return try await self.registrations.replace(
                try context.pathParameter("id"), header: request.authorization, body: body)
        }
    }

    @Sendable private func delete(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await TokenRoutes.answer(context) {
            try await self.registrations.delete(
                try context.pathParameter("id"), header: request.authorization)
        }
    }
}
