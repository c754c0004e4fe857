import OAuth
import Records
import Settings
import _Primitives

/// The userinfo endpoint (OpenID Connect Core 1.0, section 5.3).
public struct Userinfo: Sendable {
    let store: any RefreshStore
    let tokens: Tokens
    let claims: ToldClaims

    private var clients: Clients { self.tokens.clients }
    private var keys: Keys { self.tokens.keys }
    private var issuer: String { self.tokens.issuer }

    /// Answers a request to the userinfo endpoint (OpenID Connect Core 1.0, section 5.3). An access token of a grant
    /// that was revoked, or that ended with its session, is refused at once, on every node.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form of a POST as received, not decoded; `nil` for a request without a form.
    ///   - method: The request's method.
    ///   - proofs: The values of all header fields `DPoP`.
    ///   - connection: The connection of the request.
    ///
    /// Cost: one ES256 verification, four queries, up to two more for a person who came in a role; a signature for a
    /// signed answer; for a token that is bound to a key one signature, two HMACs and one store step more.
    public func answer(
        header: String?, body: String? = nil, method: String = "GET", proofs: [String] = [],
        over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        let shown = Result { () throws(OAuthError) in
            let form = try Parameters(
                parsing: body ?? "", limits: Parameters.Limits(bytes: self.tokens.limits.oauth.parameterBytes))
            return try PresentedToken(header: header, form: form)
        }
        var answer = try await self.answer(shown, method: method, proofs: proofs, over: connection)
        if (try? shown.get())?.scheme == .dpop { answer.headers.append(self.tokens.proofs.nonceField) }
        return answer
    }

    private func answer(
        _ shown: Result<PresentedToken, OAuthError>, method: String, proofs: [String], over connection: ClientConnection
    ) async throws -> ProviderAnswer {
        do {
            let purpose = KeyProofPurpose(
                method: method, endpoint: ProviderMetadata.userinfoEndpoint(of: self.clients.origin(of: connection)))
            let token = try await self.tokens.accessToken(shown.get(), proofs: proofs, over: connection, for: purpose)
            guard token.audience.hasSameBytes(as: self.issuer) else {
                throw OAuthError(.invalidToken, "The access token is not valid.", detail: "for another resource")
            }
            guard token.scope.contains(Scope.openID) else {
                throw OAuthError(.insufficientScope, "The access token is not one of a person who signed in.")
            }
            guard let standing = try await self.store.grant(token.grant, token: token.id, at: self.tokens.time.now()),
                let client = try await self.clients.servedClient(standing.grant.client)
            else {
                throw OAuthError(.invalidToken, "The access token is not valid.", detail: "revoked")
            }
            var body: JSONObject = ["sub": .string(token.subject)]
            // OpenID Connect Core 1.0, section 5.4: the claims of scopes come from here, and not in the ID token.
            let named = try standing.grant.claims.map { try ClaimsRequest($0).userinfo } ?? []
            let facts = try await self.tokens.standing.facts(of: standing, at: client)
            guard let told = try await self.claims.told(of: standing, facts, scope: token.scope, named: named) else {
                throw OAuthError(
                    .invalidToken, "The access token is not valid.",
                    detail: facts.isAgreed ? "the account is locked, or not taken any more" : "nobody has agreed to it")
            }
            for (name, value) in told.claims.members { body[name] = value }
            // The claim's name is RFC 9068's (section 7.2.1.1). The role is the role of the sign-in, which the person
            // still has.
            if let role = told.role { body["roles"] = .array([.string(role)]) }
            return try await self.answer(body, for: client)
        } catch let error as OAuthError {
            let scheme = (try? shown.get())?.scheme ?? .bearer
            return ProviderAnswer(
                status: error.status(at: .resource), body: error.json,
                headers: [("WWW-Authenticate", error.challenge(scheme: scheme.rawValue, realm: self.issuer))],
                refusal: ProviderRefusal(error))
        }
    }

    /// Returns the answer to a client, signed if the client has registered an algorithm (OpenID Connect Core 1.0,
    /// section 5.3.2).
    private func answer(_ members: JSONObject, for client: ClientRecord) async throws -> ProviderAnswer {
        guard let algorithm = client.settings.tokens.userinfoAlgorithm else {
            return ProviderAnswer(status: 200, body: members)
        }
        try await self.keys.require(algorithm)
        var claims = members
        claims["iss"] = .string(self.issuer)
        claims["aud"] = .string(client.id)
        let now = self.tokens.time.now()
        claims["iat"] = .integer(now.seconds)
        return ProviderAnswer(
            signed: try self.keys.signing.sign(claims, type: TokenType.userinfo, algorithm: algorithm, at: now),
            type: "application/jwt")
    }
}
