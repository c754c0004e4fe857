import JOSE
import OAuth
import OAuthProvider
import Records
import Settings
import Testing
import _Primitives

@Suite("RFC 7662 and RFC 9701: introspection by audience, signed, and of opaque tokens")
struct IntrospectionTests {
    private static let inactive: JSONObject = ["active": .bool(false)]
    private static let signed = "application/token-introspection+jwt"

    private func access(_ party: ResourceTests.Party, _ resources: [String]) async throws -> String {
        try #require(try await party.exchange(try await party.code(resources)).body).requiredString("access_token")
    }

    @Test("a resource server sees the tokens of its audience alone, and a client its own")
    func audiences() async throws {
        try await ProviderFixture.run { f in
            let party = try await ResourceTests.Party(f)
            let token = try await self.access(party, [ResourceTests.accounts])
            let usual = try await self.access(party, [])
            let told = try #require(try await f.introspect(token, by: party.accounts))
            #expect(told["active"] == .bool(true) && told["aud"] == .string(ResourceTests.accounts))
            #expect(told["client_id"] == .string(party.client.client.id))
            #expect(told["sid"] != nil && told["token_type"] == .string("Bearer"))
            #expect(
                told["sub"] == .string(f.provider.keys.subject(ofAccount: "account-a", client: party.client.client.id)))
            #expect(try await f.introspect(token, by: party.client) == told)
            #expect(try await f.introspect(token, by: party.payments) == Self.inactive)
            #expect(try await f.introspect(token, by: f.bank) == Self.inactive)
            for stranger in [party.accounts, party.payments, f.bank] {
                #expect(try await f.introspect(usual, by: stranger) == Self.inactive)
            }
            // It sees it for as long as the resource is its own.
            _ = try await f.provider.clients.change(
                party.accounts.client.id, ClientChange(tokens: TokenSettingsChange(resources: ["urn:other"])))
            #expect(try await f.introspect(token, by: party.accounts) == Self.inactive)
        }
    }

    @Test("what was revoked, has ended or is signed by a key that is gone is not active, however often it was before")
    func again() async throws {
        try await ProviderFixture.run { f in
            let party = try await ResourceTests.Party(f)
            func token() async throws -> String { try await self.access(party, [ResourceTests.accounts]) }
            let other = try await f.node()
            func isActive(_ token: String, _ provider: OpenIDProvider) async throws -> Bool {
                try await f.introspect(token, by: party.accounts, at: provider)?["active"] == .bool(true)
            }
            // The one has made the token, the other verifies it once.
            for end in [
                { (token: String) in
                    let form: Parameters = ["token": token]
                    let answer = try await f.provider.revocation.answer(
                        header: f.basic(party.client), body: form.encoded)
                    #expect(answer.status == 200)
                },
                { _ in f.clock.advance(.seconds(300)) }, { _ in try await f.endSessions() },
            ] as [(String) async throws -> Void] {
                let token = try await token()
                for provider in [f.provider, other, f.provider, other] {
                    #expect(try await isActive(token, provider))
                }
                try await end(token)
                for provider in [f.provider, other] { #expect(try await !isActive(token, provider)) }
            }
        }
    }

    @Test("a token that was seen before is refused once its key is retired for long")
    func retiredKey() async throws {
        var limits = Limits()
        limits.accessTokenLifetime = .seconds(10 * 60)
        limits.oauth.retiredKeyRetention = .seconds(60)
        limits.oauth.keyAnnouncement = .seconds(60)
        try await ProviderFixture.run(limits: limits) { f in
            let party = try await ResourceTests.Party(f)
            let token = try await self.access(party, [ResourceTests.accounts])
            #expect(try await f.introspect(token, by: party.accounts)?["active"] == .bool(true))
            try await f.provider.keys.rotate()
            f.clock.advance(.seconds(119))
            #expect(try await f.introspect(token, by: party.accounts)?["active"] == .bool(true))
            f.clock.advance(.seconds(1))
            #expect(try await f.introspect(token, by: party.accounts) == Self.inactive)
        }
    }

    @Test("a text with another signature is not the token that was seen")
    func damaged() async throws {
        try await ProviderFixture.run { f in
            let party = try await ResourceTests.Party(f)
            let token = try await self.access(party, [ResourceTests.accounts])
            #expect(try await f.introspect(token, by: party.accounts)?["active"] == .bool(true))
            let parts = token.split(separator: ".")
            let other = try await self.access(party, [ResourceTests.accounts]).split(separator: ".")
            for forged in ["\(parts[0]).\(parts[1]).\(other[2])", "\(parts[0]).\(other[1]).\(parts[2])", token + "A"] {
                #expect(try await f.introspect(forged, by: party.accounts) == Self.inactive)
            }
        }
    }

    @Test("the owner of a resource is told the names of whose token has profile or email, and nobody else is")
    func names() async throws {
        try await ProviderFixture.run { f in
            let party = try await ResourceTests.Party(f)
            f.people.set(
                Person(
                    username: "alice", displayName: "Alice Example",
                    email: AccountEmail(address: "alice@post.example", isVerified: true)), account: "account-a")
            for (scope, name, email) in [
                ("openid", false, false), ("openid profile", true, false), ("openid email", false, true),
                ("openid email profile", true, true),
            ] {
                let code = try await party.code([ResourceTests.accounts], scope: scope)
                let token = try #require(try await party.exchange(code).body).requiredString("access_token")
                let told = try #require(try await f.introspect(token, by: party.accounts))
                #expect(told["username"] == (name ? .string("alice") : nil), "\(scope)")
                #expect(told["email"] == (email ? .string("alice@post.example") : nil), "\(scope)")
                #expect(told["name"] == nil)
                let own = try #require(try await f.introspect(token, by: party.client))
                #expect(own["active"] == .bool(true) && own["username"] == nil && own["email"] == nil)
                #expect(try await f.introspect(token, by: party.payments) == Self.inactive)
            }
        }
    }

    // MARK: Signed

    @Test("whoever asks for it gets the answer signed, for itself, and with its own algorithm")
    func signature() async throws {
        try await ProviderFixture.run { f in
            let party = try await ResourceTests.Party(f)
            let token = try await self.access(party, [ResourceTests.accounts])
            let plain = try #require(try await f.introspect(token, by: party.accounts))
            let form: Parameters = ["token": token]
            func answer(_ accept: String?, by client: RegisteredClient) async throws -> ProviderAnswer {
                try await f.provider.introspection.answer(header: f.basic(client), body: form.encoded, accept: accept)
            }
            for accept in [
                Self.signed, "application/json;q=0.5, \(Self.signed)", "Application/Token-Introspection+JWT;q=1",
            ] {
                for (client, expected) in [(party.accounts, plain), (party.payments, Self.inactive)] {
                    let answer = try await answer(accept, by: client)
                    #expect(answer.status == 200 && answer.body == nil)
                    #expect(
                        answer.header("Content-Type") == Self.signed && answer.header("Cache-Control") == "no-store")
                    let text = try #require(answer.signed?.text)
                    let claims = try f.claims(text, type: "token-introspection+jwt")
                    #expect(claims.issuer == ProviderFixture.issuer && claims.audience == [client.client.id])
                    #expect(claims.issuedAt == f.clock.source.now())
                    #expect(claims.members["token_introspection"] == .object(expected))
                    // RFC 9701, section 5: it cannot pass for a token.
                    #expect(Set(claims.members.members.map(\.name)) == ["iss", "aud", "iat", "token_introspection"])
                    #expect(try UnverifiedJWS(compact: text).header.algorithm == "ES256")
                    #expect(try await f.introspect(text, by: client) == Self.inactive)
                }
            }
            for accept in [nil, "", "application/json", "*/*", "application/jwt"] {
                #expect(try await answer(accept, by: party.accounts).body == plain)
            }
            let nobody = try await f.provider.introspection.answer(header: nil, body: form.encoded, accept: Self.signed)
            #expect(nobody.status == 401 && nobody.error == "invalid_client")
            let named = try f.provider.discovery.strings("introspection_signing_alg_values_supported") ?? []
            #expect(named.contains("ES256") && named.contains("RS256"))
        }
    }

    // MARK: Opaque

    @Test("an opaque token says nothing, and is taken, told of and taken back as the others are")
    func opaque() async throws {
        try await ProviderFixture.run { f in
            let client = try await f.register(
                ClientSettings(idTokenAlgorithm: .es256, tokens: TokenSettings(format: .opaque)))
            func token() async throws -> String {
                let code = try await f.code(of: client)
                let answer = try await f.provider.grants.answer(header: f.basic(client), body: f.form(code))
                return try #require(answer.body).requiredString("access_token")
            }
            let first = try await token()
            #expect(!first.contains(".") && Base64URL.decode(first) != nil)
            #expect(try await token().prefix(5) == first.prefix(5), "the hour alone shows")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(first)").status == 200)
            let told = try #require(try await f.introspect(first, by: client))
            #expect(told["active"] == .bool(true) && told["aud"] == .string(ProviderFixture.issuer))
            #expect(told["client_id"] == .string(client.client.id) && told["jti"] != nil)
            #expect(try await f.introspect(first, by: f.bank) == Self.inactive)
            #expect(try await f.introspect(first, by: client, at: f.node())?["active"] == .bool(true), "every node")
            #expect(
                try await f.introspect(first, by: client, at: f.node(epoch: "b")) == Self.inactive, "after a restore")
            let form: Parameters = ["token": first]
            #expect(try await f.provider.revocation.answer(header: f.basic(client), body: form.encoded).status == 200)
            #expect(try await f.introspect(first, by: client) == Self.inactive)
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(first)").status == 401)
            let second = try await token()
            f.clock.advance(.milliseconds(299_999))
            #expect(try await f.introspect(second, by: client)?["active"] == .bool(true))
            f.clock.advance(.milliseconds(1))
            #expect(try await f.introspect(second, by: client) == Self.inactive)
        }
    }

    @Test("every flipped bit of an opaque token is refused")
    func flippedBits() async throws {
        try await ProviderFixture.run { f in
            let client = try await f.register(
                ClientSettings(idTokenAlgorithm: .es256, tokens: TokenSettings(format: .opaque)))
            let answer = try await f.provider.grants.answer(
                header: f.basic(client), body: f.form(try await f.code(of: client)))
            let token = try #require(answer.body).requiredString("access_token")
            let bytes = try #require(Base64URL.decode(token))
            for index in bytes.indices {
                var damaged = bytes
                damaged[index] ^= 1 << UInt8(index % 8)
                #expect(try await f.introspect(Base64URL.encode(damaged), by: client) == Self.inactive, "\(index)")
            }
            for length in [0, 1, 31, 32, 33, bytes.count - 1] {
                let cut = Base64URL.encode(Array(bytes.prefix(length)))
                #expect(try await f.provider.userinfo.answer(header: "Bearer \(cut)x").status == 401)
            }
        }
    }

    @Test("what tokens for a resource look like is its owner's to say")
    func formats() async throws {
        try await ProviderFixture.run { f in
            let owner = try await f.resourceServer(owning: ["urn:opaque"], format: .opaque)
            let party = try await ResourceTests.Party(f, audiences: ["urn:opaque", ResourceTests.accounts])
            let opaque = try await self.access(party, ["urn:opaque"])
            #expect(!opaque.contains("."))
            #expect(try await f.introspect(opaque, by: owner)?["aud"] == .string("urn:opaque"))
            #expect(try await f.introspect(opaque, by: party.accounts) == Self.inactive)
            #expect(try await self.access(party, [ResourceTests.accounts]).contains("."))
            _ = try await f.provider.clients.change(
                party.client.client.id, ClientChange(tokens: TokenSettingsChange(format: .opaque)))
            #expect(try await self.access(party, [ResourceTests.accounts]).contains("."), "its own are another's")
            #expect(try await !self.access(party, []).contains("."))
        }
    }
}
