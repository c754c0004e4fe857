import Crypto
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite(
    "OpenID Connect Native SSO for Mobile Apps 1.0: the apps of a device sign in by each other (reference §2.1, M0 to M10)"
)
struct NativeSSOTests {
    private static let grant = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let kind = "urn:ietf:params:oauth:token-type:"
    private static let deviceSecret = "urn:openid:params:token-type:device-secret"
    private static let scope = "openid profile offline_access device_sso"

    /// Two apps of a vendor, without secrets, and what the first one has after a sign-in.
    struct Apps {
        let f: ProviderFixture
        let first: RegisteredClient
        let second: RegisteredClient

        static func settings(_ group: String?, _ grantTypes: [String]) -> ClientSettings {
            ClientSettings(
                idTokenAlgorithm: .es256, grantTypes: grantTypes, authenticationMethod: "none",
                tokens: TokenSettings(group: group))
        }

        static let usual = ["authorization_code", "refresh_token", NativeSSOTests.grant]

        init(_ f: ProviderFixture) async throws {
            self.f = f
            self.first = try await f.register(Self.settings("bank-apps", Self.usual))
            self.second = try await f.register(Self.settings("bank-apps", Self.usual))
        }

        func signIn(
            scope: String = NativeSSOTests.scope, account: String = "account-a", session: SessionSecret? = nil,
            showing secret: String? = nil, by client: RegisteredClient? = nil
        ) async throws -> JSONObject {
            let client = client ?? self.first
            let signedIn = try await self.f.signIn(
                ["client_id": client.client.id, "scope": scope, "prompt": "login"], account: account, session: session)
            let changes: [String: String?] = ["client_id": client.client.id, "device_secret": secret]
            let answer = try await self.f.provider.grants.answer(
                header: nil, body: self.f.form(try signedIn.code, changes))
            return try #require(answer.body)
        }

        /// The second app's request, which is right but for `changes`.
        func exchange(
            _ given: JSONObject, _ changes: [String: String?] = [:], by client: RegisteredClient? = nil,
            proofs: [String] = [], source: String = "here"
        ) async throws -> ProviderAnswer {
            var values: [String: String?] = [
                "grant_type": NativeSSOTests.grant, "client_id": (client ?? self.second).client.id,
                "subject_token": try given.requiredString("id_token"),
                "subject_token_type": NativeSSOTests.kind + "id_token",
                "actor_token": try given.requiredString("device_secret"),
                "actor_token_type": NativeSSOTests.deviceSecret, "audience": ProviderFixture.issuer,
            ]
            values.merge(changes) { $1 }
            var form: Parameters = [:]
            for (name, value) in values { if let value { form.append(name, value) } }
            return try await self.f.provider.grants.answer(
                header: nil, body: form.encoded, source: source, proofs: proofs)
        }
    }

    private static func hash(_ secret: String) -> JSON {
        .string(Base64URL.encode(Array(SHA256.hash(data: Array(secret.utf8)))))
    }

    @Test("the second app gets tokens of the first one's session, with both claims in both ID tokens")
    func signsIn() async throws {
        try await ProviderFixture.run { f in
            let metadata = f.provider.discovery
            #expect(try metadata.bool("native_sso_supported") == true)
            #expect(try metadata.strings("scopes_supported")?.contains("device_sso") == true)
            #expect(try metadata.strings("grant_types_supported")?.contains(Self.grant) == true)
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            let secret = try given.requiredString("device_secret")
            #expect(given["scope"] == .string(Self.scope) && secret.utf8.count == 43)
            #expect(given["device_token"] == .string(secret), "by the other name of the draft, too")
            let first = try f.claims(try given.requiredString("id_token"), type: "JWT")
            #expect(first.members["ds_hash"] == Self.hash(secret))
            let sid = try first.members.requiredString("sid")
            f.clock.advance(.seconds(301))
            // The first one's ID token has expired meanwhile: that does not matter.
            let answer = try await apps.exchange(given, ["scope": "openid profile offline_access"])
            #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
            let body = try #require(answer.body)
            #expect(body["issued_token_type"] == .string(Self.kind + "access_token"))
            #expect(
                body["token_type"] == .string("Bearer") && body["scope"] == .string("openid profile offline_access"))
            #expect(body["device_secret"] == nil, "it stays, and so does the pair that the apps share")
            let second = try f.claims(try body.requiredString("id_token"), type: "JWT")
            #expect(second.audience == [apps.second.client.id])
            #expect(second.subject == f.provider.keys.subject(ofAccount: "account-a", client: apps.second.client.id))
            #expect(second.members["ds_hash"] == Self.hash(secret))
            #expect(try second.members.requiredString("sid") != sid, "a session has another name at each client")
            #expect(second.members["auth_time"] == first.members["auth_time"])
            #expect(second.members["acr"] == first.members["acr"] && second.members["amr"] == first.members["amr"])
            let access = try body.requiredString("access_token")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 200)
            let refresh: Parameters = [
                "grant_type": "refresh_token", "client_id": apps.second.client.id,
                "refresh_token": try body.requiredString("refresh_token"),
            ]
            #expect(try await f.provider.grants.answer(header: nil, body: refresh.encoded).status == 200)
            // Its ID token goes with the secret, too.
            var shared = body
            shared["device_secret"] = .string(secret)
            #expect(try await apps.exchange(shared, by: apps.first).status == 200)
            let trail = try await f.store.auditEntries(after: 0, limit: 99).map(\.event)
            #expect(trail.contains { $0.kind.rawValue == "signed-in-by-device-secret" && $0.accountID == "account-a" })
            let listed = try await f.provider.sessions.running(ofAccount: "account-a")
            #expect(listed.first?.services.count == 2, "the person sees both")
        }
    }

    @Test(
        "both names of the secret's type are taken",
        arguments: [deviceSecret, "urn:x-oath:params:oauth:token-type:device-secret"])
    func actorKinds(kind: String) async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            #expect(try await apps.exchange(given, ["actor_token_type": kind]).status == 200)
            let other = try await apps.exchange(given, ["actor_token_type": kind + "x"])
            #expect(other.status == 400 && other.error == "invalid_request")
        }
    }

    @Test("a person's apps sign in by each other so often, whatever secret they show and wherever they are")
    func budget() async throws {
        var limits = Limits()
        limits.oauth.nativeSignInBurst = 2
        limits.oauth.nativeSignInsPerMinute = 6
        try await ProviderFixture.run(limits: limits) { f in
            let apps = try await Apps(f)
            let (given, again) = (try await apps.signIn(), try await apps.signIn())
            let another = try await apps.signIn(account: "account-b")
            for _ in 0..<2 { #expect(try await apps.exchange(given).status == 200) }
            let trail = try await f.store.auditEntries(after: 0, limit: 99).count
            for (shown, source) in [(given, "here"), (given, "there"), (again, "here")] {
                let refused = try await apps.exchange(shown, source: source)
                #expect(refused.status == 429 && refused.error == "temporarily_unavailable")
                #expect(refused.header("Retry-After") == "10" && refused.header("Cache-Control") == "no-store")
                #expect(refused.shortage?.setting == "nativeSignInsPerMinute")
                #expect(refused.refusal?.setting == "nativeSignInsPerMinute")
            }
            #expect(try await f.store.auditEntries(after: 0, limit: 99).count == trail, "nobody signed in by them")
            #expect(try await apps.exchange(another).status == 200, "another person has their own")
            f.clock.advance(.seconds(10))
            #expect(try await apps.exchange(given).status == 200)
            #expect(try await apps.exchange(given).status == 429)
        }
    }

    @Test("a source that shows wrong secrets is told so only so often; a right one is taken past that")
    func guesses() async throws {
        var limits = Limits()
        limits.guessBurst = 2
        limits.guessesPerMinute = 6
        try await ProviderFixture.run(limits: limits) { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            let wrong: [String: String?] = ["actor_token": String(repeating: "A", count: 43)]
            for _ in 0..<3 { #expect(try await apps.exchange(given).status == 200, "right ones are not counted") }
            for _ in 0..<2 {
                let refused = try await apps.exchange(given, wrong)
                #expect(refused.status == 400 && refused.error == "invalid_grant")
            }
            let refused = try await apps.exchange(given, wrong)
            #expect(refused.status == 429 && refused.header("Retry-After") == "10")
            #expect(refused.shortage?.setting == "guessesPerMinute")
            #expect(try await apps.exchange(given, wrong, source: "there").status == 400)
            #expect(try await apps.exchange(given).status == 200)
            #expect(try await apps.exchange(given, wrong).status == 429, "a right one makes room for no wrong one")
        }
    }

    @Test("a secret is given for the scope alone, to apps that share")
    func asked() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let without = try await apps.signIn(scope: "openid profile")
            #expect(without["device_secret"] == nil)
            let claims = try f.claims(try without.requiredString("id_token"), type: "JWT")
            #expect(claims.members["ds_hash"] == nil)
            let alone = try await f.register(Apps.settings(nil, Apps.usual))
            let refused = try await apps.signIn(by: alone)
            #expect(refused["device_secret"] == nil && refused["scope"] == .string("openid profile offline_access"))
        }
    }

    @Test("what is not whole is refused as such, and other tokens and audiences by their codes")
    func shape() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            let access = try given.requiredString("access_token")
            for (changes, error) in [
                (["subject_token": nil], "invalid_request"), (["subject_token_type": nil], "invalid_request"),
                (["subject_token": access, "subject_token_type": Self.kind + "access_token"], "invalid_request"),
                // An ID token by itself, though it has a ds_hash.
                (["actor_token": nil], "invalid_request"), (["actor_token_type": nil], "invalid_request"),
                (["actor_token": nil, "actor_token_type": nil], "invalid_request"),
                (["audience": nil], "invalid_request"), (["audience": "https://other.example"], "invalid_target"),
                (["resource": "urn:other"], "invalid_target"),
                (["requested_token_type": Self.kind + "saml2"], "invalid_request"),
                (["scope": "profile"], "invalid_scope"), (["scope": "openid email"], "invalid_scope"),
                (["scope": "\""], "invalid_scope"),
                (["authorization_details": "[]"], "invalid_authorization_details"),
            ] as [([String: String?], String)] {
                let answer = try await apps.exchange(given, changes)
                #expect(answer.status == 400 && answer.error == error, "\(changes)")
            }
            #expect(try await apps.exchange(given).body?["scope"] == .string("openid"))
        }
    }

    private func expectRefusal(_ answer: ProviderAnswer, _ reason: String) {
        #expect(answer.status == 400)
        #expect(
            answer.body == [
                "error": .string("invalid_grant"),
                "error_description": .string("The ID token and the device secret are not valid together."),
            ])
        #expect(answer.refusal?.reason?.contains(reason) == true, "\(answer.refusal?.reason ?? "") \(reason)")
    }

    @Test("an app that does not take the person any more, as what they came as, gets no tokens; the first one's stay")
    func lostRoles() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            #expect(try await apps.exchange(given).status == 200)
            f.people.close(apps.second.client.id)
            self.expectRefusal(try await apps.exchange(given), "who have come to it as what they are there")
            #expect(try await apps.exchange(given, by: apps.first).status == 200)
        }
    }

    @Test("an ID token that was edited, is another's, or goes with another secret is refused")
    func foreignIDTokens() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            let other = try await apps.signIn(account: "account-b")
            func exchange(_ idToken: String, _ secret: JSONObject = given) async throws -> ProviderAnswer {
                try await apps.exchange(secret, ["subject_token": idToken])
            }
            let right = try given.requiredString("id_token")
            let parts = right.split(separator: ".")
            let foreign = try other.requiredString("id_token").split(separator: ".")
            for edited in ["\(parts[0]).\(foreign[1]).\(parts[2])", right + "A", String(right.dropLast(4)), "x"] {
                self.expectRefusal(try await exchange(edited), "the ID token")
            }
            try await ProviderFixture.run { stranger in
                let theirs = try await Apps(stranger).signIn()
                self.expectRefusal(try await exchange(theirs.requiredString("id_token")), "the ID token")
                self.expectRefusal(
                    try await apps.exchange(given, ["actor_token": theirs.requiredString("device_secret")]),
                    "unknown device secret")
            }
            // Crossed pairs.
            self.expectRefusal(try await exchange(try other.requiredString("id_token")), "ds_hash")
            self.expectRefusal(try await exchange(right, other), "ds_hash")
            // One that says nothing of a secret.
            let bare = try await apps.signIn(scope: "openid")
            self.expectRefusal(try await exchange(try bare.requiredString("id_token")), "ds_hash")
            self.expectRefusal(try await exchange(try given.requiredString("access_token")), "the ID token")
            #expect(try await apps.exchange(given).status == 200)
        }
    }

    /// Two apps of somebody else's.
    private func strangers(_ f: ProviderFixture) async throws -> Apps {
        let apps = try await Apps(f)
        for app in [apps.first, apps.second] {
            _ = try await f.provider.clients.change(app.client.id, ClientChange(party: .third))
        }
        return apps
    }

    private func agreedTokens(_ f: ProviderFixture, _ app: RegisteredClient, _ scope: String) async throws -> JSONObject
    {
        let code = try await f.agreedCode(["client_id": app.client.id, "scope": scope], client: app)
        return try #require(
            try await f.provider.grants.answer(header: nil, body: f.form(code, ["client_id": app.client.id])).body)
    }

    @Test("a third party's app gets what people agreed to for that very app, and is over with their consent")
    func consent() async throws {
        try await ProviderFixture.run { f in
            let apps = try await self.strangers(f)
            let given = try await self.agreedTokens(f, apps.first, Self.scope)
            for scope in ["openid", "openid profile"] {
                let refused = try await apps.exchange(given, ["scope": scope])
                #expect(refused.status == 400 && refused.error == "invalid_scope", "\(scope)")
            }
            _ = try await self.agreedTokens(f, apps.second, "openid profile")
            #expect(try await apps.exchange(given).error == "invalid_scope", "less is not the same")
            #expect(try await apps.exchange(given, ["scope": "openid offline_access"]).error == "invalid_scope")
            let body = try #require(try await apps.exchange(given, ["scope": "openid profile"]).body)
            let header = "Bearer \(try body.requiredString("access_token"))"
            #expect(try await f.provider.userinfo.answer(header: header).status == 200)
            func takeBack(_ app: RegisteredClient) async throws {
                let all = try await f.provider.authorizations.consents.given(byAccount: "account-a")
                for consent in all where consent.client == app.client.id {
                    #expect(try await f.provider.authorizations.consents.end(consent.id, ofAccount: "account-a"))
                }
            }
            try await takeBack(apps.second)
            #expect(try await f.provider.userinfo.answer(header: header).status == 401, "over with the consent")
            #expect(try await apps.exchange(given, ["scope": "openid profile"]).error == "invalid_scope")
            try await takeBack(apps.first)
            self.expectRefusal(try await apps.exchange(given), "unknown device secret")
        }
    }

    @Test("a scope of a service's own is for apps that both have it: it is passed on while each of them may have it")
    func ownScopes() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            func allow(_ app: RegisteredClient, _ scopes: [String]) async throws {
                _ = try await f.provider.clients.change(
                    app.client.id, ClientChange(tokens: TokenSettingsChange(scopes: scopes)))
            }
            try await allow(apps.first, ["payments"])
            let given = try await apps.signIn(scope: "openid payments device_sso")
            let asked: [String: String?] = ["scope": "openid payments"]
            let refused = try await apps.exchange(given, asked)
            #expect(refused.status == 400 && refused.error == "invalid_scope")
            #expect(refused.refusal?.reason?.contains("--scope") == true)
            try await allow(apps.second, ["payments", "other"])
            #expect(try await apps.exchange(given, asked).body?["scope"] == .string("openid payments"))
            #expect(try await apps.exchange(given, ["scope": "openid other"]).error == "invalid_scope")
            try await allow(apps.first, [])
            #expect(try await apps.exchange(given, asked).error == "invalid_scope", "the first app has it no more")
            #expect(try await apps.exchange(given).status == 200)
        }
    }

    @Test("an app that may not renew tokens gets nothing that lasts: what it has ends with the session")
    func withoutRenewal() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let own: [String: String?] = ["client_id": apps.first.client.id]
            let signedIn = try await f.signIn(own.merging(["scope": Self.scope]) { $1 })
            let given = try #require(
                try await f.provider.grants.answer(header: nil, body: f.form(try signedIn.code, own)).body)
            let app = try await f.register(Apps.settings("bank-apps", ["authorization_code", Self.grant]))
            let asked: [String: String?] = ["scope": "openid offline_access"]
            let body = try #require(try await apps.exchange(given, asked, by: app).body)
            #expect(body["scope"] == .string("openid") && body["refresh_token"] == nil)
            let header = "Bearer \(try body.requiredString("access_token"))"
            #expect(try await f.provider.userinfo.answer(header: header).status == 200)
            _ = try await f.provider.sessions.logout("", session: signedIn.session, confirmed: true)
            #expect(try await f.provider.userinfo.answer(header: header).status == 401)
        }
    }

    @Test("an app that is a third party's since, and that nobody has agreed to, signs nobody in to another one")
    func becomesThirdParty() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            #expect(try await apps.exchange(given).status == 200)
            _ = try await f.provider.clients.change(apps.first.client.id, ClientChange(party: .third))
            self.expectRefusal(try await apps.exchange(given), "third party's since")
        }
    }

    @Test("a person who came by a way that the second app does not take signs in to it themselves")
    func ways() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            // As a server with more ways would have it.
            _ = try await f.store.changeClient(apps.second.client.id) { client in
                client.settings.signInMethods = ["another way"]
                return []
            }
            self.expectRefusal(try await apps.exchange(given), "a way that this client does not take")
        }
    }

    @Test(
        "the secret is listed with what lasts, and ends by its identifier, with its app, and where its code comes twice"
    )
    func lists() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let grants = AccountGrants(store: f.store, time: f.clock.source)
            func secrets() async throws -> [String] {
                let all = try await grants.lasting(ofAccount: "account-a")
                return all.filter { $0.kind == .deviceSecret && $0.client == apps.first.client.id }.map(\.id)
            }
            let first = try await apps.signIn()
            let id = try #require(try await secrets().first)
            #expect(try await grants.end(.grant(id), ofAccount: "account-b") == 0)
            #expect(try await apps.exchange(first).status == 200)
            #expect(try await grants.end(.grant(id), ofAccount: "account-a") == 1)
            self.expectRefusal(try await apps.exchange(first), "unknown device secret")
            let second = try await apps.signIn()
            #expect(try await secrets().count == 1)
            #expect(try await grants.end(.client(apps.first.client.id), ofAccount: "account-a", by: "root") > 0)
            self.expectRefusal(try await apps.exchange(second), "unknown device secret")
            // A code that comes twice ends what it gave.
            let signedIn = try await f.signIn(["client_id": apps.first.client.id, "scope": Self.scope])
            let form = f.form(try signedIn.code, ["client_id": apps.first.client.id])
            let third = try #require(try await f.provider.grants.answer(header: nil, body: form).body)
            #expect(try await apps.exchange(third).status == 200)
            #expect(try await f.provider.grants.answer(header: nil, body: form).error == "invalid_grant")
            self.expectRefusal(try await apps.exchange(third), "unknown device secret")
        }
    }

    /// An ID token that this server signed for the same secret, of another session or person.
    @Test("session and person are those of the secret")
    func sessions() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            let claims = try f.claims(try given.requiredString("id_token"), type: "JWT").members
            for (name, value) in [
                ("sid", JSON.string("x")), ("sub", .string("x")), ("aud", .array([.string("a"), .string("b")])),
            ] {
                var edited = claims
                edited[name] = value
                let token = try f.provider.tokens.sign(edited, type: "JWT")
                #expect(try await apps.exchange(given, ["subject_token": token]).error == "invalid_grant", "\(name)")
            }
            #expect(
                try await apps.exchange(given, ["subject_token": f.provider.tokens.sign(claims, type: "JWT")]).status
                    == 200)
        }
    }

    @Test("an app outside the group, or without the grant, is refused")
    func groups() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            for outside in [Apps.settings("others", Apps.usual), Apps.settings(nil, Apps.usual)] {
                let app = try await f.register(outside)
                let answer = try await apps.exchange(given, by: app)
                #expect(answer.status == 400 && answer.error == "unauthorized_client")
                #expect(answer.refusal?.reason?.contains("--sso-group") == true)
            }
            let without = try await f.register(Apps.settings("bank-apps", ["authorization_code"]))
            #expect(try await apps.exchange(given, by: without).error == "unauthorized_client")
            let second = try #require(try await apps.exchange(given).body)
            // The first app leaves the group, or goes; the ID token of the second goes with its secret, too.
            _ = try await f.provider.clients.change(
                apps.first.client.id, ClientChange(tokens: TokenSettingsChange(group: "others")))
            let asked: [String: String?] = ["subject_token": try second.requiredString("id_token")]
            for changes in [[:], asked] {
                #expect(try await apps.exchange(given, changes).error == "unauthorized_client")
            }
            #expect(try await f.provider.clients.delete(apps.first.client.id))
            self.expectRefusal(try await apps.exchange(given), "unknown device secret")
        }
    }

    @Test(
        "the secret ends with its session, with its account, and when it is given up",
        arguments: ["sign-out", "absolute", "idle", "locked", "revoked"])
    func ends(how: String) async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            let second = try #require(try await apps.exchange(given).body)
            func revoke(_ client: RegisteredClient, hint: String?) async throws -> Int {
                var form: Parameters = [
                    "client_id": client.client.id, "token": try given.requiredString("device_secret"),
                ]
                if let hint { form.append("token_type_hint", hint) }
                return try await f.provider.revocation.answer(header: nil, body: form.encoded).status
            }
            switch how {
            case "sign-out": try await f.endSessions()
            case "absolute":
                for _ in 0..<24 {
                    #expect(try await apps.exchange(given).status == 200, "each use is one of the session's")
                    f.clock.advance(.seconds(30 * 60))
                }
            case "idle": f.clock.advance(.seconds(60 * 60))
            case "locked": f.people.lock("account-a")
            default:
                let stranger = try await f.register(Apps.settings("others", Apps.usual))
                #expect(try await revoke(stranger, hint: "device_secret") == 200)
                #expect(try await apps.exchange(given).status == 200, "another group's no is none")
                #expect(try await revoke(apps.second, hint: "device_secret") == 200)
                #expect(try await revoke(apps.second, hint: nil) == 200, "and again, as of what is unknown")
            }
            let answer = try await apps.exchange(given)
            #expect(answer.status == 400 && answer.error == "invalid_grant")
            if how == "sign-out" {
                let header = "Bearer \(try second.requiredString("access_token"))"
                #expect(
                    try await f.provider.userinfo.answer(header: header).status == 401, "and what it gave ends with it")
            }
        }
    }

    @Test("without a hint the secret is known all the same, and an ID token is of no kind that is given up")
    func revocation() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            func revoke(_ token: String, _ hint: String? = nil) async throws -> ProviderAnswer {
                var form: Parameters = ["client_id": apps.first.client.id, "token": token]
                if let hint { form.append("token_type_hint", hint) }
                return try await f.provider.revocation.answer(header: nil, body: form.encoded)
            }
            let idToken = try await revoke(try given.requiredString("id_token"))
            #expect(idToken.status == 400 && idToken.error == "unsupported_token_type")
            #expect(try await revoke(try given.requiredString("id_token") + "A").status == 200)
            #expect(try await revoke(try given.requiredString("access_token"), "device_secret").status == 200)
            #expect(try await apps.exchange(given).status == 200, "a wrong hint changes nothing else")
            #expect(try await revoke(try given.requiredString("device_secret"), "refresh_token").status == 200)
            self.expectRefusal(try await apps.exchange(given), "unknown device secret")
        }
    }

    @Test("the secret changes with a sign-in only: a refresh gives none, and a sign-in of the same session keeps it")
    func rotation() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let given = try await apps.signIn()
            let secret = try given.requiredString("device_secret")
            let refresh: Parameters = [
                "grant_type": "refresh_token", "client_id": apps.first.client.id, "device_secret": secret,
                "refresh_token": try given.requiredString("refresh_token"),
            ]
            let renewed = try #require(try await f.provider.grants.answer(header: nil, body: refresh.encoded).body)
            #expect(renewed["device_secret"] == nil && renewed["id_token"] != nil)
            // A sign-in begins another session: what is shown of before is none of it, and what is invented neither.
            for shown in [secret, "invented"] {
                let next = try await apps.signIn(showing: shown)
                let other = try next.requiredString("device_secret")
                #expect(other != shown && other != secret)
                let claims = try f.claims(try next.requiredString("id_token"), type: "JWT").members
                #expect(claims["ds_hash"] == Self.hash(other))
                #expect(try await apps.exchange(next).status == 200)
            }
            #expect(try await apps.exchange(given).status == 200, "the other session goes on")
        }
    }

    @Test(
        "in the same session the app keeps the secret that it shows, and gets another in its place where it shows none")
    func sameSession() async throws {
        try await ProviderFixture.run { f in
            let app = try await f.register(
                ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: Apps.usual, tokens: TokenSettings(group: "bank-apps")))
            let apps = try await Apps(f)
            let asked: [String: String?] = ["client_id": app.client.id, "scope": Self.scope]
            let signedIn = try await f.signIn(asked)
            func tokens(_ code: String, _ shown: String?) async throws -> JSONObject {
                try #require(
                    try await f.provider.grants.answer(
                        header: f.basic(app), body: f.form(code, ["device_secret": shown])
                    ).body)
            }
            func next() async throws -> String {
                let answer = try await f.provider.authorizations.authorize(
                    f.query(asked), browser: f.browser, session: signedIn.session, source: "a", address: nil)
                guard case .client(.redirect(let address)) = answer else {
                    throw OAuthError(.serverError, detail: "\(answer)")
                }
                return try #require(try ProviderFixture.parameter("code", of: address))
            }
            let first = try await tokens(try signedIn.code, nil)
            let secret = try first.requiredString("device_secret")
            let kept = try await tokens(try await next(), secret)
            #expect(kept["device_secret"] == .string(secret))
            #expect(
                try f.claims(try kept.requiredString("id_token"), type: "JWT").members["ds_hash"] == Self.hash(secret))
            let replaced = try await tokens(try await next(), nil)
            #expect(replaced["device_secret"] != .string(secret))
            self.expectRefusal(try await apps.exchange(first), "unknown device secret")
            #expect(try await apps.exchange(replaced).status == 200)
            // With a key it keeps no secret that was given without one, and keeps one that was given with one.
            let key = try KeyHolder()
            func bound(_ shown: JSONObject) async throws -> JSONObject {
                let form = f.form(try await next(), ["device_secret": try shown.requiredString("device_secret")])
                let answer = try await f.provider.grants.answer(
                    header: f.basic(app), body: form, proofs: [key.proof(f)])
                return try #require(answer.body)
            }
            let adopted = try await bound(replaced)
            #expect(adopted["device_secret"] != replaced["device_secret"])
            #expect(try await apps.exchange(adopted).error == "invalid_dpop_proof")
            #expect(try await apps.exchange(adopted, proofs: [key.proof(f)]).status == 200)
            #expect(try await bound(adopted)["device_secret"] == adopted["device_secret"])
            // Whatever ends a sign-in that has shown the secret ends the secret, and what another app got by it.
            let latest = try await tokens(try await next(), nil)
            let shared = try await tokens(try await next(), try latest.requiredString("device_secret"))
            let got = try #require(try await apps.exchange(shared).body).requiredString("access_token")
            let revoked: Parameters = ["token": try shared.requiredString("refresh_token")]
            #expect(try await f.provider.revocation.answer(header: f.basic(app), body: revoked.encoded).status == 200)
            self.expectRefusal(try await apps.exchange(latest), "unknown device secret")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(got)").status == 401)
        }
    }

    @Test("where the first app has shown a key, the second has to show one, too")
    func boundSubject() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let signedIn = try await f.signIn(["client_id": apps.first.client.id, "scope": Self.scope])
            let given = try #require(
                try await f.provider.grants.answer(
                    header: nil, body: f.form(try signedIn.code, ["client_id": apps.first.client.id]),
                    proofs: [KeyHolder().proof(f)]
                ).body)
            let refused = try await apps.exchange(given)
            #expect(refused.status == 400 && refused.error == "invalid_dpop_proof")
            let body = try await apps.exchange(given, proofs: [KeyHolder().proof(f)]).body
            #expect(body?["token_type"] == .string("DPoP"))
        }
    }

    @Test("the second app's tokens are bound to the key that it shows")
    func bound() async throws {
        try await ProviderFixture.run { f in
            let apps = try await Apps(f)
            let key = try KeyHolder()
            let given = try await apps.signIn()
            let body = try #require(
                try await apps.exchange(given, ["scope": "openid offline_access"], proofs: [key.proof(f)]).body)
            #expect(body["token_type"] == .string("DPoP"))
            let refresh: Parameters = [
                "grant_type": "refresh_token", "client_id": apps.second.client.id,
                "refresh_token": try body.requiredString("refresh_token"),
            ]
            #expect(try await f.provider.grants.answer(header: nil, body: refresh.encoded).error == "invalid_grant")
            let renewed = try await f.provider.grants.answer(header: nil, body: refresh.encoded, proofs: [key.proof(f)])
            #expect(renewed.status == 200)
        }
    }
}
