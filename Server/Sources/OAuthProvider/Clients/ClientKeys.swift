package import JOSE
package import OAuth
package import Records
import Settings
import _Primitives

extension Clients {
    /// Returns the audience that a client's assertion has to name. Clients of the app sign-in service know one address
    /// and no metadata.
    package func assertionAudience(of client: ClientRecord) -> AssertionAudience {
        guard client.settings.signInService == nil else { return .endpoint("\(self.issuer)/v0/sign_in/token") }
        guard !client.settings.isFAPI2 else { return .issuer(self.issuer) }
        switch client.settings.assertionAudience {
        case .issuer:
            return .names(
                [self.issuer],
                advice:
                    "Its assertion has to name the issuer alone (aud). For one that names the token endpoint, the operator can set --assertion-audience token-endpoint."
            )
        case .tokenEndpoint:
            return .names(
                [self.issuer, ProviderMetadata.tokenEndpoint(of: self.issuer)],
                advice:
                    "Its assertion has to name the issuer or the token endpoint (aud), and nobody else, as --assertion-audience has it."
            )
        }
    }

    /// Returns the public keys of a client, from its settings or from its own address. The wanted key can be absent.
    ///
    /// - Parameter name: The wanted key (`kid`); `nil` for any.
    ///
    /// Throws ``OutgoingCallError`` if no keys can be had, and tells the operator the remedy. Cost: if the keys are at
    /// an address of the client's, a call, at most one in each ``Limits/OAuth/keySetPause``.
    package func keys(of client: ClientRecord, naming name: String?) async throws -> JWKSet {
        guard let address = client.settings.keySetAddress else {
            guard let text = client.settings.keySet, let keys = try? JWKSet(parsing: Array(text.utf8)) else {
                throw OutgoingCallError("the client has no keys")
            }
            return keys
        }
        let now = self.time.now()
        let sets = client.isStranger ? self.strangersKeys : self.remoteKeys
        do { return try await sets.keys(of: client.id, at: address, naming: name, now: now) } catch let error
            as OutgoingCallError
        {
            self.note(
                client, "--jwks-uri",
                "Its keys cannot be fetched: \(error.reason). The service has to put them there, or the address changes."
            )
            throw error
        }
    }
}
