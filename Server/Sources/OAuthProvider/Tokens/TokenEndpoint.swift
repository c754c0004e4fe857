import JOSE
import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The token endpoint (RFC 6749, sections 3.2 and 4.1.3; RFC 7636, section 4.6).
    ///
    /// A code is taken before it is judged: shown with a wrong verifier, a wrong address or by another client it is spent
    /// too, and shown twice it revokes what it gave. It is not spent where the server lacks the key to sign with. A code
    /// that was made without a challenge takes no verifier, and one that was made with a challenge takes nothing else
    /// (RFC 9700, section 2.1.1).
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///
    /// Cost: one query (client), one store step (code), an ES256 signature and one of the client's algorithm, five hashes.
    public func token(header: String?, body: String) async throws -> ProviderAnswer {
        // Said to the operator alone, so that an identifier that nobody has is told as well.
        var clientID: String?
        do {
            let limits = Parameters.Limits(bytes: self.limits.oauth.parameterBytes)
            let parameters = try Parameters(parsing: body, limits: limits)
            let credentials = try ClientCredentials(header: header, parameters: parameters)
            clientID = credentials.clientID
            let client = try await self.authenticate(credentials)
            guard try parameters.required("grant_type").hasSameBytes(as: "authorization_code") else {
                throw OAuthError(.unsupportedGrantType, "The grant type is not known here.")
            }
            // A request that is not whole is refused before it can spend a code.
            let code = try parameters.required("code")
            let redirectURI = try parameters.required("redirect_uri")
            let verifier = try Self.verifier(parameters, of: client)
            try await self.requireSigningKey(client.settings.idTokenAlgorithm)
            let now = self.time.now()
            let taking = try await self.store.takeCode(
                digest: Sealing.digest(ofSecret: code), at: now,
                replay: AuditEvent(.codeReplayed, at: now, actor: client.id))
            let grant = try Self.grant(taking, client: client, redirectURI: redirectURI, verifier: verifier, at: now)
            return ProviderAnswer(
                status: 200,
                body: try self.tokens(for: grant, algorithm: client.settings.idTokenAlgorithm, at: now).json)
        } catch let error as OAuthError {
            let challenge = [(name: "WWW-Authenticate", value: error.challenge(scheme: "Basic", realm: self.issuer))]
            return ProviderAnswer(
                status: error.status, body: error.json, headers: error.status == 401 ? challenge : [],
                refusal: ProviderRefusal(error, client: clientID))
        }
    }

    /// The verifier; `nil` where there is none, and the client's codes may be bound to its nonce.
    private static func verifier(_ parameters: Parameters, of client: ClientRecord) throws -> CodeVerifier? {
        switch client.settings.codeBinding {
        case .pkce: try CodeVerifier(parameters.required("code_verifier"))
        case .nonce: try parameters["code_verifier"].map { try CodeVerifier($0) }
        }
    }

    private static func grant(
        _ taking: CodeTaking, client: ClientRecord, redirectURI: String, verifier: CodeVerifier?, at now: Timestamp
    ) throws -> GrantRecord {
        func refusal(_ detail: String) -> OAuthError {
            // One sentence for all: whoever has a code that is not theirs learns nothing about it.
            OAuthError(.invalidGrant, "The code is not valid.", detail: detail)
        }
        guard case .taken(let grant) = taking else {
            throw refusal(taking == .replayed ? "used before: the grant is revoked" : "unknown")
        }
        guard grant.client.hasSameBytes(as: client.id) else { throw refusal("another client's") }
        guard now < grant.codeExpiresAt else { throw refusal("expired") }
        guard grant.redirectURI.hasSameBytes(as: redirectURI) else { throw refusal("another redirect address") }
        switch (grant.codeChallenge, verifier) {
        case (nil, nil): return grant
        case (let digest?, let verifier?):
            guard CodeChallenge(digest: digest).matches(verifier) else { throw refusal("another verifier") }
            return grant
        case (_?, nil): throw refusal("no verifier for its challenge")
        case (nil, _?): throw refusal("a verifier without a challenge: it was left out on the way")
        }
    }

    /// The userinfo endpoint (OpenID Connect Core 1.0, section 5.3). An access token of an ended session or a revoked
    /// grant is refused at once, on every node.
    ///
    /// - Parameter header: The value of `Authorization`, or `nil`.
    ///
    /// Cost: one ES256 verification, two queries.
    public func userinfo(header: String?) async throws -> ProviderAnswer {
        do {
            let claims = try await self.bearer(header, type: TokenType.accessToken)
            guard let subject = claims.subject, case .string(let grant) = claims.members["jti"],
                case .string(let scope) = claims.members["scope"],
                let account = try await self.store.account(grant: grant, at: self.time.now()),
                let person = try await self.people.person(account: account)
            else { throw OAuthError(.invalidToken, "The access token is not valid.", detail: "revoked") }
            var body: JSONObject = ["sub": .string(subject)]
            if try Scope(scope).contains(Scope.profile) {
                body["preferred_username"] = .string(person.username)
                body["name"] = person.displayName.map(JSON.string)
            }
            // OpenID Connect Core 1.0, section 5.4: these come from here, not in the ID token.
            if try Scope(scope).contains(Scope.email), let email = person.email {
                body["email"] = .string(email.address)
                body["email_verified"] = .bool(email.isVerified)
            }
            return ProviderAnswer(status: 200, body: body)
        } catch let error as OAuthError {
            return ProviderAnswer(
                status: error.status, body: error.json,
                headers: [("WWW-Authenticate", error.challenge(scheme: "Bearer", realm: self.issuer))],
                refusal: ProviderRefusal(error))
        }
    }
}
