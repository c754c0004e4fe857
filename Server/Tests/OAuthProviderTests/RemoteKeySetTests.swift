import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import _Primitives

@Suite("RFC 7591, section 2: keys of clients at an address of their own (jwks_uri)")
struct RemoteKeySetTests {
    private static let address = "https://rp.example/keys"

    /// A client whose keys are at its address, a node that calls, and what it calls.
    private struct Signing {
        let f: ProviderFixture
        let calls = TestCalls()
        let notes = Noted()
        let provider: OpenIDProvider
        let client: RegisteredClient

        init(_ f: ProviderFixture) async throws {
            self.f = f
            let notes = self.notes
            var configuration = OpenIDProvider.Configuration(
                issuer: ProviderFixture.issuer, note: { notes.append($0) })
            configuration.calls = self.calls
            self.provider = try await OpenIDProvider.open(
                configuration, store: f.store, methods: [f.outcomes], people: f.people, time: f.clock.source)
            var settings = ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "private_key_jwt")
            settings.keySetAddress = RemoteKeySetTests.address
            self.client = try await f.provider.clients.register(
                name: "Remote", redirectURIs: [ProviderFixture.address], settings: settings)
        }

        /// Has the address answer with these keys.
        func publish(_ keys: [ClientKey], keeping: Duration? = nil) throws {
            let members = try keys.flatMap { key -> [JSON] in
                guard case .object(let set) = try JSON(parsing: Array(key.set.utf8)) else { return [] }
                return try set.array("keys") ?? []
            }
            self.calls.answer(200, JSON.object(["keys": .array(members)]).text, keeping: keeping)
        }

        /// What a token request with a key comes to: 400 where the client is known and its code is not.
        func status(_ key: ClientKey) async throws -> Int {
            try await self.answer(key).status
        }

        func answer(_ key: ClientKey) async throws -> ProviderAnswer {
            try await self.f.token(
                "none", assertion: key.assertion(self.client.client.id, self.f), at: self.provider)
        }
    }

    /// What the operator was told.
    private final class Noted: Sendable {
        private let state = Mutex<[ClientMisfit]>([])
        var all: [ClientMisfit] { self.state.withLock { $0 } }
        func append(_ note: ClientMisfit) { self.state.withLock { $0.append(note) } }
    }

    @Test("they are fetched when they are needed, and kept as long as the answer says, within bounds")
    func age() async throws {
        // What the answer says, and how long the keys are kept.
        for (said, kept) in [(nil, 300), (0, 15), (120, 120), (86_400, 3600)] as [(Int?, Int)] {
            try await ProviderFixture.run { f in
                let signing = try await Signing(f)
                let key = try ClientKey(.es256, named: "one")
                try signing.publish([key], keeping: said.map { .seconds($0) })
                #expect(signing.calls.calls.isEmpty, "nobody has asked")
                for _ in 0..<3 { #expect(try await signing.status(key) == 400) }
                #expect(
                    signing.calls.calls == [
                        OutgoingCall(to: Self.address, longestAnswer: Limits().oauth.keySetBytes)
                    ])
                f.clock.advance(.seconds(kept) - .milliseconds(1))
                #expect(try await signing.status(key) == 400)
                #expect(signing.calls.calls.count == 1)
                f.clock.advance(.milliseconds(1))
                #expect(try await signing.status(key) == 400)
                #expect(signing.calls.calls.count == 2)
            }
        }
    }

    /// The claims of a request object that is right.
    private func requestObject(_ signing: Signing, by key: ClientKey) throws -> String {
        let (f, id) = (signing.f, signing.client.client.id)
        let claims: JSONObject = [
            "iss": .string(id), "aud": .string(ProviderFixture.issuer), "client_id": .string(id),
            "exp": .integer(f.clock.source.now().seconds + 60), "response_type": .string("code"),
            "redirect_uri": .string(ProviderFixture.address), "scope": .string("openid"), "state": .string("signed"),
            "code_challenge": .string(f.verifier.challenge.text), "code_challenge_method": .string("S256"),
        ]
        return try JWS.sign(JSON.object(claims).serialized, type: "oauth-authz-req+jwt", with: key.signing)
    }

    /// Pushes a form of the client's, which authenticates by a key.
    private func push(_ form: Parameters, _ signing: Signing, by key: ClientKey) async throws -> ProviderAnswer {
        var form = form
        form.append("client_assertion", try key.assertion(signing.client.client.id, signing.f))
        form.append("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        return try await signing.provider.authorizations.push(header: nil, body: form.encoded, source: "a")
    }

    @Test("signed requests are verified by them, pushed or brought by a browser (RFC 9101)")
    func signedRequests() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let (key, stranger) = (try ClientKey(.es256, named: "one"), try ClientKey(.es256, named: "one"))
            try signing.publish([key])
            let client = signing.client.client
            let change = ClientChange(profile: ClientProfileChange(requiresSignedRequests: true))
            #expect(try await signing.provider.clients.change(client.id, change) != nil, "its keys are at an address")
            func come(_ object: String) async throws -> AuthorizationAnswer {
                let parameters: Parameters = ["client_id": client.id, "request": object]
                return try await signing.provider.authorizations.authorize(
                    parameters.encoded, browser: f.browser, session: nil, source: "a", address: nil)
            }
            let right = try self.requestObject(signing, by: key)
            guard case .signIn = try await come(right) else {
                Issue.record("no sign-in")
                return
            }
            #expect(try await self.push(["request": right], signing, by: key).status == 201)
            // Another's signature, and a request beside the object, count for nothing.
            let forged = try self.requestObject(signing, by: stranger)
            #expect(try await come(forged) == .page(OAuthError(.invalidRequestObject)))
            let plain = try Parameters(parsing: f.query(["client_id": client.id]))
            var both = plain
            both.append("request", forged)
            #expect(try await self.push(both, signing, by: key).error == "invalid_request_object")
            #expect(try await self.push(plain, signing, by: key).error == "invalid_request", "it has to sign")
        }
    }

    @Test("where they cannot be fetched, a signed request is refused for now, and its parameters are not taken instead")
    func unreachable() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let key = try ClientKey(.es256, named: "one")
            signing.calls.answer(500, "", keeping: nil)
            var parameters = try Parameters(parsing: f.query(["client_id": signing.client.client.id]))
            parameters.append("request", try self.requestObject(signing, by: key))
            let answer = try await signing.provider.authorizations.authorize(
                parameters.encoded, browser: f.browser, session: nil, source: "a", address: nil)
            #expect(answer == .page(OAuthError(.temporarilyUnavailable)))
        }
    }

    @Test("a request object that a client without keys pushes is refused, and not passed over")
    func withoutKeys() async throws {
        try await ProviderFixture.run { f in
            var form = try Parameters(parsing: f.query())
            form.append("request", "e30.e30.")
            let answer = try await f.provider.authorizations.push(header: f.basic(), body: form.encoded, source: "a")
            #expect(answer.status == 400 && answer.error == "request_not_supported")
        }
    }

    @Test("a service that signs for a token of its own has its keys fetched, too")
    func serviceAssertions() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            var change = ClientChange(
                grantTypes: ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
                tokens: TokenSettingsChange(scopes: ["read"]))
            change.redirectURIs = []
            _ = try await f.provider.clients.change(signing.client.client.id, change)
            let (key, stranger) = (try ClientKey(.es256, named: "one"), try ClientKey(.es256, named: "one"))
            try signing.publish([key])
            for (key, status) in [(key, 200), (stranger, 400)] {
                let form: Parameters = [
                    "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                    "assertion": try key.assertion(signing.client.client.id, f),
                ]
                #expect(try await signing.provider.grants.answer(header: nil, body: form.encoded).status == status)
            }
            #expect(signing.calls.calls.count == 1)
            signing.calls.answer(500, "", keeping: nil)
            f.clock.advance(.seconds(2 * 24 * 60 * 60))
            let form: Parameters = [
                "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                "assertion": try key.assertion(signing.client.client.id, f),
            ]
            let answer = try await signing.provider.grants.answer(header: nil, body: form.encoded)
            #expect(answer.error == "invalid_grant" && signing.notes.all.map(\.setting) == ["--jwks-uri"])
        }
    }

    @Test("a key that is not among them has them fetched again, every 15 seconds at most")
    func unknownKeys() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let (old, new) = (try ClientKey(.es256, named: "old"), try ClientKey(.edDSA, named: "new"))
            try signing.publish([old])
            #expect(try await signing.status(old) == 400)
            try signing.publish([old, new])
            for _ in 0..<5 { #expect(try await signing.status(new) == 401) }
            #expect(signing.calls.calls.count == 1, "within the pause")
            f.clock.advance(.seconds(14))
            #expect(try await signing.status(new) == 401)
            f.clock.advance(.seconds(1))
            #expect(try await signing.status(new) == 400)
            #expect(signing.calls.calls.count == 2)
            // One that is never there has them fetched once a pause, and no more.
            let invented = try ClientKey(.es256, named: "invented")
            for _ in 0..<5 { #expect(try await signing.status(invented) == 401) }
            f.clock.advance(.seconds(15))
            for _ in 0..<5 { #expect(try await signing.status(invented) == 401) }
            #expect(signing.calls.calls.count == 3)
        }
    }

    @Test("a key that is gone from the address is worth nothing once they are fetched again")
    func removedKeys() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let (old, new) = (try ClientKey(.es256, named: "old"), try ClientKey(.es256, named: "new"))
            try signing.publish([old])
            #expect(try await signing.status(old) == 400)
            try signing.publish([new])
            f.clock.advance(.seconds(300))
            #expect(try await signing.status(old) == 401)
            #expect(try await signing.status(new) == 400)
        }
    }

    @Test(
        "a client that takes all its keys away has none, at once when they are fetched again",
        arguments: [
            #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}"#,
        ])
    func withdrawnKeys(set: String) async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let key = try ClientKey(.es256, named: "stolen")
            try signing.publish([key])
            #expect(try await signing.status(key) == 400)
            signing.calls.answer(200, set)
            f.clock.advance(.seconds(300))
            #expect(try await signing.status(key) == 401)
            let new = try ClientKey(.es256, named: "new")
            try signing.publish([new])
            f.clock.advance(.seconds(300))
            #expect(try await signing.status(key) == 401)
            #expect(try await signing.status(new) == 400)
        }
    }

    private static let broken: [@Sendable (TestCalls) -> Void] = [
        { $0.answer(.failure(OutgoingCallError("there is no connection to it"))) }, { $0.answer(500) },
        { $0.answer(301) }, { $0.answer(200, "") }, { $0.answer(200, "[]") },
        { $0.answer(204) },
    ]

    @Test("an address that does not answer with keys keeps those of before for a day, and no longer")
    func brokenAnswers() async throws {
        for `break` in Self.broken {
            try await ProviderFixture.run { f in
                let signing = try await Signing(f)
                let key = try ClientKey(.es256, named: "one")
                try signing.publish([key])
                #expect(try await signing.status(key) == 400)
                `break`(signing.calls)
                f.clock.advance(.seconds(300))
                for _ in 0..<3 { #expect(try await signing.status(key) == 400) }
                #expect(signing.calls.calls.count == 2, "tried once a pause")
                f.clock.advance(.seconds(24 * 60 * 60) - .milliseconds(1))
                #expect(try await signing.status(key) == 400)
                f.clock.advance(.milliseconds(1))
                #expect(try await signing.status(key) == 401)
                f.clock.advance(.seconds(15))
                try signing.publish([key])
                #expect(try await signing.status(key) == 400)
            }
        }
    }

    @Test("where there never were any the client is refused and the operator told why; it is tried every 15 seconds")
    func neverThere() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let key = try ClientKey(.es256, named: "one")
            signing.calls.answer(404)
            for _ in 0..<3 {
                let answer = try await signing.answer(key)
                #expect(answer.status == 401 && answer.error == "invalid_client")
                #expect(answer.refusal?.reason?.contains("it answers 404") == true)
                #expect(try answer.body?.string("error_description")?.contains("404") != true)
            }
            #expect(signing.calls.calls.count == 1)
            #expect(signing.notes.all.map(\.setting) == ["--jwks-uri"])
            #expect(signing.notes.all.first?.client == signing.client.client.id)
            #expect(signing.notes.all.first?.advice.contains("it answers 404") == true)
            try signing.publish([key])
            f.clock.advance(.seconds(15))
            #expect(try await signing.status(key) == 400)
        }
    }

    @Test("another client's keys at the same address are another's, and an address that changes begins anew")
    func addresses() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let key = try ClientKey(.es256, named: "one")
            try signing.publish([key])
            #expect(try await signing.status(key) == 400)
            var change = ClientChange()
            change.keySetAddress = "https://rp.example/other"
            _ = try await f.provider.clients.change(signing.client.client.id, change)
            let other = try ClientKey(.es256, named: "one")
            try signing.publish([other])
            #expect(try await signing.status(key) == 401)
            #expect(try await signing.status(other) == 400)
            #expect(signing.calls.calls.map(\.address) == [Self.address, "https://rp.example/other"])
        }
    }

    @Test("fifty requests at once fetch once, and all of them are judged by what comes")
    func atOnce() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let key = try ClientKey(.es256, named: "one")
            try signing.publish([key])
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { try await signing.status(key) } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses == [Int](repeating: 400, count: 50))
            #expect(signing.calls.calls.count == 1)
        }
    }

    @Test("keys that are of no use here do not spoil the others")
    func otherKeys() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let key = try ClientKey(.es256, named: "one")
            let known = try JSON(parsing: Array(key.set.utf8))
            guard case .object(let set) = known, let mine = try set.array("keys") else {
                Issue.record("no set: \(key.set)")
                return
            }
            let foreign: [JSON] = [
                .object(["kty": .string("EC"), "crv": .string("P-521"), "x": .string("AA"), "y": .string("AA")]),
                .object(["kty": .string("OKP"), "crv": .string("X25519"), "x": .string("AA")]),
            ]
            signing.calls.answer(200, JSON.object(["keys": .array(foreign + mine)]).text)
            #expect(try await signing.status(key) == 400)
        }
    }

    @Test("a client has keys or their address, not both, and the address is one that can be called")
    func settings() async throws {
        try await ProviderFixture.run { f in
            let signing = try await Signing(f)
            let id = signing.client.client.id
            for wrong in ["http://rp.example/keys", "https://rp.example/#a", "keys", "com.example.app:/keys"] {
                var change = ClientChange()
                change.keySetAddress = wrong
                await #expect(throws: OAuthError(.invalidRequest)) {
                    _ = try await f.provider.clients.change(id, change)
                }
            }
            let key = try ClientKey(.es256)
            await #expect(throws: OAuthError(.invalidRequest)) {
                _ = try await f.provider.clients.change(id, ClientChange(keySet: key.set))
            }
            var none = ClientChange()
            none.keySetAddress = ""
            let alone = none
            await #expect(throws: OAuthError(.invalidRequest)) { _ = try await f.provider.clients.change(id, alone) }
            none.keySet = key.set
            let given = none
            let changed = try await f.provider.clients.change(id, given)
            #expect(changed?.settings.keySetAddress == nil && changed?.settings.keySet != nil)
            let last = try await f.store.auditEntries(after: 0, limit: 99).last?.event
            #expect(last?.kind == .clientAuthenticationChanged)
            #expect(try await f.store.client(id)?.settings.keySetAddress == nil)
        }
    }
}
