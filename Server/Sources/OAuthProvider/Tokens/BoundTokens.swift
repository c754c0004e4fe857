import OAuth
import _Primitives

extension OpenIDProvider {
    /// An access token of ours that came with what it is bound to, and in the way that it has to come (section 7.1). The
    /// proof is taken with it.
    ///
    /// Throws `OAuthError`: `invalid_token`, `invalid_dpop_proof`, `use_dpop_nonce`.
    func accessToken(_ shown: PresentedToken, proofs: [String], for purpose: KeyProofPurpose) async throws
        -> OwnAccessToken
    {
        let token = try await self.ownAccessToken(shown.text)
        guard shown.scheme == token.scheme else {
            throw OAuthError(
                .invalidToken, "The access token is not valid.",
                detail: "it was shown by \(shown.scheme.rawValue), and is one of \(token.scheme.rawValue)")
        }
        guard let expected = token.keyThumbprint else { return token }
        var purpose = purpose
        purpose.accessToken = shown.text
        let proof = try self.keyProof(proofs, purpose)
        guard proof.thumbprint.text.hasSameBytes(as: expected) else {
            throw OAuthError(.invalidToken, "The access token is not valid.", detail: "bound to another key")
        }
        try await self.take(proof)
        return token
    }
}
