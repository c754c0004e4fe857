import JOSE
import OAuth
import Store
import _Primitives

/// What an access token rests on.
enum TokenStanding {
    /// A grant, which stands, of a person who is still taken.
    case grant(StandingGrant)
    /// The client itself, which may still have such tokens.
    case client
}

extension OpenIDProvider {
    // MARK: Giving

    /// An access token of a grant by itself (RFC 9068, section 2.2). It never outlives the grant. Every token of a grant's
    /// begins here: nothing is issued for a person who has to agree to the operator's terms first, whose account is locked,
    /// or who has lost the role that they came in.
    ///
    /// Throws `OAuthError` `invalid_grant` for those two.
    ///
    /// - Parameters:
    ///   - scope: The grant's, or a part of it.
    ///   - audience: Where it can be used.
    ///   - details: What it is good for in detail (RFC 9396): the grant's.
    ///   - binding: The key that the token is bound to; `nil` for a token that any holder may use.
    ///
    /// Cost: two queries, one ES256 signature, one hash; of an opaque token one encryption.
    func accessToken(
        for standing: StandingGrant, scope: Scope, audience: TokenAudience, details: AuthorizationDetails?,
        boundTo binding: TokenBinding?, at now: Timestamp
    ) async throws -> TokenResponse {
        let (grant, authentication) = (standing.grant, standing.authentication)
        guard try await self.person(of: standing) != nil else {
            throw OAuthError(
                .invalidGrant, "What was granted is not valid any more.",
                detail: "the account is locked, or the service does not take the person any more")
        }
        try await self.requireTerms(ofAccount: authentication.account)
        var about: JSONObject = [
            "sub": .string(grant.subject), "client_id": .string(grant.client), TokenClaim.grant: .string(grant.id),
            "auth_time": .integer(authentication.at.seconds), "acr": .string(authentication.acr),
        ]
        about["authorization_details"] = details?.json
        var response = try self.accessToken(
            about, scope: scope, audience: audience, boundTo: binding,
            until: min(now + self.limits.accessTokenLifetime, grant.expiresAt), at: now)
        response.authorizationDetails = details
        return response
    }

    /// An access token that a client has for itself. Nothing is written: it says that it rests on the client, by a name
    /// that nobody else can make, and that is another one after a restore.
    ///
    /// - Parameter type: The way to tokens by which the client gets it.
    ///
    /// Cost: one HMAC, one ES256 signature, one hash; of an opaque token one encryption.
    func ownToken(
        of client: ClientRecord, by type: String, scope: Scope, audience: TokenAudience,
        boundTo binding: TokenBinding?, at now: Timestamp
    ) throws -> TokenResponse {
        try self.accessToken(
            [
                "sub": .string(client.id), "client_id": .string(client.id),
                TokenClaim.grant: .string(self.ownGrant(of: client.id, by: type)),
            ], scope: scope, audience: audience, boundTo: binding, until: now + self.limits.accessTokenLifetime, at: now
        )
    }

    /// The name of what a client has of its own by that way. Of this epoch: a backup knows nothing of tokens that were
    /// taken back since.
    private func ownGrant(of client: String, by type: String) -> String {
        self.keys.pairwise("own grant \(type)", client: client, of: self.configuration.epoch)
    }

    func accessToken(
        _ about: JSONObject, scope: Scope, audience: TokenAudience, boundTo binding: TokenBinding?,
        until end: Timestamp,
        at now: Timestamp
    ) throws -> TokenResponse {
        var claims: JSONObject = ["iss": .string(self.issuer), "aud": .string(audience.text)]
        for (name, value) in about.members { claims[name] = value }
        // Who alone may act for a person stays so, however often the token is exchanged.
        if claims["may_act"] == nil { claims["may_act"] = audience.actor.map { .object(["sub": .string($0)]) } }
        claims["scope"] = .string(scope.description)
        claims["iat"] = .integer(now.seconds)
        claims["exp"] = .integer(end.seconds)
        claims["jti"] = .string(self.random.identifier())
        claims["cnf"] = binding.map { .object($0.confirmation) }
        let text: String
        switch audience.format {
        case .jwt:
            let signed = try self.keys.signed(claims, type: TokenType.accessToken, algorithm: .es256, at: now)
            text = signed.text
            if let keyID = signed.keyID { self.verifiedTokens.keep(text, type: TokenType.accessToken, keyID: keyID) }
        case .opaque:
            text = try self.keys.seal(opaqueToken: JSON.object(claims).serialized, random: self.random, at: now)
        }
        return TokenResponse(
            accessToken: text, expiresIn: end - now, scope: scope, idToken: nil, tokenType: binding?.scheme ?? .bearer
        )
    }

    // MARK: Taking

    /// One of our own access tokens, valid now, for whatever resource. Whether what it rests on stands is for the caller to
    /// ask.
    ///
    /// Throws `OAuthError` `invalid_token`. Cost: one hash, and one ES256 verification where this process has neither made
    /// nor verified it a while ago; of an opaque token one decryption.
    func ownAccessToken(_ text: String) async throws -> OwnAccessToken {
        do {
            return try await self.read(text, at: self.time.now())
        } catch let error as JOSEError {
            throw OAuthError(.invalidToken, "The access token is not valid.", detail: "\(error)")
        }
    }

    /// One of our own access tokens, valid now; `nil` for everything else. What keeps the server from finding out is
    /// thrown.
    func knownAccessToken(_ text: String) async throws -> OwnAccessToken? {
        do { return try await self.ownAccessToken(text) } catch is OAuthError { return nil }
    }

    private func read(_ text: String, at now: Timestamp) async throws -> OwnAccessToken {
        guard text.utf8.contains(UInt8(ascii: ".")) else {
            guard let bytes = self.keys.open(opaqueToken: text), case .object(let members)? = try? JSON(parsing: bytes)
            else { throw JOSEError(.malformed, "no token of ours") }
            return try OwnAccessToken(self.checked(JWTClaims(members: members)))
        }
        return try OwnAccessToken(
            self.checked(await self.knownOrVerified(text, type: TokenType.accessToken, of: .openID, at: now)))
    }

    /// As ``verified(_:type:of:at:)``, of an access token: a signature that this process has made, or verified a while ago, is
    /// not verified again.
    func knownOrVerified(
        _ text: String, type: String, of face: SigningKeyRecord.Face, at now: Timestamp
    ) async throws -> JWTClaims {
        if let known = self.verifiedTokens.claims(of: text, type: type),
            self.keys.isUsable(keyID: known.keyID, at: now)
        {
            return known.claims
        }
        let verified = try await self.verified(text, type: type, of: face, at: now)
        if let keyID = verified.keyID { self.verifiedTokens.keep(text, type: type, keyID: keyID) }
        return verified.claims
    }

    /// Throws `JOSEError` where claims are not of this provider, or not of this time.
    private func checked(_ claims: JWTClaims) throws -> JWTClaims {
        try claims.check(issuer: self.issuer, audience: claims.audience.first ?? "", at: self.time)
        return claims
    }

    /// What a token rests on, where that stands, its person is still taken, somebody who is served owns what the token is for,
    /// and the token was not taken back; else `nil`.
    ///
    /// - Parameter client: A client that was read for this request: where the token is its own, it is not read again.
    ///
    /// Cost: two queries; of another client's own token two, and two HMACs; of a token for a resource that is not `client`'s
    /// one query more, and of a token that was given for another one more for each exchange.
    func standing(of token: OwnAccessToken, asking client: ClientRecord? = nil) async throws -> TokenStanding? {
        let isAtHome =
            token.audience.hasSameBytes(as: self.issuer) || client?.settings.tokens.owns(token.audience) ?? false
        if !isAtHome {
            guard try await self.servedClient(owning: token.audience) != nil else { return nil }
        }
        guard token.isOwn else {
            guard let standing = try await self.store.grant(token.grant, tokens: token.names, at: self.time.now()),
                try await self.person(of: standing) != nil
            else { return nil }
            if token.parents.isEmpty { return .grant(standing) }
            return try await self.mayBeExchanged(token, of: standing.grant, asking: client) ? .grant(standing) : nil
        }
        guard let owner = try await self.client(token.client, asking: client), self.mayHave(token, owner),
            try await !self.store.isRevoked(tokens: [token.id])
        else { return nil }
        return .client
    }

    /// The client of an identifier, which is not read again where it was read for this request; `nil` where it is switched
    /// off.
    func client(_ id: String, asking client: ClientRecord?) async throws -> ClientRecord? {
        if let client, client.id.hasSameBytes(as: id) { return client.settings.isDisabled ? nil : client }
        return try await self.servedClient(id)
    }

    /// Whether a client may still have what a token of its own says: the operator can have taken it away.
    private func mayHave(_ token: OwnAccessToken, _ client: ClientRecord) -> Bool {
        let way = OwnGrant.types.first { self.ownGrant(of: client.id, by: $0).hasSameBytes(as: token.grant) }
        let settings = client.settings
        return way.map(settings.grantTypes.containsBytes) ?? false
            && token.scope.names.allSatisfy(settings.tokens.scopes.containsBytes)
            && (token.audience.hasSameBytes(as: self.issuer)
                || settings.tokens.audiences.containsBytes(of: token.audience))
    }
}
