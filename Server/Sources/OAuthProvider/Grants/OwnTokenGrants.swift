import OAuth
import Records
import _Primitives

/// Issues a service's own token after any client authentication (RFC 6749, section 4.4). The service gets no refresh
/// token, as the service can authenticate again for the next token.
struct ClientCredentialsGrant: TokenGrant {
    let own: OwnTokens

    /// Returns the service's token. Cost: as ``OwnTokens/token(for:by:)``.
    func tokens(for request: TokenRequest) async throws -> TokenResponse {
        try await self.own.token(for: request, by: .clientCredentials)
    }
}

/// Issues a service's own token for a statement that the service has signed (RFC 7523, section 2.1).
/// ``ServiceAssertion`` has already taken the statement as proof of the service's identity.
struct ServiceAssertionGrant: TokenGrant {
    let own: OwnTokens

    /// Returns the service's token. Cost: as ``OwnTokens/token(for:by:)``.
    func tokens(for request: TokenRequest) async throws -> TokenResponse {
        // A client without an assertion has authenticated in another way, and shows no grant for a token.
        _ = try request.parameters.required("assertion")
        return try await self.own.token(for: request, by: .serviceAssertion)
    }
}

/// The own tokens of services.
struct OwnTokens: Sendable {
    let tokens: Tokens
    let audiences: TokenAudiences
    let details: RequestedDetails

    /// Returns a client's own token, with the requested scopes, or all scopes that the client may have.
    ///
    /// Throws `OAuthError` `invalid_scope`, `invalid_target`. Nothing is written.
    ///
    /// Cost: The call needs one HMAC, one ES256 signature and one hash. An opaque token needs an encryption in place of
    /// the hash. A resource adds a query.
    func token(for request: TokenRequest, by type: GrantType) async throws -> TokenResponse {
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
        try self.details.refuse(in: request.parameters)
        let audience = try await self.audiences.asked(by: request.parameters, of: client)
        return try self.tokens.ownToken(
            of: client, by: type.rawValue, scope: scope, audience: audience ?? self.audiences.usual(of: client),
            boundTo: request.binding, at: self.tokens.time.now())
    }
}
