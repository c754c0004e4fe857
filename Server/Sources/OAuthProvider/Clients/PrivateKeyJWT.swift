import JOSE
import OAuth
import Records
import Settings
import _Primitives

/// A statement that the client has signed for one use at this server (RFC 7523, section 2.2; OpenID Connect Core 1.0,
/// section 9).
struct PrivateKeyJWT: ClientCredential {
    static let methods = [UnverifiedClientAssertion.method]

    /// The algorithms that can sign the statement (`token_endpoint_auth_signing_alg_values_supported`).
    static let algorithms = SigningKeys.algorithms.filter(JWSAlgorithm.ofClients.contains)

    private let assertion: UnverifiedClientAssertion

    init?(_ request: ClientRequest) throws(OAuthError) {
        guard UnverifiedClientAssertion.isPresent(in: request.parameters) else { return nil }
        self.assertion = try UnverifiedClientAssertion(header: request.header, parameters: request.parameters)
    }

    var clientID: String { self.assertion.clientID }

    /// Throws `OAuthError` `invalid_client` if the statement is not valid. Cost: one signature, one store step; for a
    /// repeated statement, a query in place of the step; the client's keys as ``Clients/keys(of:naming:)``.
    func failure(for client: ClientRecord?, at clients: Clients) async throws -> String? {
        guard let client else { return "another way to authenticate" }
        let keys: JWKSet
        do { keys = try await clients.keys(of: client, naming: self.assertion.keyID) } catch let error
            as OutgoingCallError
        {
            return error.reason
        }
        let limits = clients.limits.oauth
        let verified = try self.assertion.verified(
            by: keys, for: clients.assertionAudience(of: client), allowing: client.settings.signingAlgorithms,
            within: ValidityWindow(
                now: clients.time.now(), skew: limits.clientClockSkew, longest: limits.assertionLifetime))
        // After the signature: nobody else can use up an identifier that a client has chosen.
        let isFirst = try await clients.store.takeOnce(
            digest: verified.replayDigest, until: verified.repeatableUntil)
        return isFirst ? nil : "jti was shown before"
    }
}
