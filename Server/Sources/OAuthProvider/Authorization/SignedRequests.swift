import JOSE
import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The parameters that a client has signed (`request`, RFC 9101): they are the request, and what stands beside them
    /// counts for nothing (section 6.3). `nil` where there is no such object, or the client has no keys to sign it with.
    ///
    /// Throws `OAuthError` `invalid_request_object`. Cost: one signature.
    func signedParameters(_ parameters: Parameters, of client: ClientRecord) throws -> Parameters? {
        guard let compact = parameters["request"] else { return nil }
        guard let text = client.settings.keySet, let keys = try? JWKSet(parsing: Array(text.utf8)) else { return nil }
        guard parameters["request_uri"] == nil else {
            throw OAuthError(.invalidRequest, "A request has request or request_uri, and not both.")
        }
        let limits = self.limits.oauth
        return try UnverifiedRequestObject(compact).verified(
            by: keys, clientID: client.id, issuer: self.issuer, allowing: client.settings.signingAlgorithms,
            requiringNotBefore: client.settings.isFAPI2,
            within: ValidityWindow(
                now: self.time.now(), skew: limits.clientClockSkew, longest: limits.requestObjectLifetime)
        ).parameters
    }

    /// What a browser's own parameters ask for, signed or not.
    ///
    /// Throws `OAuthError` `invalid_request_object`: the object's own address is not to be trusted then, and nobody is sent
    /// there. Cost: for a signed one, one query and one signature.
    func asked(unpushed parameters: Parameters) async throws -> AskedAuthorization {
        // Whose the request is has to stand beside the object, too (section 5).
        guard parameters["request"] != nil, let id = parameters["client_id"],
            let client = try await self.store.client(id),
            let signed = try self.signedParameters(parameters, of: client)
        else { return AskedAuthorization(parameters: parameters, pushed: nil) }
        return AskedAuthorization(parameters: signed, pushed: nil, isSigned: true)
    }
}
