import OAuth
import Store

/// A request to the token endpoint, of a client that has authenticated.
struct TokenRequest: Sendable {
    /// The client.
    let client: ClientRecord
    /// The form.
    let parameters: Parameters
    /// Where it came from, as far as that is counted.
    let source: String
    /// What shows that the client holds a key, where it came with that.
    let proof: DPoPProof?
    /// What the tokens are bound to.
    let binding: TokenBinding?
}

/// A way to tokens: a value of `grant_type` (RFC 6749, section 1.3).
///
/// A new one is a type, and a line in ``OpenIDProvider/tokenGrants``. The endpoint has authenticated the client, and writes
/// the answer or the refusal; the metadata names every type of the list.
protocol TokenGrant: Sendable {
    /// The value of `grant_type`.
    static var type: String { get }
    /// Whether it leads to a person's tokens without a page that asks what the client may have.
    static var asksNobody: Bool { get }
    /// Whether it is for clients alone that prove who they are.
    static var isForClientsThatProve: Bool { get }

    /// Gives the tokens. Throws `OAuthError`, for the client to be told.
    func tokens(for request: TokenRequest, from provider: OpenIDProvider) async throws -> TokenResponse
}

extension TokenGrant {
    static var asksNobody: Bool { false }
    static var isForClientsThatProve: Bool { false }
}

extension GrantRecord {
    /// Whether what a third party's client has was agreed to: a client that the operator has made a third party's has
    /// grants of before, for which nobody was asked.
    func isAgreed(for client: ClientRecord) -> Bool { client.settings.party == .first || self.consent != nil }
}
