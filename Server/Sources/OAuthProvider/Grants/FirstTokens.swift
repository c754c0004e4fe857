import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// What a grant gives first, however its client has come by it: an access token, an ID token and, where the grant is to
    /// last and the client may renew what it has, a refresh token.
    ///
    /// - Parameters:
    ///   - asked: The resource that the client has asked for, if any.
    ///   - details: What of the grant's details it has asked for.
    ///   - nonce: The client's, for the ID token.
    ///   - acr: The word that the client asked for the level by; `nil` for the authentication's own.
    ///   - protection: What the ID token is signed with, and encrypted to.
    ///   - deviceSecret: What the apps of a device sign in by each other with, where the ID token is to say so.
    ///
    /// Cost: one query where a resource is asked for or was granted, one where the client has named claims for its ID token,
    /// an ES256 signature and one of the client's algorithm, two hashes, one HMAC; with a refresh token one store step, one
    /// HMAC and one hash more.
    func firstTokens(
        of standing: StandingGrant, for request: TokenRequest, audience asked: TokenAudience?,
        details: AuthorizationDetails?, nonce: String? = nil, acr: String? = nil, protection: IDTokenProtection,
        deviceSecret: String? = nil, at now: Timestamp
    ) async throws -> TokenResponse {
        let client = request.client
        let audience = try await self.audience(asked, of: standing.grant, for: client)
        var response = try await self.tokens(
            for: standing, audience: audience, nonce: nonce, named: self.namedClaims(for: standing), acr: acr,
            details: details, protection: protection, boundTo: request.binding, deviceSecret: deviceSecret, at: now)
        guard standing.grant.isRenewed(by: client) else { return response }
        let token = try RefreshToken(grant: standing.grant.id, keys: self.keys, random: self.random)
        guard try await self.begin(token, of: standing.grant, for: client, boundTo: request.binding, at: now) else {
            throw OAuthError(.invalidGrant, "What was granted is not valid any more.", detail: "revoked meanwhile")
        }
        response.refreshToken = token.text
        return response
    }

    /// Begins the family of a grant with its first refresh token: only now does the grant last, as what it was given for may
    /// never have come to anything. Says whether the grant is there, and its family at this token.
    ///
    /// What a client that cannot authenticate is given is bound to the key that it shows, or to its certificate. The others' is bound to the
    /// client, so that they can change their keys (RFC 9449, section 5).
    func begin(
        _ token: RefreshToken, of grant: GrantRecord, for client: ClientRecord, boundTo binding: TokenBinding?,
        at now: Timestamp
    ) async throws -> Bool {
        let limits = self.limits.oauth
        return try await self.store.beginFamily(
            RefreshFamilyStart(
                grant: grant.id, head: token.digest, headEndsAt: now + limits.refreshTokenLifetime,
                keyThumbprint: client.settings.isPublic ? binding?.text : nil, until: now + limits.lastingGrantLifetime,
                most: limits.lastingGrantsPerClient,
                displaced: AuditEvent(.grantDisplaced, at: now, actor: client.id)), at: now)
    }
}

extension GrantRecord {
    /// Whether a client renews what it has of the grant.
    func isRenewed(by client: ClientRecord) -> Bool {
        self.isLasting && client.settings.grantTypes.containsBytes(of: RefreshTokenGrant.type)
    }
}

extension PollingQuestion {
    /// A client's question by what it was given to ask by.
    init(_ secret: String, by client: ClientRecord, at now: Timestamp) {
        self.init(
            digest: Sealing.digest(ofSecret: secret), client: client.id, tolerance: Limits.Fixed.pollingTolerance,
            slowdown: Limits.Fixed.pollingInterval, longestInterval: Limits.Fixed.longestPollingInterval,
            replay: AuditEvent(.codeReplayed, at: now, actor: client.id))
    }

    /// What a client is told that asks too soon (RFC 8628, section 3.5; OpenID Connect CIBA Core 1.0, section 11).
    static let tooSoon = OAuthError(.slowDown, "Wait five seconds longer from one question to the next.")
}
