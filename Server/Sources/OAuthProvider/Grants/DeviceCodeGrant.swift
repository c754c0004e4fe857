import OAuth
import Records
import _Primitives

/// Issues tokens to a device whose person has signed it in from elsewhere (RFC 8628, section 3.4).
///
/// The device asks until the person has answered. The device succeeds once: a code that is shown again ends its own
/// tokens, as an authorization code does.
struct DeviceCodeGrant: TokenGrant {
    let store: any DeviceCodeStore
    let tokens: Tokens
    let audiences: TokenAudiences
    let details: RequestedDetails
    let firstTokens: FirstTokens

    /// Returns the tokens for the device code of a request.
    ///
    /// Cost: one store step; at the success as much as ``AuthorizationCodeGrant`` costs beside its own step.
    func tokens(for request: TokenRequest) async throws -> TokenResponse {
        let client = request.client
        let secret = try request.parameters.required("device_code")
        try self.details.refuse(in: request.parameters)
        let asked = try await self.audiences.asked(by: request.parameters, of: client)
        let protection = try await self.tokens.idTokenProtection(of: client)
        let now = self.tokens.time.now()
        let answer = try await self.store.answer(PollingQuestion(secret, by: client, at: now), at: now)
        switch answer {
        case .taken(let standing):
            return try await self.firstTokens.response(
                of: standing, for: request, audience: asked, details: nil, protection: protection, at: now)
        case .pending: throw OAuthError(.authorizationPending, "The person has not answered yet.")
        case .tooSoon: throw PollingQuestion.tooSoon
        case .denied: throw OAuthError(.accessDenied, "The person did not sign the device in.")
        case .expired: throw OAuthError(.expiredToken, "The code has ended. Begin again.")
        case .replayed: throw Self.refusal("used before: the grant is revoked")
        case .unknown: throw Self.refusal("unknown, another client's, or revoked")
        }
    }

    /// Returns the same message for all cases: a client with another's code learns nothing about the code.
    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidGrant, "The device code is not valid.", detail: detail)
    }
}
