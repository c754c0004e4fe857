import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The userinfo endpoint (OpenID Connect Core 1.0, section 5.3). An access token of an ended session or a revoked
    /// grant is refused at once, on every node.
    ///
    /// - Parameter header: The value of `Authorization`, or `nil`.
    ///
    /// Cost: one ES256 verification, two queries.
    public func userinfo(header: String?) async throws -> ProviderAnswer {
        do {
            let token = try await self.ownAccessToken(BearerToken(header: header).text)
            guard let standing = try await self.store.grant(token.grant, token: token.id, at: self.time.now()),
                let person = try await self.people.person(account: standing.authentication.account)
            else { throw OAuthError(.invalidToken, "The access token is not valid.", detail: "revoked") }
            var body: JSONObject = ["sub": .string(token.subject)]
            if token.scope.contains(Scope.profile) {
                body["preferred_username"] = .string(person.username)
                body["name"] = person.displayName.map(JSON.string)
            }
            // OpenID Connect Core 1.0, section 5.4: these come from here, not in the ID token.
            if token.scope.contains(Scope.email), let email = person.email {
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
