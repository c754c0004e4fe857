import OAuth
import Records
import Settings
import _Primitives

/// Issues new tokens for a refresh token (RFC 6749, section 6; RFC 9700, section 4.14).
///
/// Each use gives the next refresh token; a client of fapi2 keeps its token. Until the next token is used, the previous
/// token gives the same next token again: neither a lost answer nor two requests at once cost a sign-in. A client that
/// proves nothing (`none`) has ten minutes for the repetition, unless the operator has set another time. The token
/// before both is refused without consequences for a minute, as a request may be late. Any older token ends everything
/// that the grant has given, as the token must be in the wrong hands (decision 28).
struct RefreshTokenGrant: TokenGrant {
    let store: any RefreshStore
    let tokens: Tokens
    let audiences: TokenAudiences
    let details: RequestedDetails
    let claims: ToldClaims
    let renewals: Renewals

    /// Returns the new tokens for the refresh token of a request.
    ///
    /// Cost: one store step, one query, one more if a resource is requested or was granted, two if the operator has
    /// terms, up to two for a person who came in a role; one ES256 signature, two HMACs, three hashes. With an ID token
    /// one signature of the client's algorithm, one hash and one HMAC more, and two queries if the client has named
    /// claims for the ID token.
    func tokens(for request: TokenRequest) async throws -> TokenResponse {
        let client = request.client
        let text = try request.parameters.required("refresh_token")
        let asked = try request.parameters["scope"].map { try Scope($0) }
        guard let presented = RefreshToken(text, keys: self.tokens.keys.signing) else {
            throw Self.refusal("not one of ours")
        }
        let target = try await self.audiences.asked(by: request.parameters, of: client)
        // Before the token is used: if the client's ID tokens are encrypted and its key is missing, nothing is spent.
        let protection = try await self.idTokenProtection(asked, of: client)
        let now = self.tokens.time.now()
        // Only the token's owner learns of missing terms, and nothing is spent: the token works after the person has
        // agreed.
        let known = try await self.known(presented, of: client, at: now)
        // FAPI 2.0 Security Profile, section 5.3.2.1: no new token replaces the old, as the token is bound to its
        // client.
        let isRotated = !client.settings.isFAPI2
        // Every error of the request is found before anything changes.
        let outcome = try await self.renewals.renew(
            presented, isRotated: isRotated, isBound: !client.settings.isPublic,
            until: now + self.tokens.limits.oauth.refreshTokenLifetime, by: client, showing: request.binding,
            knowing: known, at: now, refuse: Self.error
        ) { standing in
            guard standing.grant.client.hasSameBytes(as: client.id) else { throw Self.refusal("another client's") }
        } judgeLast: { standing in
            if let asked, try !asked.isPart(of: Scope(standing.grant.scope)) {
                throw OAuthError(.invalidScope, "The scope is wider than what was granted.")
            }
            try self.audiences.check(target, in: standing.grant)
            _ = try self.details.granted(request.parameters, within: standing.grant, of: client)
        }
        switch outcome {
        case .admitted(let admitted, let token, _):
            // A token that was spent on a refused request can be used again, as after any lost answer.
            let grant = admitted.grant
            let audience = try await self.audiences.audience(target, of: grant, for: client)
            // Scopes that the operator has since taken from the client are left out.
            let scope = try (asked ?? Scope(grant.scope))
                .limited(to: Clients.scopes + client.settings.tokens.scopes)
            var response = try self.tokens.accessToken(
                for: admitted, scope: scope, audience: audience,
                details: self.details.granted(request.parameters, within: grant, of: client),
                boundTo: request.binding,
                at: now)
            response.refreshToken = token.text
            if let protection, scope.contains(Scope.openID) {
                response.idToken = try self.tokens.idToken(
                    for: admitted, beside: response,
                    named: try await self.claims.namedClaims(for: grant, of: admitted.authentication),
                    protection: protection, at: now)
            }
            return response
        case .refused(let detail): throw Self.refusal(detail)
        }
    }

    /// Returns the protection of an ID token; `nil` if the client gets no ID token, by its settings or because it
    /// requests a scope without `openid`.
    private func idTokenProtection(_ asked: Scope?, of client: ClientRecord) async throws -> IDTokenProtection? {
        guard client.settings.tokens.refreshesIDToken, asked?.contains(Scope.openID) ?? true else { return nil }
        return try await self.tokens.idTokenProtection(of: client)
    }

    /// Returns the facts about the person of a client's refresh token, if the operator has terms; `nil` without terms,
    /// and for an unknown grant.
    private func known(
        _ token: RefreshToken, of client: ClientRecord, at now: Timestamp
    ) async throws -> StandingFacts? {
        guard self.tokens.standing.terms != nil,
            let standing = try await self.store.grant(token.grant, token: nil, at: now)
        else { return nil }
        var facts = try await self.tokens.standing.facts(of: standing, at: client)
        facts.missingTerms = try await self.tokens.standing.missingTerms(ofAccount: standing.authentication.account)
        return facts
    }

    private static func error(_ refusal: StandingRefusal) -> any Error {
        switch refusal {
        case .notAgreed: Self.refusal("nobody has agreed to it")
        case .key(.missing): Self.refusal("no proof of its key, nor its certificate")
        case .key: Self.refusal("another key, or another certificate")
        case .locked, .notTaken, .terms: refusal.error
        }
    }

    /// Returns the same message for all cases: a client with another's token learns nothing about the token.
    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidGrant, "The refresh token is not valid.", detail: detail)
    }
}
