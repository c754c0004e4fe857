import JOSE
import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The revocation endpoint (RFC 7009): a client gives up what it has.
    ///
    /// A device secret goes by itself: what was given for it stays. A refresh token takes its grant with it, and so every
    /// access token of that, its device secret, and what other apps got by the secret; an access token goes by itself. From
    /// then on they are worth nothing at the endpoints of this server, on every node. What is unknown, ended or another
    /// client's is answered alike, and stays as it is (section 2.2).
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///   - connection: What it came over.
    ///
    /// Cost: two queries, two hashes; one HMAC for a refresh token, one ES256 verification for an access token; one store
    /// step where there is something to revoke.
    public func revoke(header: String?, body: String, over connection: ClientConnection = .usual) async throws
        -> ProviderAnswer
    {
        try await self.answerClient(header: header, body: body, over: connection) { client, parameters in
            // What the hint says shows in the token itself.
            let text = try parameters.required("token")
            let done = ProviderAnswer(status: 200, body: nil)
            if let token = RefreshToken(text, keys: self.keys) {
                let event = AuditEvent(.grantRevoked, at: self.time.now(), actor: client.id, detail: token.grant)
                _ = try await self.store.deleteGrant(token.grant, client: client.id, audit: event)
                return done
            }
            if let group = client.settings.tokens.group {
                let event = AuditEvent(.deviceSecretRevoked, at: self.time.now(), actor: client.id)
                let digest = Sealing.digest(ofSecret: text)
                if try await self.store.deleteDeviceSecret(digest: digest, group: group, audit: event) { return done }
            }
            if try await self.isIDToken(text) {
                throw OAuthError(.unsupportedTokenType, "An ID token is a statement, and is not revoked.")
            }
            guard let token = try await self.knownAccessToken(text), token.client.hasSameBytes(as: client.id) else {
                return done
            }
            try await self.store.revokeToken(
                token.id, ofGrant: token.isOwn ? nil : token.grant, until: token.expiresAt)
            return done
        }
    }

    /// Whether it is an ID token that this provider has signed.
    private func isIDToken(_ text: String) async throws -> Bool {
        guard let token = try? UnverifiedJWS(compact: text), token.header.hasType(TokenType.idToken) else {
            return false
        }
        do {
            _ = try await self.verified(text, type: TokenType.idToken, at: self.time.now())
            return true
        } catch is JOSEError { return false }
    }
}

extension AuditEvent.Kind {
    /// A device secret was given up; the actor is the client.
    static let deviceSecretRevoked = Self(rawValue: "device-secret-revoked")
}
