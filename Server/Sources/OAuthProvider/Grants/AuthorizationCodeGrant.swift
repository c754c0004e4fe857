import OAuth
import Records
import Sealing
import Settings
import _Primitives

/// Issues tokens for an authorization code (RFC 6749, section 4.1.3; RFC 7636, section 4.6).
///
/// A code is taken before it is judged. So a code is also spent by a wrong verifier, a wrong address or another client.
/// If a taken code is shown again with values that are all right for the code, the grant of the code ends with all its
/// tokens. A code is not spent if the request is incomplete or names a resource that is not for the client, if the
/// server lacks the key for the signature, or if the client lacks a key for the encryption. A code with a challenge
/// needs the matching verifier, and a code without a challenge is refused with a verifier (RFC 9700, section 2.1.1).
struct AuthorizationCodeGrant: TokenGrant {
    let store: any AuthorizationStore
    let tokens: Tokens
    let audiences: TokenAudiences
    let details: RequestedDetails
    let deviceSecrets: DeviceSecrets
    let firstTokens: FirstTokens

    /// Returns the tokens for the code of a request.
    ///
    /// Cost: The call needs one store step, one ES256 signature, one signature of the client's algorithm and three
    /// hashes. A requested or granted resource adds a query. Claims that the client has named for its ID token add two
    /// queries. A refresh token adds a store step, an HMAC and a hash. A device secret adds a store step, and a query if
    /// the app shows a secret.
    func tokens(for request: TokenRequest) async throws -> TokenResponse {
        let client = request.client
        // An incomplete request is refused before it can spend a code.
        let secret = try request.parameters.required("code")
        // A code that no browser has carried has no address (OAuth 2.0 for First-Party Applications).
        let redirectURI =
            client.settings.mayChallenge
            ? request.parameters["redirect_uri"] ?? "" : try request.parameters.required("redirect_uri")
        let verifier = try Self.verifier(request.parameters, of: client)
        let asked = try await self.audiences.asked(by: request.parameters, of: client)
        let protection = try await self.tokens.idTokenProtection(of: client)
        let key = request.proof?.thumbprint
        let now = self.tokens.time.now()
        let taking = try await self.store.takeCode(
            digest: Sealing.digest(ofSecret: secret), at: now,
            replay: AuditEvent(.codeReplayed, at: now, actor: client.id)
        ) { code, standing in
            Self.mismatch(code, standing, client: client, redirectURI: redirectURI, verifier: verifier, key: key) == nil
        }
        let (code, standing) = try Self.checked(
            taking, client: client, redirectURI: redirectURI, verifier: verifier, key: key,
            lifetime: self.tokens.limits.authorizationCodeLifetime, at: now)
        let details = try self.details.granted(request.parameters, within: standing.grant, of: client)
        let deviceSecret = try await self.deviceSecrets.secret(
            for: standing, of: client, showing: request.parameters["device_secret"], isBound: request.binding != nil,
            at: now)
        var response = try await self.firstTokens.response(
            of: standing, for: request, audience: asked, details: details, nonce: code.nonce, acr: code.acr,
            protection: protection, deviceSecret: deviceSecret, at: now)
        response.deviceSecret = deviceSecret
        return response
    }

    /// Returns the verifier; `nil` if the request has none, and the client's codes need no challenge.
    private static func verifier(_ parameters: Parameters, of client: ClientRecord) throws -> CodeVerifier? {
        guard client.codeBinding.isLoose else { return try CodeVerifier(parameters.required("code_verifier")) }
        return try parameters["code_verifier"].map { try CodeVerifier($0) }
    }

    /// Returns the same message for all cases: a client with another's code learns nothing about the code.
    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidGrant, "The code is not valid.", detail: detail)
    }

    private static func checked(
        _ taking: CodeTaking, client: ClientRecord, redirectURI: String, verifier: CodeVerifier?, key: KeyThumbprint?,
        lifetime codeLifetime: Duration, at now: Timestamp
    ) throws -> (CodeRecord, StandingGrant) {
        guard case .taken(let code, let standing) = taking else {
            throw refusal(taking == .replayed ? "used before: the grant is revoked" : "unknown, or revoked")
        }
        let mismatch = Self.mismatch(
            code, standing, client: client, redirectURI: redirectURI, verifier: verifier, key: key)
        if let mismatch { throw refusal(mismatch) }
        guard now < code.expiresAt else { throw refusal("expired") }
        if client.settings.isFAPI2 {
            let issuedAt = code.expiresAt - codeLifetime
            guard now < issuedAt + Limits.Fixed.fapiCodeLifetime else { throw refusal("expired for fapi2") }
        }
        return (code, standing)
    }

    /// Returns the error of a request for a living code; `nil` if everything fits.
    private static func mismatch(
        _ code: CodeRecord, _ standing: StandingGrant, client: ClientRecord, redirectURI: String,
        verifier: CodeVerifier?, key: KeyThumbprint?
    ) -> String? {
        guard standing.grant.client.hasSameBytes(as: client.id) else { return "another client's" }
        guard standing.grant.isAgreed(for: client) else { return "nobody has agreed to it" }
        guard code.redirectURI.hasSameBytes(as: redirectURI) else { return "another redirect address" }
        if let expected = code.keyThumbprint, !(key?.text.hasSameBytes(as: expected) ?? false) {
            return key == nil ? "no proof of its key" : "another key"
        }
        return switch (code.challenge, verifier) {
        case (nil, nil): nil
        case (let digest?, let verifier?):
            CodeChallenge(digest: digest).matches(verifier) ? nil : "another verifier"
        case (_?, nil): "no verifier for its challenge"
        case (nil, _?): "a verifier without a challenge: it was left out on the way"
        }
    }
}
