import OAuth
import _Primitives

extension OpenIDProvider {
    /// Returns an access token of this provider, after checking that the token came with the key or certificate of its
    /// binding, and by the right scheme (section 7.1). The key's proof is taken, too.
    ///
    /// Throws `OAuthError`: `invalid_token`, `invalid_dpop_proof`, `use_dpop_nonce`.
    func accessToken(
        _ shown: PresentedToken, proofs: [String], over connection: ClientConnection, for purpose: KeyProofPurpose
    ) async throws -> OwnAccessToken {
        let token = try await self.ownAccessToken(shown.text)
        guard shown.scheme == token.scheme else {
            throw OAuthError(
                .invalidToken, "The access token is not valid.",
                detail: "it was shown by \(shown.scheme.rawValue), and is one of \(token.scheme.rawValue)")
        }
        let expected: KeyThumbprint
        switch token.binding {
        case nil: return token
        case .certificate(let thumbprint):
            try self.check(connection, isOf: thumbprint)
            return token
        case .key(let key): expected = key
        }
        var purpose = purpose
        purpose.accessToken = shown.text
        let proof = try self.proofs.proof(proofs, purpose)
        guard proof.thumbprint == expected else {
            throw OAuthError(.invalidToken, "The access token is not valid.", detail: "bound to another key")
        }
        try await self.proofs.take(proof)
        return token
    }

    /// Throws `OAuthError` `invalid_token` if a request did not come over a connection with that certificate (RFC 8705,
    /// section 3).
    private func check(_ connection: ClientConnection, isOf thumbprint: String) throws {
        guard let certificate = connection.certificate, certificate.thumbprint.hasSameBytes(as: thumbprint) else {
            throw OAuthError(
                .invalidToken, "The access token is not valid.",
                detail: connection.certificate == nil
                    ? "bound to a certificate, and none was shown: it is shown at mtls_endpoint_aliases"
                    : "bound to another certificate")
        }
        try self.clients.checkTime(of: connection, else: .invalidToken, "The access token is not valid.")
    }
}
