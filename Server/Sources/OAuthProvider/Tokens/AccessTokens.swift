package import JOSE
import OAuth
package import Records
import Settings
package import _Primitives

/// The basis on which an access token stays valid.
enum TokenBasis {
    /// A grant that still exists, of a person who is still accepted, with the facts about the person.
    case grant(StandingGrant, StandingFacts)
    /// The client itself, which may still have such tokens.
    case client
}

/// The access tokens and ID tokens of this server, and its other signed statements.
public final class Tokens: Sendable {
    let store: any AuthorizationStore & RefreshStore & TokenStore
    let clients: Clients
    let keys: Keys
    /// Proofs that the sender of a request holds a key.
    package let proofs: KeyProofs
    /// Answers if a person may get or use tokens now.
    package let standing: Standing
    /// The store's epoch.
    let epoch: String
    /// Already verified access tokens.
    let verifiedTokens = VerifiedTokens(size: Limits.Fixed.verifiedTokens)

    var issuer: String { self.clients.issuer }
    var limits: Limits { self.clients.limits }
    var time: TimeSource { self.clients.time }
    private var random: RandomSource { self.clients.random }

    /// Creates the part over the stores of grants and tokens.
    init(
        store: any AuthorizationStore & RefreshStore & TokenStore, clients: Clients, keys: Keys, proofs: KeyProofs,
        standing: Standing, epoch: String
    ) {
        self.store = store
        self.clients = clients
        self.keys = keys
        self.proofs = proofs
        self.standing = standing
        self.epoch = epoch
    }

    // MARK: Giving

    /// Returns an access token of a grant, without other tokens (RFC 9068, section 2.2). The token never outlives the
    /// grant.
    ///
    /// Every token of a grant begins here.
    ///
    /// - Parameters:
    ///   - admitted: The grant, whose person may get tokens now.
    ///   - scope: The grant's, or a part of it.
    ///   - audience: The audience at which the token is valid.
    ///   - details: The grant's details that the token permits (RFC 9396).
    ///   - binding: The key that the token is bound to; `nil` for a token for any holder.
    ///
    /// Cost: The call needs one ES256 signature and one hash. An opaque token adds an encryption.
    func accessToken(
        for admitted: AdmittedGrant, scope: Scope, audience: TokenAudience, details: AuthorizationDetails?,
        boundTo binding: TokenBinding?, at now: Timestamp
    ) throws -> TokenResponse {
        let (grant, authentication) = (admitted.grant, admitted.authentication)
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

    /// Returns a client's own access token. Nothing is written: the token names the client's own grant. Only this
    /// server can make the name, and after a restore the name is different.
    ///
    /// - Parameter type: The grant type by which the client gets the token.
    ///
    /// Cost: The call needs one HMAC, one ES256 signature and one hash. An opaque token adds an encryption.
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

    /// Returns the name of a client's own grant by a grant type. The name belongs to this epoch: a backup knows nothing
    /// of later revocations.
    private func ownGrant(of client: String, by type: String) -> String {
        self.keys.signing.pairwise("own grant \(type)", client: client, of: self.epoch)
    }

    func accessToken(
        _ about: JSONObject, scope: Scope, audience: TokenAudience, boundTo binding: TokenBinding?,
        until end: Timestamp,
        at now: Timestamp
    ) throws -> TokenResponse {
        var claims: JSONObject = ["iss": .string(self.issuer), "aud": .string(audience.text)]
        for (name, value) in about.members { claims[name] = value }
        // The only permitted actor stays the same, however often the token is exchanged.
        if claims["may_act"] == nil { claims["may_act"] = audience.actor.map { .object(["sub": .string($0)]) } }
        claims["scope"] = .string(scope.description)
        claims["iat"] = .integer(now.seconds)
        claims["exp"] = .integer(end.seconds)
        claims["jti"] = .string(self.random.identifier())
        claims["cnf"] = binding.map { .object($0.confirmation) }
        let text: String
        switch audience.format {
        case .jwt:
            text = try self.signed(claims, type: TokenType.accessToken, algorithm: .es256, of: .openID, at: now)
        case .opaque:
            text = try self.keys.signing.seal(opaqueToken: JSON.object(claims).serialized, random: self.random, at: now)
        }
        return TokenResponse(
            accessToken: text, expiresIn: end - now, scope: scope, idToken: nil, tokenType: binding?.scheme ?? .bearer
        )
    }

    /// Returns claims as a token that a key of a face has signed. This process need not verify the token again.
    ///
    /// Cost: one signature, one hash.
    package func signed(
        _ claims: JSONObject, type: String, algorithm: JWSAlgorithm, of face: SigningKeyRecord.Face, at now: Timestamp
    ) throws -> String {
        let signed = try self.keys.signing.signed(claims, type: type, algorithm: algorithm, of: face, at: now)
        if let keyID = signed.keyID { self.verifiedTokens.keep(signed.text, type: type, keyID: keyID) }
        return signed.text
    }

    // MARK: Taking

    /// Reads an access token of this provider that is valid now, for any resource. The caller checks that the token's
    /// basis still exists.
    ///
    /// Throws `OAuthError` `invalid_token`. Cost: one hash, and one ES256 verification if this process has neither made
    /// nor recently verified the token; for an opaque token one decryption.
    func ownAccessToken(_ text: String) async throws -> OwnAccessToken {
        do {
            return try await self.read(text, at: self.time.now())
        } catch let error as JOSEError {
            throw OAuthError(.invalidToken, "The access token is not valid.", detail: "\(error)")
        }
    }

    /// Returns an access token of this provider that is valid now; `nil` for everything else. Throws if the server
    /// cannot find out.
    func knownAccessToken(_ text: String) async throws -> OwnAccessToken? {
        do { return try await self.ownAccessToken(text) } catch is OAuthError { return nil }
    }

    private func read(_ text: String, at now: Timestamp) async throws -> OwnAccessToken {
        guard text.utf8.contains(UInt8(ascii: ".")) else {
            guard let bytes = self.keys.signing.open(opaqueToken: text),
                case .object(let members)? = try? JSON(parsing: bytes)
            else { throw JOSEError(.malformed, "no token of ours") }
            return try OwnAccessToken(self.checked(JWTClaims(members: members)))
        }
        return try OwnAccessToken(
            self.checked(await self.knownOrVerified(text, type: TokenType.accessToken, of: .openID, at: now)))
    }

    /// Verifies an access token as ``verified(_:type:of:at:)``, but skips a signature that this process has made or
    /// recently verified.
    package func knownOrVerified(
        _ text: String, type: String, of face: SigningKeyRecord.Face, at now: Timestamp
    ) async throws -> JWTClaims {
        if let known = self.verifiedTokens.claims(of: text, type: type),
            self.keys.signing.isUsable(keyID: known.keyID, at: now)
        {
            return known.claims
        }
        let verified = try await self.keys.verified(text, type: type, of: face, at: now)
        if let keyID = verified.keyID { self.verifiedTokens.keep(text, type: type, keyID: keyID) }
        return verified.claims
    }

    /// Throws `JOSEError` if the claims are from another provider, or not valid now.
    private func checked(_ claims: JWTClaims) throws -> JWTClaims {
        try claims.check(issuer: self.issuer, audience: claims.audience.first ?? "", at: self.time)
        return claims
    }

    /// Returns the basis of a token; `nil` if the token no longer counts. The basis must exist, and its person must
    /// still be accepted. If the client of the grant is by now a third party's, the grant must have the person's
    /// consent. The token's resource must have an owner that is not switched off, and the token must not be revoked.
    ///
    /// - Parameter client: A client that was read for this request: if the token is this client's own, the client is
    ///   not read again.
    ///
    /// Cost: The call needs one query. Another client's own token needs two queries and two HMACs. A grant of another
    /// client adds a query, as does a resource that is not `client`'s, and each exchange of an exchanged token. A role
    /// of the person adds two queries.
    func basis(of token: OwnAccessToken, asking client: ClientRecord? = nil) async throws -> TokenBasis? {
        let isAtHome =
            token.audience.hasSameBytes(as: self.issuer) || client?.settings.tokens.owns(token.audience) ?? false
        if !isAtHome {
            guard try await self.clients.servedClient(owning: token.audience) != nil else { return nil }
        }
        guard token.isOwn else {
            guard let standing = try await self.store.grant(token.grant, tokens: token.names, at: self.time.now()),
                let owner = try await self.client(standing.grant.client, asking: client)
            else { return nil }
            let facts = try await self.standing.facts(of: standing, at: owner)
            guard facts.refusal == nil else { return nil }
            if token.parents.isEmpty { return .grant(standing, facts) }
            let isExchanged = try await self.mayBeExchanged(token, of: standing.grant, asking: client)
            return isExchanged ? .grant(standing, facts) : nil
        }
        guard let owner = try await self.client(token.client, asking: client), self.mayHave(token, owner),
            try await !self.store.isRevoked(tokens: [token.id])
        else { return nil }
        return .client
    }

    /// Returns the client of an identifier, without a second reading within this request; `nil` if the client is
    /// unknown or switched off.
    func client(_ id: String, asking client: ClientRecord?) async throws -> ClientRecord? {
        if let client, client.id.hasSameBytes(as: id) { return client.settings.isDisabled ? nil : client }
        return try await self.clients.servedClient(id)
    }

    /// `true` if a client may still have its own token with these rights: the operator can have withdrawn them.
    private func mayHave(_ token: OwnAccessToken, _ client: ClientRecord) -> Bool {
        let way = GrantType.own.map(\.rawValue).first {
            self.ownGrant(of: client.id, by: $0).hasSameBytes(as: token.grant)
        }
        let settings = client.settings
        return way.map(settings.grantTypes.containsBytes) ?? false
            && token.scope.names.allSatisfy(settings.tokens.scopes.containsBytes)
            && (token.audience.hasSameBytes(as: self.issuer)
                || settings.tokens.audiences.containsBytes(of: token.audience))
    }

    // MARK: Bound tokens

    /// Returns an access token of this provider, after checking that the token came with the key or certificate of its
    /// binding, and by the right scheme (section 7.1). The key's proof is taken, too.
    ///
    /// Throws `OAuthError`: `invalid_token`, `invalid_dpop_proof`, `use_dpop_nonce`.
    func accessToken(
        _ shown: PresentedToken, proofs: [String], over connection: ClientConnection, for purpose: KeyProofPurpose
    ) async throws -> OwnAccessToken {
        let token = try await self.ownAccessToken(shown.text)
        guard shown.scheme == token.scheme else {
            throw OAuthError(
                .invalidToken, "The access token is not valid.",
                detail: "it was shown by \(shown.scheme.rawValue), and is one of \(token.scheme.rawValue)")
        }
        let expected: KeyThumbprint
        switch token.binding {
        case nil: return token
        case .certificate(let thumbprint):
            try self.check(connection, isOf: thumbprint)
            return token
        case .key(let key): expected = key
        }
        var purpose = purpose
        purpose.accessToken = shown.text
        let proof = try self.proofs.proof(proofs, purpose)
        guard proof.thumbprint == expected else {
            throw OAuthError(.invalidToken, "The access token is not valid.", detail: "bound to another key")
        }
        try await self.proofs.take(proof)
        return token
    }

    /// Throws `OAuthError` `invalid_token` if a request did not come over a connection with that certificate (RFC 8705,
    /// section 3).
    private func check(_ connection: ClientConnection, isOf thumbprint: String) throws {
        guard let certificate = connection.certificate, certificate.thumbprint.hasSameBytes(as: thumbprint) else {
            throw OAuthError(
                .invalidToken, "The access token is not valid.",
                detail: connection.certificate == nil
                    ? "bound to a certificate, and none was shown: it is shown at mtls_endpoint_aliases"
                    : "bound to another certificate")
        }
        try self.clients.checkTime(of: connection, else: .invalidToken, "The access token is not valid.")
    }
}
