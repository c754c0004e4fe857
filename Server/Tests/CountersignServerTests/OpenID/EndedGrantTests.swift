import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

/// What ends a client's grant, at either face.
enum GrantEnd: String, CaseIterable, Sendable {
    case operatorEndsGrant, operatorEndsService, operatorEndsGrants, operatorEndsSession, operatorEndsSessions
    case phoneEndsGrant, phoneEndsService, phoneEndsGrants, phoneEndsSession
    case accountLocked, accountDeleted, clientRemoved, otherFace, newerGrant
    case codeTwice, formerRefreshToken, revoked, wrongFace
    // At the app sign-in service alone.
    case revokedWithDeviceSecret, signedOut, allRevoked, passwordRemoved
    // At OpenID Connect alone.
    case deviceRemoved

    static let ofSignInService = allCases.filter { $0 != .deviceRemoved }
    static let ofOpenID = allCases.filter {
        ![.revokedWithDeviceSecret, .signedOut, .allRevoked, .passwordRemoved].contains($0)
    }
}

/// A client's grant, as its person, an operator and the clients know it.
private struct EndingGrant {
    let place: AppSignIn
    let username: String
    let client: String

    private var server: ServerFixture { self.place.server }

    private var account: AccountRecord {
        get async throws {
            try #require(
                try await self.server.database.accounts(after: nil, limit: 9).first {
                    $0.username?.text == self.username
                })
        }
    }

    /// Has somebody end it who is no client. Says whether that was it.
    func end(by end: GrantEnd) async throws -> Bool {
        let account = try await self.account
        let (database, directory) = (self.server.database, self.server.assembly.directory)
        switch end {
        case .operatorEndsGrant, .operatorEndsService, .operatorEndsGrants, .operatorEndsSession, .operatorEndsSessions:
            let path = "/admin/v1/accounts/\(self.username)/\(try await self.path(end, account))"
            let status = try await self.server.withSocketClient { try await $0.send(.delete, path).response.status }
            #expect(status.kind == .successful)
        case .phoneEndsGrant, .phoneEndsService, .phoneEndsGrants, .phoneEndsSession:
            let phone = try await self.server.deviceAuthorization(of: account)
            let answer = try await self.place.client.send(
                .delete, "/account/v1/\(try await self.path(end, account))", headers: [.authorization: phone])
            #expect(answer.response.status == .noContent)
        case .accountLocked:
            _ = try await directory.setLocked(true, username: AccountName(stored: self.username), by: "test")
        case .accountDeleted: try await directory.delete(username: AccountName(stored: self.username), by: "test")
        case .deviceRemoved:
            for device in try await directory.devices(username: AccountName(stored: self.username)) {
                try await directory.deleteDevice(id: device.id, by: "test")
            }
        case .passwordRemoved:
            try await PasswordDirectory(self.server.assembly.passwords).remove(username: self.username, by: "test")
        case .clientRemoved: #expect(try await self.server.assembly.provider.clients.delete(self.client, by: "test"))
        case .otherFace:
            _ = try await database.changeClient(self.client) { client in
                client.settings.signInService =
                    client.settings.signInService == nil ? SignInServiceSettings(audience: "other") : nil
                return []
            }
        default: return false
        }
        return true
    }

    /// Where an end of the grant, or of what it is among, is asked for.
    private func path(_ end: GrantEnd, _ account: AccountRecord) async throws -> String {
        let grants = try await self.server.database.lastingGrants(
            account: account.id, at: self.server.clock.now(), limit: 9)
        let sessions = try await self.server.assembly.provider.sessions.running(ofAccount: account.id)
        switch end {
        case .operatorEndsGrant, .phoneEndsGrant:
            let own = grants.filter { $0.kind == .grant && $0.client == self.client }
            #expect(own.count == 1)
            return "grants/\(try #require(own.first).id)"
        case .operatorEndsService, .phoneEndsService: return "grants?client=\(self.client)"
        case .operatorEndsGrants, .phoneEndsGrants: return "grants"
        case .operatorEndsSessions: return "sessions"
        default:
            #expect(sessions.count == 1)
            return "sessions/\(try #require(sessions.first).id)"
        }
    }
}

@Suite("Whatever ends what a client has ends everything that came of it (decisions 34, 41 and 52)")
struct EndedGrantTests {
    private static var oneGrant: Limits {
        var limits = Limits()
        limits.oauth.lastingGrantsPerClient = 1
        return limits
    }

    // MARK: The app sign-in service

    /// Whose session it is that is passed on.
    enum Root: String, CaseIterable, Sendable { case app, site }

    /// A session of the service, with what came of it.
    private struct Passed {
        let place: AppSignIn
        let root: Root
        let code: String
        let access: String
        let refresh: String
        let deviceSecret: String?
        /// The access token of the session that came of it.
        let passedOn: String
        /// The refresh token of that session; what comes of a web site's session has none.
        let passedOnRefresh: String?

        var client: String { self.root == .app ? AppSignIn.app : AppSignIn.web }

        init(_ root: Root, _ place: AppSignIn) async throws {
            (self.place, self.root) = (place, root)
            switch root {
            case .app:
                self.code = try await place.code(AppSignIn.app)
                let tokens = try AppTokens(try await place.redeem(self.code))
                (self.access, self.refresh, self.deviceSecret) = (tokens.access, tokens.refresh, tokens.deviceSecret)
                let view = try await place.webView(tokens)
                self.passedOn = try #require(view["vagov_access_token"])
                self.passedOnRefresh = view["vagov_refresh_token"]
                #expect(self.passedOnRefresh != nil)
            case .site:
                self.code = try await place.code(AppSignIn.web)
                let cookies = try await place.redeem(self.code).signInCookies
                self.access = try #require(cookies["vagov_access_token"])
                self.refresh = try #require(cookies["vagov_refresh_token"])
                let asked = AppSignIn.encoded([
                    "client_id": AppSignIn.app, "code_challenge": place.challenge, "code_challenge_method": "S256",
                ])
                let sent = try await place.get("authorize_sso?\(asked)", cookies: cookies)
                let answer = try await place.redeem(try #require(sent.redirectParameters["code"]))
                self.passedOn = try answer.json.requiredObject("data").requiredString("access_token")
                (self.deviceSecret, self.passedOnRefresh) = (nil, nil)
            }
        }

        /// What is worth something: the session's token, that of the session that came of it, and what opens further ones.
        func alive() async throws -> [String] {
            var alive: [String] = []
            if try await self.place.introspect(self.access) == 200 { alive.append("own") }
            if try await self.place.introspect(self.passedOn) == 200 { alive.append("passed on") }
            if let token = self.passedOnRefresh, try await self.place.refresh(token).status == .ok {
                alive.append("passed on, renewed")
            }
            if let secret = self.deviceSecret {
                let exchange = [
                    "grant_type": AppSignIn.exchangeGrant, "subject_token": self.access,
                    "subject_token_type": AppSignIn.accessTokenKind, "actor_token": secret,
                    "actor_token_type": AppSignIn.actorKind, "client_id": AppSignIn.web,
                ]
                if try await self.place.post("token", exchange).status == .ok { alive.append("device secret") }
            }
            return alive
        }

        /// Has its own client end it.
        func end(by end: GrantEnd) async throws {
            switch end {
            case .newerGrant: _ = try await self.place.redeem(self.place.code(self.client))
            case .codeTwice: #expect(try await self.place.redeem(self.code).status == .badRequest)
            case .formerRefreshToken:
                var token = self.refresh
                for _ in 0..<2 {
                    let answer = try await self.place.refresh(token)
                    token =
                        try self.root == .app
                        ? AppTokens(answer).refresh : #require(answer.signInCookies["vagov_refresh_token"])
                }
                self.place.server.clock.advance(by: Limits.Fixed.lateRefreshTime)
                #expect(try await self.place.refresh(self.refresh).status == .unauthorized)
            case .revoked:
                #expect(try await self.place.post("revoke", ["refresh_token": self.refresh]).status == .ok)
            case .revokedWithDeviceSecret:
                let form = ["refresh_token": self.refresh, "device_secret": self.deviceSecret]
                #expect(try await self.place.post("revoke", form).status == .ok)
            case .wrongFace:
                let answer = try await self.place.client.execute(
                    uri: "/oauth2/token", method: .post,
                    headers: [.contentType: "application/x-www-form-urlencoded"],
                    body: ByteBuffer(
                        string: AppSignIn.encoded([
                            "grant_type": "refresh_token", "refresh_token": self.refresh, "client_id": self.client,
                        ])))
                #expect(answer.status == .badRequest)
            case .signedOut, .allRevoked:
                let path = end == .signedOut ? "logout?client_id=\(self.client)" : "revoke_all_sessions"
                let answer = try await self.place.get(
                    path, headers: [.authorization: "Bearer \(self.access)"])
                #expect([.ok, .found].contains(answer.status))
            default: Issue.record("\(end) is no client's")
            }
        }
    }

    @Test(
        "a session of the app sign-in service, with the sessions that it was passed on to",
        arguments: Root.allCases, GrantEnd.ofSignInService)
    func signInService(root: Root, end: GrantEnd) async throws {
        var web = AppSignIn.webSettings
        web.usesAntiCSRF = false
        try await AppSignIn.run(web: web, limits: end == .newerGrant ? Self.oneGrant : Limits()) { place async throws in
            let passed = try await Passed(root, place)
            let grant = EndingGrant(place: place, username: "alice", client: passed.client)
            if try await !grant.end(by: end) { try await passed.end(by: end) }
            #expect(try await passed.alive() == [], "\(root), \(end)")
        }
    }

    @Test("what nobody has ended is worth something", arguments: Root.allCases)
    func signInServiceAlive(root: Root) async throws {
        try await AppSignIn.run { place async throws in
            let alive = try await Passed(root, place).alive()
            #expect(alive.starts(with: ["own", "passed on"]))
            #expect(alive.contains("device secret") == (root == .app))
        }
    }

    // MARK: OpenID Connect

    /// What an app of OpenID Connect has, and what came of it.
    private struct Shared {
        static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
        static let kind = "urn:ietf:params:oauth:token-type:"
        static let address = "http://127.0.0.1:8081/callback"

        let place: AppSignIn
        let browser: TestBrowser
        let phone: VirtualPhone
        let first: String
        let second: String
        let owners: [String: RegisteredClient]
        let code: String
        let given: JSONObject
        let next: JSONObject?
        let exchanged: String
        let other: JSONObject

        var refresh: String { get throws { try self.given.requiredString("refresh_token") } }

        init(_ place: AppSignIn, lasting: Bool = true) async throws {
            self.place = place
            let provider = place.server.assembly.provider
            self.phone = try await place.server.enrolledPhone(place.client, username: "carol")
            self.browser = TestBrowser(place.client)
            func app(_ name: String) async throws -> String {
                try await provider.clients.register(
                    name: name, redirectURIs: [Self.address],
                    settings: ClientSettings(
                        idTokenAlgorithm: .es256,
                        grantTypes: ["authorization_code", "refresh_token", Self.exchange],
                        authenticationMethod: "none",
                        tokens: TokenSettings(scopes: ["read"], audiences: ["urn:jwt", "urn:opaque"], group: "apps"))
                ).client.id
            }
            self.first = try await app("First")
            self.second = try await app("Second")
            var owners: [String: RegisteredClient] = [:]
            for (name, format) in [("jwt", TokenSettings.Format.jwt), ("opaque", .opaque), ("ledger", .jwt)] {
                var tokens = TokenSettings(scopes: ["read"], resources: ["urn:\(name)"], format: format)
                if name == "jwt" { (tokens.audiences, tokens.subjects) = (["urn:ledger"], [self.first]) }
                owners[name] = try await provider.clients.register(
                    name: name, redirectURIs: [],
                    settings: ClientSettings(
                        idTokenAlgorithm: .es256, grantTypes: [Self.exchange, "client_credentials"], tokens: tokens))
            }
            self.owners = owners
            self.code = try await Self.code(place, self.browser, self.phone, client: self.first, lasting: lasting)
            let asked: [String: String?] = [
                "grant_type": "authorization_code", "client_id": self.first, "code": self.code,
                "code_verifier": place.verifier, "redirect_uri": Self.address,
            ]
            self.given = try await Self.token(place, asked.merging(["resource": "urn:jwt"]) { $1 }).object
            if lasting {
                self.next = try await Self.token(
                    place,
                    [
                        "grant_type": "refresh_token", "client_id": self.first, "resource": "urn:opaque",
                        "refresh_token": self.given.requiredString("refresh_token"),
                    ]
                ).object
            } else {
                self.next = nil
            }
            self.exchanged = try await Self.token(
                place,
                [
                    "grant_type": Self.exchange, "subject_token": self.given.requiredString("access_token"),
                    "subject_token_type": Self.kind + "access_token", "audience": "urn:ledger",
                ], by: owners["jwt"]
            ).object.requiredString("access_token")
            self.other = try await Self.token(place, Self.bySecret(self.given, to: self.second, lasting: lasting))
                .object
        }

        private static func code(
            _ place: AppSignIn, _ browser: TestBrowser, _ phone: VirtualPhone, client: String, lasting: Bool
        ) async throws -> String {
            let scope = lasting ? "openid offline_access device_sso read" : "openid device_sso read"
            let query = AppSignIn.encoded([
                "response_type": "code", "client_id": client, "scope": scope, "state": "s", "nonce": "n",
                "redirect_uri": Self.address, "code_challenge": place.challenge, "code_challenge_method": "S256",
            ])
            let begun = try await browser.get(
                "/oauth2/authorize?\(query)&resource=urn%3Ajwt&resource=urn%3Aopaque")
            let request = try #require(begun.redirectParameters["request"], "\(begun.status) \(begun.text)")
            let page = try await browser.get(try #require(begun.headers[.location]))
            _ = try await phone.authenticate(try place.server.typedPayload(page))
            return try #require(
                try await browser.get("/sign-in/complete?request=\(request)").redirectParameters["code"])
        }

        static func bySecret(_ given: JSONObject, to client: String, lasting: Bool) throws -> [String: String?] {
            [
                "grant_type": Self.exchange, "client_id": client, "subject_token": try given.requiredString("id_token"),
                "subject_token_type": Self.kind + "id_token",
                "actor_token": try given.requiredString("device_secret"),
                "actor_token_type": "urn:openid:params:token-type:device-secret", "audience": "http://localhost:8080",
                "scope": lasting ? "openid offline_access" : "openid",
            ]
        }

        static func token(
            _ place: AppSignIn, _ values: [String: String?], by client: RegisteredClient? = nil,
            at path: String = "token"
        ) async throws -> (response: TestResponse, object: JSONObject) {
            var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            headers[.authorization] = client.map {
                RelyingParty(id: $0.client.id, secret: $0.secret ?? "").authorization
            }
            let answer = try await place.client.execute(
                uri: "/oauth2/\(path)", method: .post, headers: headers,
                body: ByteBuffer(string: AppSignIn.encoded(values)))
            return (answer, (try? answer.json) ?? [:])
        }

        private func isActive(_ token: String, for owner: String) async throws -> Bool {
            try await Self.token(
                self.place, ["token": token], by: self.owners[owner], at: "introspect"
            ).object["active"] == .bool(true)
        }

        /// What is worth something.
        func alive() async throws -> [String] {
            var alive: [String] = []
            if try await self.isActive(self.given.requiredString("access_token"), for: "jwt") { alive.append("JWT") }
            if let next, try await self.isActive(next.requiredString("access_token"), for: "opaque") {
                alive.append("opaque")
            }
            if try await self.isActive(self.exchanged, for: "ledger") { alive.append("exchanged") }
            let userinfo = try await self.place.client.userinfo(self.other.requiredString("access_token"))
            if userinfo.response.status == .ok { alive.append("other app") }
            if let refresh = try self.other.string("refresh_token") {
                let answer = try await Self.token(
                    self.place,
                    ["grant_type": "refresh_token", "client_id": self.second, "refresh_token": refresh])
                if answer.response.status == .ok { alive.append("other app, renewed") }
            }
            let bySecret = try Self.bySecret(self.given, to: self.second, lasting: self.next != nil)
            if try await Self.token(self.place, bySecret).response.status == .ok { alive.append("device secret") }
            return alive
        }

        /// Has its own client end it.
        func end(by end: GrantEnd) async throws {
            let renew: [String: String?] = ["grant_type": "refresh_token", "client_id": self.first]
            switch end {
            case .newerGrant:
                let browser = TestBrowser(self.place.client)
                let code = try await Self.code(self.place, browser, self.phone, client: self.first, lasting: true)
                let answer = try await Self.token(
                    self.place,
                    [
                        "grant_type": "authorization_code", "client_id": self.first, "code": code,
                        "code_verifier": self.place.verifier, "redirect_uri": Self.address, "resource": "urn:jwt",
                    ])
                #expect(answer.response.status == .ok)
            case .codeTwice:
                let answer = try await Self.token(
                    self.place,
                    [
                        "grant_type": "authorization_code", "client_id": self.first, "code": self.code,
                        "code_verifier": self.place.verifier, "redirect_uri": Self.address, "resource": "urn:jwt",
                    ])
                #expect(answer.response.status == .badRequest)
            case .formerRefreshToken:
                let newer = try #require(self.next).requiredString("refresh_token")
                let form = ["refresh_token": newer, "resource": "urn:jwt"]
                #expect(try await Self.token(self.place, renew.merging(form) { $1 }).response.status == .ok)
                self.place.server.clock.advance(by: Limits.Fixed.lateRefreshTime)
                let former = try ["refresh_token": self.refresh, "resource": "urn:jwt"]
                #expect(try await Self.token(self.place, renew.merging(former) { $1 }).response.status == .badRequest)
            case .revoked:
                let form = try ["client_id": self.first, "token": self.refresh]
                #expect(try await Self.token(self.place, form, at: "revoke").response.status == .ok)
            case .wrongFace:
                #expect(try await self.place.refresh(self.refresh).status == .unauthorized)
            default: Issue.record("\(end) is no client's")
            }
        }
    }

    @Test(
        "a grant of OpenID Connect, with tokens of each kind, exchanged ones, the device secret, and what another app got by it",
        arguments: GrantEnd.ofOpenID)
    func openID(end: GrantEnd) async throws {
        try await AppSignIn.run(limits: end == .newerGrant ? Self.oneGrant : Limits()) { place async throws in
            let shared = try await Shared(place)
            let grant = EndingGrant(place: place, username: "carol", client: shared.first)
            if try await !grant.end(by: end) { try await shared.end(by: end) }
            #expect(try await shared.alive() == [], "\(end)")
        }
    }

    @Test("a browser that signs out ends what does not last, and the device secret")
    func signOut() async throws {
        for isLasting in [true, false] {
            try await AppSignIn.run { place async throws in
                let shared = try await Shared(place, lasting: isLasting)
                let hint = try shared.given.requiredString("id_token")
                #expect(try await shared.browser.get("/oauth2/logout?id_token_hint=\(hint)").status == .ok)
                let lasting = ["JWT", "opaque", "exchanged", "other app", "other app, renewed"]
                #expect(try await shared.alive() == (isLasting ? lasting : []))
                // What lasts ends with what it came of all the same, though the secret is gone that it came by.
                guard isLasting else { return }
                try await shared.end(by: .revoked)
                #expect(try await shared.alive() == [])
            }
        }
    }

    @Test("what nobody has ended is worth something, and an app's own end ends no other's")
    func openIDAlive() async throws {
        try await AppSignIn.run { place async throws in
            let shared = try await Shared(place)
            let all = ["JWT", "opaque", "exchanged", "other app", "other app, renewed", "device secret"]
            #expect(try await shared.alive() == all)
        }
        try await AppSignIn.run { place async throws in
            let shared = try await Shared(place)
            let form = try ["client_id": shared.second, "token": shared.other.requiredString("refresh_token")]
            #expect(try await Shared.token(place, form, at: "revoke").response.status == .ok)
            #expect(try await shared.alive() == ["JWT", "opaque", "exchanged", "device secret"])
        }
    }
}
