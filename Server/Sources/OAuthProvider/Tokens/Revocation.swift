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
            guard let token = try await self.knownAccessToken(text), token.client.hasSameBytes(as: client.id) else {
                return done
            }
            try await self.store.revokeToken(
                token.id, ofGrant: token.isOwn ? nil : token.grant, until: token.expiresAt)
            return done
        }
    }
}
