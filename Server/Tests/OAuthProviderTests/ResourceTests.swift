import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 8707: tokens for resources")
struct ResourceTests {
    static let accounts = "https://api.example/accounts"
    static let payments = "urn:example:payments"

    /// A client that may ask tokens for two resources, and their owners.
    struct Party {
        let f: ProviderFixture
        let client: RegisteredClient
        let accounts: RegisteredClient
        let payments: RegisteredClient

        init(
            _ f: ProviderFixture, audiences: [String] = [ResourceTests.accounts, ResourceTests.payments],
            grantTypes: [String] = ["authorization_code", "refresh_token"], scopes: [String] = []
        ) async throws {
            self.f = f
            self.accounts = try await f.resourceServer(owning: [ResourceTests.accounts])
            self.payments = try await f.resourceServer(owning: [ResourceTests.payments])
            self.client = try await f.register(
                ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: grantTypes,
                    tokens: TokenSettings(scopes: scopes, audiences: audiences)))
        }

        /// A code of a sign-in that asked for these resources.
        func code(_ resources: [String], scope: String = "openid offline_access") async throws -> String {
            let query = self.f.query(["scope": scope], client: self.client) + Self.encoded(resources)
            let request: String
            switch try await self.f.provider.authorizations.authorize(
                query, browser: self.f.browser, session: nil, source: "a", address: nil)
            {
            case .signIn(let id, _): request = id
            case let answer: throw OAuthError(.serverError, detail: "\(answer)")
            }
            self.f.authenticate(request)
            guard
                case .signedIn(.redirect(let redirect), _, _) = try await self.f.provider.authorizations.complete(
                    request: request, browser: self.f.browser, session: nil)
            else { throw OAuthError(.serverError, detail: "not signed in") }
            return try #require(try ProviderFixture.parameter("code", of: redirect))
        }

        func exchange(_ code: String, _ resources: [String] = []) async throws -> ProviderAnswer {
            try await self.f.provider.grants.answer(
                header: self.f.basic(self.client), body: self.f.form(code) + Self.encoded(resources))
        }

        func renew(_ token: String, _ resources: [String] = []) async throws -> ProviderAnswer {
            let form: Parameters = ["grant_type": "refresh_token", "refresh_token": token]
            return try await self.f.provider.grants.answer(
                header: self.f.basic(self.client), body: form.encoded + Self.encoded(resources))
        }

        static func encoded(_ resources: [String]) -> String {
            resources.map { "&" + (["resource": $0] as Parameters).encoded }.joined()
        }
    }

    private func audience(_ answer: ProviderAnswer, _ f: ProviderFixture) throws -> [String] {
        try f.claims(try #require(answer.body).requiredString("access_token"), type: "at+jwt").audience
    }

    private func expectRefusal(_ answer: ProviderAnswer, _ advice: String? = nil) {
        #expect(answer.status == 400 && answer.error == "invalid_target")
        if let advice { #expect(answer.refusal?.reason?.contains(advice) == true) }
    }

    @Test("a token is for the resource that the sign-in named, and without one for this server")
    func asked() async throws {
        try await ProviderFixture.run { f in
            let party = try await Party(f)
            let given = try await party.exchange(try await party.code([Self.accounts]))
            #expect(try self.audience(given, f) == [Self.accounts])
            // It is not for us: what it was given for takes it, and userinfo does not.
            let access = try #require(given.body).requiredString("access_token")
            let refused = try await f.provider.userinfo.answer(header: "Bearer \(access)")
            #expect(refused.status == 401 && refused.error == "invalid_token")
            #expect(refused.refusal?.reason?.contains("for another resource") == true)
            let usual = try await party.exchange(try await party.code([]))
            #expect(try self.audience(usual, f) == [ProviderFixture.issuer])
            let own = try #require(usual.body).requiredString("access_token")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(own)").status == 200)
        }
    }

    @Test("of several that were granted each token is for one, which the request names")
    func several() async throws {
        try await ProviderFixture.run { f in
            let party = try await Party(f)
            self.expectRefusal(try await party.exchange(try await party.code([Self.accounts, Self.payments])))
            let first = try await party.exchange(
                try await party.code([Self.accounts, Self.payments]), [Self.payments])
            #expect(try self.audience(first, f) == [Self.payments])
            var refresh = try #require(first.body).requiredString("refresh_token")
            for resource in [Self.accounts, Self.payments, ProviderFixture.issuer] {
                let renewed = try await party.renew(refresh, [resource])
                #expect(try self.audience(renewed, f) == [resource])
                refresh = try #require(renewed.body).requiredString("refresh_token")
            }
            // What is refused changes nothing: the token is taken afterwards.
            for wrong in [[], [Self.accounts, Self.payments], ["urn:other"], ["x"]] {
                self.expectRefusal(try await party.renew(refresh, wrong))
            }
            #expect(try await party.renew(refresh, [Self.accounts]).status == 200)
        }
    }

    @Test("what was not granted is refused, and a code is not spent by what cannot be right")
    func notGranted() async throws {
        try await ProviderFixture.run { f in
            let party = try await Party(f)
            let code = try await party.code([Self.accounts])
            for wrong in [["urn:other"], ["relative"], [Self.accounts + "#x"], [Self.accounts, Self.payments]] {
                self.expectRefusal(try await party.exchange(code, wrong))
            }
            #expect(try await party.exchange(code, [Self.accounts]).status == 200)
            self.expectRefusal(
                try await party.exchange(try await party.code([Self.accounts]), [Self.payments]), "has to name it")
            self.expectRefusal(try await party.exchange(try await party.code([]), [Self.accounts]))
            let renewable = try await party.exchange(try await party.code([Self.accounts]))
            let refresh = try #require(renewable.body).requiredString("refresh_token")
            self.expectRefusal(try await party.renew(refresh, [Self.payments]))
            #expect(try self.audience(try await party.renew(refresh), f) == [Self.accounts])
        }
    }

    @Test("a resource that nobody owns, or that is not for the client, is refused at every endpoint, with what to do")
    func unknown() async throws {
        try await ProviderFixture.run { f in
            let party = try await Party(f, audiences: [Self.accounts, "urn:nobody"])
            for (resource, advice) in [(Self.payments, "--audience"), ("urn:nobody", "--resource")] {
                let query = f.query(client: party.client) + Party.encoded([resource])
                var reason: String?
                guard
                    case .client(.redirect(let address)) = try await f.provider.authorizations.authorize(
                        query, browser: f.browser, session: nil, source: "a", address: nil,
                        explain: { reason = $0.reason })
                else {
                    Issue.record("\(resource) was taken")
                    return
                }
                #expect(try ProviderFixture.parameter("error", of: address) == "invalid_target")
                #expect(reason?.contains(advice) == true)
                self.expectRefusal(
                    try await f.provider.authorizations.push(header: f.basic(party.client), body: query, source: "a"),
                    advice)
            }
            let good = f.query(client: party.client) + Party.encoded([Self.accounts])
            let pushed = try await f.provider.authorizations.push(
                header: f.basic(party.client), body: good, source: "a")
            #expect(pushed.status == 201)
        }
    }

    @Test("a request that was pushed with resources gives tokens for them")
    func pushed() async throws {
        try await ProviderFixture.run { f in
            let party = try await Party(f)
            let query = f.query(client: party.client) + Party.encoded([Self.accounts, Self.payments])
            let pushed = try await f.provider.authorizations.push(
                header: f.basic(party.client), body: query, source: "a")
            let name = try #require(pushed.body).requiredString("request_uri")
            let short: Parameters = ["client_id": party.client.client.id, "request_uri": name]
            guard
                case .signIn(let request, _) = try await f.provider.authorizations.authorize(
                    short.encoded, browser: f.browser, session: nil, source: "a", address: nil)
            else {
                Issue.record("not asked")
                return
            }
            f.authenticate(request)
            guard
                case .signedIn(.redirect(let redirect), let session, _) = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("not signed in")
                return
            }
            let code = try #require(try ProviderFixture.parameter("code", of: redirect))
            #expect(try self.audience(try await party.exchange(code, [Self.payments]), f) == [Self.payments])
            // The next one by the session.
            guard
                case .client(.redirect(let address)) = try await f.provider.authorizations.authorize(
                    query, browser: f.browser, session: session, source: "a", address: nil)
            else {
                Issue.record("asked again")
                return
            }
            let next = try #require(try ProviderFixture.parameter("code", of: address))
            #expect(try self.audience(try await party.exchange(next, [Self.accounts]), f) == [Self.accounts])
        }
    }

    @Test("once a client may not ask for a resource any more, or its owner is gone, there are no tokens for it")
    func takenAway() async throws {
        try await ProviderFixture.run { f in
            let party = try await Party(f)
            let given = try await party.exchange(try await party.code([Self.accounts]))
            let refresh = try #require(given.body).requiredString("refresh_token")
            _ = try await f.provider.clients.change(
                party.client.client.id, ClientChange(tokens: TokenSettingsChange(audiences: [])))
            self.expectRefusal(try await party.renew(refresh, [Self.accounts]))
            _ = try await f.provider.clients.change(
                party.client.client.id, ClientChange(tokens: TokenSettingsChange(audiences: [Self.accounts])))
            #expect(try await party.renew(refresh, [Self.accounts]).status == 200)
            #expect(try await f.provider.clients.delete(party.accounts.client.id))
            self.expectRefusal(try await party.renew(refresh, [Self.accounts]), "--resource")
            self.expectRefusal(try await party.renew(refresh))
        }
    }

    @Test("a client asks people for the scopes of its own, and for no other's")
    func scopes() async throws {
        try await ProviderFixture.run { f in
            let party = try await Party(f, scopes: ["accounts.read"])
            let code = try await party.code([Self.accounts], scope: "openid accounts.read accounts.write")
            let given = try #require(try await party.exchange(code).body)
            #expect(given["scope"] == .string("openid accounts.read"))
        }
    }

    @Test("a scope that the operator has taken from a client is in no token that it renews")
    func takenScope() async throws {
        try await ProviderFixture.run { f in
            let party = try await Party(f, scopes: ["accounts.read", "accounts.write"])
            let scope = "openid offline_access accounts.read accounts.write"
            let given = try #require(try await party.exchange(try await party.code([Self.accounts], scope: scope)).body)
            let refresh = try given.requiredString("refresh_token")
            _ = try await f.provider.clients.change(
                party.client.client.id, ClientChange(tokens: TokenSettingsChange(scopes: ["accounts.read"])))
            let renewed = try #require(try await party.renew(refresh).body)
            #expect(renewed["scope"] == .string("openid offline_access accounts.read"))
        }
    }

    // MARK: What is registered

    private func refusal(_ f: ProviderFixture, _ tokens: TokenSettings, method: String = "client_secret_basic") async
        -> String?
    {
        do {
            _ = try await f.register(
                ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: method, tokens: tokens))
            return nil
        } catch { return (error as? OAuthError)?.message }
    }

    @Test("what no client can have is refused with its reason")
    func registration() async throws {
        try await ProviderFixture.run { f in
            for scopes in [["openid"], ["device_sso"], ["a b"], [""], ["a", "a"], ["\u{e9}"], ["\""]] {
                let reason = await self.refusal(f, TokenSettings(scopes: scopes))
                #expect(reason?.contains("scope") == true, "\(scopes)")
            }
            let many = (0...16).map { "s\($0)" }
            #expect(await self.refusal(f, TokenSettings(scopes: many)) != nil)
            #expect(await self.refusal(f, TokenSettings(scopes: [String(repeating: "s", count: 129)])) != nil)
            #expect(await self.refusal(f, TokenSettings(scopes: Array(many.dropLast()))) == nil)
            for uri in ["relative", "https://api.example/#x", "", "urn:a b"] {
                #expect(await self.refusal(f, TokenSettings(resources: [uri])) != nil, "\(uri)")
                #expect(await self.refusal(f, TokenSettings(audiences: [uri])) != nil, "\(uri)")
            }
            for own in [ProviderFixture.issuer, ProviderFixture.issuer + "/oauth2/userinfo"] {
                let reason = await self.refusal(f, TokenSettings(resources: [own]))
                #expect(reason == "A resource has an address of this server's own.")
            }
            #expect(await self.refusal(f, TokenSettings(resources: ["urn:a", "urn:a"])) != nil)
            #expect(await self.refusal(f, TokenSettings(resources: many.map { "urn:\($0)" })) != nil)
            let app = await self.refusal(f, TokenSettings(resources: ["urn:a"]), method: "none")
            #expect(app == "A client without a way to authenticate cannot own resources.")
            #expect(await self.refusal(f, TokenSettings(audiences: ["urn:a"]), method: "none") == nil)
        }
    }

    @Test("a resource has one owner, and whoever signs nobody in needs no address")
    func owners() async throws {
        try await ProviderFixture.run { f in
            let owner = try await f.resourceServer(owning: ["urn:a"])
            #expect(owner.client.redirectURIs.isEmpty && owner.client.settings.grantTypes.isEmpty)
            let reason = await self.refusal(f, TokenSettings(resources: ["urn:b", "urn:a"]))
            #expect(reason == "Another client owns the resource urn:a: \(owner.client.id).")
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(
                    f.bank.client.id, ClientChange(tokens: TokenSettingsChange(resources: ["urn:a"])))
            }
            let change = ClientChange(tokens: TokenSettingsChange(resources: ["urn:a", "urn:c"], format: .opaque))
            let changed = try await f.provider.clients.change(owner.client.id, change, by: "op")
            #expect(changed?.settings.tokens == TokenSettings(resources: ["urn:a", "urn:c"], format: .opaque))
            let last = try #require(try await f.store.auditEntries(after: 0, limit: 99).last?.event)
            #expect(last.kind.rawValue == "client-tokens-changed" && last.detail == owner.client.id)
            // It can ask nobody anything on a phone.
            await #expect(throws: OAuthError(.invalidClient)) {
                try await f.provider.clients.authenticate(header: f.basic(owner))
            }
            // Without resources, or with codes to exchange, it would be no such client.
            for change in [
                ClientChange(tokens: TokenSettingsChange(resources: [])),
                ClientChange(grantTypes: ["authorization_code"]),
            ] {
                await #expect(throws: OAuthError(.invalidRequest)) {
                    try await f.provider.clients.change(owner.client.id, change)
                }
            }
        }
    }
}

extension ProviderFixture {
    /// A client that takes tokens for its resources and does nothing else.
    func resourceServer(owning resources: [String], format: TokenSettings.Format = .jwt) async throws
        -> RegisteredClient
    {
        try await self.provider.clients.register(
            name: "API", redirectURIs: [],
            settings: ClientSettings(
                idTokenAlgorithm: .es256, grantTypes: [],
                tokens: TokenSettings(resources: resources, format: format)))
    }

    /// What a client is told of a token.
    func introspect(_ token: String, by client: RegisteredClient, at provider: OpenIDProvider? = nil) async throws
        -> JSONObject?
    {
        let form: Parameters = ["token": token]
        return try await (provider ?? self.provider).introspection.answer(
            header: self.basic(client), body: form.encoded
        ).body
    }
}
