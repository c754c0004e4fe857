import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 6749, section 6, RFC 9700, section 4.14, RFC 7009 and RFC 7662: refresh, revocation, introspection")
struct RefreshTests {
    private static let day: Duration = .seconds(24 * 60 * 60)

    /// A client that may renew its tokens, and the first that it is given.
    private struct Renewing {
        let f: ProviderFixture
        let client: RegisteredClient
        let session: SessionSecret
        var access: String
        var refresh: String

        init(
            _ f: ProviderFixture, scope: String = "openid profile offline_access", role: String? = nil
        ) async throws {
            self.f = f
            self.client = try await f.provider.clients.register(
                name: "Mail", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"]))
            let id = self.client.client.id
            let signedIn = try await f.signIn(
                ["client_id": id, "scope": scope], role: role.map { RoleAtService(service: id, role: $0) })
            self.session = signedIn.session
            let body = try #require(
                try await f.provider.grants.answer(header: f.basic(self.client), body: f.form(signedIn.code)).body)
            self.access = try body.requiredString("access_token")
            self.refresh = try body.requiredString("refresh_token")
        }

        func show(
            _ token: String, of client: RegisteredClient? = nil, scope: String? = nil
        ) async throws -> ProviderAnswer {
            var form: Parameters = ["grant_type": "refresh_token", "refresh_token": token]
            if let scope { form.append("scope", scope) }
            return try await self.f.provider.grants.answer(
                header: self.f.basic(client ?? self.client), body: form.encoded)
        }

        /// Renews, and gives the new refresh token.
        @discardableResult
        mutating func renew() async throws -> ProviderAnswer {
            let answer = try await self.show(self.refresh)
            self.refresh = try (answer.body?.string("refresh_token")).flatMap { $0 } ?? self.refresh
            self.access = try (answer.body?.string("access_token")).flatMap { $0 } ?? self.access
            return answer
        }

        func userinfo(_ access: String? = nil) async throws -> Int {
            try await self.f.provider.userinfo.answer(header: "Bearer \(access ?? self.access)").status
        }

        func post(
            _ call: (OpenIDProvider) -> (String?, String) async throws -> ProviderAnswer, _ token: String,
            of client: RegisteredClient? = nil
        ) async throws -> ProviderAnswer {
            let form: Parameters = ["token": token, "token_type_hint": "access_token"]
            return try await call(self.f.provider)(self.f.basic(client ?? self.client), form.encoded)
        }

        func revoke(_ token: String, of client: RegisteredClient? = nil) async throws -> ProviderAnswer {
            try await self.post(
                { provider in { try await provider.revocation.answer(header: $0, body: $1) } }, token, of: client)
        }

        func introspect(_ token: String, of client: RegisteredClient? = nil) async throws -> JSONObject? {
            let answer = try await self.post(
                { provider in { try await provider.introspection.answer(header: $0, body: $1) } }, token, of: client)
            #expect(answer.status == 200)
            return answer.body
        }
    }

    // MARK: Refresh

    @Test(
        "each use gives an ID token of the sign-in that it goes on with, without a nonce (OpenID Connect Core 1.0, section 12.2)"
    )
    func idTokens() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let signedInAt = f.clock.source.now()
            let sid = try f.claims(client.access, type: "at+jwt").members["grant_id"]
            for _ in 0..<2 {
                f.clock.advance(Self.day)
                let answer = try await client.renew()
                let token = try f.claims(try #require(try answer.body?.string("id_token")), type: "JWT")
                let claims = token.members
                #expect(claims["iss"] == .string(ProviderFixture.issuer) && token.audience == [client.client.client.id])
                #expect(
                    claims["sub"]
                        == .string(f.provider.keys.subject(ofAccount: "account-a", client: client.client.client.id)))
                #expect(claims["auth_time"] == .integer(signedInAt.seconds), "nobody has authenticated anew")
                #expect(claims["iat"] == .integer(f.clock.source.now().seconds))
                #expect(claims["nonce"] == nil && claims["acr"] == .string("urn:x"))
                #expect(claims["at_hash"] != nil && sid != nil)
            }
        }
    }

    @Test("what the client has named for its ID token is in that of a refresh, too, as it is then")
    func namedClaims() async throws {
        try await ProviderFixture.run { f in
            let client = try await f.provider.clients.register(
                name: "Mail", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"]))
            let signedIn = try await f.signIn([
                "client_id": client.client.id, "scope": "openid offline_access",
                "claims": #"{"id_token": {"preferred_username": null}}"#,
            ])
            let first = try #require(
                try await f.provider.grants.answer(header: f.basic(client), body: f.form(signedIn.code)).body)
            let form: Parameters = [
                "grant_type": "refresh_token", "refresh_token": try first.requiredString("refresh_token"),
            ]
            let body = try #require(
                try await f.provider.grants.answer(header: f.basic(client), body: form.encoded).body)
            let claims = try f.claims(body.requiredString("id_token"), type: "JWT").members
            #expect(claims["preferred_username"] == .string("alice"))
        }
    }

    @Test("a client that wants none gets none, nor does a refresh for a scope without openid")
    func noIDToken() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let narrow = try await client.show(client.refresh, scope: "profile")
            #expect(narrow.status == 200 && narrow.body?["id_token"] == nil)
            _ = try await f.provider.clients.change(
                client.client.client.id, ClientChange(tokens: TokenSettingsChange(refreshesIDToken: false)))
            let answer = try await client.renew()
            #expect(answer.status == 200 && answer.body?["id_token"] == nil)
        }
    }

    @Test func eachUseGivesAnAccessTokenAndTheNextRefreshToken() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let first = try f.claims(client.access, type: "at+jwt")
            var seen: Set = [client.refresh]
            for _ in 0..<5 {
                f.clock.advance(Self.day)
                let answer = try await client.renew()
                #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
                #expect(try answer.body?.string("token_type") == "Bearer")
                #expect(try answer.body?.string("scope") == "openid profile offline_access")
                #expect(seen.insert(client.refresh).inserted && client.refresh.utf8.count == 86)
                #expect(try await client.userinfo() == 200)
                let claims = try f.claims(client.access, type: "at+jwt")
                for name in ["sub", "client_id", "auth_time", "acr", "grant_id", "scope"] {
                    #expect(claims.members[name] == first.members[name])
                }
                #expect(claims.members["jti"] != first.members["jti"])
                #expect(claims.expiration == f.clock.source.now() + .seconds(300))
            }
        }
    }

    @Test func aClientThatMayNotRenewIsNotGivenTheScope() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn(["scope": "openid offline_access"]).code
            let body = try #require(try await f.token(code).body)
            #expect(body["refresh_token"] == nil)
            #expect(try body.string("scope") == "openid")
        }
    }

    @Test func whoHasLostWhatTheyCameAsRenewsNothing() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f, role: "patient")
            #expect(try await client.renew().status == 200, "as long as they are that")
            f.people.close(client.client.client.id)
            let answer = try await client.renew()
            #expect(answer.status == 400 && answer.error == "invalid_grant" && answer.body?["access_token"] == nil)
            #expect(answer.refusal?.reason?.hasSuffix("the service does not take the person any more") == true)
            f.people.open(client.client.client.id)
            #expect(try await client.renew().status == 200, "nothing has ended for good")
        }
    }

    @Test func ofGrantsThatAreNoIdentitysNothingIsAsked() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let before = f.people.timesAsked
            #expect(try await client.renew().status == 200)
            #expect(f.people.timesAsked == before)
        }
    }

    @Test func withoutTheScopeThereIsNoRefreshToken() async throws {
        try await ProviderFixture.run { f in
            await #expect(throws: (any Error).self) { _ = try await Renewing(f, scope: "openid") }
        }
    }

    @Test func aClientThatMayNoLongerRenewBeginsNoFamily() async throws {
        try await ProviderFixture.run { f in
            let client = try await Renewing(f).client
            let code = try await f.signIn(["client_id": client.client.id, "scope": "openid offline_access"]).code
            _ = try await f.provider.clients.change(
                client.client.id, ClientChange(grantTypes: ["authorization_code"]))
            let answer = try await f.provider.grants.answer(header: f.basic(client), body: f.form(code))
            #expect(answer.status == 200 && answer.body?["refresh_token"] == nil)
        }
    }

    /// Before an access token named its grant it was named after it.
    @Test func anAccessTokenOfAnEarlierVersionIsTakenUntilItEnds() async throws {
        try await ProviderFixture.run { f in
            let client = try await Renewing(f)
            var claims = try f.claims(client.access, type: "at+jwt").members
            let grant = try claims.requiredString("grant_id")
            claims["grant_id"] = nil
            claims["jti"] = .string(grant)
            #expect(try await client.userinfo(f.provider.tokens.sign(claims, type: "at+jwt")) == 200)
            claims["jti"] = .string("another")
            #expect(try await client.userinfo(f.provider.tokens.sign(claims, type: "at+jwt")) == 401)
        }
    }

    /// A code is in the browser's history, and an app has nothing to prove itself with.
    @Test func anOldCodeByItselfEndsNothing() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            let body = try #require(try await f.token(code).body)
            let access = try body.requiredString("access_token")
            for changes in [
                ["code_verifier": CodeVerifier(random: .system).text], ["redirect_uri": "https://bank.example/other"],
            ] {
                #expect(try await f.token(code, changes).error == "invalid_grant")
            }
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256))
            let foreign = try await f.provider.grants.answer(header: f.basic(shop), body: f.form(code))
            #expect(foreign.error == "invalid_grant")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 200)
            #expect(try await f.token(code).error == "invalid_grant")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 401)
        }
    }

    @Test func anAnswerThatWasLostCostsNothingADayLater() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let lost = try await client.show(client.refresh)
            #expect(lost.status == 200)
            f.clock.advance(Self.day)
            #expect(try await client.renew().status == 200)
            #expect(try lost.body?.string("refresh_token") == client.refresh, "the same one")
            #expect(try await client.renew().status == 200)
        }
    }

    @Test("two requests at once, and a repeat on another node, are given the same next token")
    func sameSuccessor() async throws {
        try await ProviderFixture.run { f in
            let client = try await Renewing(f)
            let form: Parameters = ["grant_type": "refresh_token", "refresh_token": client.refresh]
            let answers = try await withThrowingTaskGroup(of: ProviderAnswer.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await f.provider.grants.answer(header: f.basic(client.client), body: form.encoded)
                    }
                }
                return try await group.reduce(into: [ProviderAnswer]()) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            let tokens = Set(try answers.map { try #require($0.body).requiredString("refresh_token") })
            let next = try #require(tokens.first)
            #expect(tokens.count == 1 && next != client.refresh)
            #expect(
                Set(try answers.map { try #require($0.body).requiredString("access_token") }).count == 8, "each fresh")
            let other = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people, time: f.clock.source)
            let there = try await other.grants.answer(header: f.basic(client.client), body: form.encoded)
            #expect(try there.body?.string("refresh_token") == next)
            #expect(try await client.show(next).status == 200)
        }
    }

    @Test("a request that comes late or twice is refused for a minute, and costs nothing")
    func lateRequest() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let first = client.refresh
            try await client.renew()
            try await client.renew()
            f.clock.advance(.seconds(59))
            let late = try await client.show(first)
            #expect(late.status == 400 && late.error == "invalid_grant" && late.body?["access_token"] == nil)
            #expect(late.refusal?.reason?.hasSuffix("late, or a second time: a newer one is in use") == true)
            #expect(try await client.userinfo() == 200)
            // While the first one is remembered the newest one is handed out again: no token is forgotten too soon.
            let newest = client.refresh
            #expect(try await client.renew().status == 200)
            #expect(client.refresh == newest)
            f.clock.advance(.seconds(1))
            #expect(try await client.renew().status == 200)
            #expect(client.refresh != newest)
        }
    }

    @Test func aTokenThatIsPastEndsAllThatWasGiven() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let stolen = client.refresh
            try await client.renew()
            try await client.renew()
            f.clock.advance(.seconds(60))
            let answer = try await client.show(stolen)
            #expect(answer.status == 400 && answer.error == "invalid_grant")
            #expect(answer.refusal?.reason?.hasSuffix("past: its family has ended") == true)
            #expect(try await client.userinfo() == 401)
            #expect(try await client.renew().error == "invalid_grant")
            let trail = try await f.store.auditEntries(after: 0, limit: 99).map(\.event)
            let reuse = trail.filter { $0.kind.rawValue == "refresh-token-reused" }
            #expect(reuse.count == 1 && reuse.first?.accountID == "account-a")
            #expect(reuse.first?.actor == client.client.client.id)
        }
    }

    @Test func anotherClientsTokenIsRefusedAndStaysAsItIs() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let other = try await Renewing(f)
            let answer = try await client.show(client.refresh, of: other.client)
            #expect(answer.status == 400 && answer.error == "invalid_grant")
            #expect(try await client.renew().status == 200)
        }
    }

    @Test("the scope may shrink for one access token, and never grow")
    func scope() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let wider = try await client.show(client.refresh, scope: "openid email")
            #expect(wider.status == 400 && wider.error == "invalid_scope")
            let narrow = try await client.show(client.refresh, scope: "openid")
            #expect(try narrow.body?.string("scope") == "openid")
            client.refresh = try #require(try narrow.body?.string("refresh_token"))
            #expect(try await client.renew().body?.string("scope") == "openid profile offline_access")
        }
    }

    @Test(
        "what this provider never made is refused, and ends nothing",
        arguments: ["", "x", String(repeating: "A", count: 86), String(repeating: "\u{20AC}", count: 86)])
    func invented(token: String) async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let answer = try await client.show(token)
            #expect(answer.status == 400)
            #expect(answer.error == (token.isEmpty ? "invalid_request" : "invalid_grant"))
            #expect(try await client.renew().status == 200)
        }
    }

    @Test func everyFlippedBitIsRefusedAndEndsNothing() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let bytes = try #require(Base64URL.decode(client.refresh))
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= 1 << UInt8(index % 8)
                #expect(try await client.show(Base64URL.encode(changed)).error == "invalid_grant")
            }
            #expect(try await client.renew().status == 200)
        }
    }

    @Test func aTokenThatIsNotUsedEndsAndSoDoesTheGrant() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            f.clock.advance(Self.day * 30 - .seconds(1))
            #expect(try await client.renew().status == 200)
            f.clock.advance(Self.day * 15)
            // No access token outlives the grant, which ends a second from now.
            let last = try await client.renew()
            #expect(last.status == 200 && last.body?["expires_in"] == .integer(1))
            f.clock.advance(.seconds(1))
            #expect(try await client.renew().error == "invalid_grant")
        }
    }

    @Test func aSignOutLeavesItAndALockDoesNot() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            _ = try await f.provider.sessions.logout("", session: client.session, confirmed: true)
            #expect(try await f.provider.sessions.session(client.session) == nil)
            #expect(try await client.renew().status == 200)
            _ = try await f.store.setAccountLocked(
                true, id: "account-a", audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: f.clock.source.now()))
            #expect(try await client.renew().error == "invalid_grant")
        }
    }

    @Test func everyNodeTakesEveryToken() async throws {
        try await ProviderFixture.run { f in
            let client = try await Renewing(f)
            let other = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people, time: f.clock.source)
            let form: Parameters = ["grant_type": "refresh_token", "refresh_token": client.refresh]
            #expect(try await other.grants.answer(header: f.basic(client.client), body: form.encoded).status == 200)
            // After a restore nothing of the past is taken.
            let restored = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer, epoch: "another"), store: f.store,
                methods: [f.outcomes], people: f.people, time: f.clock.source)
            let refused = try await restored.grants.answer(header: f.basic(client.client), body: form.encoded)
            #expect(refused.error == "invalid_grant")
        }
    }

    // MARK: Revocation

    @Test func revokingARefreshTokenEndsTheAccessTokensToo() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let first = client.access
            try await client.renew()
            let answer = try await client.revoke(client.refresh)
            #expect(answer.status == 200 && answer.body == nil)
            #expect(try await client.userinfo() == 401)
            #expect(try await client.userinfo(first) == 401)
            #expect(try await client.introspect(first) == ["active": .bool(false)])
            #expect(try await client.renew().error == "invalid_grant")
            #expect(try await client.revoke(client.refresh).status == 200)
        }
    }

    @Test func revokingAnAccessTokenEndsItAlone() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let first = client.access
            #expect(try await client.revoke(first).status == 200)
            #expect(try await client.userinfo(first) == 401)
            #expect(try await client.introspect(first) == ["active": .bool(false)])
            #expect(try await client.renew().status == 200)
            #expect(try await client.userinfo() == 200)
        }
    }

    @Test func whatIsUnknownOrAnothersIsAnsweredAlikeAndStays() async throws {
        try await ProviderFixture.run { f in
            var client = try await Renewing(f)
            let other = try await Renewing(f)
            for token in ["never", client.access, client.refresh] {
                let answer = try await client.revoke(token, of: other.client)
                #expect(answer.status == 200 && answer.body == nil)
            }
            #expect(try await client.userinfo() == 200)
            #expect(try await client.renew().status == 200)
        }
    }

    // MARK: Introspection

    @Test func aClientSeesWhatItsOwnTokenSays() async throws {
        try await ProviderFixture.run { f in
            let client = try await Renewing(f)
            let body = try #require(try await client.introspect(client.access))
            #expect(body["active"] == .bool(true) && body["token_type"] == .string("Bearer"))
            let claims = try f.claims(client.access, type: "at+jwt").members
            for name in ["iss", "sub", "aud", "client_id", "scope", "iat", "exp", "jti", "auth_time", "acr"] {
                #expect(body[name] == claims[name] && body[name] != nil)
            }
            let session = try #require(body["sid"])
            #expect(session == .string(try body.requiredString("sid")))
        }
    }

    @Test("of everything else nothing is said but that it is not active")
    func inactive() async throws {
        try await ProviderFixture.run { f in
            let client = try await Renewing(f)
            let other = try await Renewing(f)
            let inactive: JSONObject = ["active": .bool(false)]
            #expect(try await client.introspect(client.access, of: other.client) == inactive)
            let idToken = try await f.tokens().id
            for token in ["never", client.refresh, idToken] {
                #expect(try await client.introspect(token) == inactive)
            }
            f.clock.advance(.seconds(300 + 60))
            #expect(try await client.introspect(client.access) == inactive)
        }
    }

    @Test func whoeverDoesNotAuthenticateIsToldNothing() async throws {
        try await ProviderFixture.run { f in
            let client = try await Renewing(f)
            let form: Parameters = ["token": client.access]
            for header in [nil, f.basic(client.client, secret: "wrong")] {
                for answer in [
                    try await f.provider.introspection.answer(header: header, body: form.encoded),
                    try await f.provider.revocation.answer(header: header, body: form.encoded),
                ] {
                    #expect(answer.status == 401 && answer.error == "invalid_client")
                    #expect(answer.header("WWW-Authenticate") != nil)
                }
            }
            for body in ["", "token=a&token=b", "%"] {
                for answer in [
                    try await f.provider.introspection.answer(header: f.basic(client.client), body: body),
                    try await f.provider.revocation.answer(header: f.basic(client.client), body: body),
                ] {
                    #expect(answer.status == 400 && answer.error == "invalid_request")
                }
            }
            #expect(try await client.userinfo() == 200)
        }
    }
}
