import OAuth
import Store
import _Primitives

/// A token of a service's own for whatever it authenticates with (RFC 6749, section 4.4). There is no refresh token: the
/// service has what it needs for the next one.
struct ClientCredentialsGrant: TokenGrant {
    static let type = OwnGrant.clientCredentials
    static let isForClientsThatProve = true

    /// Cost: as ``OpenIDProvider/ownToken(for:by:)``.
    func tokens(for request: TokenRequest, from provider: OpenIDProvider) async throws -> TokenResponse {
        try await provider.ownToken(for: request, by: Self.type)
    }
}

/// A token of a service's own for a statement that it has signed (RFC 7523, section 2.1), which proves who it is:
/// ``ServiceAssertion`` has taken it.
struct ServiceAssertionGrant: TokenGrant {
    static let type = OwnGrant.serviceAssertion
    static let isForClientsThatProve = true

    /// Cost: as ``OpenIDProvider/ownToken(for:by:)``.
    func tokens(for request: TokenRequest, from provider: OpenIDProvider) async throws -> TokenResponse {
        // Whoever has shown no assertion has proved who it is in another way, and says nothing to get a token for.
        _ = try request.parameters.required("assertion")
        return try await provider.ownToken(for: request, by: Self.type)
    }
}

extension OpenIDProvider {
    /// A token that a client has for itself, with the scopes that it asks for, or all that it may have.
    ///
    /// Throws `OAuthError` `invalid_scope`, `invalid_target`. Cost: one HMAC, one ES256 signature, one hash, or one
    /// encryption; for a resource one query more. Nothing is written.
    fileprivate func ownToken(for request: TokenRequest, by type: String) async throws -> TokenResponse {
        let client = request.client
        let own = client.settings.tokens.scopes
        guard !own.isEmpty else {
            throw OAuthError(
                .invalidScope, "The client has no scopes of its own.", detail: "the operator can give it --scope")
        }
        let scope = try Scope(request.parameters["scope"] ?? own.joined(separator: " "))
        guard scope.names.allSatisfy(own.containsBytes) else {
            throw OAuthError(
                .invalidScope, "The scope is wider than what the client may have.",
                detail: "the operator can give it --scope")
        }
        try self.refuseDetails(in: request.parameters)
        let audience = try await self.askedAudience(by: request.parameters, of: client)
        return try self.ownToken(
            of: client, by: type, scope: scope, audience: audience ?? self.usualAudience(of: client),
            boundTo: request.binding, at: self.time.now())
    }
}
