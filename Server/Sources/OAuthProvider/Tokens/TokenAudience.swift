import OAuth
import Records
import _Primitives

/// The resource at which an access token can be used, and the token's format for the resource (RFC 8707).
///
/// A token is for one resource: a thief at one resource could use the token at every other resource of the token. This
/// server itself is a resource, by its issuer's address, which every client may name.
struct TokenAudience: Sendable {
    /// The value of `aud`.
    let text: String
    let format: TokenSettings.Format
    /// The only client that may act with the token (`may_act`, RFC 8693, section 4.4); `nil` for any client that may
    /// exchange the token.
    var actor: String?
}

/// The resources at which clients' tokens can be used.
struct TokenAudiences: Sendable {
    let clients: Clients

    private var issuer: String { self.clients.issuer }

    /// Checks the resources that an authorization request names. Throws `OAuthError` `invalid_target` if a resource is
    /// not for the client.
    ///
    /// Cost: one query for each resource.
    func check(_ resources: [ResourceIndicator], of client: ClientRecord) async throws {
        for resource in resources { _ = try await self.audience(resource, for: client) }
    }

    /// Returns the audience that a request to the token endpoint names; `nil` if the request names none.
    ///
    /// Throws `OAuthError` `invalid_target`. Cost: one query if the request names an audience.
    func asked(by parameters: Parameters, of client: ClientRecord) async throws -> TokenAudience? {
        let asked = try ResourceIndicator.all(in: parameters)
        guard asked.count <= 1 else {
            throw OAuthError(.invalidTarget, "A token is for one resource: ask for another token for the other.")
        }
        guard let resource = asked.first else { return nil }
        return try await self.audience(resource, for: client)
    }

    /// Returns the audience of a client's token if the client names none: this server.
    func usual(of client: ClientRecord) -> TokenAudience {
        TokenAudience(
            text: self.issuer, format: client.settings.tokens.format, actor: client.settings.tokens.actor)
    }

    /// Returns the audience of a grant's token: the requested audience, else the only resource of the grant, else this
    /// server.
    ///
    /// Throws `OAuthError` `invalid_target`. Cost: one query if the grant has one resource and the client requests
    /// none.
    func audience(_ asked: TokenAudience?, of grant: GrantRecord, for client: ClientRecord) async throws
        -> TokenAudience
    {
        try self.check(asked, in: grant)
        if let asked { return asked }
        guard let only = grant.resources.first else { return self.usual(of: client) }
        return try await self.audience(ResourceIndicator(only), for: client)
    }

    /// Throws `OAuthError` `invalid_target` if the grant does not have the requested audience, or if nothing is
    /// requested and the grant has several.
    func check(_ asked: TokenAudience?, in grant: GrantRecord) throws {
        if let asked {
            guard asked.text.hasSameBytes(as: self.issuer) || grant.resources.containsBytes(of: asked.text) else {
                throw OAuthError(
                    .invalidTarget, "The resource was not granted.", detail: "the authorization request has to name it")
            }
        } else if grant.resources.count > 1 {
            throw OAuthError(.invalidTarget, "Several resources were granted: name the one that the token is for.")
        }
    }

    func audience(_ resource: ResourceIndicator, for client: ClientRecord) async throws -> TokenAudience {
        func refusal(_ detail: String) -> OAuthError {
            OAuthError(.invalidTarget, "The resource is not known here, or not for this client.", detail: detail)
        }
        guard !resource.text.hasSameBytes(as: self.issuer) else { return self.usual(of: client) }
        guard client.settings.tokens.audiences.containsBytes(of: resource.text) else {
            throw refusal("the operator can give the client --audience")
        }
        guard let owner = try await self.clients.servedClient(owning: resource.text) else {
            throw refusal(
                "no client owns it, or one that is switched off: the operator can give it to one as its --resource")
        }
        return TokenAudience(
            text: resource.text, format: owner.settings.tokens.format, actor: client.settings.tokens.actor)
    }
}
