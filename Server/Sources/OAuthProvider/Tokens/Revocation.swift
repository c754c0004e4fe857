import JOSE
import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The revocation endpoint (RFC 7009): a client gives up what it has.
    ///
    /// A refresh token takes its grant with it, and so every access token of that; an access token goes by itself. From
    /// then on they are worth nothing at the endpoints of this server, on every node. What is unknown, ended or another
    /// client's is answered alike, and stays as it is (section 2.2).
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///
    /// Cost: two queries, two hashes; one HMAC for a refresh token, one ES256 verification for an access token; one store
    /// step where there is something to revoke.
    public func revoke(header: String?, body: String) async throws -> ProviderAnswer {
        try await self.answerClient(header: header, body: body) { client, parameters in
            // What the hint says shows in the token itself.
            let text = try parameters.required("token")
            let done = ProviderAnswer(status: 200, body: nil)
            if let token = RefreshToken(text, keys: self.keys) {
                let event = AuditEvent(.grantRevoked, at: self.time.now(), actor: client.id, detail: token.grant)
                _ = try await self.store.deleteGrant(token.grant, client: client.id, audit: event)
                return done
            }
            guard let token = try await self.knownAccessToken(text) else { return done }
            try await self.store.revokeToken(
                token.id, ofGrant: token.grant, client: client.id, until: token.expiresAt)
            return done
        }
    }

    /// The introspection endpoint (RFC 7662): whether an access token is good now, and what for.
    ///
    /// A client sees the tokens that it was given itself; of every other it learns as much as of one that never was. One
    /// that proves nothing learns nothing (section 2.1).
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///
    /// Cost: two queries, two hashes, one ES256 verification.
    public func introspect(header: String?, body: String) async throws -> ProviderAnswer {
        try await self.answerClient(header: header, body: body) { client, parameters in
            guard !client.settings.isPublic else {
                throw OAuthError(.invalidClient, "The client did not authenticate.", detail: "it has no way to")
            }
            let inactive = ProviderAnswer(status: 200, body: ["active": .bool(false)])
            let text = try parameters.required("token")
            guard let token = try await self.knownAccessToken(text), token.client.hasSameBytes(as: client.id),
                let standing = try await self.store.grant(token.grant, token: token.id, at: self.time.now())
            else { return inactive }
            var body = token.claims
            body["active"] = .bool(true)
            body["token_type"] = .string(token.scheme.rawValue)
            body["sid"] = standing.grant.session.map {
                .string(self.keys.pairwise("sid", client: client.id, of: $0))
            }
            return ProviderAnswer(status: 200, body: body)
        }
    }

    /// One of our own access tokens, valid now and for us; `nil` for everything else. What keeps the server from finding
    /// out is thrown.
    private func knownAccessToken(_ text: String) async throws -> OwnAccessToken? {
        do { return try await self.ownAccessToken(text) } catch is OAuthError { return nil }
    }
}
