import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, sections 3.1 and 8.1: many nodes and many clients over one store")
struct ManyNodesTests {
    private func node(_ f: ProviderFixture) async throws -> OpenIDProvider {
        try await OpenIDProvider.open(
            OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
            people: f.people, time: f.clock.source)
    }

    @Test func everyStepCanBeAnotherNodes() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            f.authenticate(request)
            let answer = try await self.node(f).authorizations.complete(
                request: request, browser: f.browser, session: nil)
            guard case .signedIn(.redirect(let redirect), let session, _) = answer else {
                Issue.record("not signed in: \(answer)")
                return
            }
            let code = try #require(try ProviderFixture.parameter("code", of: redirect))
            let third = try await self.node(f)
            let body = try #require(try await third.grants.answer(header: f.basic(), body: f.form(code)).body)
            let access = try body.requiredString("access_token")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 200)
            #expect(try await f.provider.sessions.session(session)?.account == "account-a")
            // A code that one node took is taken for all.
            #expect(try await f.token(code).error == "invalid_grant")
            #expect(try await third.userinfo.answer(header: "Bearer \(access)").status == 401)
        }
    }

    @Test func aRotationIsSeenByEveryNode() async throws {
        try await ProviderFixture.run { f in
            let other = try await self.node(f)
            let third = try await self.node(f)
            try await f.provider.keys.rotate()
            f.clock.advance(Limits().oauth.keyAnnouncement)
            let access = try await f.tokens().access
            // A key that a node does not know is looked up; what it publishes and signs with follows.
            #expect(try await other.userinfo.answer(header: "Bearer \(access)").status == 200)
            #expect(other.keys.keySet == f.provider.keys.keySet)
            #expect(third.keys.keySet != f.provider.keys.keySet)
            try await third.keys.refresh()
            #expect(third.keys.keySet == f.provider.keys.keySet)
            let signed = try third.tokens.sign(["aud": .string("x")], type: "t")
            let first = try JWKSet(parsing: JSON.object(f.provider.keys.keySet).serialized).keys[0]
            #expect(try UnverifiedJWS(compact: signed).header.keyID == first.keyID)
        }
    }

    @Test func inventedKeyNamesAreLookedUpOnceASecond() async throws {
        var limits = Limits()
        limits.oauth.keyAnnouncement = .zero
        try await ProviderFixture.run(limits: limits) { f in
            let other = try await self.node(f)
            try await ProviderFixture.run { stranger in
                let foreign = try await stranger.tokens().access
                #expect(try await other.userinfo.answer(header: "Bearer \(foreign)").status == 401)
            }
            try await f.provider.keys.rotate()
            let access = try await f.tokens().access
            #expect(try await other.userinfo.answer(header: "Bearer \(access)").status == 401)
            f.clock.advance(.seconds(1))
            #expect(try await other.userinfo.answer(header: "Bearer \(access)").status == 200)
        }
    }

    @Test func clientsCannotCompareTheirPeople() async throws {
        try await ProviderFixture.run { f in
            let shop = try await f.provider.clients.register(name: "Shop", redirectURIs: [ProviderFixture.address])
            let bank = try await f.tokens()
            let answer = try await f.provider.authorizations.authorize(
                f.query(client: shop), browser: f.browser, session: bank.session, source: "a", address: nil)
            guard case .client(.redirect(let address)) = answer else {
                Issue.record("not a redirect: \(answer)")
                return
            }
            let code = try #require(try ProviderFixture.parameter("code", of: address))
            let body = try #require(try await f.provider.grants.answer(header: f.basic(shop), body: f.form(code)).body)
            let first = try f.claims(bank.id, type: "JWT")
            let second = try f.claims(body.requiredString("id_token"), type: "JWT")
            #expect(first.audience == [f.bank.client.id] && second.audience == [shop.client.id])
            // One person and one session, but neither name is the same.
            #expect(first.subject != second.subject)
            #expect(first.members["sid"] != second.members["sid"])
            #expect(
                try await f.provider.tokens.account(ofSubject: second.subject ?? "", client: shop.client.id)
                    == "account-a")
            #expect(
                try await f.provider.tokens.account(ofSubject: second.subject ?? "", client: f.bank.client.id) == nil)
        }
    }

    @Test("what a client sends as state comes back as it was", arguments: ["\u{20AC} &=%+#", "a+b c", "\"'<>\\"])
    func states(state: String) async throws {
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn(["state": state])
            #expect(try ProviderFixture.parameter("state", of: signedIn.redirect) == state)
            let refused = try await f.provider.authorizations.authorize(
                f.query(["state": state, "prompt": "none"]), browser: f.browser, session: nil, source: "a", address: nil
            )
            guard case .client(.redirect(let address)) = refused else {
                Issue.record("not a redirect: \(refused)")
                return
            }
            #expect(try ProviderFixture.parameter("state", of: address) == state)
        }
    }
}
