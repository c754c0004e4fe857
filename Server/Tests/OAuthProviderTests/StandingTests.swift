import AppSignIn
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

/// A phone on which the person has answered yes.
private struct AnsweredPhone: BackchannelMethod {
    let name = "phone"
    let outcome: AuthenticationOutcome

    func account(username: String) async throws -> String? { self.outcome.account }
    func ask(_ asked: AskedPerson) async throws -> AskingResult { .asked }
    func answer(request: String, client: String) async throws -> PersonsAnswer { .authenticated(self.outcome) }
}

@Suite("No path to a token goes around the judgement of its person (decision 102)")
struct StandingTests {
    /// A way to get tokens, or to use one.
    enum Path: CaseIterable {
        case code, refresh, deviceCode, backchannel, exchange, nativeSSO, introspection, userinfo
        case appCode, appRefresh, appSession, appIntrospection

        /// `true` if nothing new is given: other terms do not end a token that exists.
        var isUse: Bool { [.introspection, .userinfo, .appIntrospection].contains(self) }
    }

    /// A change since the person signed in, after which the person's clients get nothing.
    enum Reason: CaseIterable {
        case locked, roleGone, notAgreed, otherTerms, sessionEnded

        /// `true` if a path has to refuse for this reason.
        func counts(for path: Path) -> Bool {
            switch self {
            case .locked, .roleGone, .notAgreed: true
            case .otherTerms: !path.isUse
            // The session of a person who is asked on the phone begins with the tokens.
            case .sessionEnded: path != .backchannel
            }
        }
    }

    /// A prepared path: the client that gets or uses tokens, and the request, which is `true` if the request succeeds.
    private struct Prepared {
        let client: String
        let succeeds: (OpenIDProvider) async throws -> Bool
    }

    /// A provider whose person comes in a role.
    private struct Scene {
        static let access = "urn:ietf:params:oauth:token-type:access_token"
        let f: ProviderFixture
        let role: RoleAtService

        init(_ f: ProviderFixture) {
            self.f = f
            self.role = RoleAtService(service: f.bank.client.id, role: "patient")
        }

        /// A node over the same store, with a phone that has answered.
        func node(_ terms: Terms? = nil) async throws -> OpenIDProvider {
            var configuration = OpenIDProvider.Configuration(issuer: ProviderFixture.issuer)
            configuration.terms = terms
            let outcome = AuthenticationOutcome(
                account: "account-a", authenticatedAt: self.f.clock.source.now(), acr: "urn:x", amr: ["pin"],
                role: self.role)
            return try await OpenIDProvider.open(
                configuration, store: self.f.store, methods: [self.f.outcomes],
                backchannel: AnsweredPhone(outcome: outcome), people: self.f.people, time: self.f.clock.source)
        }

        func service(_ provider: OpenIDProvider) -> SignInService {
            let clock = self.f.clock.source
            return SignInService(
                provider, grants: AccountGrants(store: self.f.store, time: clock),
                upstream: UpstreamSignIns(provider.authorizations, store: self.f.store) { name, email in
                    AccountRecord(
                        id: RandomSource.system.identifier(), username: nil, displayName: name, email: email,
                        createdAt: clock.now())
                })
        }

        func prepare(_ path: Path) async throws -> Prepared {
            switch path {
            case .code, .refresh, .introspection, .userinfo: try await self.usual(path)
            case .deviceCode: try await self.deviceCode()
            case .backchannel: try await self.backchannel()
            case .exchange: try await self.exchange()
            case .nativeSSO: try await self.nativeSSO()
            case .appCode, .appRefresh, .appSession, .appIntrospection: try await self.app(path)
            }
        }

        private func code(
            of client: RegisteredClient, scope: String = "openid offline_access", _ changes: [String: String?] = [:]
        ) async throws -> String {
            var values: [String: String?] = ["client_id": client.client.id, "scope": scope]
            values.merge(changes) { $1 }
            return try await self.f.signIn(values, role: self.role).code
        }

        private func post(_ form: Parameters, _ client: RegisteredClient) -> (OpenIDProvider) async throws -> Bool {
            let header = client.secret == nil ? nil : self.f.basic(client)
            return { provider in try await provider.grants.answer(header: header, body: form.encoded).status == 200 }
        }

        private func usual(_ path: Path) async throws -> Prepared {
            let client = try await self.f.register(
                ClientSettings(idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"]))
            let (id, header, code) = (client.client.id, self.f.basic(client), try await self.code(of: client))
            if path == .code {
                let form = self.f.form(code)
                return Prepared(client: id) { try await $0.grants.answer(header: header, body: form).status == 200 }
            }
            let body = try #require(
                try await self.f.provider.grants.answer(header: header, body: self.f.form(code)).body)
            let access = try body.requiredString("access_token")
            switch path {
            case .introspection:
                let form: Parameters = ["token": access]
                return Prepared(client: id) {
                    try await $0.introspection.answer(header: header, body: form.encoded).body?["active"] == .bool(true)
                }
            case .userinfo:
                return Prepared(client: id) { try await $0.userinfo.answer(header: "Bearer \(access)").status == 200 }
            default:
                let form: Parameters = [
                    "grant_type": "refresh_token", "refresh_token": try body.requiredString("refresh_token"),
                ]
                return Prepared(client: id, succeeds: self.post(form, client))
            }
        }

        private func deviceCode() async throws -> Prepared {
            let grant = "urn:ietf:params:oauth:grant-type:device_code"
            let client = try await self.f.register(
                ClientSettings(idTokenAlgorithm: .es256, grantTypes: [grant]), at: ["https://tv.example/about"])
            let devices = DeviceAuthorizations(self.f.provider.authorizations)
            let asked: Parameters = ["scope": "openid"]
            let body = try #require(
                try await devices.authorize(header: self.f.basic(client), body: asked.encoded, source: "tv").body)
            let entered = try await devices.enter(
                try body.requiredString("user_code"), browser: self.f.browser, source: "a")
            guard case .signIn(let request, _) = entered else { throw OAuthError(.serverError, detail: "\(entered)") }
            self.f.authenticate(request, role: self.role)
            let decision = try await devices.confirm(request: request, browser: self.f.browser)
            guard case .confirmed = decision else { throw OAuthError(.serverError, detail: "\(decision)") }
            self.f.clock.advance(.seconds(5))
            let form: Parameters = ["grant_type": grant, "device_code": try body.requiredString("device_code")]
            return Prepared(client: client.client.id, succeeds: self.post(form, client))
        }

        private func backchannel() async throws -> Prepared {
            let grant = "urn:openid:params:grant-type:ciba"
            let client = try await self.f.register(ClientSettings(idTokenAlgorithm: .es256, grantTypes: [grant]))
            let asked: Parameters = ["scope": "openid", "login_hint": "alice", "binding_message": "Call 1"]
            let body = try #require(
                try await self.node().backchannelAuthentications.answer(
                    header: self.f.basic(client), body: asked.encoded
                ).body)
            self.f.clock.advance(.seconds(5))
            let form: Parameters = ["grant_type": grant, "auth_req_id": try body.requiredString("auth_req_id")]
            return Prepared(client: client.client.id, succeeds: self.post(form, client))
        }

        private func exchange() async throws -> Prepared {
            let chain = try await TokenExchangeTests.Chain(self.f)
            let code = try await self.code(of: chain.shop, scope: "openid read", ["resource": "urn:api"])
            let answer = try await self.f.provider.grants.answer(
                header: self.f.basic(chain.shop), body: self.f.form(code))
            let form: Parameters = [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "subject_token": try #require(answer.body).requiredString("access_token"),
                "subject_token_type": Self.access, "audience": "urn:ledger",
            ]
            return Prepared(client: chain.shop.client.id, succeeds: self.post(form, chain.api))
        }

        private func nativeSSO() async throws -> Prepared {
            let apps = try await NativeSSOTests.Apps(self.f)
            let code = try await self.code(of: apps.first, scope: "openid offline_access device_sso")
            let answer = try await self.f.provider.grants.answer(
                header: nil, body: self.f.form(code, ["client_id": apps.first.client.id]))
            let given = try #require(answer.body)
            let form: Parameters = [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": apps.second.client.id,
                "subject_token": try given.requiredString("id_token"),
                "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
                "actor_token": try given.requiredString("device_secret"),
                "actor_token_type": "urn:openid:params:token-type:device-secret", "audience": ProviderFixture.issuer,
            ]
            return Prepared(client: apps.second.client.id, succeeds: self.post(form, apps.second))
        }

        // MARK: The app sign-in service

        private func registerApp(
            _ answers: SignInServiceSettings.Answers, at address: String
        ) async throws -> RegisteredClient {
            var settings = ClientSettings(
                idTokenAlgorithm: .es256, grantTypes: ["authorization_code"], authenticationMethod: "none")
            settings.signInService = SignInServiceSettings(
                answers: answers, audience: "apps", sharesSessions: true, levels: [.init("loa1")])
            return try await self.f.register(settings, at: [address])
        }

        private func app(_ path: Path) async throws -> Prepared {
            let app = try await self.registerApp(.api, at: "https://app.example/signed-in")
            let web = try await self.registerApp(.cookie, at: "https://web.example/signed-in")
            let id = app.client.id
            let started = try await self.service(self.f.provider).authorizations.authorize(
                SignInServiceRequest(
                    parameters: [
                        "client_id": id, "type": "phone", "acr": "loa1", "scope": "device_sso",
                        "code_challenge": self.f.verifier.challenge.text, "code_challenge_method": "S256",
                    ], method: "GET", path: "/v0/sign_in/authorize", source: "a"), browser: self.f.browser)
            guard case .signIn(let request, _, _) = started else {
                throw OAuthError(.serverError, detail: "\(started)")
            }
            self.f.authenticate(request, role: self.role)
            let completed = try await self.f.provider.authorizations.complete(
                request: request, browser: self.f.browser, session: nil)
            guard case .signedIn(.redirect(let address), _, _) = completed else {
                throw OAuthError(.serverError, detail: "\(completed)")
            }
            let code = SignInServiceRequest(
                parameters: [
                    "grant_type": "authorization_code",
                    "code": try #require(try ProviderFixture.parameter("code", of: address)),
                    "code_verifier": self.f.verifier.text,
                ], method: "POST", path: "/v0/sign_in/token", source: "a")
            if path == .appCode {
                return Prepared(client: id) { try await self.service($0).tokens.answer(code).status == 200 }
            }
            let answer = try await self.service(self.f.provider).tokens.answer(code)
            let given = try #require(try answer.body?.object("data"))
            let access = try given.requiredString("access_token")
            switch path {
            case .appIntrospection:
                let shown = SignInServiceRequest(
                    authorization: "Bearer \(access)", method: "GET", path: "/v0/sign_in/introspect", source: "a")
                return Prepared(client: id) { try await self.service($0).introspection.answer(shown).status == 200 }
            case .appSession:
                let opened = SignInServiceRequest(
                    parameters: [
                        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": access,
                        "subject_token_type": Self.access,
                        "actor_token": try given.requiredString("device_secret"),
                        "actor_token_type": "urn:x-oath:params:oauth:token-type:device-secret",
                        "client_id": web.client.id,
                    ], method: "POST", path: "/v0/sign_in/token", source: "a")
                return Prepared(client: web.client.id) {
                    try await self.service($0).tokens.answer(opened).status == 200
                }
            default:
                let shown = SignInServiceRequest(
                    parameters: ["refresh_token": try given.requiredString("refresh_token")], method: "POST",
                    path: "/v0/sign_in/refresh", source: "a")
                return Prepared(client: id) { try await self.service($0).renewals.refresh(shown).status == 200 }
            }
        }

        /// Brings the reason about, and returns the node at which it counts.
        func bring(_ reason: Reason, to client: String) async throws -> OpenIDProvider {
            switch reason {
            case .locked: try self.f.lock("account-a")
            case .roleGone: self.f.people.close(client)
            case .notAgreed:
                _ = try await self.f.store.changeClient(client) { client in
                    client.settings.party = .third
                    return []
                }
            case .otherTerms:
                return try await self.node(Terms(version: "2027-02", address: "https://id.example/terms/2"))
            case .sessionEnded: _ = try await self.f.provider.sessions.endAll(ofAccount: "account-a")
            }
            return try await self.node()
        }
    }

    @Test("a path that nothing stands against gives what it is for", arguments: Path.allCases)
    func nothingAgainst(path: Path) async throws {
        try await ProviderFixture.run { f in
            let scene = Scene(f)
            let prepared = try await scene.prepare(path)
            #expect(try await prepared.succeeds(try await scene.node()))
        }
    }

    @Test("each path refuses for each reason", arguments: Path.allCases, Reason.allCases)
    func refuses(path: Path, reason: Reason) async throws {
        guard reason.counts(for: path) else { return }
        try await ProviderFixture.run { f in
            let scene = Scene(f)
            let prepared = try await scene.prepare(path)
            let node = try await scene.bring(reason, to: prepared.client)
            #expect(try await !prepared.succeeds(node))
        }
    }
}
