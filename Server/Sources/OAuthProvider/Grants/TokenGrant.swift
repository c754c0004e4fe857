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

/// A grant type: a value of `grant_type` (RFC 6749, section 1.3).
///
/// A new grant type is a Swift type, and a line in ``OpenIDProvider/tokenGrants``. The endpoint authenticates the
/// client, and writes the answer or the refusal. The metadata names every type of the list.
protocol TokenGrant: Sendable {
    /// The value of `grant_type`.
    static var type: String { get }
    /// `true` if the grant type gives a person's tokens without a page that asks about the client's access.
    static var asksNobody: Bool { get }
    /// `true` if only clients that prove their identity may use the grant type.
    static var isForClientsThatProve: Bool { get }

    /// Returns the tokens. Throws `OAuthError`, for the client's answer.
    func tokens(for request: TokenRequest, from provider: OpenIDProvider) async throws -> TokenResponse
}

extension TokenGrant {
    static var asksNobody: Bool { false }
    static var isForClientsThatProve: Bool { false }
}
