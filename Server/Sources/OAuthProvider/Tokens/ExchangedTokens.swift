import OAuth
import Store
import _Primitives

/// The words of an exchange of tokens.
enum TokenExchange {
    /// The `grant_type` (RFC 8693, section 2.1).
    static let grantType = "urn:ietf:params:oauth:grant-type:token-exchange"
    /// What the new token is (`issued_token_type`, section 3).
    static let accessToken = "urn:ietf:params:oauth:token-type:access_token"
}

extension OpenIDProvider {
    /// An access token for another one, of the same person and the same grant. It ends with the grant, with the token that
    /// was shown and with those before it, at the latest when that would have ended, and when the client may not exchange
    /// any more. Who alone may act with the token that was shown may with this one, and nobody else.
    ///
    /// - Parameters:
    ///   - subject: The token that was shown.
    ///   - client: Whose the new one is.
    ///   - act: The claim `act`.
    ///   - end: When the token ends by which the client shows who acts, if there is one.
    ///
    /// Cost: one ES256 signature, one hash; of an opaque token one encryption.
    func exchangedToken(
        for subject: OwnAccessToken, _ standing: StandingGrant, of client: ClientRecord, act: JSONObject, scope: Scope,
        audience: TokenAudience, boundTo binding: TokenBinding?, until end: Timestamp?, at now: Timestamp
    ) throws -> TokenResponse {
        let (grant, authentication) = (standing.grant, standing.authentication)
        var about: JSONObject = [
            "sub": .string(subject.subject), "client_id": .string(client.id), TokenClaim.grant: .string(grant.id),
            "auth_time": .integer(authentication.at.seconds), "acr": .string(authentication.acr),
            "act": .object(act),
            TokenClaim.parents: .array((subject.parents + [subject.id]).map(JSON.string)),
            TokenClaim.holders: .array((subject.holders + [subject.client]).map(JSON.string)),
            TokenClaim.audiences: .array((subject.audiences + [subject.audience]).map(JSON.string)),
        ]
        about["may_act"] = subject.claims["may_act"]
        let most = min(now + self.limits.accessTokenLifetime, subject.expiresAt, grant.expiresAt)
        var response = try self.accessToken(
            about, scope: scope, audience: audience, boundTo: binding, until: min(most, end ?? most), at: now)
        response.issuedTokenType = TokenExchange.accessToken
        return response
    }

    /// Whether the operator's rules would still give a token that was given for others: to its client, and to each that
    /// had one before it; and whether people have agreed to the first, where its client is a third party's by now.
    ///
    /// - Parameters:
    ///   - grant: What all of them hang on. Its own client is there as long as the grant is.
    ///   - client: A client that was read for this request, and is not read again.
    ///
    /// Cost: one query, and one for each exchange, but for that of `client`.
    func mayBeExchanged(_ token: OwnAccessToken, of grant: GrantRecord, asking client: ClientRecord?) async throws
        -> Bool
    {
        guard token.holders.first?.hasSameBytes(as: grant.client) ?? false,
            let owner = try await self.client(grant.client, asking: client), grant.isAgreed(for: owner)
        else { return false }
        let tokens = Array(zip(token.holders + [token.client], token.audiences + [token.audience]))
        for (shown, given) in zip(tokens, tokens.dropFirst()) {
            let ((subject, resource), (holder, audience)) = (shown, given)
            guard let settings = try await self.client(holder, asking: client)?.settings,
                settings.grantTypes.containsBytes(of: TokenExchange.grantType),
                settings.tokens.subjects.containsBytes(of: subject),
                resource.hasSameBytes(as: self.issuer) || settings.tokens.owns(resource),
                settings.tokens.audiences.containsBytes(of: audience),
                token.scope.names.allSatisfy(settings.tokens.scopes.containsBytes)
            else { return false }
        }
        return true
    }
}
