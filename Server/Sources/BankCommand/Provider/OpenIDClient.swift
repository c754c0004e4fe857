import Foundation

/// Signs people in with OpenID Connect: authorization code with PKCE (RFC 7636), `state`, `nonce` and `iss` (RFC 9207).
actor OpenIDClient {
    /// The members of the discovery document (OpenID Connect Discovery 1.0, section 3).
    struct Metadata: Decodable, Sendable {
        let issuer: String
        let authorizationEndpoint: String
        let tokenEndpoint: String
        let jwksURI: String
        let userinfoEndpoint: String?
        let endSessionEndpoint: String?

        enum CodingKeys: String, CodingKey {
            case issuer
            case authorizationEndpoint = "authorization_endpoint"
            case tokenEndpoint = "token_endpoint"
            case jwksURI = "jwks_uri"
            case userinfoEndpoint = "userinfo_endpoint"
            case endSessionEndpoint = "end_session_endpoint"
        }
    }

    /// The values that the bank remembers from sending a browser away until the browser comes back.
    struct BegunSignIn: Sendable {
        let state: String
        let nonce: String
        let verifier: String
        let run: TracedRun
    }

    /// The parameters of the redirect back to the bank.
    struct Callback: Sendable {
        let code: String?
        let state: String?
        let issuer: String?
        let error: String?
    }

    /// The person who signed in, as the provider describes the person.
    struct Person: Sendable {
        let subject: String
        let name: String
        let idToken: String
        /// The provider's further statements about the person.
        var claims: [Claim] = []
    }

    let calls: ProviderCalls
    private let redirectURI: String
    private let scope: String
    private var metadata: Metadata?
    private var keys: KeySet?

    init(calls: ProviderCalls, redirectURI: String, scope: String) {
        self.calls = calls
        self.redirectURI = redirectURI
        self.scope = scope
    }

    private func discover() async throws -> Metadata {
        if let metadata = self.metadata { return metadata }
        let found = try await self.calls.get("\(self.calls.issuer)/.well-known/openid-configuration")
            .decoded(as: Metadata.self)
        guard found.issuer.isSame(as: self.calls.issuer) else {
            throw ProviderError.refused("the discovery document is of another issuer")
        }
        self.metadata = found
        return found
    }

    /// Begins a sign-in. Returns the begun sign-in to remember, and the address to which the browser is sent.
    ///
    /// For a newcomer the request tells the provider that the person has no account yet.
    func begin(_ run: TracedRun, isNewcomer: Bool = false) async throws -> (begun: BegunSignIn, location: String) {
        let metadata = try await self.discover()
        let begun = BegunSignIn(
            state: Base64.random(), nonce: Base64.random(), verifier: Base64.random(), run: run)
        let query = Form.encode(
            (isNewcomer ? [("prompt", "create")] : []) + [
                ("response_type", "code"), ("client_id", self.calls.clientID), ("redirect_uri", self.redirectURI),
                ("scope", self.scope), ("state", begun.state), ("nonce", begun.nonce),
                ("code_challenge", Base64.sha256URL(begun.verifier)), ("code_challenge_method", "S256"),
            ])
        return (begun, "\(metadata.authorizationEndpoint)?\(query)")
    }

    /// Ends a sign-in: redeems the code and verifies the ID token. Throws ``ProviderError``.
    func finish(_ begun: BegunSignIn, _ callback: Callback) async throws -> Person {
        guard let state = callback.state, Base64.isSame(state, begun.state) else {
            throw ProviderError.refused("the state is not of this browser")
        }
        guard callback.issuer?.isSame(as: self.calls.issuer) == true else {
            throw ProviderError.refused("the answer names another issuer, or none")
        }
        guard let code = callback.code, callback.error == nil else {
            throw ProviderError.refused("the provider answered \(callback.error ?? "without a code")")
        }
        struct TokenAnswer: Decodable {
            let idToken: String
            let accessToken: String
            enum CodingKeys: String, CodingKey {
                case idToken = "id_token"
                case accessToken = "access_token"
            }
        }
        let metadata = try await self.discover()
        let tokens = try await self.calls.post(
            metadata.tokenEndpoint,
            form: [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", self.redirectURI),
                ("code_verifier", begun.verifier),
            ],
            run: begun.run
        ).decoded(as: TokenAnswer.self)
        let claims = try await self.verifiedClaims(IDTokenClaims.self, of: try UnverifiedToken(tokens.idToken))
        try claims.validate(
            issuer: self.calls.issuer, clientID: self.calls.clientID, nonce: begun.nonce, now: Date())
        let said = try await self.claims(of: claims.sub, accessToken: tokens.accessToken)
        func text(_ name: String) -> String? { said.first { $0.name.isSame(as: name) }?.text }
        let name = text("name") ?? text("preferred_username") ?? text("given_name") ?? "customer"
        return Person(subject: claims.sub, name: name, idToken: tokens.idToken, claims: said)
    }

    private func claims(of subject: String, accessToken: String) async throws -> [Claim] {
        guard let endpoint = try await self.discover().userinfoEndpoint else { return [] }
        let person = try await self.calls.get(endpoint, bearer: accessToken).decoded(as: UserInfo.self)
        // OpenID Connect Core 1.0, section 5.3.2: the answer counts only for the subject of the ID token.
        guard person.subject.isSame(as: subject) else {
            throw ProviderError.refused("the user information is of somebody else")
        }
        return person.claims
    }

    /// Returns a token's claims after verifying the signature. Reads the keys again, once, if the token's key id is
    /// new.
    func verifiedClaims<Claims: Decodable & Sendable>(_ type: Claims.Type, of token: UnverifiedToken) async throws
        -> Claims
    {
        if let keys = self.keys, keys.signingKey(id: token.header.kid) != nil {
            return try token.claims(type, keys: keys)
        }
        let keys = try await self.calls.get(try await self.discover().jwksURI).decoded(as: KeySet.self)
        self.keys = keys
        return try token.claims(type, keys: keys)
    }

    /// Returns the address that signs the person out at the provider too (OpenID Connect RP-Initiated Logout 1.0);
    /// `nil` if the provider has no such page.
    func signOutLocation(idToken: String, returnTo: String) async throws -> String? {
        guard let endpoint = try await self.discover().endSessionEndpoint else { return nil }
        let query = Form.encode([
            ("id_token_hint", idToken), ("client_id", self.calls.clientID), ("post_logout_redirect_uri", returnTo),
        ])
        return "\(endpoint)?\(query)"
    }
}
