import OAuth
import Store
import _Primitives

/// New tokens for a refresh token (RFC 6749, section 6; RFC 9700, section 4.14).
///
/// Each use gives the next refresh token. Until that is used, the token before it gives the same one again: neither a lost
/// answer nor two requests at once cost a sign-in. A client that proves nothing (`none`) has ten minutes for that. The token
/// before both is refused without consequences for a minute, as a request may be late. Any older token ends all that the
/// grant has given, as somebody has another's token (decision 28).
struct RefreshTokenGrant: TokenGrant {
    static let type = OpenIDProvider.refreshGrant

    /// Cost: one store step, one query where a resource is asked for or was granted, one ES256 signature, two HMACs, three hashes;
    /// for who has signed in by an identity one query more.
    func tokens(for request: TokenRequest, from provider: OpenIDProvider) async throws -> TokenResponse {
        let client = request.client
        let text = try request.parameters.required("refresh_token")
        let asked = try request.parameters["scope"].map { try Scope($0) }
        guard let presented = RefreshToken(text, keys: provider.keys) else { throw Self.refusal("not one of ours") }
        let target = try await provider.askedAudience(by: request.parameters, of: client)
        let now = provider.time.now()
        // Told to whoever may have the token, and before anything is spent: it is good once the person has agreed.
        var missing: OAuthError?
        if provider.configuration.terms != nil,
            let standing = try await provider.store.grant(presented.grant, token: nil, at: now)
        {
            do { try await provider.requireTerms(ofAccount: standing.authentication.account) } catch let error
                as OAuthError
            { missing = error }
        }
        // FAPI 2.0 Security Profile, section 5.3.2.1: nothing takes the token's place, as it is bound to its client.
        let isRotated = !client.settings.isFAPI2
        // Whatever is wrong with the request is found before anything changes.
        let outcome = try await provider.use(
            presented, isRotated: isRotated, isBound: !client.settings.isPublic,
            until: now + provider.limits.oauth.refreshTokenLifetime, by: client, at: now
        ) { [missing] standing in
            guard standing.grant.client.hasSameBytes(as: client.id) else { throw Self.refusal("another client's") }
            guard standing.grant.isAgreed(for: client) else { throw Self.refusal("nobody has agreed to it") }
            if let expected = standing.grant.keyThumbprint {
                guard request.binding?.text.hasSameBytes(as: expected) ?? false else {
                    throw Self.refusal(
                        request.binding == nil
                            ? "no proof of its key, nor its certificate" : "another key, or another certificate")
                }
            }
            if let missing { throw missing }
            if let asked, try !asked.isPart(of: Scope(standing.grant.scope)) {
                throw OAuthError(.invalidScope, "The scope is wider than what was granted.")
            }
            try provider.check(target, in: standing.grant)
            _ = try provider.details(request.parameters, within: standing.grant, of: client)
        }
        switch outcome {
        case .renewed(let standing, let token, _):
            // What the refused request has spent stays good for its client as after any answer that was lost.
            let audience = try await provider.audience(target, of: standing.grant, for: client)
            // What the operator has taken from the client since is left out.
            let scope = try (asked ?? Scope(standing.grant.scope))
                .limited(to: OpenIDProvider.scopes + client.settings.tokens.scopes)
            var response = try await provider.accessToken(
                for: standing, scope: scope, audience: audience,
                details: provider.details(request.parameters, within: standing.grant, of: client),
                boundTo: request.binding, at: now
            )
            response.refreshToken = token.text
            return response
        case .refused(let detail): throw Self.refusal(detail)
        }
    }

    /// One sentence for all: whoever has a token that is not theirs learns nothing about it.
    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidGrant, "The refresh token is not valid.", detail: detail)
    }
}
