import JOSE
import OAuth
import Records
import Settings
import _Primitives

extension OpenIDProvider {
    /// Returns the parameters that a client has signed (`request`, RFC 9101). The signed parameters are the request,
    /// and parameters beside them count for nothing (section 6.3). `nil` if the request has no such object, or the
    /// client has no keys for a signature.
    ///
    /// Throws `OAuthError` `invalid_request_object`, `invalid_request` for a request that also has `request_uri`, and
    /// `temporarily_unavailable` if the client's keys cannot be fetched. Cost: one signature; if the keys are at an
    /// address of the client's, a call, at most one in each ``Limits/OAuth/keySetPause``.
    func signedParameters(_ parameters: Parameters, of client: ClientRecord) async throws -> Parameters? {
        guard let compact = parameters["request"] else { return nil }
        guard client.settings.keySet != nil || client.settings.keySetAddress != nil else { return nil }
        guard parameters["request_uri"] == nil else {
            throw OAuthError(.invalidRequest, "A request has request or request_uri, and not both.")
        }
        let limits = self.limits.oauth
        let object = try UnverifiedRequestObject(compact)
        let keys: JWKSet
        do { keys = try await self.clients.keys(of: client, naming: object.keyID) } catch let error as OutgoingCallError
        {
            throw OAuthError(
                .temporarilyUnavailable, "The keys of this client cannot be fetched now: ask again.",
                detail: error.reason)
        }
        return try object.verified(
            by: keys, clientID: client.id, issuer: self.issuer, allowing: client.settings.signingAlgorithms,
            requiringNotBefore: client.settings.isFAPI2,
            within: ValidityWindow(
                now: self.time.now(), skew: limits.clientClockSkew, longest: limits.requestObjectLifetime)
        ).parameters
    }

    /// Returns the request of a browser's own parameters, signed or not.
    ///
    /// Throws `OAuthError` `invalid_request_object`: the address in the object is then not to be trusted, and the
    /// browser is not sent to it. Also throws as ``client(_:for:)``. Cost: for a signed request, one query and one
    /// signature.
    func asked(unpushed parameters: Parameters, from source: String) async throws -> AskedAuthorization {
        // The client's identifier also has to stand beside the object (section 5).
        guard parameters["request"] != nil, let id = parameters["client_id"],
            let client = try await self.clients.client(id, for: .network(source)),
            let signed = try await self.signedParameters(parameters, of: client)
        else { return AskedAuthorization(parameters: parameters, pushed: nil) }
        return AskedAuthorization(parameters: signed, pushed: nil, isSigned: true)
    }
}
