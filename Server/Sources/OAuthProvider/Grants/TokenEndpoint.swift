import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The token endpoint (RFC 6749, section 3.2): authenticates the client, and gives what the grant of the request gives.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///
    /// Cost: one query (client), two hashes, and what the grant costs.
    public func token(header: String?, body: String) async throws -> ProviderAnswer {
        try await self.answerClient(header: header, body: body) { client, parameters in
            let name = try parameters.required("grant_type")
            guard let grant = Self.tokenGrants.first(where: { type(of: $0).type.hasSameBytes(as: name) }) else {
                throw OAuthError(.unsupportedGrantType, "The grant type is not known here.")
            }
            guard client.settings.grantTypes.containsBytes(of: name) else {
                throw OAuthError(
                    .unauthorizedClient, "The client may not use this grant type.",
                    detail: "the operator can give it --grant-type")
            }
            let request = TokenRequest(client: client, parameters: parameters)
            return ProviderAnswer(status: 200, body: try await grant.tokens(for: request, from: self).json)
        }
    }
}
