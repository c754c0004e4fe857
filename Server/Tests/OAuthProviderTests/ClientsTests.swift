import OAuth
import OAuthProvider
import Records
import Sealing
import Settings
import Testing
import _Primitives

@Suite("RFC 6749, section 2: client registration and authentication")
struct ClientsTests {
    @Test func theSecretIsShownOnceAndKeptAsADigest() async throws {
        try await ProviderFixture.run { f in
            let kept = try #require(try await f.provider.clients.client(f.bank.client.id))
            #expect(kept == f.bank.client)
            #expect(kept.secretDigest == Sealing.digest(ofSecret: f.secret))
            #expect(f.secret.utf8.count == 43 && kept.id.utf8.count == 22)
            #expect(try await f.provider.clients.all() == [kept])
        }
    }

    @Test(
        "refuses registrations",
        arguments: [
            ("", [ProviderFixture.address], []), (" Bank", [ProviderFixture.address], []),
            (String(repeating: "b", count: 129), [ProviderFixture.address], []),
            // One letter, with marks upon it.
            ("b" + String(repeating: "\u{301}", count: 200), [ProviderFixture.address], []),
            ("Bank\n", [ProviderFixture.address], []), ("Ba\u{202E}nk", [ProviderFixture.address], []),
            ("Bank", [], []), ("Bank", ["http://bank.example/"], []), ("Bank", ["https://a.example/#x"], []),
            ("Bank", [ProviderFixture.address, ProviderFixture.address], []),
            ("Bank", (0...16).map { "https://a.example/\($0)" }, []),
            ("Bank", [ProviderFixture.address], ["javascript:alert(1)"]),
        ] as [(String, [String], [String])])
    func refusesRegistrations(name: String, addresses: [String], after: [String]) async throws {
        try await ProviderFixture.run { f in
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.register(
                    name: name, redirectURIs: addresses, postLogoutRedirectURIs: after)
            }
            let clients = try await f.provider.clients.all()
            #expect(clients.count == 1)
        }
    }

    @Test func thereIsAnEndToClients() async throws {
        var limits = Limits()
        limits.oauth.clients = 2
        try await ProviderFixture.run(limits: limits) { f in
            _ = try await f.provider.clients.register(name: "Shop", redirectURIs: ["http://127.0.0.1:8081/cb"])
            await #expect(throws: StoreError(.conflict, "")) {
                try await f.provider.clients.register(name: "More", redirectURIs: [ProviderFixture.address])
            }
        }
    }

    @Test func aBackEndAuthenticatesByItself() async throws {
        try await ProviderFixture.run { f in
            let client = try await f.provider.clients.authenticate(header: f.basic())
            #expect(client.id == f.bank.client.id && client.name == "Demo Bank")
            #expect(client.origin == "https://bank.example")
            for header in [nil, "", f.basic(secret: "x"), f.basic(secret: f.secret.lowercased())] {
                await #expect(throws: OAuthError(.invalidClient)) {
                    try await f.provider.clients.authenticate(header: header)
                }
            }
            #expect(try await f.provider.clients.delete(f.bank.client.id))
            #expect(try await f.provider.clients.delete(f.bank.client.id) == false)
            await #expect(throws: OAuthError(.invalidClient)) {
                try await f.provider.clients.authenticate(header: f.basic())
            }
        }
    }

    @Test("subjects are pairwise and stable (OpenID Connect Core 1.0, section 8.1)")
    func subjects() async throws {
        try await ProviderFixture.run { f in
            let client = f.bank.client.id
            let subject = f.provider.keys.subject(ofAccount: "account-a", client: client)
            #expect(subject == f.provider.keys.subject(ofAccount: "account-a", client: client))
            #expect(subject != f.provider.keys.subject(ofAccount: "account-b", client: client))
            #expect(subject != f.provider.keys.subject(ofAccount: "account-a", client: "other"))
            // Nobody is found before the client was given the person.
            #expect(try await f.provider.tokens.account(ofSubject: subject, client: client) == nil)
            _ = try await f.signIn()
            #expect(try await f.provider.tokens.account(ofSubject: subject, client: client) == "account-a")
            #expect(try await f.provider.tokens.account(ofSubject: subject, client: "other") == nil)
            // Another provider over the same store computes the same.
            let again = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people)
            #expect(again.keys.subject(ofAccount: "account-a", client: client) == subject)
        }
    }
}
