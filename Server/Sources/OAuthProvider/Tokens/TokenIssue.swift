import Crypto
import JOSE
import OAuth
import Records
import Sealing
import Settings
public import _Primitives

/// The provider's own claims in tokens.
enum TokenClaim {
    /// The grant of an access token. The token ends with the grant.
    static let grant = "grant_id"
    /// In an exchanged token, the names of the earlier tokens. The token ends with any of them.
    static let parents = "parents"
    /// In an exchanged token, the clients of the earlier tokens, in the same order. Each client must still exist, and
    /// each except the first must still be allowed to exchange the tokens of the previous client.
    static let holders = "holders"
    /// In an exchanged token, the audience of each earlier token, in the same order. The client that exchanged a token
    /// must still own the token's audience, unless the audience is this server.
    static let audiences = "audiences"
}

/// The holder of a device token.
public struct DeviceTokenHolder: Sendable, Equatable {
    /// The account that the device authenticated.
    public let account: String
    /// The device registration.
    public let device: String

    /// Creates the holder from a device of an account.
    public init(account: String, device: String) {
        self.account = account
        self.device = device
    }
}

extension Tokens {
    /// Returns the ID token and the access token of a grant (OpenID Connect Core 1.0, section 2; RFC 9068, section
    /// 2.2).
    ///
    /// - Parameters:
    ///   - audience: The audience of the access token.
    ///   - nonce: The client's, for the ID token.
    ///   - named: The claims about the person that the client has named for the ID token.
    ///   - acr: The word by which the client requested the level; `nil` for the authentication's own.
    ///   - details: The details that the access token permits (RFC 9396).
    ///   - protection: The ID token's signing algorithm and encryption key.
    ///   - binding: The key or certificate that the access token is bound to.
    ///
    /// Cost: two signatures (ES256, and the client's algorithm), one hash, one HMAC; for an encrypted ID token one
    /// encryption more.
    func issue(
        for admitted: AdmittedGrant, audience: TokenAudience, nonce: String?, named: JSONObject, acr: String?,
        details: AuthorizationDetails?, protection: IDTokenProtection, boundTo binding: TokenBinding?,
        deviceSecret: String? = nil, at now: Timestamp
    ) throws -> TokenResponse {
        var response = try self.accessToken(
            for: admitted, scope: Scope(admitted.grant.scope), audience: audience, details: details,
            boundTo: binding, at: now)
        response.idToken = try self.idToken(
            for: admitted, beside: response, nonce: nonce, named: named, acr: acr, protection: protection,
            deviceSecret: deviceSecret, at: now)
        return response
    }

    /// Returns the ID token of a grant. The token always describes the person's authentication at the sign-in:
    /// `auth_time` is the time of the sign-in even at a refresh (OpenID Connect Core 1.0, section 12.2).
    ///
    /// - Parameter access: The answer with the access token beside the ID token.
    ///
    /// Cost: The call needs one signature of the client's algorithm, one hash and one HMAC. An encrypted ID token adds
    /// an encryption.
    func idToken(
        for admitted: AdmittedGrant, beside access: TokenResponse, nonce: String? = nil, named: JSONObject,
        acr: String? = nil, protection: IDTokenProtection, deviceSecret: String? = nil, at now: Timestamp
    ) throws -> String {
        let (grant, authentication) = (admitted.grant, admitted.authentication)
        let expires = JSON.integer((now + access.expiresIn).seconds)
        var claims: JSONObject = [
            "iss": .string(self.issuer), "sub": .string(grant.subject), "aud": .string(grant.client),
            "iat": .integer(now.seconds), "exp": expires, "auth_time": .integer(authentication.at.seconds),
            "acr": .string(acr ?? authentication.acr),
            "amr": .array(authentication.amr.map(JSON.string)),
            "at_hash": .string(Self.halfHash(access.accessToken, protection.algorithm)),
        ]
        for (name, value) in named.members { claims[name] = value }
        claims["sid"] = grant.session.map { .string(self.keys.signing.pairwise("sid", client: grant.client, of: $0)) }
        claims["nonce"] = nonce.map(JSON.string)
        // Native SSO, section 3.3: the hash of the device secret beside the ID token.
        claims["ds_hash"] = deviceSecret.map { .string(Self.deviceSecretHash($0)) }
        let signed = try self.keys.signing.sign(
            claims, type: TokenType.idToken, algorithm: protection.algorithm, at: now)
        return try protection.protected(signed, random: self.clients.random)
    }

    /// Returns `ds_hash`: an ID token's claim about the device secret beside it.
    static func deviceSecretHash(_ secret: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(secret.utf8))))
    }

    /// Returns `at_hash`, or `rt_hash` (OpenID Connect CIBA Core 1.0, section 10.3.1): the left half of the hash by the
    /// ID token's algorithm, as base64url (OpenID Connect Core 1.0, section 3.1.3.6). Ed25519 uses SHA-512.
    static func halfHash(_ token: String, _ algorithm: JWSAlgorithm) -> String {
        let bytes = Array(token.utf8)
        return Base64URL.encode(
            algorithm == .edDSA
                ? Array(SHA512.hash(data: bytes).prefix(32)) : Array(SHA256.hash(data: bytes).prefix(16)))
    }

    /// Reads the ID token by which a client names a person (`id_token_hint`), if any. The token may have expired, but
    /// not long ago. A sign-out has a hint of its own (``Sessions/signOutHint(_:)``).
    ///
    /// Throws `OAuthError` `invalid_request`. Cost: one verification.
    func hint(_ idToken: String?) async throws -> (client: String, subject: String)? {
        guard let idToken else { return nil }
        let now = self.time.now()
        do {
            let claims = try await self.keys.verified(idToken, type: TokenType.idToken, at: now).claims
            guard claims.issuer?.hasSameBytes(as: self.issuer) ?? false, let client = claims.audience.first,
                let subject = claims.subject,
                let issuedAt = claims.issuedAt, now < issuedAt + self.limits.oauth.hintLifetime
            else { throw JOSEError(.expired, "hint") }
            return (client, subject)
        } catch let error as JOSEError {
            throw OAuthError(.invalidRequest, "The id_token_hint is not one of ours, or too old.", detail: "\(error)")
        }
    }

    // MARK: For the ceremonies

    /// Signs a statement of this server as a JWT with ES256: the given claims, `iss` and `iat`.
    ///
    /// - Parameter type: The header's `typ`, such as `transaction-confirmation+jwt`.
    ///
    /// Cost: one ES256 signature.
    public func sign(_ claims: JSONObject, type: String) throws -> String {
        var claims = claims
        claims["iss"] = .string(self.issuer)
        let now = self.time.now()
        claims["iat"] = .integer(now.seconds)
        return try self.keys.signing.sign(claims, type: type, algorithm: .es256, at: now)
    }

    /// Returns the token that a phone gets for an in-app authentication: the phone may ask about its own account, for
    /// ``Limits/deviceTokenLifetime``. No client's endpoint takes the token.
    ///
    /// Cost: one HMAC. Only this provider reads the token again, so the token needs no signature for others.
    public func deviceToken(for holder: DeviceTokenHolder) throws -> String {
        let now = self.time.now()
        return try self.keys.signing.signOwn(
            [
                "iss": .string(self.issuer), "sub": .string(holder.account), "aud": .string(self.issuer),
                "scope": .string("device"), "device": .string(holder.device), "iat": .integer(now.seconds),
                "exp": .integer((now + self.limits.deviceTokenLifetime).seconds),
                "jti": .string(self.clients.random.identifier()),
            ], type: TokenType.deviceToken)
    }

    /// Returns the holder of a device token. The caller checks that the device still exists: a token outlives its
    /// device.
    ///
    /// - Parameter header: The value of `Authorization`, of the scheme `Bearer`.
    ///
    /// Throws `OAuthError` `invalid_token`. Cost: one HMAC.
    public func holder(ofDeviceToken header: String?) throws -> DeviceTokenHolder {
        let claims: JWTClaims
        do {
            claims = try self.keys.signing.verifiedOwn(BearerToken(header: header).text, type: TokenType.deviceToken)
            try claims.check(issuer: self.issuer, audience: self.issuer, at: self.time)
        } catch let error as JOSEError {
            throw OAuthError(.invalidToken, "The access token is not valid.", detail: "\(error)")
        }
        guard claims.members["scope"] == .string("device"), let account = claims.subject,
            case .string(let device)? = claims.members["device"]
        else { throw OAuthError(.invalidToken, "The access token is not valid.", detail: "not a device token") }
        return DeviceTokenHolder(account: account, device: device)
    }

    /// Returns the account that a client knows by a subject; `nil` if the client has never received the subject.
    ///
    /// Cost: one query.
    public func account(ofSubject subject: String, client: String) async throws -> String? {
        try await self.store.account(subject: subject, client: client)
    }
}
