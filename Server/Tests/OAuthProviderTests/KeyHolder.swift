import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

/// A client's key, with a test's ways to prove it as no client would.
struct KeyHolder: Sendable {
    static let token = ProviderFixture.issuer + "/oauth2/token"
    static let userinfo = ProviderFixture.issuer + "/oauth2/userinfo"

    let signing: SigningKey

    init(_ algorithm: JWSAlgorithm = .es256) throws {
        self.signing = try SigningKey(
            kept: SigningKey.make(algorithm, random: .system), algorithm: algorithm, keyID: nil)
    }

    var jwk: JSONObject { self.signing.publicKey?.publicJSON ?? [:] }
    var thumbprint: String { self.signing.publicKey?.thumbprint ?? "" }
    var confirmation: JSON { .object(["jkt": .string(self.thumbprint)]) }

    /// The claims of a proof for the token endpoint that is right but for `changes`; `nil` leaves a claim out.
    func claims(_ f: ProviderFixture, _ changes: [String: JSON?] = [:]) async throws -> JSONObject {
        var claims: JSONObject = [
            "jti": .string(RandomSource.system.identifier()), "htm": .string("POST"), "htu": .string(Self.token),
            "iat": .integer(f.clock.source.now().seconds), "nonce": .string(try await f.keyProofNonce()),
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    func proof(
        _ f: ProviderFixture, _ changes: [String: JSON?] = [:], type: String = "dpop+jwt", header: JSONObject? = nil
    ) async throws -> String {
        try await JWS.sign(
            JSON.object(self.claims(f, changes)).serialized, type: type,
            header: header ?? ["jwk": .object(self.jwk)], with: self.signing)
    }

    /// A proof for the userinfo endpoint and a token, made as clients make it.
    func proof(
        _ f: ProviderFixture, of access: String?, method: String = "GET", target: String = Self.userinfo
    ) async throws -> String {
        try await DPoPProof.make(
            method: method, target: #require(TargetURI(target)), accessToken: access, nonce: f.keyProofNonce(),
            with: self.signing, at: f.clock.source.now(), random: .system)
    }
}

extension ProviderFixture {
    /// The nonce that the provider has now, as a client without one is told it.
    func keyProofNonce() async throws -> String {
        try #require(
            try await self.provider.grants.answer(header: nil, body: "", proofs: ["none"]).header("DPoP-Nonce"))
    }

    /// A token request of the bank's with proofs.
    func token(_ code: String, proofs: [String], at provider: OpenIDProvider? = nil) async throws -> ProviderAnswer {
        try await (provider ?? self.provider).grants.answer(header: self.basic(), body: self.form(code), proofs: proofs)
    }

    /// An access token of the bank's that is bound to a key.
    func access(boundTo key: KeyHolder) async throws -> String {
        let answer = try await self.token(self.signIn().code, proofs: [key.proof(self)])
        return try #require(try answer.body?.requiredString("access_token"))
    }

    /// Another process over the same store.
    func node(epoch: String = "") async throws -> OpenIDProvider {
        try await OpenIDProvider.open(
            OpenIDProvider.Configuration(issuer: Self.issuer, epoch: epoch), store: self.store,
            methods: [self.outcomes], people: self.people, time: self.clock.source)
    }
}
