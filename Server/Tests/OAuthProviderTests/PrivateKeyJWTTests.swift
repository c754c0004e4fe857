import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 7523, section 2.2, and FAPI 2.0, section 5.3.2.1: clients that sign who they are")
struct PrivateKeyJWTTests {
    private func refused(_ answer: ProviderAnswer, _ comment: Comment? = nil) {
        #expect(answer.status == 401 && answer.error == "invalid_client", comment)
    }

    @Test("a client has its tokens for a signature", arguments: [JWSAlgorithm.es256, .ps256, .edDSA, .rs256])
    func signs(algorithm: JWSAlgorithm) async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(algorithm, named: "one")
            let client = try await f.register(key.settings)
            #expect(client.secret == nil && client.client.secretDigest == nil)
            let id = client.client.id
            for changes in [[:], ["client_id": id]] as [[String: String?]] {
                let answer = try await f.token(
                    f.code(of: client), assertion: key.assertion(id, f), changes)
                #expect(answer.status == 200)
            }
            let made = try ClientAssertion.parameters(
                clientID: id, issuer: ProviderFixture.issuer, lifetime: .seconds(30), with: key.signing,
                at: f.clock.source.now(), random: .system)
            let answer = try await f.token(f.code(of: client), assertion: #require(made["client_assertion"]))
            #expect(answer.status == 200)
        }
    }

    private static let tokenEndpoint = ProviderFixture.issuer + "/oauth2/token"

    /// Audiences that name somebody else, or nobody.
    private static let strangers: [JSON?] = [
        .array([.string(ProviderFixture.issuer), .string("https://other.example")]),
        .array([.string(tokenEndpoint), .string("https://other.example")]),
        .string(ProviderFixture.issuer + "/oauth2/par"), .string(ProviderFixture.issuer + "/"),
        .string("https://other.example"), .string(""), .array([]), nil,
    ]

    @Test(
        "the issuer is the audience, alone or as a list of one; every other is refused with the setting, and spends nothing"
    )
    func audience() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            let client = try await f.register(key.settings)
            let code = try await f.code(of: client)
            for audience: JSON? in Self.strangers + [
                .string(Self.tokenEndpoint), .array([.string(ProviderFixture.issuer), .string(Self.tokenEndpoint)]),
            ] {
                let assertion = try key.assertion(client.client.id, f, ["aud": audience])
                let answer = try await f.token(code, assertion: assertion)
                self.refused(answer, "\(audience?.text ?? "none")")
                let description = try answer.body?.string("error_description")
                #expect(description?.contains("--assertion-audience token-endpoint") == true)
            }
            for audience: JSON in [.string(ProviderFixture.issuer), .array([.string(ProviderFixture.issuer)])] {
                let right = try key.assertion(client.client.id, f, ["aud": audience])
                #expect(try await f.token(f.code(of: client), assertion: right).status == 200)
            }
            #expect(try await f.token(code, assertion: key.assertion(client.client.id, f)).status == 200)
        }
    }

    @Test(
        "with the setting the token endpoint's address is one, too, for that client alone, and the operator is warned")
    func tokenEndpointAsAudience() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            var settings = key.settings
            settings.assertionAudience = .tokenEndpoint
            let client = try await f.register(settings)
            for audience: JSON in [
                .string(Self.tokenEndpoint), .array([.string(Self.tokenEndpoint)]), .string(ProviderFixture.issuer),
                .array([.string(ProviderFixture.issuer), .string(Self.tokenEndpoint)]),
            ] {
                let assertion = try key.assertion(client.client.id, f, ["aud": audience])
                #expect(try await f.token(f.code(of: client), assertion: assertion).status == 200, "\(audience.text)")
            }
            let code = try await f.code(of: client)
            for audience in Self.strangers {
                let assertion = try key.assertion(client.client.id, f, ["aud": audience])
                self.refused(try await f.token(code, assertion: assertion), "\(audience?.text ?? "none")")
            }
            let warned = try await f.provider.clients.warned()
            #expect(warned.map(\.client.id) == [client.client.id])
            #expect(warned.first?.warnings.map(\.setting) == ["--assertion-audience token-endpoint"])
            // Taken back, the address is none any more.
            var change = ClientChange()
            change.assertionAudience = .issuer
            _ = try await f.provider.clients.change(client.client.id, change)
            let assertion = try key.assertion(client.client.id, f, ["aud": .string(Self.tokenEndpoint)])
            self.refused(try await f.token(code, assertion: assertion))
            #expect(try await f.provider.clients.warned().isEmpty)
        }
    }

    @Test("whoever does not hold the key is not told of the audience")
    func audienceOfStrangers() async throws {
        try await ProviderFixture.run { f in
            let client = try await f.register(ClientKey(.es256).settings)
            let forged = try ClientKey(.es256).assertion(
                client.client.id, f, ["aud": .string(Self.tokenEndpoint)])
            let answer = try await f.token("x", assertion: forged)
            self.refused(answer)
            #expect(try answer.body?.string("error_description") == "The client did not authenticate.")
        }
    }

    @Test("a client of fapi2 names the issuer as one text, and cannot have the setting; nor can one without a key")
    func audienceOfProfiles() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            var settings = key.settings
            settings.profile = ClientProfile(security: .fapi2)
            let client = try await f.register(settings)
            for audience: JSON in [.array([.string(ProviderFixture.issuer)]), .string(Self.tokenEndpoint)] {
                let assertion = try key.assertion(client.client.id, f, ["aud": audience])
                self.refused(try await f.token("x", assertion: assertion), "\(audience.text)")
            }
            var change = ClientChange()
            change.assertionAudience = .tokenEndpoint
            for id in [client.client.id, f.bank.client.id] {
                await #expect(throws: OAuthError(.invalidRequest)) { try await f.provider.clients.change(id, change) }
            }
        }
    }

    @Test("an assertion counts once: at any node, for as long as it could be shown, whatever came of it")
    func replay() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            let client = try await f.register(key.settings)
            let other = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people, time: f.clock.source)
            let assertion = try key.assertion(client.client.id, f)
            // The first showing is a refused one.
            let first = try await f.token("unknown", assertion: assertion)
            #expect(first.error == "invalid_grant")
            let code = try await f.code(of: client)
            for _ in 0..<2 {
                for node in [f.provider, other] {
                    let answer = try await f.token(code, assertion: assertion, at: node)
                    self.refused(answer)
                    #expect(answer.refusal?.reason?.contains("jti was shown before") == true)
                }
                try await f.provider.sweep()
            }
            // Its time is 60 seconds, and the clocks may differ by 30.
            f.clock.advance(.seconds(89))
            try await f.provider.sweep()
            let late = try await f.token(code, assertion: assertion)
            self.refused(late)
            #expect(late.refusal?.reason?.contains("jti was shown before") == true)
            f.clock.advance(.seconds(1))
            try await f.provider.sweep()
            let old = try await f.token(code, assertion: assertion)
            self.refused(old)
            #expect(old.refusal?.reason?.contains("exp is past") == true)
        }
    }

    @Test func oneOfFiftyRequestsWithOneAssertionIsTheClients() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            let client = try await f.register(key.settings)
            let assertion = try key.assertion(client.client.id, f)
            let errors = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<50 { group.addTask { try await f.token("unknown", assertion: assertion).error } }
                return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(errors.count { $0 == "invalid_grant" } == 1)
            #expect(errors.count { $0 == "invalid_client" } == 49)
        }
    }

    @Test("two clients may name their assertions alike")
    func names() async throws {
        try await ProviderFixture.run { f in
            for _ in 0..<2 {
                let key = try ClientKey(.es256)
                let client = try await f.register(key.settings)
                let assertion = try key.assertion(client.client.id, f, ["jti": .string("same")])
                #expect(try await f.token(f.code(of: client), assertion: assertion).status == 200)
            }
        }
    }

    @Test("clocks may differ a little, and assertions may not live long")
    func times() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            let client = try await f.register(key.settings)
            let now = f.clock.source.now().seconds
            func isTaken(_ changes: [String: JSON?]) async throws -> Bool {
                let answer = try await f.token(
                    "unknown", assertion: key.assertion(client.client.id, f, changes))
                return answer.error == "invalid_grant"
            }
            for claim in ["iat", "nbf"] {
                for (ahead, isFine) in [(10, true), (30, true), (31, false), (61, false)] {
                    #expect(try await isTaken([claim: .integer(now + Int64(ahead))]) == isFine, "\(claim) \(ahead)")
                }
            }
            for (end, isFine) in [(-31, false), (-10, true), (3600, true), (3631, false), (86_400, false)] {
                #expect(try await isTaken(["exp": .integer(now + Int64(end))]) == isFine, "exp \(end)")
            }
            for missing in ["exp", "jti", "iss", "sub"] {
                #expect(try await !isTaken([missing: nil]), "\(missing)")
            }
            #expect(try await isTaken(["iat": nil]))
        }
    }

    @Test("nobody else's signature counts, and no other way beside it")
    func others() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            let client = try await f.register(key.settings)
            let (id, bank) = (client.client.id, f.bank.client.id)
            let code = try await f.code(of: client)
            // Another key, an unknown client, another client's name, one that has a secret.
            self.refused(try await f.token(code, assertion: try ClientKey(.es256).assertion(id, f)))
            self.refused(try await f.token(code, assertion: try ClientKey(.edDSA).assertion(id, f)))
            self.refused(try await f.token(code, assertion: key.assertion("unknown", f)))
            self.refused(try await f.token(code, assertion: key.assertion(id, f, ["iss": .string(bank)])))
            self.refused(try await f.token(code, assertion: key.assertion(bank, f)))
            let secret = try SigningKey(JWK(.octets(Array(f.secret.utf8))), algorithm: .hs256)
            let claims: JSONObject = ["iss": .string(bank), "sub": .string(bank), "jti": .string("x")]
            self.refused(
                try await f.token(code, assertion: JWS.sign(JSON.object(claims).serialized, type: "JWT", with: secret)))
            for broken in ["", "x", "e30.e30.", "e30.e30.e30"] {
                self.refused(try await f.token(code, assertion: broken))
            }
            self.refused(
                try await f.token(code, assertion: key.assertion(id, f), ["client_assertion_type": "urn:other"]))
            // Two ways are none, and neither is spent.
            let right = try key.assertion(id, f)
            for (changes, header) in [
                (["client_id": id, "client_secret": "x"], nil), (["client_id": bank], nil), ([:], f.basic()),
            ] as [([String: String?], String?)] {
                let answer = try await f.token(code, assertion: right, changes, header: header)
                #expect(answer.status == 400 && answer.error == "invalid_request")
            }
            // It has no secret, and is not known by its name alone.
            self.refused(try await f.provider.grants.answer(header: nil, body: f.form(code, ["client_id": id])))
            self.refused(try await f.provider.grants.answer(header: f.basic(client, secret: "x"), body: f.form(code)))
            #expect(try await f.token(code, assertion: right).status == 200)
        }
    }

    @Test("keys are of a kind that verifies, public, and not too many", arguments: KeySet.refused)
    func keySets(set: KeySet) async throws {
        try await ProviderFixture.run { f in
            var settings = ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "private_key_jwt")
            await #expect(throws: OAuthError(.invalidRequest)) { try await f.register(settings) }
            settings.keySet = set.text
            await #expect(throws: OAuthError(.invalidClientMetadata)) { try await f.register(settings) }
            await #expect(throws: OAuthError(.invalidClientMetadata)) {
                try await f.provider.clients.change(f.bank.client.id, ClientChange(keySet: set.text))
            }
            let clients = try await f.provider.clients.all()
            #expect(clients == [f.bank.client])
        }
    }

    /// Keys that somebody registers.
    struct KeySet: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String

        private static func rsa(_ bytes: Int) -> String {
            let modulus = [0x80] + [UInt8](repeating: 1, count: bytes - 1)
            return #"{"keys":[{"kty":"RSA","alg":"RS256","e":"AQAB","n":"\#(Base64URL.encode(modulus))"}]}"#
        }

        private static func curve(_ name: String, _ bytes: Int) -> String {
            let number = Base64URL.encode([UInt8](repeating: 1, count: bytes))
            return #"{"keys":[{"kty":"EC","crv":"\#(name)","x":"\#(number)","y":"\#(number)"}]}"#
        }

        static let refused = [
            KeySet(testDescription: "RSA of 1024 bits", text: Self.rsa(128)),
            KeySet(testDescription: "RSA of 2040 bits", text: Self.rsa(255)),
            KeySet(testDescription: "P-192", text: Self.curve("P-192", 24)),
            KeySet(testDescription: "a point that is on no curve", text: Self.curve("P-256", 32)),
            KeySet(testDescription: "a secret", text: #"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#),
            KeySet(
                testDescription: "a private key",
                text:
                    #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}]}"#
            ),
            KeySet(testDescription: "no key", text: #"{"keys":[]}"#),
            KeySet(testDescription: "no set", text: "[]"), KeySet(testDescription: "no JSON", text: "{"),
            KeySet(
                testDescription: "too long",
                text:
                    #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}],"x":""#
                    + String(repeating: "x", count: 16_384) + #""}"#),
        ]
    }

    @Test("RSA of 2048 bits and P-256 are taken, and kept without what came beside")
    func goodKeys() async throws {
        try await ProviderFixture.run { f in
            for algorithm in [JWSAlgorithm.rs256, .es256] {
                let key = try ClientKey(algorithm, named: "k")
                var settings = key.settings
                settings.keySet = String(key.set.dropLast()) + #","more":1}"#
                let client = try await f.register(settings)
                #expect(client.client.settings.keySet == key.set)
            }
        }
    }

    @Test("another key takes the place of the one before at once, and a client that signs is never without one")
    func change() async throws {
        try await ProviderFixture.run { f in
            let (old, new) = (try ClientKey(.es256), try ClientKey(.es256))
            let client = try await f.register(old.settings)
            let id = client.client.id
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(id, ClientChange(keySet: ""))
            }
            _ = try await f.provider.clients.change(id, ClientChange(keySet: new.set))
            let code = try await f.code(of: client)
            self.refused(try await f.token(code, assertion: old.assertion(id, f)))
            #expect(try await f.token(code, assertion: new.assertion(id, f)).status == 200)
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.rotateSecret(ofClient: id)
            }
        }
    }

    @Test("a store that cannot remember takes no assertion")
    func closedStore() async throws {
        try await ProviderFixture.run(closing: false) { f in
            let key = try ClientKey(.es256)
            let client = try await f.register(key.settings)
            let assertion = try key.assertion(client.client.id, f)
            await f.store.close()
            await #expect(throws: StoreError(.unavailable, "")) {
                try await f.token("unknown", assertion: assertion)
            }
        }
    }

    @Test func theMetadataNamesWhatClientsCanSignWith() async throws {
        try await ProviderFixture.run { f in
            let named = try f.provider.discovery.strings("token_endpoint_auth_signing_alg_values_supported")
            #expect(named == ["RS256", "ES256", "PS256", "EdDSA"])
            let methods = try f.provider.discovery.strings("token_endpoint_auth_methods_supported")
            #expect(methods == ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"])
        }
    }
}
