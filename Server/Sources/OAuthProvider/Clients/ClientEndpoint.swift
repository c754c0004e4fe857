import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// Answers a request to an endpoint that clients authenticate at.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///   - answer: Is given the client, and what the form has.
    ///
    /// Cost: one query, two hashes, and what the answer costs.
    func answerClient(
        header: String?, body: String, _ answer: (ClientRecord, Parameters) async throws -> ProviderAnswer
    ) async throws -> ProviderAnswer {
        // Said to the operator alone, so that an identifier that nobody has is told as well.
        var clientID: String?
        do {
            let limits = Parameters.Limits(bytes: self.limits.oauth.parameterBytes)
            let parameters = try Parameters(parsing: body, limits: limits)
            let credential = try Self.credential(of: ClientRequest(header: header, parameters: parameters))
            clientID = credential.clientID
            return try await answer(self.authenticate(credential), parameters)
        } catch let error as OAuthError {
            let challenge = [(name: "WWW-Authenticate", value: error.challenge(scheme: "Basic", realm: self.issuer))]
            return ProviderAnswer(
                status: error.status, body: error.json, headers: error.status == 401 ? challenge : [],
                refusal: ProviderRefusal(error, client: clientID))
        }
    }
}
