import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("RFC 6749, section 4.4, and RFC 7523, section 2.1: tokens of a service's own")
struct OwnTokenTests {
    private static let inactive: JSONObject = ["active": .bool(false)]
    private static let bearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let tokens = TokenSettings(scopes: ["read", "write"], audiences: [ResourceTests.accounts])

    private func service(_ f: ProviderFixture, _ tokens: TokenSettings = Self.tokens) async throws -> RegisteredClient {
        try await f.provider.clients.register(
            name: "Report", redirectURIs: [],
            settings: ClientSettings(idTokenAlgorithm: .es256, grantTypes: ["client_credentials"], tokens: tokens))
    }

    private func ask(
        _ f: ProviderFixture, _ client: RegisteredClient, _ changes: Parameters = [:], proofs: [String] = []
    ) async throws -> ProviderAnswer {
        var form: Parameters = ["grant_type": "client_credentials"]
        for (name, value) in changes.members { form.append(name, value) }
        return try await f.provider.grants.answer(header: f.basic(client), body: form.encoded, proofs: proofs)
    }

    private func access(_ answer: ProviderAnswer) throws -> String {
        try #require(answer.body).requiredString("access_token")
    }

    @Test("a service gets a token that says it is the service's, and nothing to renew it by")
    func token() async throws {
        try await ProviderFixture.run { f in
            let client = try await self.service(f)
            let answer = try await self.ask(f, client)
            #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
            let body = try #require(answer.body)
            #expect(Set(body.members.map(\.name)) == ["access_token", "token_type", "expires_in", "scope"])
            #expect(body["scope"] == .string("read write") && body["token_type"] == .string("Bearer"))
            #expect(body["expires_in"] == .integer(300))
            let claims = try f.claims(try self.access(answer), type: "at+jwt")
            try claims.check(issuer: ProviderFixture.issuer, audience: ProviderFixture.issuer, at: f.clock.source)
            // RFC 9068, section 2.2: where nobody signed in the subject is the client.
            #expect(claims.subject == client.client.id && claims.members["client_id"] == .string(client.client.id))
            #expect(claims.members["auth_time"] == nil && claims.members["acr"] == nil)
            let told = try #require(try await f.introspect(try self.access(answer), by: client))
            #expect(told["active"] == .bool(true) && told["sid"] == nil)
            #expect(try await self.access(self.ask(f, client)) != self.access(answer))
        }
    }

    @Test("the scopes are those that the operator gave it, all or some, and for the resource that it names")
    func scopes() async throws {
        try await ProviderFixture.run { f in
            let owner = try await f.resourceServer(owning: [ResourceTests.accounts])
            let client = try await self.service(f)
            let some = try await self.ask(f, client, ["scope": "read", "resource": ResourceTests.accounts])
            let claims = try f.claims(try self.access(some), type: "at+jwt")
            #expect(claims.members["scope"] == .string("read") && claims.audience == [ResourceTests.accounts])
            #expect(try await f.introspect(try self.access(some), by: owner)?["scope"] == .string("read"))
            for (changes, error) in [
                (["scope": "read admin"], "invalid_scope"), (["scope": "openid"], "invalid_scope"),
                (["scope": "Read"], "invalid_scope"), (["scope": "a\"b"], "invalid_scope"),
                (["resource": "urn:other"], "invalid_target"), (["resource": "x"], "invalid_target"),
                (["resource": ResourceTests.accounts, "resource ": "x"], nil),
            ] as [(Parameters, String?)] {
                let answer = try await self.ask(f, client, changes)
                #expect(answer.error == error && answer.status == (error == nil ? 200 : 400), "\(changes)")
            }
            let none = try await self.ask(f, self.service(f, TokenSettings()))
            #expect(none.status == 400 && none.error == "invalid_scope")
            #expect(none.refusal?.reason?.contains("--scope") == true)
        }
    }

    @Test("a client without the grant type gets none, whatever else it may")
    func grantType() async throws {
        try await ProviderFixture.run { f in
            let other = try await f.register(ClientSettings(idTokenAlgorithm: .es256, tokens: Self.tokens))
            let answer = try await self.ask(f, other)
            #expect(answer.status == 400 && answer.error == "unauthorized_client")
            let client = try await self.service(f)
            let secret = try await f.provider.grants.answer(
                header: f.basic(client, secret: "wrong"), body: "grant_type=client_credentials")
            #expect(secret.status == 401 && secret.error == "invalid_client")
        }
    }

    @Test(
        "it ends at once with the client, with the grant type, with a scope or a resource of its own, and with itself",
        arguments: ["deleted", "grant", "scope", "audience", "revoked"])
    func ends(how: String) async throws {
        try await ProviderFixture.run { f in
            let owner = try await f.resourceServer(owning: [ResourceTests.accounts])
            let client = try await self.service(f)
            let token = try self.access(try await self.ask(f, client, ["resource": ResourceTests.accounts]))
            let other = try self.access(try await self.ask(f, client, ["scope": "read"]))
            let node = try await f.node()
            func isActive() async throws -> [Bool] {
                try await [f.provider, node].asyncMap {
                    try await f.introspect(token, by: owner, at: $0)?["active"] == .bool(true)
                }
            }
            #expect(try await isActive() == [true, true])
            func change(_ change: ClientChange) async throws {
                #expect(try await f.provider.clients.change(client.client.id, change) != nil)
            }
            switch how {
            case "deleted": #expect(try await f.provider.clients.delete(client.client.id))
            case "grant":
                try await change(
                    ClientChange(redirectURIs: [ProviderFixture.address], grantTypes: ["authorization_code"]))
            case "scope": try await change(ClientChange(tokens: TokenSettingsChange(scopes: ["read"])))
            case "audience": try await change(ClientChange(tokens: TokenSettingsChange(audiences: [])))
            default:
                let form: Parameters = ["token": token]
                // Another's no is none.
                #expect(try await f.provider.revocation.answer(header: f.basic(), body: form.encoded).status == 200)
                #expect(try await isActive() == [true, true])
                #expect(
                    try await f.provider.revocation.answer(header: f.basic(client), body: form.encoded).status == 200)
            }
            #expect(try await isActive() == [false, false])
            // What goes alone goes alone.
            if ["scope", "audience", "revoked"].contains(how) {
                #expect(try await f.introspect(other, by: client)?["active"] == .bool(true))
            }
        }
    }

    @Test("a restore ends it: what was taken back since the backup stays so")
    func epoch() async throws {
        try await ProviderFixture.run { f in
            let client = try await self.service(f)
            let token = try self.access(try await self.ask(f, client))
            #expect(try await f.introspect(token, by: client, at: f.node())?["active"] == .bool(true))
            #expect(try await f.introspect(token, by: client, at: f.node(epoch: "b")) == Self.inactive)
        }
    }

    @Test("it opens nothing of a person's")
    func userinfo() async throws {
        try await ProviderFixture.run { f in
            let client = try await self.service(f)
            let answer = try await f.provider.userinfo.answer(header: "Bearer \(self.access(self.ask(f, client)))")
            #expect(answer.status == 403 && answer.error == "insufficient_scope")
            #expect(answer.header("WWW-Authenticate")?.contains("insufficient_scope") == true)
        }
    }

    @Test("with a proof it is bound to its key")
    func bound() async throws {
        try await ProviderFixture.run { f in
            let client = try await self.service(f)
            let key = try KeyHolder()
            let answer = try await self.ask(f, client, proofs: [key.proof(f)])
            #expect(answer.body?["token_type"] == .string("DPoP"))
            let told = try await f.introspect(try self.access(answer), by: client)
            #expect(told?["cnf"] == key.confirmation && told?["token_type"] == .string("DPoP"))
        }
    }

    @Test("an opaque one is told of and taken back as well")
    func opaque() async throws {
        try await ProviderFixture.run { f in
            let client = try await self.service(f, TokenSettings(scopes: ["read"], format: .opaque))
            let token = try self.access(try await self.ask(f, client))
            #expect(!token.contains("."))
            #expect(try await f.introspect(token, by: client)?["sub"] == .string(client.client.id))
            let form: Parameters = ["token": token]
            _ = try await f.provider.revocation.answer(header: f.basic(client), body: form.encoded)
            #expect(try await f.introspect(token, by: client) == Self.inactive)
        }
    }

    // MARK: By a signed statement

    private func account(_ f: ProviderFixture, _ key: ClientKey) async throws -> RegisteredClient {
        var settings = key.settings
        settings.grantTypes = [Self.bearer]
        settings.tokens = Self.tokens
        return try await f.provider.clients.register(name: "Batch", redirectURIs: [], settings: settings)
    }

    private func ask(_ f: ProviderFixture, assertion: String, _ changes: Parameters = [:], header: String? = nil)
        async throws -> ProviderAnswer
    {
        var form: Parameters = ["grant_type": Self.bearer, "assertion": assertion]
        for (name, value) in changes.members { form.append(name, value) }
        return try await f.provider.grants.answer(header: header, body: form.encoded)
    }

    @Test("a service account gets a token for a statement that it has signed, once")
    func assertion() async throws {
        try await ProviderFixture.run { f in
            let owner = try await f.resourceServer(owning: [ResourceTests.accounts])
            let key = try ClientKey(.es256)
            let account = try await self.account(f, key)
            let id = account.client.id
            let assertion = try key.assertion(id, f)
            let answer = try await self.ask(
                f, assertion: assertion, ["scope": "read", "resource": ResourceTests.accounts, "client_id": id])
            #expect(answer.status == 200 && answer.body?["refresh_token"] == nil)
            let told = try await f.introspect(try self.access(answer), by: owner)
            #expect(told?["sub"] == .string(id) && told?["scope"] == .string("read"))
            for node in [f.provider, try await f.node()] {
                let form: Parameters = ["grant_type": Self.bearer, "assertion": assertion]
                let again = try await node.grants.answer(header: nil, body: form.encoded)
                #expect(again.status == 400 && again.error == "invalid_grant")
                #expect(again.refusal?.reason?.contains("jti was shown before") == true)
            }
            #expect(try await self.ask(f, assertion: try key.assertion(id, f)).body?["scope"] == .string("read write"))
            let wider = try await self.ask(f, assertion: try key.assertion(id, f), ["scope": "admin"])
            #expect(wider.error == "invalid_scope")
            let target = try await self.ask(f, assertion: try key.assertion(id, f), ["resource": "urn:other"])
            #expect(target.error == "invalid_target")
            _ = try await f.provider.clients.change(id, ClientChange(grantTypes: ["client_credentials"]))
            #expect(try await f.introspect(try self.access(answer), by: owner) == Self.inactive)
        }
    }

    @Test("a statement that is wrong in any part is refused alike, and uses nothing up")
    func wrongAssertions() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            let id = try await self.account(f, key).client.id
            let other = try await self.account(f, try ClientKey(.es256)).client.id
            let now = f.clock.source.now().seconds
            let name = RandomSource.system.identifier()
            for changes in [
                ["aud": .string("https://other.example")], ["aud": .array([.string(ProviderFixture.issuer)])],
                ["aud": .string(ProviderFixture.issuer + "/oauth2/token")], ["aud": nil], ["sub": .string("person")],
                ["sub": nil], ["iss": .string(other)], ["iss": .string("unknown")], ["iss": nil],
                ["exp": nil], ["exp": .integer(now - 30)], ["exp": .integer(now + 331)],
                ["nbf": .integer(now + 31)], ["iat": .integer(now + 31)], ["jti": nil], ["jti": .string("")],
                ["jti": .integer(1)],
            ] as [[String: JSON?]] {
                let claims = ["jti": .string(name)].merging(changes) { $1 }
                let answer = try await self.ask(f, assertion: try key.assertion(id, f, claims))
                #expect(answer.status == 400 && answer.error == "invalid_grant", "\(changes)")
                #expect(answer.body?["error_description"] == .string("The assertion is not valid."))
                #expect(answer.refusal?.reason?.isEmpty == false)
            }
            let text = try key.assertion(id, f)
            for damaged in ["x", "a.b.c", text + "A", String(text.dropLast(5))] {
                #expect(try await self.ask(f, assertion: damaged).error == "invalid_grant")
            }
            let last = try key.assertion(id, f, ["jti": .string(name), "exp": .integer(now + 330)])
            #expect(try await self.ask(f, assertion: last).status == 200)
        }
    }

    @Test("it comes alone, and from a client that has the grant type and keys")
    func alone() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            let account = try await self.account(f, key)
            let id = account.client.id
            let twice = try await self.ask(f, assertion: try key.assertion(id, f), header: f.basic())
            #expect(twice.status == 400 && twice.error == "invalid_request")
            let named = try await self.ask(f, assertion: try key.assertion(id, f), ["client_id": f.bank.client.id])
            #expect(named.status == 400 && named.error == "invalid_request")
            // A client that proves itself in another way shows none.
            let settings = ClientSettings(idTokenAlgorithm: .es256, grantTypes: ["authorization_code"])
            let signing = try await f.register(
                ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "private_key_jwt", keySet: key.set))
            let unfit = try await self.ask(f, assertion: try key.assertion(signing.client.id, f))
            #expect(unfit.error == "invalid_grant" && unfit.refusal?.reason?.contains("--grant-type") == true)
            let secret = try await f.register(settings)
            #expect(try await self.ask(f, assertion: try key.assertion(secret.client.id, f)).error == "invalid_grant")
            // What counts once counts once, whatever it is shown as.
            let statement = try key.assertion(id, f)
            let asserted: Parameters = [
                "grant_type": Self.bearer, "client_assertion": statement,
                "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            ]
            let missing = try await f.provider.grants.answer(header: nil, body: asserted.encoded)
            #expect(missing.status == 400 && missing.error == "invalid_request")
            #expect(try await self.ask(f, assertion: statement).error == "invalid_grant")
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(
                    id, ClientChange(authenticationMethod: "client_secret_basic"))
            }
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(id, ClientChange(authenticationMethod: "none"))
            }
        }
    }

    @Test("it proves who the client is at no endpoint but for a token")
    func elsewhere() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            let id = try await self.account(f, key).client.id
            let token = try self.access(try await self.ask(f, assertion: try key.assertion(id, f)))
            let form: Parameters = [
                "grant_type": Self.bearer, "assertion": try key.assertion(id, f), "token": token,
            ]
            let answer = try await f.provider.introspection.answer(header: nil, body: form.encoded)
            #expect(answer.status == 401 && answer.error == "invalid_client")
        }
    }
}

extension Array {
    /// What `transform` makes of each element, one after another.
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
