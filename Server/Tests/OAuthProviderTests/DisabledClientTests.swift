import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 6749, sections 4.1.2.1 and 5.2: a client that its operator has switched off")
struct DisabledClientTests {
    private static let inactive: JSONObject = ["active": .bool(false)]

    private func mail(_ f: ProviderFixture) async throws -> RegisteredClient {
        try await f.provider.clients.register(
            name: "Mail", redirectURIs: [ProviderFixture.address],
            settings: ClientSettings(
                idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token", "client_credentials"],
                tokens: TokenSettings(scopes: ["read"])))
    }

    private func turn(_ f: ProviderFixture, _ client: RegisteredClient, off isDisabled: Bool) async throws {
        var change = ClientChange()
        change.isDisabled = isDisabled
        let changed = try await f.provider.clients.change(client.client.id, change, by: "root")
        #expect(changed?.settings.isDisabled == isDisabled)
        #expect(
            try await f.provider.clients.client(client.client.id)?.settings.isDisabled == isDisabled, "and it is kept")
    }

    private func form(_ values: KeyValuePairs<String, String>) -> String { Parameters(values).encoded }

    @Test("nobody signs in to it: the page says why, its address is told nothing, and the log what to do")
    func authorization() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            try await self.turn(f, f.bank, off: true)
            for (shown, changes) in [
                (nil, [:]), (session, [:]), (session, ["prompt": "none"]),
            ] as [(SessionSecret?, [String: String?])] {
                var reasons: [ProviderRefusal] = []
                let answer = try await f.provider.authorizations.authorize(
                    f.query(changes), browser: f.browser, session: shown, source: "a", address: nil,
                    explain: { reasons.append($0) })
                guard case .page(let error) = answer else {
                    Issue.record("not a page: \(answer)")
                    continue
                }
                #expect(error.message == "This service is switched off here.")
                #expect(reasons.map(\.client) == [f.bank.client.id] && reasons[0].setting == "--disabled")
                #expect(reasons[0].reason?.contains("--no-disabled") == true)
            }
            try await self.turn(f, f.bank, off: false)
            #expect(try await f.answer([:], session: session) == "code")
        }
    }

    @Test("a sign-in that is under way ends at nothing, and goes on where it is switched on again in time")
    func underWay() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            f.authenticate(request)
            try await self.turn(f, f.bank, off: true)
            #expect(try await f.provider.authorizations.pending(request: request, browser: f.browser) == nil)
            guard
                case .page = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("signed in")
                return
            }
            try await self.turn(f, f.bank, off: false)
            guard
                case .signedIn = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("not signed in")
                return
            }
        }
    }

    @Test("nor does a person's yes give it anything")
    func consent() async throws {
        try await ProviderFixture.run { f in
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256, party: .third))
            let session = try await f.signIn().session
            let asked = try await f.provider.authorizations.authorize(
                f.query(client: shop), browser: f.browser, session: session, source: "a", address: nil)
            guard case .consent(let request, _) = asked else {
                Issue.record("not asked: \(asked)")
                return
            }
            try await self.turn(f, shop, off: true)
            let question = try await f.provider.authorizations.consentQuestion(
                request: request, browser: f.browser, session: session)
            #expect(question == nil)
            let answer = try await f.provider.authorizations.decide(
                request: request, browser: f.browser, session: session, isGranted: true, address: nil)
            guard case .page = answer else {
                Issue.record("decided: \(answer)")
                return
            }
        }
    }

    @Test("it gets no tokens, sees none, and what it has counts for nothing until it is switched on again")
    func tokens() async throws {
        try await ProviderFixture.run { f in
            let mail = try await self.mail(f)
            let signedIn = try await f.signIn(["client_id": mail.client.id, "scope": "openid offline_access"])
            let body = try #require(
                try await f.provider.grants.answer(header: f.basic(mail), body: f.form(signedIn.code)).body)
            let access = try body.requiredString("access_token")
            let refresh = self.form([
                "grant_type": "refresh_token", "refresh_token": try body.requiredString("refresh_token"),
            ])
            let credentials = self.form(["grant_type": "client_credentials"])
            let own = try #require(try await f.provider.grants.answer(header: f.basic(mail), body: credentials).body)
                .requiredString("access_token")
            let code = try await f.signIn(["client_id": mail.client.id]).code
            try await self.turn(f, mail, off: true)

            for form in [refresh, credentials, f.form(code)] {
                let answer = try await f.provider.grants.answer(header: f.basic(mail), body: form)
                #expect(answer.status == 401 && answer.error == "invalid_client")
                #expect(answer.refusal?.reason?.contains("--no-disabled") == true)
            }
            let introspected = try await f.provider.introspection.answer(
                header: f.basic(mail), body: self.form(["token": access]))
            #expect(introspected.status == 401)
            #expect(
                try await f.provider.authorizations.push(
                    header: f.basic(mail), body: f.query(client: mail), source: "a"
                ).status == 401
            )
            await #expect(throws: OAuthError(.invalidClient)) {
                try await f.provider.clients.authenticate(header: f.basic(mail))
            }
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 401)

            try await self.turn(f, mail, off: false)
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 200)
            for token in [access, own] {
                #expect(try await f.introspect(token, by: mail)?["active"] == .bool(true))
            }
            #expect(try await f.provider.grants.answer(header: f.basic(mail), body: refresh).status == 200)
            #expect(
                try await f.provider.grants.answer(header: f.basic(mail), body: f.form(code)).status == 200,
                "it was not burned"
            )
        }
    }

    @Test("a service that takes its tokens is told that they are worth nothing")
    func resourceServers() async throws {
        try await ProviderFixture.run { f in
            let party = try await ResourceTests.Party(f)
            let code = try await party.code([ResourceTests.accounts])
            let token = try #require(try await party.exchange(code).body).requiredString("access_token")
            let reporter = try await f.provider.clients.register(
                name: "Report", redirectURIs: [],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["client_credentials"],
                    tokens: TokenSettings(scopes: ["read"], audiences: [ResourceTests.accounts])))
            let asked = self.form(["grant_type": "client_credentials", "resource": ResourceTests.accounts])
            let own = try #require(try await f.provider.grants.answer(header: f.basic(reporter), body: asked).body)
                .requiredString("access_token")
            for (token, client) in [(token, party.client), (own, reporter)] {
                #expect(try await f.introspect(token, by: party.accounts)?["active"] == .bool(true))
                try await self.turn(f, client, off: true)
                #expect(try await f.introspect(token, by: party.accounts) == Self.inactive)
                try await self.turn(f, client, off: false)
                #expect(try await f.introspect(token, by: party.accounts)?["active"] == .bool(true))
            }
        }
    }

    @Test("no token is made for a resource of its own, in any way, and those that were made are worth nothing")
    func resourceOwners() async throws {
        try await ProviderFixture.run { f in
            let chain = try await TokenExchangeTests.Chain(f)
            let (token, exchanged) = (try await chain.token(), try await chain.access(chain.exchange(chain.token())))
            let code = try await f.signIn([
                "client_id": chain.shop.client.id, "scope": "openid read", "resource": "urn:api",
            ]).code
            let own = self.form(["grant_type": "client_credentials", "resource": "urn:ledger"])
            let actor = try #require(try await f.provider.grants.answer(header: f.basic(chain.api), body: own).body)
                .requiredString("access_token")
            for token in [exchanged, actor] {
                #expect(try await f.introspect(token, by: chain.api)?["active"] == .bool(true))
            }

            try await self.turn(f, chain.ledger, off: true)
            for answer in [
                try await chain.exchange(token),
                try await f.provider.grants.answer(header: f.basic(chain.api), body: own),
            ] {
                #expect(answer.status == 400 && answer.error == "invalid_target" && answer.body?["access_token"] == nil)
            }
            for token in [exchanged, actor] {
                #expect(try await f.introspect(token, by: chain.api) == Self.inactive)
            }
            let acted = try await chain.exchange(
                token,
                ["actor_token": actor, "actor_token_type": "urn:ietf:params:oauth:token-type:access_token"])
            #expect(acted.status == 400 && acted.body?["access_token"] == nil)

            try await self.turn(f, chain.ledger, off: false)
            try await self.turn(f, chain.api, off: true)
            let asked = try await f.answer(
                ["client_id": chain.shop.client.id, "scope": "openid read", "resource": "urn:api"], session: nil)
            #expect(asked == "invalid_target")
            let redeemed = try await f.provider.grants.answer(header: f.basic(chain.shop), body: f.form(code))
            #expect(redeemed.status == 400 && redeemed.error == "invalid_target")
            #expect(try await f.introspect(token, by: chain.shop) == Self.inactive)
            try await self.turn(f, chain.api, off: false)
            #expect(try await f.introspect(token, by: chain.shop)?["active"] == .bool(true))
            #expect(try await chain.exchange(token).status == 200)
        }
    }

    @Test("a token that is renewed is for no resource of its own")
    func renewals() async throws {
        try await ProviderFixture.run { f in
            let party = try await ResourceTests.Party(f)
            let body = try #require(
                try await party.exchange(
                    party.code([ResourceTests.accounts, ResourceTests.payments]), [ResourceTests.accounts]
                ).body)
            let refresh = try body.requiredString("refresh_token")
            try await self.turn(f, party.payments, off: true)
            let refused = try await party.renew(refresh, [ResourceTests.payments])
            #expect(refused.status == 400 && refused.error == "invalid_target")
            #expect(try await party.renew(refresh, [ResourceTests.accounts]).status == 200)
        }
    }

    @Test("none of its devices is signed in")
    func devices() async throws {
        try await ProviderFixture.run { f in
            let television = try await f.register(
                ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["urn:ietf:params:oauth:grant-type:device_code"]),
                at: ["https://tv.example/about"])
            let devices = DeviceAuthorizations(f.provider.authorizations)
            let answer = try await devices.authorize(
                header: f.basic(television), body: self.form(["scope": "openid"]), source: "tv")
            let code = try #require(answer.body).requiredString("user_code")
            try await self.turn(f, television, off: true)
            let refused = try await devices.authorize(
                header: f.basic(television), body: self.form(["scope": "openid"]), source: "tv")
            #expect(refused.status == 401 && refused.error == "invalid_client")
            guard case .unknown = try await devices.enter(code, browser: f.browser, source: "a") else {
                Issue.record("the code was taken")
                return
            }
            try await self.turn(f, television, off: false)
            guard case .signIn = try await devices.enter(code, browser: f.browser, source: "a") else {
                Issue.record("the code was not taken")
                return
            }
        }
    }

    @Test("the trail says who has done it, and a change to what it is already says nothing")
    func trail() async throws {
        try await ProviderFixture.run { f in
            for isDisabled in [true, true, false, false] { try await self.turn(f, f.bank, off: isDisabled) }
            let events = try await f.store.auditEntries(after: 0, limit: 99).map(\.event)
                .filter { $0.kind.rawValue.hasSuffix("abled") }
            #expect(events.map(\.kind.rawValue) == ["client-disabled", "client-enabled"])
            #expect(events.allSatisfy { $0.actor == "root" && $0.detail == f.bank.client.id })
        }
    }
}
