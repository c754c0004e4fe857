import Crypto
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, sections 3.1.3.6 and 3.1.3.7: what ID tokens are signed with")
struct IDTokenAlgorithmTests {
    /// The code of a sign-in at a client that was registered with these settings.
    private func code(_ f: ProviderFixture, _ client: RegisteredClient) async throws -> String {
        let request = try await f.provider.authorizations.authorize(
            f.query(client: client), browser: f.browser, session: nil, source: "a", address: nil)
        guard case .signIn(let id, _) = request else { throw OAuthError(.serverError, detail: "\(request)") }
        f.authenticate(id)
        guard
            case .signedIn(.redirect(let address), _, _) = try await f.provider.authorizations.complete(
                request: id, browser: f.browser, session: nil)
        else { throw OAuthError(.serverError) }
        return try #require(try ProviderFixture.parameter("code", of: address))
    }

    /// Its tokens.
    private func tokens(_ f: ProviderFixture, _ client: RegisteredClient) async throws -> (id: String, access: String) {
        let code = try await self.code(f, client)
        let body = try #require(try await f.provider.grants.answer(header: f.basic(client), body: f.form(code)).body)
        return (try body.requiredString("id_token"), try body.requiredString("access_token"))
    }

    private func client(_ f: ProviderFixture, _ settings: ClientSettings = ClientSettings()) async throws
        -> RegisteredClient
    {
        try await f.provider.clients.register(
            name: "Shop", redirectURIs: [ProviderFixture.address], settings: settings)
    }

    private func keys(_ provider: OpenIDProvider) throws -> [JWK] {
        try JWKSet(parsing: JSON.object(provider.keys.keySet).serialized).keys
    }

    @Test("a client that names nothing gets RS256")
    func theDefault() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.client(f)
            #expect(shop.client.settings.idTokenAlgorithm == .rs256)
            #expect(try UnverifiedJWS(compact: try await self.tokens(f, shop).id).header.algorithm == "RS256")
        }
    }

    @Test(
        "a client gets the algorithm that it names, under a key of that algorithm and of no other",
        arguments: [JWSAlgorithm.rs256, .es256, .ps256, .edDSA])
    func everyAlgorithm(algorithm: JWSAlgorithm) async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.client(f, ClientSettings(idTokenAlgorithm: algorithm))
            let tokens = try await self.tokens(f, shop)
            let header = try UnverifiedJWS(compact: tokens.id).header
            let key = try #require(try self.keys(f.provider).first { $0.keyID == header.keyID })
            #expect(header.algorithm == algorithm.rawValue && key.algorithm == algorithm.rawValue)
            #expect(key.use == "sig" && key.keyID == key.thumbprint)
            let claims = try f.claims(tokens.id, type: "JWT")
            try claims.check(issuer: ProviderFixture.issuer, audience: shop.client.id, at: f.clock.source)
            let access = Array(tokens.access.utf8)
            let half =
                algorithm == .edDSA
                ? Array(SHA512.hash(data: access).prefix(32)) : Array(SHA256.hash(data: access).prefix(16))
            #expect(claims.members["at_hash"] == .string(Base64URL.encode(half)))
            // The access token is ours to read, whatever the client reads.
            #expect(try UnverifiedJWS(compact: tokens.access).header.algorithm == "ES256")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(tokens.access)").status == 200)
            // The ID token is a hint that its client can give.
            let hinted = try await f.provider.sessions.logout(
                "id_token_hint=\(tokens.id)", session: nil, confirmed: false)
            #expect(hinted == .signedOut)
        }
    }

    @Test("a key is made when a client first needs it, once, and is in the key set of every node")
    func keysAreMadeOnce() async throws {
        try await ProviderFixture.run { f in
            #expect(try self.keys(f.provider).map(\.algorithm) == ["ES256"])
            let other = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people, time: f.clock.source)
            // Two nodes, each with a new client, at once.
            let (first, second) = (f.provider, other)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for provider in [first, second, first, second] {
                    group.addTask {
                        _ = try await provider.clients.register(name: "Shop", redirectURIs: [ProviderFixture.address])
                    }
                }
                try await group.waitForAll()
            }
            #expect(try self.keys(first) == self.keys(second))
            #expect(try Set(self.keys(first).map(\.algorithm)) == ["ES256", "RS256"])
            #expect(try self.keys(first).count == 2)
            // Another client needs no other key.
            _ = try await self.client(f)
            #expect(try self.keys(f.provider).count == 2)
            let trail = try await f.store.auditEntries(after: 0, limit: 100).map(\.event)
            #expect(trail.filter { $0.kind.rawValue == "signing-key-added" }.count == 1)
        }
    }

    @Test("a node signs with a key that another one has made")
    func anotherNodesKey() async throws {
        try await ProviderFixture.run { f in
            let other = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people, time: f.clock.source)
            let shop = try await other.clients.register(name: "Shop", redirectURIs: [ProviderFixture.address])
            #expect(try self.keys(f.provider).count == 1)
            #expect(try f.claims(try await self.tokens(f, shop).id, type: "JWT").audience == [shop.client.id])
        }
    }

    /// As a restore may leave it: a client of an algorithm that the store has no key of.
    @Test(
        "a key that a client needs and that is missing is no fault of the client's, spends no code, and a start makes it"
    )
    func missingKey() async throws {
        try await ProviderFixture.run { f in
            _ = try await f.store.changeClient(f.bank.client.id) { client in
                client.settings.idTokenAlgorithm = .edDSA
                return []
            }
            let shop = f.bank
            let code = try await self.code(f, shop)
            await #expect(throws: StoreError(.corrupt, "")) {
                try await f.provider.grants.answer(header: f.basic(shop), body: f.form(code))
            }
            let started = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people, time: f.clock.source)
            #expect(try Set(self.keys(started).map(\.algorithm)) == ["ES256", "EdDSA"])
            let body = try #require(try await f.provider.grants.answer(header: f.basic(shop), body: f.form(code)).body)
            #expect(try UnverifiedJWS(compact: body.requiredString("id_token")).header.algorithm == "EdDSA")
            // Nothing is made, or written, where nothing is missing.
            let entries = try await f.store.auditEntries(after: 0, limit: 100)
            _ = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people, time: f.clock.source)
            #expect(try await f.store.auditEntries(after: 0, limit: 100) == entries)
        }
    }

    @Test("a rotation is of every algorithm in use, and leaves the others alone")
    func rotation() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.client(f)
            let before = try await self.tokens(f, shop)
            let old = try UnverifiedJWS(compact: before.id).header.keyID
            try await f.provider.keys.rotate()
            #expect(
                try self.keys(f.provider).map(\.algorithm).sorted { $0! < $1! } == ["ES256", "ES256", "RS256", "RS256"])
            #expect(try UnverifiedJWS(compact: try await self.tokens(f, shop).id).header.keyID == old)
            f.clock.advance(Limits().oauth.keyAnnouncement)
            let after = try UnverifiedJWS(compact: try await self.tokens(f, shop).id).header
            #expect(after.keyID != old && after.algorithm == "RS256")
            // What was signed before is still somebody's.
            #expect(try f.claims(before.id, type: "JWT").audience == [shop.client.id])
        }
    }

    @Test("discovery offers what clients can name, the default first")
    func discovery() async throws {
        try await ProviderFixture.run { f in
            let offered = try f.provider.discovery.strings("id_token_signing_alg_values_supported")
            #expect(offered == ["RS256", "ES256", "PS256", "EdDSA"])
        }
    }

    @Test("the algorithm of a client can be changed, to one that is offered")
    func changes() async throws {
        try await ProviderFixture.run { f in
            let changed = try await f.provider.clients.change(
                f.bank.client.id, ClientChange(idTokenAlgorithm: .edDSA), by: "root")
            #expect(changed?.settings == ClientSettings(idTokenAlgorithm: .edDSA))
            #expect(try UnverifiedJWS(compact: try await f.tokens().id).header.algorithm == "EdDSA")
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(f.bank.client.id, ClientChange(idTokenAlgorithm: .hs256))
            }
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await self.client(f, ClientSettings(idTokenAlgorithm: .hs256))
            }
            let nobody = try await f.provider.clients.change("never", ClientChange(idTokenAlgorithm: .ps256))
            #expect(nobody == nil)
            // Nobody's wish makes no key.
            #expect(try self.keys(f.provider).map(\.algorithm).contains("PS256") == false)
        }
    }

    @Test("each change of a setting is in the audit trail, and nothing else is")
    func auditTrail() async throws {
        try await ProviderFixture.run { f in
            let id = f.bank.client.id
            let before = try await f.store.auditEntries(after: 0, limit: 100).last?.number ?? 0
            for change in [
                ClientChange(idTokenAlgorithm: .es256, codeBinding: .usual, mayDeregister: false),
                ClientChange(idTokenAlgorithm: .edDSA, codeBinding: .nonce, mayDeregister: true),
                ClientChange(mayDeregister: false),
            ] {
                _ = try await f.provider.clients.change(id, change, by: "root")
            }
            let trail = try await f.store.auditEntries(after: before, limit: 100).map(\.event)
            #expect(
                trail.map(\.kind.rawValue) == [
                    "signing-key-added", "client-algorithm-changed", "client-pkce-changed", "client-may-deregister",
                    "client-may-not-deregister",
                ])
            #expect(trail.map(\.actor).allSatisfy { $0 == "root" })
            #expect(trail.dropFirst().map(\.detail) == ["\(id) EdDSA", "\(id) nonce", id, id])
        }
    }
}
