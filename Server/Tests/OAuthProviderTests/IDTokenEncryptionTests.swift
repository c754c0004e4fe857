import Crypto
import Foundation
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, section 16.14: ID tokens that are encrypted, too")
struct IDTokenEncryptionTests {
    /// The client's own keys: one of each kind, for nothing but encryption.
    private struct Recipient {
        /// RFC 7515, appendix A.2.1: the file of which the tests of JOSE have the key.
        private static let example = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Tests/Keys/rfc7515-a2.json").standardizedFileURL

        let elliptic: JWK
        let rsa: JWK

        init() throws {
            let key = P256.KeyAgreement.PrivateKey()
            let point = Array(key.publicKey.rawRepresentation)
            var elliptic = try JWK(
                .p256(x: Array(point[..<32]), y: Array(point[32...]), d: Array(key.rawRepresentation)))
            (elliptic.use, elliptic.keyID) = ("enc", "elliptic")
            guard case .object(let json) = try JSON(parsing: Array(try Data(contentsOf: Self.example))) else {
                throw JOSEError(.malformed, "key")
            }
            var rsa = try JWK(json: json)
            (rsa.use, rsa.keyID) = ("enc", "rsa")
            (self.elliptic, self.rsa) = (elliptic, rsa)
        }

        var publicSet: String { JSON.object(JWKSet([self.elliptic, self.rsa]).publicJSON).text }

        func key(for algorithm: KeyManagementAlgorithm) -> JWK { algorithm == .ecdhES ? self.elliptic : self.rsa }
    }

    private func tokens(_ f: ProviderFixture, _ client: RegisteredClient) async throws -> ProviderAnswer {
        let request = try await f.provider.authorizations.authorize(
            f.query(client: client), browser: f.browser, session: nil, source: "a", address: nil)
        guard case .signIn(let id, _) = request else { throw OAuthError(.serverError, detail: "\(request)") }
        f.authenticate(id)
        guard
            case .signedIn(.redirect(let address), _, _) = try await f.provider.authorizations.complete(
                request: id, browser: f.browser, session: nil)
        else { throw OAuthError(.serverError) }
        let code = try #require(try ProviderFixture.parameter("code", of: address))
        return try await f.provider.grants.answer(header: f.basic(client), body: f.form(code))
    }

    private func client(_ f: ProviderFixture, _ encryption: IDTokenEncryption?, keySet: String?) async throws
        -> RegisteredClient
    {
        try await f.provider.clients.register(
            name: "Shop", redirectURIs: [ProviderFixture.address],
            settings: ClientSettings(keySet: keySet, tokens: TokenSettings(idTokenEncryption: encryption)))
    }

    @Test(
        "a client that wants it gets a signed ID token in an encrypted one, which its key opens",
        arguments: KeyManagementAlgorithm.all, ContentEncryption.all)
    func encrypted(algorithm: KeyManagementAlgorithm, content: ContentEncryption) async throws {
        try await ProviderFixture.run { f in
            let recipient = try Recipient()
            let shop = try await self.client(
                f, IDTokenEncryption(algorithm, content: content), keySet: recipient.publicSet)
            let body = try #require(try await self.tokens(f, shop).body)
            let opened = try JWE(
                opening: body.requiredString("id_token"), with: recipient.key(for: algorithm), allowing: [algorithm],
                encryptions: [content])
            #expect(opened.header.members["cty"] == .string("JWT"))
            #expect(opened.header.keyID == recipient.key(for: algorithm).keyID)
            let signed = try UnverifiedJWS(compact: String(decoding: opened.plaintext, as: UTF8.self))
            let keys = try JWKSet(parsing: JSON.object(f.provider.keys.keySet).serialized)
            let key = try #require(keys[signed.header.keyID ?? ""])
            let claims = try JWTClaims(signed.verified(by: VerificationKey(key, algorithm: .rs256)))
            #expect(claims.audience == [shop.client.id])
            // It was encrypted for the client: who it is about, nobody else reads in a hint.
            let hint = try await f.provider.authorizations.authorize(
                f.query(["id_token_hint": body.requiredString("id_token")], client: shop), browser: f.browser,
                session: nil, source: "a", address: nil)
            guard case .client(.redirect(let address)) = hint else {
                Issue.record("\(hint)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "invalid_request")
        }
    }

    @Test("a client whose keys cannot be fetched is told to ask again, and its code is good for that")
    func unreachable() async throws {
        let calls = TestCalls()
        try await ProviderFixture.run(calls: calls) { f in
            let recipient = try Recipient()
            var settings = ClientSettings(tokens: TokenSettings(idTokenEncryption: IDTokenEncryption(.ecdhES)))
            settings.keySetAddress = "https://shop.example/keys"
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address], settings: settings)
            calls.answer(.failure(OutgoingCallError("there is no connection to it")))
            let session = try await f.signIn().session
            let asked = try await f.provider.authorizations.authorize(
                f.query(client: shop), browser: f.browser, session: session, source: "a", address: nil)
            guard case .client(let answer) = asked, let code = try ProviderFixture.fields(of: answer)["code"] else {
                Issue.record("\(asked)")
                return
            }
            func exchange() async throws -> ProviderAnswer {
                try await f.provider.grants.answer(header: f.basic(shop), body: f.form(code))
            }
            let refused = try await exchange()
            #expect(refused.error == "temporarily_unavailable")
            #expect(try refused.body?.string("error_description")?.contains("ask again") == true)
            // While the code is good there is time to ask a second time in vain, and a third time.
            f.clock.advance(.seconds(15))
            #expect(try await exchange().error == "temporarily_unavailable")
            calls.answer(200, recipient.publicSet)
            f.clock.advance(.seconds(15))
            let given = try await exchange()
            #expect(given.status == 200, "\(given)")
            _ = try JWE(
                opening: try #require(given.body).requiredString("id_token"), with: recipient.elliptic,
                allowing: [.ecdhES], encryptions: [.a128CBCHS256])
        }
    }

    @Test("it can be switched off again, and is off where nobody has asked for it")
    func off() async throws {
        try await ProviderFixture.run { f in
            let recipient = try Recipient()
            let shop = try await self.client(f, IDTokenEncryption(.ecdhES), keySet: recipient.publicSet)
            _ = try await f.provider.clients.change(
                shop.client.id, ClientChange(tokens: TokenSettingsChange(idTokenEncryption: .off)))
            let plain = try await self.client(f, nil, keySet: nil)
            for client in [shop, plain] {
                let body = try #require(try await self.tokens(f, client).body)
                _ = try UnverifiedJWS(compact: try body.requiredString("id_token"))
            }
        }
    }

    @Test("nobody is registered for it without a key that fits")
    func keys() async throws {
        try await ProviderFixture.run { f in
            let recipient = try Recipient()
            let elliptic = JSON.object(JWKSet([recipient.elliptic]).publicJSON).text
            var signing = recipient.rsa
            signing.use = "sig"
            let other = JSON.object(JWKSet([signing]).publicJSON).text
            for (algorithm, set) in [
                (KeyManagementAlgorithm.ecdhES, nil), (.rsaOAEP256, elliptic), (.rsaOAEP, other),
            ] {
                let error = await #expect(throws: OAuthError.self) { () async throws in
                    _ = try await self.client(f, IDTokenEncryption(algorithm), keySet: set)
                }
                #expect(error?.message?.contains(algorithm.rawValue) == true)
            }
        }
    }

    @Test("keys to encrypt to alone take the place of others where nothing is verified by the client's, and else not")
    func turningKeys() async throws {
        try await ProviderFixture.run { f in
            let (first, second) = (try Recipient(), try Recipient())
            let shop = try await self.client(f, IDTokenEncryption(.ecdhES), keySet: first.publicSet)
            _ = try await f.provider.clients.change(shop.client.id, ClientChange(keySet: second.publicSet))
            let body = try #require(try await self.tokens(f, shop).body)
            _ = try JWE(
                opening: body.requiredString("id_token"), with: second.elliptic, allowing: [.ecdhES],
                encryptions: [.a128CBCHS256])

            var settings = try ClientKey(.es256, named: "own").settings
            let own = try JWKSet(parsing: Array(try #require(settings.keySet).utf8)).keys
            settings.keySet = JSON.object(JWKSet(own + [first.elliptic]).publicJSON).text
            settings.tokens.idTokenEncryption = IDTokenEncryption(.ecdhES)
            let signing = try await f.register(settings)
            let plain = try await f.register(ClientSettings(idTokenAlgorithm: .es256))
            for client in [signing, plain] {
                let error = await #expect(throws: OAuthError.self) { () async throws in
                    _ = try await f.provider.clients.change(client.client.id, ClientChange(keySet: second.publicSet))
                }
                #expect(error?.message?.contains("has no key to verify with") == true)
            }
            let both = JSON.object(JWKSet(own + [second.elliptic]).publicJSON).text
            _ = try await f.provider.clients.change(signing.client.id, ClientChange(keySet: both))
        }
    }

    @Test("what OpenID Connect leaves out is A128CBC-HS256, and what is not spoken here is refused")
    func names() throws {
        #expect(
            try IDTokenEncryptionChange(algorithm: "ECDH-ES", content: nil)
                == .on(IDTokenEncryption(.ecdhES, content: .a128CBCHS256)))
        #expect(try IDTokenEncryptionChange(algorithm: "none", content: nil) == .off)
        #expect(try IDTokenEncryptionChange(algorithm: nil, content: nil) == nil)
        for (algorithm, content) in [
            ("RSA1_5", "A256GCM"), ("ECDH-ES", "A192GCM"), ("dir", nil), ("none", "A256GCM"), (nil, "A256GCM"),
        ] {
            #expect(throws: OAuthError.self) {
                try IDTokenEncryptionChange(algorithm: algorithm, content: content)
            }
        }
    }

    @Test("the metadata tell what there is")
    func metadata() async throws {
        try await ProviderFixture.run { f in
            let discovery = f.provider.discovery
            let algorithms = try discovery.strings("id_token_encryption_alg_values_supported")
            let contents = try discovery.strings("id_token_encryption_enc_values_supported")
            #expect(algorithms == ["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"])
            #expect(contents == ["A256GCM", "A128GCM", "A256CBC-HS512", "A128CBC-HS256"])
        }
    }
}
