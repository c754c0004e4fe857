import JOSE
import OAuth
import OAuthProvider
import Records
import _Primitives

/// A key of a client, with a test's ways to sign what no client would.
struct ClientKey: Sendable {
    let signing: SigningKey
    /// The public part, as it is registered.
    let set: String

    init(_ algorithm: JWSAlgorithm, named name: String? = nil) throws {
        self.signing = try SigningKey(
            kept: SigningKey.make(algorithm, random: .system), algorithm: algorithm, keyID: name)
        guard let key = self.signing.publicKey else { throw JOSEError(.invalidKey, "no public part") }
        self.set = JSON.object(JWKSet([key]).publicJSON).text
    }

    var settings: ClientSettings {
        ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "private_key_jwt", keySet: self.set)
    }

    /// An assertion of a client that is right but for `changes`; `nil` leaves a claim out.
    func assertion(_ client: String, _ f: ProviderFixture, _ changes: [String: JSON?] = [:]) throws -> String {
        let now = f.clock.source.now().seconds
        var claims: JSONObject = [
            "iss": .string(client), "sub": .string(client), "aud": .string(ProviderFixture.issuer),
            "jti": .string(RandomSource.system.identifier()), "iat": .integer(now), "exp": .integer(now + 60),
        ]
        for (name, value) in changes { claims[name] = value }
        return try JWS.sign(JSON.object(claims).serialized, type: "JWT", with: self.signing)
    }
}

extension ProviderFixture {
    /// A token request with an assertion.
    func token(
        _ code: String, assertion: String, _ changes: [String: String?] = [:], header: String? = nil,
        at provider: OpenIDProvider? = nil
    ) async throws -> ProviderAnswer {
        let shown: [String: String?] = [
            "client_assertion": assertion,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        ]
        return try await (provider ?? self.provider).grants.answer(
            header: header, body: self.form(code, shown.merging(changes) { $1 }))
    }
}
