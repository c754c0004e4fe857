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
        // Said to the operator alone, so that an identifier that nobody has is told as well.
        var clientID: String?
        do {
            let limits = Parameters.Limits(bytes: self.limits.oauth.parameterBytes)
            let parameters = try Parameters(parsing: body, limits: limits)
            let credential = try Self.credential(of: ClientRequest(header: header, parameters: parameters))
            clientID = credential.clientID
            let client = try await self.authenticate(credential)
            let type = try parameters.required("grant_type")
            guard let grant = Self.tokenGrants.first(where: { $0.type.hasSameBytes(as: type) }) else {
                throw OAuthError(.unsupportedGrantType, "The grant type is not known here.")
            }
            let request = TokenRequest(client: client, parameters: parameters)
            return ProviderAnswer(status: 200, body: try await grant.tokens(for: request, from: self).json)
        } catch let error as OAuthError {
            let challenge = [(name: "WWW-Authenticate", value: error.challenge(scheme: "Basic", realm: self.issuer))]
            return ProviderAnswer(
                status: error.status, body: error.json, headers: error.status == 401 ? challenge : [],
                refusal: ProviderRefusal(error, client: clientID))
        }
    }
}
