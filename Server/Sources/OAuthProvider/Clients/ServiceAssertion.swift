import JOSE
import OAuth
import Records
import Settings
import _Primitives

/// A statement that a service has signed for an access token of its own. The statement proves the service's identity,
/// and is itself the grant (RFC 7523, section 2.1). No other credential may come with it.
struct ServiceAssertion: ClientCredential {
    static let methods = [UnverifiedClientAssertion.method]

    private let assertion: UnverifiedServiceAssertion

    init?(_ request: ClientRequest) throws(OAuthError) {
        guard request.asksForTokens, UnverifiedServiceAssertion.isPresent(in: request.parameters) else { return nil }
        self.assertion = try UnverifiedServiceAssertion(request.parameters)
    }

    var clientID: String { self.assertion.clientID }

    /// Reports every refusal in the same way, so that a refused caller does not learn which clients are registered, or
    /// how.
    ///
    /// Throws `OAuthError` `invalid_grant` for every error. Cost: one signature, one store step; for a repeated
    /// statement, a query in place of the step; the client's keys as ``Clients/keys(of:naming:)``.
    func failure(for client: ClientRecord?, at clients: Clients) async throws -> String? {
        guard let client else {
            throw UnverifiedServiceAssertion.refused("no client that authenticates by \(Self.methods[0])")
        }
        guard client.settings.grantTypes.containsBytes(of: GrantType.serviceAssertion.rawValue) else {
            throw UnverifiedServiceAssertion.refused("the operator can give the client --grant-type")
        }
        let keys: JWKSet
        do { keys = try await clients.keys(of: client, naming: self.assertion.keyID) } catch let error
            as OutgoingCallError
        {
            throw UnverifiedServiceAssertion.refused(error.reason)
        }
        let verified = try self.assertion.verified(
            by: keys, issuer: clients.issuer, allowing: client.settings.signingAlgorithms,
            within: ValidityWindow(
                now: clients.time.now(), skew: clients.limits.oauth.clientClockSkew,
                longest: Limits.Fixed.serviceAssertionLifetime))
        // After the signature: nobody else can use up an identifier that a client has chosen.
        guard
            try await clients.store.takeOnce(digest: verified.replayDigest, until: verified.repeatableUntil)
        else { throw UnverifiedServiceAssertion.refused("jti was shown before") }
        return nil
    }
}
