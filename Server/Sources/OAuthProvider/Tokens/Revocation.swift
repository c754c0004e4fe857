import JOSE
import OAuth
import Records
import Sealing
import _Primitives

/// The revocation endpoint (RFC 7009).
public struct Revocation: Sendable {
    let store: any DeviceSecretStore & RefreshStore & TokenStore
    let endpoint: ClientEndpoint
    let tokens: Tokens

    private var keys: Keys { self.tokens.keys }
    private var time: TimeSource { self.tokens.time }

    /// Answers a request to the revocation endpoint (RFC 7009): a client gives up a token or a secret.
    ///
    /// A device secret ends alone, and the tokens of the secret stay. A refresh token ends its grant: every access
    /// token of the grant, the grant's device secret, and the tokens of other apps by the secret. An access token ends
    /// alone. Ended tokens are worth nothing from then on at the endpoints of this server, on every node. An unknown,
    /// ended or foreign token gets the same answer, and stays unchanged (section 2.2). An ID token is refused
    /// (`unsupported_token_type`).
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as received, not decoded.
    ///   - source: The client's source.
    ///   - connection: The connection of the request.
    ///
    /// Cost: two queries, two hashes; one HMAC for a refresh token, one ES256 verification for an access token; one
    /// store step if there is something to revoke.
    public func answer(
        header: String?, body: String, source: String, over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.endpoint.answer(
            header: header, body: body, from: source, over: connection
        ) { client, parameters in
            // The hint is not needed: the token itself shows its type.
            let text = try parameters.required("token")
            let done = ProviderAnswer(status: 200, body: nil)
            if let token = RefreshToken(text, keys: self.keys.signing) {
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
            guard let token = try await self.tokens.knownAccessToken(text), token.client.hasSameBytes(as: client.id)
            else {
                return done
            }
            try await self.store.revokeToken(
                token.id, ofGrant: token.isOwn ? nil : token.grant, until: token.expiresAt)
            return done
        }
    }

    /// `true` if the text is an ID token that this provider has signed.
    private func isIDToken(_ text: String) async throws -> Bool {
        guard let token = try? UnverifiedJWS(compact: text), token.header.hasType(TokenType.idToken) else {
            return false
        }
        do {
            _ = try await self.keys.verified(text, type: TokenType.idToken, at: self.time.now())
            return true
        } catch is JOSEError { return false }
    }
}

extension AuditEvent.Kind {
    /// A device secret was given up; the actor is the client.
    static let deviceSecretRevoked = Self(rawValue: "device-secret-revoked")
}
