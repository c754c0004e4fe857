import OAuth
import Store
import _Primitives

/// Where an access token can be used, and what it looks like for that (RFC 8707).
///
/// A token is for one resource: whoever takes it there could use it at every other that it is for. This server itself is
/// one, by its issuer's address, which every client may name.
struct TokenAudience: Sendable {
    /// The value of `aud`.
    let text: String
    let format: TokenSettings.Format
    /// Who alone may act with it (`may_act`, RFC 8693, section 4.4); `nil` for whoever may exchange it.
    var actor: String?
}

extension OpenIDProvider {
    /// The resources that an authorization request names. Throws `OAuthError` `invalid_target` where one is not for the
    /// client.
    ///
    /// Cost: one query for each.
    func checkResources(_ resources: [ResourceIndicator], of client: ClientRecord) async throws {
        for resource in resources { _ = try await self.audience(resource, for: client) }
    }

    /// The audience that a request to the token endpoint names; `nil` where it names none.
    ///
    /// Throws `OAuthError` `invalid_target`. Cost: one query where it names one.
    func askedAudience(by parameters: Parameters, of client: ClientRecord) async throws -> TokenAudience? {
        let asked = try ResourceIndicator.all(in: parameters)
        guard asked.count <= 1 else {
            throw OAuthError(.invalidTarget, "A token is for one resource: ask for another token for the other.")
        }
        guard let resource = asked.first else { return nil }
        return try await self.audience(resource, for: client)
    }

    /// What a client's token is for where nothing is named: this server.
    func usualAudience(of client: ClientRecord) -> TokenAudience {
        TokenAudience(
            text: self.issuer, format: client.settings.tokens.format, actor: client.settings.tokens.actor)
    }

    /// What a token of a grant is for: what is asked, else the only resource of the grant, else this server.
    ///
    /// Throws `OAuthError` `invalid_target`. Cost: one query where the grant has one resource and nothing is asked.
    func audience(_ asked: TokenAudience?, of grant: GrantRecord, for client: ClientRecord) async throws
        -> TokenAudience
    {
        try self.check(asked, in: grant)
        if let asked { return asked }
        guard let only = grant.resources.first else { return self.usualAudience(of: client) }
        return try await self.audience(ResourceIndicator(only), for: client)
    }

    /// Throws `OAuthError` `invalid_target` where a grant is not for what is asked, or nothing is asked and it is for
    /// several.
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
        guard !resource.text.hasSameBytes(as: self.issuer) else { return self.usualAudience(of: client) }
        guard client.settings.tokens.audiences.containsBytes(of: resource.text) else {
            throw refusal("the operator can give the client --audience")
        }
        guard let owner = try await self.servedClient(owning: resource.text) else {
            throw refusal(
                "no client owns it, or one that is switched off: the operator can give it to one as its --resource")
        }
        return TokenAudience(
            text: resource.text, format: owner.settings.tokens.format, actor: client.settings.tokens.actor)
    }
}
