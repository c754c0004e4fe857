import OAuth
import Records
import Sealing
import Settings
import _Primitives

/// The first tokens of grants.
struct FirstTokens: Sendable {
    let tokens: Tokens
    let audiences: TokenAudiences
    let claims: ToldClaims
    let renewals: Renewals

    /// Returns the first tokens of a grant, whatever the grant type: an access token and an ID token. A lasting grant
    /// whose client may renew its tokens also gets a refresh token.
    ///
    /// - Parameters:
    ///   - asked: The requested resource, if any.
    ///   - details: The requested part of the grant's details.
    ///   - nonce: The client's, for the ID token.
    ///   - acr: The word by which the client requested the level; `nil` for the authentication's own.
    ///   - protection: The ID token's signing algorithm and encryption key.
    ///   - deviceSecret: The secret with which the apps of a device sign in by each other, if the ID token is to
    ///     contain its hash.
    ///
    /// Throws `OAuthError` `invalid_grant` if the grant was revoked meanwhile, and as ``Standing/admit(_:for:)``.
    ///
    /// Cost: The call needs one ES256 signature, one signature of the client's algorithm, two hashes and one HMAC. A
    /// requested or granted resource, and terms of the operator, add a query each. A role of the person adds two
    /// queries. Claims that the client has named for its ID token add two queries. A
    /// refresh token adds a store step, an HMAC and a hash.
    func response(
        of standing: StandingGrant, for request: TokenRequest, audience asked: TokenAudience?,
        details: AuthorizationDetails?, nonce: String? = nil, acr: String? = nil, protection: IDTokenProtection,
        deviceSecret: String? = nil, at now: Timestamp
    ) async throws -> TokenResponse {
        let client = request.client
        let audience = try await self.audiences.audience(asked, of: standing.grant, for: client)
        let named = try await self.claims.namedClaims(for: standing.grant, of: standing.authentication)
        var response = try self.tokens.issue(
            for: try await self.tokens.standing.admit(standing, for: client), audience: audience, nonce: nonce,
            named: named,
            acr: acr,
            details: details, protection: protection, boundTo: request.binding, deviceSecret: deviceSecret, at: now)
        guard standing.grant.isRenewed(by: client) else { return response }
        let token = try RefreshToken(
            grant: standing.grant.id, keys: self.tokens.keys.signing, random: self.tokens.clients.random)
        guard try await self.renewals.begin(token, of: standing.grant, for: client, boundTo: request.binding, at: now)
        else {
            throw OAuthError(.invalidGrant, "What was granted is not valid any more.", detail: "revoked meanwhile")
        }
        response.refreshToken = token.text
        return response
    }
}

extension GrantRecord {
    /// `true` if a client can renew its tokens of the grant.
    func isRenewed(by client: ClientRecord) -> Bool {
        self.isLasting && client.settings.grantTypes.containsBytes(of: GrantType.refreshToken.rawValue)
    }
}

extension PollingQuestion {
    /// Creates a client's question from the secret that the client got for asking.
    init(_ secret: String, by client: ClientRecord, at now: Timestamp) {
        self.init(
            digest: Sealing.digest(ofSecret: secret), client: client.id, tolerance: Limits.Fixed.pollingTolerance,
            slowdown: Limits.Fixed.pollingInterval, longestInterval: Limits.Fixed.longestPollingInterval,
            replay: AuditEvent(.codeReplayed, at: now, actor: client.id))
    }

    /// The error for a client that asks too soon (RFC 8628, section 3.5; OpenID Connect CIBA Core 1.0, section 11).
    static let tooSoon = OAuthError(.slowDown, "Wait five seconds longer from one question to the next.")
}
