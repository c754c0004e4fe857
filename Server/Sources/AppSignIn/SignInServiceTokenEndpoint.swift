import OAuth
import OAuthProvider
import _Primitives

/// The token endpoint of the app sign-in service.
public struct SignInServiceTokenEndpoint: Sendable {
    /// The values of `grant_type` at this endpoint.
    private static let codeGrant = GrantType.authorizationCode.rawValue
    private static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"

    let codes: SignInServiceCodes
    let passedOn: PassedOnSessions
    let accounts: SignInServiceAccounts

    /// Answers a request to the token endpoint (`POST /v0/sign_in/token`): tokens for a code, a session of the web for
    /// an app's session, or a service account's token.
    ///
    /// Every wrong code, token or proof is refused with 400.
    public func answer(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.codes.sessions.endpoint.answer(request) { client in
            let type = try request.parameters.required("grant_type")
            if type.hasSameBytes(as: Self.codeGrant) { return try await self.codes.tokens(forCode: request, &client) }
            if type.hasSameBytes(as: Self.exchange) { return try await self.passedOn.openSession(request, &client) }
            if type.hasSameBytes(as: GrantType.serviceAssertion.rawValue) {
                return try await self.accounts.serviceToken(request, &client)
            }
            throw SignInServiceError.malformed("The grant_type is not known.")
        }
    }
}
