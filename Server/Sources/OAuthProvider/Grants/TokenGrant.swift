import OAuth
import Records

/// A request to the token endpoint, of a client that has authenticated.
struct TokenRequest: Sendable {
    /// The client.
    let client: ClientRecord
    /// The form.
    let parameters: Parameters
    /// The source of the request, for budgets.
    let source: String
    /// The proof of a key, if the request has a proof.
    let proof: DPoPProof?
    /// The key or certificate that the tokens are bound to.
    let binding: TokenBinding?
}

/// The tokens of a ``GrantType``. The endpoint authenticates the client, and writes the answer or the refusal.
protocol TokenGrant: Sendable {
    /// Returns the tokens. Throws `OAuthError`, for the client's answer.
    func tokens(for request: TokenRequest) async throws -> TokenResponse
}
