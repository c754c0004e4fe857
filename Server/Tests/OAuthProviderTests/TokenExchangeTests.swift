import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("RFC 8693: a token for another one")
struct TokenExchangeTests {
    private static let grant = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let access = "urn:ietf:params:oauth:token-type:access_token"
    private static let inactive: JSONObject = ["active": .bool(false)]

    /// A shop that people sign in to; an interface that it calls, and that calls the next one for them.
    struct Chain {
        let f: ProviderFixture
        let shop: RegisteredClient
        let api: RegisteredClient
        let ledger: RegisteredClient

        init(_ f: ProviderFixture, shop: TokenSettings? = nil, limits: [String] = ["read", "write"]) async throws {
            self.f = f
            var settings = shop ?? TokenSettings()
            settings.scopes = ["read", "write", "admin"]
            settings.audiences = ["urn:api"]
            self.shop = try await f.register(ClientSettings(idTokenAlgorithm: .es256, tokens: settings))
            self.ledger = try await f.resourceServer(owning: ["urn:ledger"])
            self.api = try await f.provider.clients.register(
                name: "API", redirectURIs: [],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: [TokenExchangeTests.grant, "client_credentials"],
                    tokens: TokenSettings(
                        scopes: limits, resources: ["urn:api"], audiences: ["urn:ledger", "urn:other"],
                        subjects: [self.shop.client.id])))
        }

        /// A token of a person at the shop, for the interface.
        func token(
            scope: String = "openid read write admin", resource: String = "urn:api", proofs: [String] = []
        ) async throws -> String {
            let code = try await self.f.signIn([
                "client_id": self.shop.client.id, "scope": scope, "resource": resource,
            ]).code
            let answer = try await self.f.provider.grants.answer(
                header: self.f.basic(self.shop), body: self.f.form(code), proofs: proofs)
            return try #require(answer.body).requiredString("access_token")
        }

        func exchange(
            _ token: String?, _ changes: [String: String?] = [:], by client: RegisteredClient? = nil,
            proofs: [String] = []
        ) async throws -> ProviderAnswer {
            var values: [String: String?] = [
                "grant_type": TokenExchangeTests.grant, "subject_token": token,
                "subject_token_type": TokenExchangeTests.access, "audience": "urn:ledger",
            ]
            values.merge(changes) { $1 }
            var form: Parameters = [:]
            for (name, value) in values { if let value { form.append(name, value) } }
            return try await self.f.provider.grants.answer(
                header: self.f.basic(client ?? self.api), body: form.encoded, proofs: proofs)
        }

        func access(_ answer: ProviderAnswer) throws -> String {
            try #require(answer.body).requiredString("access_token")
        }

        func isActive(_ token: String, by client: RegisteredClient? = nil) async throws -> Bool {
            try await self.f.introspect(token, by: client ?? self.ledger)?["active"] == .bool(true)
        }
    }

    @Test("a service that was called with a person's token gets one for the next service, and says so")
    func exchange() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let token = try await chain.token()
            let answer = try await chain.exchange(token)
            #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
            let body = try #require(answer.body)
            #expect(body["issued_token_type"] == .string(Self.access) && body["token_type"] == .string("Bearer"))
            #expect(body["refresh_token"] == nil && body["id_token"] == nil)
            #expect(body["scope"] == .string("read write"), "what both have")
            let claims = try f.claims(try chain.access(answer), type: "at+jwt")
            #expect(claims.audience == ["urn:ledger"])
            #expect(claims.subject == f.provider.keys.subject(ofAccount: "account-a", client: chain.shop.client.id))
            #expect(claims.members["client_id"] == .string(chain.api.client.id))
            #expect(claims.members["act"] == .object(["sub": .string(chain.api.client.id)]))
            #expect(try await chain.isActive(try chain.access(answer)))
            #expect(try await chain.isActive(try chain.access(answer), by: chain.api))
            #expect(try await !chain.isActive(try chain.access(answer), by: chain.shop))
            let told = try await f.introspect(try chain.access(answer), by: chain.ledger)
            #expect(told?["act"] == claims.members["act"])
            // By the other name of the parameter, and of the type.
            let other = try await chain.exchange(
                token,
                [
                    "audience": nil, "resource": "urn:ledger", "scope": "read",
                    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "requested_token_type": Self.access,
                ])
            #expect(other.body?["scope"] == .string("read"))
        }
    }

    @Test("of whoever has lost the role that they came in nothing is exchanged, and no token is worth anything")
    func lostRole() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            func code() async throws -> String {
                try await f.signIn(
                    ["client_id": chain.shop.client.id, "scope": "openid read", "resource": "urn:api"],
                    role: RoleAtService(service: chain.shop.client.id, role: "patient")
                ).code
            }
            let answer = try await f.provider.grants.answer(header: f.basic(chain.shop), body: f.form(code()))
            let token = try chain.access(answer)
            let exchanged = try chain.access(try await chain.exchange(token))
            let waiting = try await code()
            f.people.close(chain.shop.client.id)
            let refused = try await chain.exchange(token)
            #expect(refused.status == 400 && refused.error == "invalid_request" && refused.body?["access_token"] == nil)
            #expect(refused.refusal?.reason?.contains("lost the role") == true)
            #expect(try await f.introspect(token, by: chain.shop) == Self.inactive)
            #expect(try await f.introspect(token, by: chain.api) == Self.inactive)
            #expect(try await f.introspect(exchanged, by: chain.ledger) == Self.inactive)
            let code = try await f.provider.grants.answer(header: f.basic(chain.shop), body: f.form(waiting))
            #expect(code.status == 400 && code.error == "invalid_grant" && code.body?["access_token"] == nil)
            f.people.open(chain.shop.client.id)
            #expect(try await chain.isActive(exchanged), "nothing has ended for good")
            #expect(try await chain.exchange(token).status == 200)
        }
    }

    @Test("nor of whoever is locked, though nothing has ended")
    func lockedPerson() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let token = try await chain.token()
            try f.lock("account-a")
            #expect(try await chain.exchange(token).error == "invalid_request")
            #expect(try await f.introspect(token, by: chain.api) == Self.inactive)
        }
    }

    @Test("what is not whole, not known or not allowed is refused with the standard's code")
    func refusals() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let token = try await chain.token()
            let kind = "urn:ietf:params:oauth:token-type:"
            for (changes, error) in [
                (["subject_token": nil], "invalid_request"), (["subject_token_type": nil], "invalid_request"),
                (["subject_token_type": kind + "id_token"], "invalid_request"),
                (["subject_token_type": kind + "refresh_token"], "invalid_request"),
                (["subject_token": "x"], "invalid_request"), (["subject_token": token + "A"], "invalid_request"),
                (["requested_token_type": kind + "refresh_token"], "invalid_request"),
                (["actor_token_type": Self.access], "invalid_request"), (["actor_token": token], "invalid_request"),
                (["actor_token": "x", "actor_token_type": Self.access], "invalid_request"),
                (["actor_token": token, "actor_token_type": Self.access], "invalid_request"),
                (["actor_token": token, "actor_token_type": kind + "jwt"], "invalid_request"),
                (["audience": "urn:unknown"], "invalid_target"), (["audience": "urn:other"], "invalid_target"),
                (["audience": "x"], "invalid_target"), (["audience": nil], "invalid_target"),
                (["audience": ProviderFixture.issuer], "invalid_target"),
                (["resource": "urn:other"], "invalid_target"),
                (["scope": "admin"], "invalid_scope"), (["scope": "read openid"], "invalid_scope"),
                (["scope": "other"], "invalid_scope"),
                (["authorization_details": "[]"], "invalid_authorization_details"),
            ] as [([String: String?], String)] {
                let answer = try await chain.exchange(token, changes)
                #expect(answer.status == 400 && answer.error == error, "\(changes)")
            }
            // Of a token that has less than the client may have.
            let less = try await chain.token(scope: "openid read")
            #expect(try await chain.exchange(less, ["scope": "write"]).error == "invalid_scope")
            #expect(try await chain.exchange(less).body?["scope"] == .string("read"))
            let none = try await chain.token(scope: "openid admin")
            #expect(try await chain.exchange(none).error == "invalid_scope")
            #expect(try await chain.exchange(token).status == 200)
        }
    }

    @Test("whose tokens a client may exchange is the operator's to say, and none of another's resource")
    func rules() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let token = try await chain.token()
            let id = chain.api.client.id
            let bank = try await f.tokens().access
            let refused = try await chain.exchange(bank)
            #expect(refused.error == "invalid_request")
            #expect(refused.refusal?.reason?.contains("--subject-client") == true)
            // A client of the same rule that is not the one the token is for.
            let other = try await f.provider.clients.register(
                name: "Other", redirectURIs: [],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: [Self.grant],
                    tokens: TokenSettings(
                        scopes: ["read"], audiences: ["urn:ledger"], subjects: [chain.shop.client.id])))
            let stray = try await chain.exchange(token, by: other)
            #expect(stray.error == "invalid_request" && stray.refusal?.reason?.contains("resource") == true)
            #expect(stray.body?["error_description"] == refused.body?["error_description"])
            let general = try await chain.token(resource: ProviderFixture.issuer)
            #expect(try await chain.exchange(general, by: other).status == 200, "one for this server")
            let unfit = try await chain.exchange(token, by: chain.ledger)
            #expect(unfit.error == "unauthorized_client")
            let own: Parameters = ["grant_type": "client_credentials"]
            let service = try await f.provider.grants.answer(header: f.basic(chain.api), body: own.encoded)
            _ = try await f.provider.clients.change(
                id, ClientChange(tokens: TokenSettingsChange(subjects: [chain.shop.client.id, id])))
            #expect(try await chain.exchange(try chain.access(service)).error == "invalid_request", "nobody's")
            try f.lock("account-a")
            #expect(try await chain.exchange(token).error == "invalid_request", "a locked account's")
        }
    }

    @Test(
        "it is over with the token that was shown, with the grant, with the client and with what the client may do",
        arguments: ["subject", "itself", "session", "client", "grant", "scope", "audience", "time"])
    func ends(how: String) async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let token = try await chain.token()
            f.clock.advance(.seconds(200))
            let answer = try await chain.exchange(token)
            #expect(answer.body?["expires_in"] == .integer(100), "no longer than what was shown")
            let exchanged = try chain.access(answer)
            #expect(try await chain.isActive(exchanged))
            let id = chain.api.client.id
            func revoke(_ token: String, _ client: RegisteredClient) async throws {
                let form: Parameters = ["token": token]
                #expect(
                    try await f.provider.revocation.answer(header: f.basic(client), body: form.encoded).status == 200)
            }
            switch how {
            case "subject":
                try await revoke(exchanged, chain.shop)
                #expect(try await chain.isActive(exchanged), "the shop has not got it")
                try await revoke(token, chain.shop)
            case "itself":
                try await revoke(exchanged, chain.api)
                #expect(try await f.introspect(token, by: chain.shop)?["active"] == .bool(true))
            case "session": try await f.endSessions()
            case "client": #expect(try await f.provider.clients.delete(id))
            case "grant": _ = try await f.provider.clients.change(id, ClientChange(grantTypes: ["client_credentials"]))
            case "scope":
                _ = try await f.provider.clients.change(id, ClientChange(tokens: TokenSettingsChange(scopes: ["read"])))
            case "audience":
                _ = try await f.provider.clients.change(id, ClientChange(tokens: TokenSettingsChange(audiences: [])))
            default: f.clock.advance(.seconds(100))
            }
            #expect(try await !chain.isActive(exchanged))
            if how == "session" { #expect(try await chain.exchange(token).error == "invalid_request") }
        }
    }

    @Test("what is bound to a key is shown with that key, and exchanged for what is bound to it")
    func bound() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let (key, other) = (try KeyHolder(), try KeyHolder())
            let token = try await chain.token(proofs: [key.proof(f)])
            let refused = try await chain.exchange(token)
            #expect(refused.status == 400 && refused.error == "invalid_dpop_proof")
            let stolen = try await chain.exchange(token, proofs: [other.proof(f)])
            #expect(stolen.status == 400 && stolen.error == "invalid_request")
            #expect(stolen.refusal?.reason?.contains("another key") == true)
            let answer = try await chain.exchange(token, proofs: [key.proof(f)])
            #expect(answer.body?["token_type"] == .string("DPoP"))
            let told = try await f.introspect(try chain.access(answer), by: chain.ledger)
            #expect(told?["cnf"] == key.confirmation)
            // What is not bound may become so, by whatever key, and who acts shows theirs with their own token.
            let free = try await chain.exchange(try await chain.token(), proofs: [other.proof(f)])
            #expect(try await f.introspect(try chain.access(free), by: chain.ledger)?["cnf"] == other.confirmation)
            let own: Parameters = ["grant_type": "client_credentials"]
            let service = try await f.provider.grants.answer(
                header: f.basic(chain.api), body: own.encoded, proofs: [key.proof(f)])
            let named: [String: String?] = ["actor_token": try chain.access(service), "actor_token_type": Self.access]
            let plain = try await chain.token()
            #expect(try await chain.exchange(plain, named).error == "invalid_dpop_proof")
            #expect(try await chain.exchange(plain, named, proofs: [other.proof(f)]).error == "invalid_request")
            #expect(try await chain.exchange(plain, named, proofs: [key.proof(f)]).status == 200)
        }
    }

    @Test("each rule by which a token was come by is asked at each use: of those between, too")
    func chains() async throws {
        for how in [
            "between", "rule between", "grant between", "scope between", "audience between", "resource between",
            "resource", "rule",
        ] {
            try await ProviderFixture.run { f in
                let chain = try await Chain(f)
                let api = chain.api.client.id
                let far = try await f.resourceServer(owning: ["urn:far"])
                func rules(_ subjects: [String]) -> TokenSettingsChange {
                    TokenSettingsChange(scopes: ["read"], audiences: ["urn:far"], subjects: subjects)
                }
                _ = try await f.provider.clients.change(
                    chain.ledger.client.id, ClientChange(grantTypes: [Self.grant], tokens: rules([api])))
                let first = try chain.access(try await chain.exchange(try await chain.token()))
                let answer = try await chain.exchange(first, ["audience": "urn:far"], by: chain.ledger)
                let token = try chain.access(answer)
                #expect(try await chain.isActive(token, by: far))
                switch how {
                case "between": #expect(try await f.provider.clients.delete(api))
                case "rule between":
                    _ = try await f.provider.clients.change(
                        api, ClientChange(tokens: TokenSettingsChange(subjects: ["other"])))
                case "grant between":
                    _ = try await f.provider.clients.change(api, ClientChange(grantTypes: ["client_credentials"]))
                case "scope between":
                    _ = try await f.provider.clients.change(
                        api, ClientChange(tokens: TokenSettingsChange(scopes: ["write"])))
                case "audience between":
                    _ = try await f.provider.clients.change(
                        api, ClientChange(tokens: TokenSettingsChange(audiences: ["urn:other"])))
                case "resource between":
                    _ = try await f.provider.clients.change(
                        api, ClientChange(tokens: TokenSettingsChange(resources: [])))
                case "resource":
                    _ = try await f.provider.clients.change(
                        chain.ledger.client.id, ClientChange(tokens: TokenSettingsChange(resources: [])))
                default:
                    _ = try await f.provider.clients.change(chain.ledger.client.id, ClientChange(tokens: rules([])))
                }
                #expect(try await !chain.isActive(token, by: far), "\(how)")
            }
        }
    }

    @Test("what a third party's client has is exchanged where people agreed to it, and is over with their consent")
    func thirdParties() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let unagreed = try await chain.token()
            let before = try chain.access(try await chain.exchange(unagreed))
            #expect(try await chain.isActive(before))
            _ = try await f.provider.clients.change(chain.shop.client.id, ClientChange(party: .third))
            #expect(try await !chain.isActive(before), "nobody has agreed to what came of it, either")
            let refused = try await chain.exchange(unagreed)
            #expect(refused.error == "invalid_request" && refused.refusal?.reason?.contains("agreed") == true)
            let code = try await f.agreedCode(
                ["scope": "openid read write", "resource": "urn:api"], client: chain.shop)
            let answer = try await f.provider.grants.answer(header: f.basic(chain.shop), body: f.form(code))
            let token = try chain.access(try await chain.exchange(try chain.access(answer)))
            #expect(try await chain.isActive(token))
            let consent = try #require(try await f.provider.authorizations.consents.given(byAccount: "account-a").first)
            #expect(try await f.provider.authorizations.consents.end(consent.id, ofAccount: "account-a"))
            #expect(try await !chain.isActive(token))
            // It exchanges nobody's tokens itself: its people are asked on a page.
            await #expect(throws: OAuthError(.invalidRequest)) {
                _ = try await f.provider.clients.change(chain.api.client.id, ClientChange(party: .third))
            }
        }
    }

    @Test("who acts is told in its order, and not without end")
    func actors() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            // The ledger goes on to itself: whose token it shows is the API's.
            _ = try await f.provider.clients.change(
                chain.ledger.client.id,
                ClientChange(
                    grantTypes: [Self.grant],
                    tokens: TokenSettingsChange(
                        scopes: ["read"], audiences: ["urn:ledger"],
                        subjects: [chain.api.client.id, chain.ledger.client.id])))
            var token = try chain.access(try await chain.exchange(try await chain.token()))
            let first = token
            for number in 1...3 {
                let answer = try await chain.exchange(token, by: chain.ledger)
                #expect(answer.status == 200, "\(number)")
                token = try chain.access(answer)
            }
            let claims = try f.claims(token, type: "at+jwt")
            let (api, ledger) = (JSON.string(chain.api.client.id), JSON.string(chain.ledger.client.id))
            let third: JSONObject = ["sub": ledger, "act": .object(["sub": api])]
            let second: JSONObject = ["sub": ledger, "act": .object(third)]
            #expect(claims.members["act"] == .object(["sub": ledger, "act": .object(second)]))
            #expect(try await chain.exchange(token, by: chain.ledger).error == "invalid_request", "too often")
            // With the first of them all are over.
            let form: Parameters = ["token": first]
            #expect(
                try await f.provider.revocation.answer(header: f.basic(chain.api), body: form.encoded).status == 200)
            #expect(try await !chain.isActive(token))
        }
    }

    @Test("an actor's own token says who acts, and a token that names its actor is no other's")
    func mayAct() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let token = try await chain.token()
            let own: Parameters = ["grant_type": "client_credentials"]
            let service = try await f.provider.grants.answer(header: f.basic(chain.api), body: own.encoded)
            let named: [String: String?] = ["actor_token": try chain.access(service), "actor_token_type": Self.access]
            let act = try f.claims(try chain.access(try await chain.exchange(token, named)), type: "at+jwt")
                .members["act"]
            #expect(act == .object(["sub": .string(chain.api.client.id)]))
            for (actor, isRight) in [("somebody", false), (chain.api.client.id, true)] {
                _ = try await f.provider.clients.change(
                    chain.shop.client.id, ClientChange(tokens: TokenSettingsChange(actor: actor)))
                let told = try await chain.token()
                #expect(try f.claims(told, type: "at+jwt").members["may_act"] == .object(["sub": .string(actor)]))
                let answer = try await chain.exchange(told, named)
                #expect(answer.error == (isRight ? nil : "invalid_request"))
                #expect(try await chain.exchange(told).status == (isRight ? 200 : 400))
            }
        }
    }

    @Test("who alone may act stays who alone may act, in what a token is exchanged for as well")
    func mayActOn() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let api = chain.api.client.id
            _ = try await f.resourceServer(owning: ["urn:far"])
            _ = try await f.provider.clients.change(
                chain.ledger.client.id,
                ClientChange(
                    grantTypes: [Self.grant],
                    tokens: TokenSettingsChange(scopes: ["read"], audiences: ["urn:far"], subjects: [api])))
            func allow(_ client: RegisteredClient, _ actor: String) async throws {
                _ = try await f.provider.clients.change(
                    client.client.id, ClientChange(tokens: TokenSettingsChange(actor: actor)))
            }
            func goOn(_ token: String) async throws -> ProviderAnswer {
                try await chain.exchange(token, ["audience": "urn:far"], by: chain.ledger)
            }
            let free = try chain.access(try await chain.exchange(try await chain.token()))
            #expect(try await goOn(free).status == 200)
            try await allow(chain.shop, api)
            let told = try await chain.token()
            // Whom the service in the middle names does not count beside whom the first client names.
            for actor in ["", chain.ledger.client.id] {
                try await allow(chain.api, actor)
                let exchanged = try chain.access(try await chain.exchange(told))
                #expect(try f.claims(exchanged, type: "at+jwt").members["may_act"] == .object(["sub": .string(api)]))
                let answer = try await goOn(exchanged)
                #expect(answer.status == 400 && answer.error == "invalid_request")
            }
            // It counts where there is nobody else.
            try await allow(chain.shop, "")
            try await allow(chain.api, "somebody")
            let named = try chain.access(try await chain.exchange(try await chain.token()))
            #expect(try await goOn(named).error == "invalid_request")
        }
    }

    @Test("what names its actor by a token ends with that token at the latest, and an exchanged token names nobody")
    func actorTokens() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let own: Parameters = ["grant_type": "client_credentials"]
            let service = try await f.provider.grants.answer(header: f.basic(chain.api), body: own.encoded)
            f.clock.advance(.seconds(200))
            let token = try await chain.token()
            let named: [String: String?] = ["actor_token": try chain.access(service), "actor_token_type": Self.access]
            #expect(try await chain.exchange(token, named).body?["expires_in"] == .integer(100))
            let plain = try await chain.exchange(token)
            #expect(plain.body?["expires_in"] == .integer(300))
            let answer = try await chain.exchange(
                token, ["actor_token": try chain.access(plain), "actor_token_type": Self.access])
            #expect(answer.status == 400 && answer.error == "invalid_request")
        }
    }

    @Test("whoever asks about a token is not told what it hangs on, nor who had those before it")
    func introspection() async throws {
        try await ProviderFixture.run { f in
            let chain = try await Chain(f)
            let token = try await chain.token()
            let exchanged = try chain.access(try await chain.exchange(token))
            let inner = ["grant_id", "parents", "holders", "audiences"]
            let claims = try f.claims(exchanged, type: "at+jwt").members
            #expect(inner.allSatisfy { claims[$0] != nil })
            for (token, asking) in [(exchanged, chain.ledger), (exchanged, chain.api), (token, chain.shop)] {
                let told = try #require(try await f.introspect(token, by: asking))
                #expect(told["active"] == .bool(true) && told["jti"] != nil)
                for name in inner { #expect(told[name] == nil, "\(name)") }
            }
        }
    }
}
