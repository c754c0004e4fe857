import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The userinfo endpoint (OpenID Connect Core 1.0, section 5.3). An access token of a grant that was revoked, or that
    /// ended with its session, is refused at once, on every node.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - method: The request's method.
    ///   - proofs: The values of all header fields `DPoP`.
    ///   - connection: What it came over.
    ///
    /// Cost: one ES256 verification, three queries, at a service of identities one more; for a token that is bound to a key one
    /// signature, two HMACs and one store step more.
    public func userinfo(
        header: String?, method: String = "GET", proofs: [String] = [], over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        let shown = Result { () throws(OAuthError) in try PresentedToken(header: header) }
        var answer = try await self.userinfo(shown, method: method, proofs: proofs, over: connection)
        if (try? shown.get())?.scheme == .dpop { answer.headers.append(self.keyProofNonceField) }
        return answer
    }

    private func userinfo(
        _ shown: Result<PresentedToken, OAuthError>, method: String, proofs: [String], over connection: ClientConnection
    ) async throws -> ProviderAnswer {
        do {
            let purpose = KeyProofPurpose(
                method: method, endpoint: ProviderMetadata.userinfoEndpoint(of: self.origin(of: connection)))
            let token = try await self.accessToken(shown.get(), proofs: proofs, over: connection, for: purpose)
            guard token.audience.hasSameBytes(as: self.issuer) else {
                throw OAuthError(.invalidToken, "The access token is not valid.", detail: "for another resource")
            }
            guard token.scope.contains(Scope.openID) else {
                throw OAuthError(.insufficientScope, "The access token is not one of a person who signed in.")
            }
            guard let standing = try await self.store.grant(token.grant, token: token.id, at: self.time.now()) else {
                throw OAuthError(.invalidToken, "The access token is not valid.", detail: "revoked")
            }
            var body: JSONObject = ["sub": .string(token.subject)]
            // OpenID Connect Core 1.0, section 5.4: what scopes are for comes from here, not in the ID token.
            let named = try standing.grant.claims.map { try ClaimsRequest($0).userinfo } ?? []
            // What somebody has confirmed themselves is all that is told, whatever is asked for by scopes.
            let confirmed = try await self.people.confirmedClaims(
                account: standing.authentication.account, client: standing.grant.client)
            let role = standing.authentication.role
            let isOfService = role?.service.hasSameBytes(as: standing.grant.client) ?? false
            // A service that is none any more has no roles, and is told the name alone.
            let found =
                try await isOfService && confirmed == nil
                ? self.people.person(account: standing.authentication.account) : self.person(of: standing)
            guard let person = found else {
                throw OAuthError(
                    .invalidToken, "The access token is not valid.",
                    detail: "the account is locked, or not taken any more")
            }
            // Of somebody who came to a service that is none any more nothing was confirmed for what it is now.
            let unconfirmed: JSONObject =
                isOfService ? [:] : PersonClaims.told(of: person, scope: token.scope, named: named)
            let told = confirmed ?? unconfirmed
            for (name, value) in told.members { body[name] = value }
            // The name is RFC 9068's (section 7.2.1.1). The role is that of the sign-in, which the person still has.
            if let role, isOfService, confirmed != nil { body["roles"] = .array([.string(role.role)]) }
            return ProviderAnswer(status: 200, body: body)
        } catch let error as OAuthError {
            let scheme = (try? shown.get())?.scheme ?? .bearer
            return ProviderAnswer(
                status: error.status(at: .resource), body: error.json,
                headers: [("WWW-Authenticate", error.challenge(scheme: scheme.rawValue, realm: self.issuer))],
                refusal: ProviderRefusal(error))
        }
    }
}
