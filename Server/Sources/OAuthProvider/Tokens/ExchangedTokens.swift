import OAuth
import Records
import Settings
import _Primitives

/// The words of a token exchange.
enum TokenExchange {
    /// The type of the new token (`issued_token_type`, section 3).
    static let accessToken = "urn:ietf:params:oauth:token-type:access_token"
}

extension Tokens {
    /// Returns an access token in exchange for another, of the same person and the same grant.
    ///
    /// The new token ends with the grant, with the shown token and with the tokens before it, and no later than any of
    /// them. The new token also ends when the client may no longer exchange. The only permitted actor of the shown
    /// token remains the only permitted actor of the new token.
    ///
    /// - Parameters:
    ///   - subject: The shown token.
    ///   - admitted: The grant of the token, whose person may get tokens now.
    ///   - client: The client that gets the new token.
    ///   - act: The claim `act`.
    ///   - end: The end of the token by which the client shows the actor, if any.
    ///
    /// Cost: one ES256 signature, one hash; for an opaque token one encryption.
    func exchangedToken(
        for subject: OwnAccessToken, _ admitted: AdmittedGrant, of client: ClientRecord, act: JSONObject, scope: Scope,
        audience: TokenAudience, boundTo binding: TokenBinding?, until end: Timestamp?, at now: Timestamp
    ) throws -> TokenResponse {
        let (grant, authentication) = (admitted.grant, admitted.authentication)
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

    /// `true` if the operator's rules would still permit each exchange that led to a token: for the token's client, and
    /// for each earlier client.
    ///
    /// - Parameters:
    ///   - grant: The grant of all these tokens.
    ///   - client: A client already read for this request, and not read again.
    ///
    /// Cost: one query for each exchange, except the exchange of `client`.
    func mayBeExchanged(_ token: OwnAccessToken, of grant: GrantRecord, asking client: ClientRecord?) async throws
        -> Bool
    {
        guard token.holders.first?.hasSameBytes(as: grant.client) ?? false else { return false }
        let tokens = Array(zip(token.holders + [token.client], token.audiences + [token.audience]))
        for (shown, given) in zip(tokens, tokens.dropFirst()) {
            let ((subject, resource), (holder, audience)) = (shown, given)
            guard let settings = try await self.client(holder, asking: client)?.settings,
                settings.grantTypes.containsBytes(of: GrantType.tokenExchange.rawValue),
                settings.tokens.subjects.containsBytes(of: subject),
                resource.hasSameBytes(as: self.issuer) || settings.tokens.owns(resource),
                settings.tokens.audiences.containsBytes(of: audience),
                token.scope.names.allSatisfy(settings.tokens.scopes.containsBytes)
            else { return false }
        }
        return true
    }
}
