import Crypto
import JOSE
import OAuth
import OAuthProvider
import Records
import Synchronization
import Testing
import _Primitives

/// Answers with the key set that there is at that moment.
private final class KeySetCalls: OutgoingCalls {
    let set: Mutex<String>
    init(_ set: String) { self.set = Mutex(set) }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        OutgoingAnswer(status: 200, body: Array(self.set.withLock { $0 }.utf8))
    }
}

@Suite("RFC 8705: clients that show a certificate, and tokens that are bound to it")
struct MutualTLSTests {
    private static let origin = "https://mtls.bank.example"
    private static let issued = "tls_client_auth"
    private static let selfSigned = "self_signed_tls_client_auth"
    private static let name = ClientCertificateName(.dns, "client.bank.example")

    /// A certificate as the listener reads one.
    private static func certificate(
        _ f: ProviderFixture, of key: KeyHolder? = nil, names: [ClientCertificateName] = [name],
        from start: Duration = .seconds(-60), until end: Duration = .seconds(3600), distrust: String? = nil
    ) throws -> ClientCertificate {
        let key = try key ?? KeyHolder()
        let now = f.clock.source.now()
        return ClientCertificate(
            thumbprint: Base64URL.encode(Array(SHA256.hash(data: Array(key.thumbprint.utf8)))), names: names,
            key: try JWK(json: key.jwk), notBefore: now + start, notAfter: now + end, distrust: { distrust })
    }

    private static func run(
        hasAuthorities: Bool = true, calls: (any OutgoingCalls)? = nil, _ body: (ProviderFixture) async throws -> Void
    ) async throws {
        try await ProviderFixture.run(
            mutualTLS: .init(origin: Self.origin, hasAuthorities: hasAuthorities), calls: calls, body)
    }

    private static func settings(
        _ method: String, bound: Bool = true, name: ClientCertificateName? = nil, keys: KeyHolder? = nil
    ) -> ClientSettings {
        var settings = ClientSettings(
            idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token", "client_credentials"],
            authenticationMethod: method,
            keySet: keys.map { JSON.object(["keys": .array([.object($0.jwk)])]).text },
            tokens: TokenSettings(scopes: ["read"], certificateBound: bound))
        settings.certificateName = name
        return settings
    }

    private static func own(
        _ f: ProviderFixture, _ client: RegisteredClient, over connection: ClientConnection
    ) async throws -> ProviderAnswer {
        let form: Parameters = [
            "grant_type": "client_credentials", "scope": "read", "client_id": client.client.id,
        ]
        return try await f.provider.grants.answer(header: nil, body: form.encoded, over: connection)
    }

    private static func expectNoClient(_ answer: ProviderAnswer, _ reason: String) {
        #expect(answer.status == 401)
        #expect(
            answer.body == [
                "error": .string("invalid_client"), "error_description": .string("The client did not authenticate."),
            ])
        #expect(answer.refusal?.reason?.contains(reason) == true, "\(answer.refusal?.reason ?? "") \(reason)")
    }

    // MARK: Who it is

    @Test("2.1: a certificate that an authority vouches for, of the registered name, and none else")
    func issued() async throws {
        try await Self.run { f in
            let client = try await f.register(Self.settings(Self.issued, name: Self.name))
            func answer(_ certificate: ClientCertificate?) async throws -> ProviderAnswer {
                try await Self.own(f, client, over: .mutual(certificate))
            }
            #expect(try await answer(Self.certificate(f)).status == 200)
            let upper = ClientCertificateName(.dns, "CLIENT.bank.example")
            #expect(try await answer(Self.certificate(f, names: [upper])).status == 200, "hosts have no case")
            let others = [
                ClientCertificateName(.dns, "other.bank.example"), ClientCertificateName(.uri, "client.bank.example"),
                ClientCertificateName(.subject, "CN=client.bank.example"),
            ]
            Self.expectNoClient(try await answer(Self.certificate(f, names: others)), "san_dns:other.bank.example")
            Self.expectNoClient(try await answer(Self.certificate(f, distrust: "a stranger's")), "a stranger's")
            Self.expectNoClient(try await answer(Self.certificate(f, until: .seconds(-1))), "valid from")
            Self.expectNoClient(try await answer(Self.certificate(f, from: .seconds(1))), "valid from")
            Self.expectNoClient(try await answer(nil), "registered for tls_client_auth")
            let usual = try await Self.own(f, client, over: .usual)
            Self.expectNoClient(usual, "registered for tls_client_auth")
            // It ends while the connection goes on.
            let certificate = try Self.certificate(f)
            #expect(try await answer(certificate).status == 200)
            f.clock.advance(.seconds(3601))
            Self.expectNoClient(try await answer(certificate), "valid from")
        }
    }

    @Test("2.2: a key that things are encrypted to proves no client, though it is one of its own")
    func encryptionKey() async throws {
        try await Self.run { f in
            let (signing, encryption) = (try KeyHolder(), try KeyHolder())
            var key = encryption.jwk
            key["use"] = .string("enc")
            var settings = Self.settings(Self.selfSigned, keys: signing)
            settings.keySet = JSON.object(["keys": .array([.object(signing.jwk), .object(key)])]).text
            let client = try await f.register(settings)
            func answer(_ key: KeyHolder) async throws -> ProviderAnswer {
                try await Self.own(f, client, over: .mutual(Self.certificate(f, of: key)))
            }
            #expect(try await answer(signing).status == 200)
            Self.expectNoClient(try await answer(encryption), "another key")
        }
    }

    @Test(
        "2.1.2: each kind of name is one that a certificate can be registered by",
        arguments: ClientCertificateName.Kind.allCases)
    func names(kind: ClientCertificateName.Kind) async throws {
        try await Self.run { f in
            let name = ClientCertificateName(kind, "a:b")
            #expect(ClientCertificateName(name.text) == name)
            let client = try await f.register(Self.settings(Self.issued, name: name))
            let right = try Self.certificate(f, names: [Self.name, name])
            #expect(try await Self.own(f, client, over: .mutual(right)).status == 200)
            let others = ClientCertificateName.Kind.allCases.filter { $0 != kind }
                .map { ClientCertificateName($0, "a:b") }
            let wrong = try Self.certificate(f, names: others)
            Self.expectNoClient(try await Self.own(f, client, over: .mutual(wrong)), "its certificate has the names")
        }
    }

    @Test("2.2: a certificate of a key that the client has registered, whoever has signed it")
    func selfSigned() async throws {
        try await Self.run(hasAuthorities: false) { f in
            let key = try KeyHolder()
            let client = try await f.register(Self.settings(Self.selfSigned, keys: key))
            let mine = try Self.certificate(f, of: key, distrust: "nobody's")
            #expect(try await Self.own(f, client, over: .mutual(mine)).status == 200)
            let other = try Self.certificate(f)
            Self.expectNoClient(try await Self.own(f, client, over: .mutual(other)), "another key")
            let expired = try Self.certificate(f, of: key, until: .seconds(-1))
            Self.expectNoClient(try await Self.own(f, client, over: .mutual(expired)), "valid from")
            let strange = ClientCertificate(
                thumbprint: mine.thumbprint, names: [], key: nil, notBefore: mine.notBefore, notAfter: mine.notAfter,
                distrust: { nil })
            Self.expectNoClient(try await Self.own(f, client, over: .mutual(strange)), "a kind")
            Self.expectNoClient(try await Self.own(f, client, over: .mutual(nil)), "registered for")
            // Where it is registered for something else, a certificate proves nothing.
            let secret = try await f.register(Self.settings("client_secret_basic", bound: false, keys: key))
            Self.expectNoClient(
                try await Self.own(f, secret, over: .mutual(mine)), "registered for client_secret_basic")
        }
    }

    @Test("2.2: keys that the client keeps itself are fetched, and again where it has changed them")
    func keysAtAnAddress() async throws {
        let (first, second) = (try KeyHolder(), try KeyHolder())
        func set(_ key: KeyHolder) -> String { JSON.object(["keys": .array([.object(key.jwk)])]).text }
        let calls = KeySetCalls(set(first))
        try await Self.run(calls: calls) { f in
            var settings = Self.settings(Self.selfSigned)
            settings.keySetAddress = "https://client.example/keys"
            let client = try await f.register(settings)
            func status(_ key: KeyHolder) async throws -> Int {
                try await Self.own(f, client, over: .mutual(Self.certificate(f, of: key))).status
            }
            #expect(try await status(first) == 200)
            #expect(try await status(second) == 401)
            calls.set.withLock { $0 = set(second) }
            f.clock.advance(.seconds(61))
            #expect(try await status(second) == 200)
            #expect(try await status(first) == 401, "the former one is taken away")
        }
    }

    @Test("what contradicts itself is refused when it is saved")
    func contradictions() async throws {
        try await Self.run(hasAuthorities: false) { f in
            for settings in [
                Self.settings(Self.issued, name: Self.name), Self.settings(Self.selfSigned),
            ] {
                await #expect(throws: OAuthError(.invalidRequest), "\(settings.authenticationMethod)") {
                    _ = try await f.register(settings)
                }
            }
        }
        try await Self.run { f in
            for name in [nil, ClientCertificateName(.dns, ""), ClientCertificateName(.dns, "a\nb")] {
                await #expect(throws: OAuthError(.invalidRequest), "\(String(describing: name))") {
                    _ = try await f.register(Self.settings(Self.issued, name: name))
                }
            }
        }
        try await Self.run { f in
            var settings = Self.settings(Self.issued, name: Self.name)
            settings.grantTypes = ["authorization_code", "urn:openid:params:grant-type:ciba"]
            settings.answers = .init(.push, at: "https://client.example/told")
            let refused = await #expect(throws: OAuthError.self) { _ = try await f.register(settings) }
            #expect(refused?.code == .invalidRequest)
            #expect(refused?.message?.contains("a certificate") == true)
            #expect(refused?.message?.contains("DPoP key") == true)
            settings.tokens.certificateBound = false
            _ = try await f.register(settings)
        }
        // Without the listener there is nothing of it.
        try await ProviderFixture.run { f in
            for settings in [
                Self.settings(Self.issued, name: Self.name), Self.settings(Self.selfSigned, keys: try KeyHolder()),
                Self.settings("client_secret_basic"),
            ] {
                await #expect(throws: OAuthError(.invalidRequest), "\(settings.authenticationMethod)") {
                    _ = try await f.register(settings)
                }
            }
        }
    }

    // MARK: What it is given

    @Test("3: a token is bound to the certificate, at userinfo and for whoever asks about it")
    func bound() async throws {
        try await Self.run { f in
            let client = try await f.register(Self.settings(Self.issued, name: Self.name))
            let certificate = try Self.certificate(f)
            let code = try await f.signIn(["client_id": client.client.id, "scope": "openid profile"]).code
            let form = f.form(code, ["client_id": client.client.id])
            let body = try #require(
                try await f.provider.grants.answer(header: nil, body: form, over: .mutual(certificate)).body)
            #expect(body["token_type"] == .string("Bearer"))
            let token = try body.requiredString("access_token")
            let expected: JSON = .object(["x5t#S256": .string(certificate.thumbprint)])
            #expect(try f.claims(token, type: "at+jwt").members["cnf"] == expected)
            func userinfo(_ connection: ClientConnection) async throws -> ProviderAnswer {
                try await f.provider.userinfo.answer(header: "Bearer \(token)", over: connection)
            }
            #expect(try await userinfo(.mutual(certificate)).status == 200)
            for connection in [ClientConnection.usual, .mutual(nil), .mutual(try Self.certificate(f))] {
                let refused = try await userinfo(connection)
                #expect(refused.status == 401 && refused.error == "invalid_token")
            }
            let ask: Parameters = ["token": token, "client_id": client.client.id]
            let told = try await f.provider.introspection.answer(
                header: nil, body: ask.encoded, over: .mutual(certificate)
            ).body
            #expect(told?["active"] == .bool(true) && told?["cnf"] == expected)
            // It may be given up with another certificate of the same client.
            let renewed = try Self.certificate(f)
            #expect(
                try await f.provider.revocation.answer(header: nil, body: ask.encoded, over: .mutual(renewed)).status
                    == 200)
            #expect(try await userinfo(.mutual(certificate)).status == 401)
        }
    }

    @Test("3.4: where a client's tokens are to be bound it has to show one, however it authenticates")
    func intention() async throws {
        try await Self.run { f in
            let bound = try await f.register(Self.settings("client_secret_basic"))
            let form: Parameters = ["grant_type": "client_credentials", "scope": "read"]
            func answer(_ client: RegisteredClient, _ connection: ClientConnection) async throws -> ProviderAnswer {
                try await f.provider.grants.answer(header: f.basic(client), body: form.encoded, over: connection)
            }
            let certificate = try Self.certificate(f)
            let right = try #require(try await answer(bound, .mutual(certificate)).body)
            let cnf = try f.claims(try right.requiredString("access_token"), type: "at+jwt").members["cnf"]
            #expect(cnf == .object(["x5t#S256": .string(certificate.thumbprint)]))
            for connection in [ClientConnection.usual, .mutual(nil)] {
                let refused = try await answer(bound, connection)
                #expect(refused.status == 400 && refused.error == "invalid_request")
                #expect(refused.refusal?.reason?.contains("--certificate-bound-tokens") == true)
            }
            let free = try await f.register(Self.settings("client_secret_basic", bound: false))
            let plain = try #require(try await answer(free, .mutual(certificate)).body)
            #expect(try f.claims(try plain.requiredString("access_token"), type: "at+jwt").members["cnf"] == nil)
        }
    }

    @Test("4: an app's refresh token is bound to its certificate, and a confidential client's to the client")
    func refresh() async throws {
        try await Self.run { f in
            for method in ["none", Self.issued] {
                var settings = Self.settings(method, name: method == "none" ? nil : Self.name)
                settings.grantTypes = ["authorization_code", "refresh_token"]
                let client = try await f.register(settings)
                let id = client.client.id
                let certificate = try Self.certificate(f)
                let code = try await f.signIn(["client_id": id, "scope": "openid offline_access"]).code
                let given = try #require(
                    try await f.provider.grants.answer(
                        header: nil, body: f.form(code, ["client_id": id]), over: .mutual(certificate)
                    ).body)
                let form: Parameters = [
                    "grant_type": "refresh_token", "client_id": id,
                    "refresh_token": try given.requiredString("refresh_token"),
                ]
                let renewed = try Self.certificate(f)
                let other = try await f.provider.grants.answer(header: nil, body: form.encoded, over: .mutual(renewed))
                if method == "none" {
                    #expect(other.status == 400 && other.error == "invalid_grant")
                    let right = try await f.provider.grants.answer(
                        header: nil, body: form.encoded, over: .mutual(certificate))
                    #expect(right.status == 200)
                } else {
                    #expect(other.status == 200, "it may renew its certificate")
                    let token = try #require(other.body).requiredString("access_token")
                    #expect(
                        try f.claims(token, type: "at+jwt").members["cnf"]
                            == .object(["x5t#S256": .string(renewed.thumbprint)]))
                }
            }
        }
    }

    @Test("a client of fapi2 may show a certificate in the place of a signature and of proofs of a key")
    func fapi2() async throws {
        try await Self.run { f in
            var settings = Self.settings(Self.issued, name: Self.name)
            settings.grantTypes = ["authorization_code", "refresh_token"]
            settings.profile.security = .fapi2
            let client = try await f.register(settings)
            let certificate = try Self.certificate(f)
            let pushed = try await f.provider.authorizations.push(
                header: nil, body: f.query(["client_id": client.client.id]), source: "a",
                over: .mutual(certificate))
            #expect(pushed.status == 201)
            let asked: Parameters = [
                "client_id": client.client.id, "request_uri": try #require(pushed.body).requiredString("request_uri"),
            ]
            let answer = try await f.provider.authorizations.authorize(
                asked.encoded, browser: f.browser, session: nil, source: "a", address: nil)
            guard case .signIn(let request, _) = answer else { return #expect(Bool(false), "\(answer)") }
            f.authenticate(request)
            let done = try await f.provider.authorizations.complete(request: request, browser: f.browser, session: nil)
            guard case .signedIn(.redirect(let address), _, _) = done else { return #expect(Bool(false), "\(done)") }
            let code = try #require(try ProviderFixture.parameter("code", of: address))
            let form = f.form(code, ["client_id": client.client.id])
            let given = try await f.provider.grants.answer(header: nil, body: form, over: .mutual(certificate))
            let token = try #require(given.body).requiredString("access_token")
            #expect(
                try f.claims(token, type: "at+jwt").members["cnf"]
                    == .object(["x5t#S256": .string(certificate.thumbprint)]))
            // Without bound tokens it has to prove a key.
            _ = try await f.provider.clients.change(
                client.client.id, ClientChange(tokens: TokenSettingsChange(certificateBound: false)))
            let refused = try await f.provider.grants.answer(header: nil, body: form, over: .mutual(certificate))
            #expect(refused.status == 400 && refused.error == "invalid_dpop_proof")
        }
    }

    @Test("tokens are bound to a certificate or to a key: a client that is to have both is refused")
    func oneBinding() async throws {
        try await Self.run { f in
            var both = Self.settings(Self.issued, name: Self.name)
            both.tokens.keyBound = true
            let refused = await #expect(throws: OAuthError.self) { _ = try await f.register(both) }
            #expect(refused?.code == .invalidRequest)
            #expect(refused?.message?.contains("or to a DPoP key") == true)
            let client = try await f.register(Self.settings(Self.issued, name: Self.name)).client
            var change = ClientChange()
            change.tokens.keyBound = true
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(client.id, change)
            }
            change.tokens.certificateBound = false
            #expect(try await f.provider.clients.change(client.id, change)?.settings.tokens.keyBound == true)
        }
    }

    @Test("what is bound to a certificate is exchanged with it alone")
    func exchange() async throws {
        try await Self.run { f in
            let grant = "urn:ietf:params:oauth:grant-type:token-exchange"
            _ = try await f.resourceServer(owning: ["urn:far"])
            let shop = try await f.register(Self.settings(Self.issued, name: Self.name))
            var settings = Self.settings("client_secret_basic")
            settings.grantTypes = [grant]
            settings.tokens.subjects = [shop.client.id]
            settings.tokens.audiences = ["urn:far"]
            let api = try await f.register(settings)
            let certificate = try Self.certificate(f)
            let code = try await f.signIn(["client_id": shop.client.id, "scope": "openid read"]).code
            let given = try #require(
                try await f.provider.grants.answer(
                    header: nil, body: f.form(code, ["client_id": shop.client.id]), over: .mutual(certificate)
                ).body)
            let form: Parameters = [
                "grant_type": grant, "subject_token": try given.requiredString("access_token"),
                "subject_token_type": "urn:ietf:params:oauth:token-type:access_token", "audience": "urn:far",
            ]
            func exchange(_ certificate: ClientCertificate) async throws -> ProviderAnswer {
                try await f.provider.grants.answer(header: f.basic(api), body: form.encoded, over: .mutual(certificate))
            }
            #expect(try await exchange(Self.certificate(f)).error == "invalid_request")
            #expect(try await exchange(certificate).status == 200)
        }
    }

    // MARK: What is said of it

    @Test("5: the metadata has the other addresses where there are such, and methods as they can be used")
    func metadata() async throws {
        try await Self.run(hasAuthorities: false) { f in
            let metadata = f.provider.discovery
            #expect(try metadata.bool("tls_client_certificate_bound_access_tokens") == true)
            let aliases = try #require(try metadata.object("mtls_endpoint_aliases"))
            #expect(try aliases.requiredString("token_endpoint") == Self.origin + "/oauth2/token")
            for (name, value) in aliases.members {
                let usual = try metadata.requiredString(name)
                #expect(value == .string(Self.origin + usual.dropFirst(ProviderFixture.issuer.count)), "\(name)")
            }
            #expect(
                Set(aliases.members.map(\.name)) == [
                    "token_endpoint", "revocation_endpoint", "introspection_endpoint", "userinfo_endpoint",
                    "pushed_authorization_request_endpoint", "device_authorization_endpoint",
                    "backchannel_authentication_endpoint", "authorization_challenge_endpoint",
                ])
            let methods = try #require(try metadata.strings("token_endpoint_auth_methods_supported"))
            #expect(methods.contains(Self.selfSigned) && !methods.contains(Self.issued))
        }
        try await Self.run { f in
            let methods = try f.provider.discovery.strings("token_endpoint_auth_methods_supported")
            #expect(methods?.contains(Self.issued) == true)
        }
        try await ProviderFixture.run { f in
            let metadata = f.provider.discovery
            #expect(metadata["mtls_endpoint_aliases"] == nil)
            #expect(metadata["tls_client_certificate_bound_access_tokens"] == nil)
            let methods = try metadata.strings("token_endpoint_auth_methods_supported") ?? []
            #expect(!methods.contains(Self.issued) && !methods.contains(Self.selfSigned))
        }
    }

    @Test("a proof of a key names the address that the request goes to")
    func proofs() async throws {
        try await Self.run { f in
            let client = try await f.register(Self.settings(Self.issued, bound: false, name: Self.name))
            let (key, certificate) = (try KeyHolder(), try Self.certificate(f))
            let form: Parameters = [
                "grant_type": "client_credentials", "scope": "read", "client_id": client.client.id,
            ]
            for (address, status) in [(Self.origin + "/oauth2/token", 200), (KeyHolder.token, 400)] {
                let proof = try await key.proof(f, ["htu": .string(address)])
                let answer = try await f.provider.grants.answer(
                    header: nil, body: form.encoded, proofs: [proof], over: .mutual(certificate))
                #expect(answer.status == status, "\(address)")
            }
        }
    }
}
