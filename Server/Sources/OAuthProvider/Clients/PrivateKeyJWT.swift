import JOSE
import OAuth
import Store
import _Primitives

/// A statement that the client has signed for this server and for this once (RFC 7523, section 2.2; OpenID Connect Core 1.0,
/// section 9).
struct PrivateKeyJWT: ClientCredential {
    static let methods = [UnverifiedClientAssertion.method]

    /// What it can be signed with (`token_endpoint_auth_signing_alg_values_supported`).
    static let algorithms = SigningKeys.algorithms.filter(JWSAlgorithm.ofClients.contains)

    private let assertion: UnverifiedClientAssertion

    init?(_ request: ClientRequest) throws(OAuthError) {
        guard UnverifiedClientAssertion.isPresent(in: request.parameters) else { return nil }
        self.assertion = try UnverifiedClientAssertion(header: request.header, parameters: request.parameters)
    }

    var clientID: String { self.assertion.clientID }

    /// Cost: one signature, one store step; where the statement was shown before, a query in place of the step.
    func failure(for client: ClientRecord?, at provider: OpenIDProvider) async throws -> String? {
        guard let client else { return "another way to authenticate" }
        guard let text = client.settings.keySet, let keys = try? JWKSet(parsing: Array(text.utf8)) else {
            return "the client has no keys"
        }
        let limits = provider.limits.oauth
        let verified: VerifiedClientAssertion
        do {
            verified = try self.assertion.verified(
                by: keys, issuer: provider.issuer, allowing: client.settings.signingAlgorithms,
                within: ValidityWindow(
                    now: provider.time.now(), skew: limits.clientClockSkew, longest: limits.assertionLifetime))
        } catch {
            return error.detail
        }
        // After the signature: nobody else can use up what a client has named.
        let isFirst = try await provider.store.takeOnce(
            digest: verified.replayDigest, until: verified.repeatableUntil)
        return isFirst ? nil : "jti was shown before"
    }
}
