import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import _Primitives

/// What every step comes to, as a test wants it.
private final class ScriptedSteps: DirectSignIn {
    enum Coming: Sendable {
        case needs
        /// Somebody was authenticated, on that level.
        case done(account: String, acr: String)
        /// It says so, and nobody was.
        case doneByNobody
        case denied
        case web
        case fails(StoreError)
    }

    let outcomes: RecordedOutcomes
    let clock: MovedClock
    private let coming = Mutex(Coming.needs)
    private let shown = Mutex<[ShownProof?]>([])
    private let signIns = Mutex<[String]>([])

    init(_ f: ProviderFixture) {
        self.outcomes = f.outcomes
        self.clock = f.clock
    }

    func next(_ coming: Coming) { self.coming.withLock { $0 = coming } }

    /// What was shown so far.
    var proofs: [ShownProof?] { self.shown.withLock { $0 } }
    /// By what people were signed in so far.
    var signedIn: [String] { self.signIns.withLock { $0 } }

    func step(
        _ shown: ShownProof?, of request: DirectRequest, refuse: (ProviderRefusal) -> Void
    ) async throws -> DirectStep {
        self.shown.withLock { $0.append(shown) }
        switch self.coming.withLock({ $0 }) {
        case .needs: return .needs(["password"], [:])
        case .done(let account, let acr):
            self.outcomes.record(
                AuthenticationOutcome(
                    account: account, authenticatedAt: self.clock.source.now(), acr: acr, amr: ["pwd"]),
                request: request.id, browser: request.browser)
            return .done
        case .doneByNobody: return .done
        case .denied: return .denied
        case .web: return .web("a test wants it")
        case .fails(let error): throw error
        }
    }

    func signedIn(by method: String) { self.signIns.withLock { $0.append(method) } }
}

/// An app that signs its person in, at the bank's registration or at another one.
private struct App {
    static let endpoint = ProviderFixture.issuer + "/oauth2/challenge"

    let f: ProviderFixture
    let client: RegisteredClient
    let person: ScriptedSteps
    let challenges: Challenges

    init(_ f: ProviderFixture, _ settings: ClientSettings? = nil) async throws {
        self.f = f
        if let settings {
            self.client = try await f.provider.clients.register(
                name: "App", redirectURIs: [ProviderFixture.address], settings: settings)
        } else {
            self.client = f.bank
        }
        self.person = ScriptedSteps(f)
        self.challenges = Challenges(f.provider.authorizations, by: self.person)
        _ = try await f.provider.clients.change(
            self.client.client.id, ClientChange(profile: ClientProfileChange(signsInDirectly: true)))
    }

    static func run(_ body: (App) async throws -> Void) async throws {
        try await ProviderFixture.run(levels: [AssuranceWord("urn:two", levels: ["urn:two"])]) { f in
            try await body(App(f))
        }
    }

    static let password = ["username": "alice", "password": "secret"]

    /// What a first step has that is right but for `changes`; `nil` leaves a parameter out.
    func first(_ changes: [String: String?] = [:]) -> [String: String?] {
        let right: [String: String?] = [
            "scope": "openid", "nonce": "n-1", "code_challenge": self.f.verifier.challenge.text,
            "code_challenge_method": "S256",
        ]
        return right.merging(changes) { $1 }
    }

    func post(
        _ fields: [String: String?], proofs: [String] = [], assertion: ClientKey? = nil
    ) async throws -> ProviderAnswer {
        var form: Parameters = [:]
        for (name, value) in fields { if let value { form.append(name, value) } }
        if let assertion {
            form.append("client_assertion", try assertion.assertion(self.client.client.id, self.f))
            form.append("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        } else if self.client.secret == nil {
            form.append("client_id", self.client.client.id)
        }
        return try await self.challenges.answer(
            header: self.client.secret == nil ? nil : self.f.basic(self.client), body: form.encoded, proofs: proofs,
            place: AppPlace(source: "a"))
    }

    /// A sign-in that has begun: its `auth_session`.
    func begin(_ changes: [String: String?] = [:], proofs: [String] = []) async throws -> String {
        try Self.session(try await self.post(self.first(changes), proofs: proofs))
    }

    func goOn(_ session: String, _ fields: [String: String?] = Self.password, proofs: [String] = []) async throws
        -> ProviderAnswer
    {
        try await self.post(fields.merging(["auth_session": session]) { $1 }, proofs: proofs)
    }

    static func session(_ answer: ProviderAnswer) throws -> String {
        try #require(try answer.body?.requiredString("auth_session"))
    }

    /// The `auth_session` of a step that was not judged.
    func interrupted(_ body: () async throws -> ProviderAnswer) async throws -> String {
        do {
            let answer = try await body()
            throw OAuthError(.serverError, detail: "not interrupted: \(answer.error ?? "")")
        } catch let step as InterruptedStep {
            #expect((step.reason as? StoreError)?.code == .unavailable)
            return step.session
        }
    }
}

@Suite("OAuth 2.0 for First-Party Applications: the authorization challenge endpoint (decision 50)")
struct ChallengeTests {
    // MARK: Steps

    @Test("a step shows one thing, whole; any other form is invalid_request, asks nobody and spends nothing")
    func oneThing() async throws {
        let wrong: [[String: String?]] = [
            ["username": "alice"], ["password": "secret"], ["username": "alice", "otp": "1"],
            ["username": "alice", "password": "secret", "otp": "1"], ["otp": "1", "phone": "start"],
            ["username": "alice", "password": "secret", "phone": "wait"], ["phone": "Start"], ["phone": "stop"],
            ["phone": "wait "], ["username": "alice", "password": ""],
        ]
        try await App.run { app async throws in
            for fields in wrong + [["otp": "1"], ["phone": "wait"]] {
                #expect(try await app.post(app.first(fields)).error == "invalid_request", "\(fields)")
            }
            #expect(app.person.proofs.isEmpty)
            let session = try await app.begin()
            for fields in wrong + [[:]] {
                let answer = try await app.goOn(session, fields)
                #expect(answer.error == "invalid_request" && answer.body?["auth_session"] == nil, "\(fields)")
            }
            #expect(app.person.proofs == [nil])
            var next = session
            for (fields, shown) in [
                (App.password, .password(username: "alice", password: "secret")), (["otp": "1"], .code("1")),
                (["phone": "start"], .phone), (["phone": "wait"], .phonesAnswer),
            ] as [([String: String], ShownProof)] {
                next = try App.session(try await app.goOn(next, fields))
                #expect(app.person.proofs.last == shown)
            }
            for (fields, shown) in [
                (App.password, .password(username: "alice", password: "secret")), (["phone": "start"], .phone),
            ] as [([String: String], ShownProof)] {
                _ = try await app.post(app.first(fields.mapValues { $0 }))
                #expect(app.person.proofs.last == shown)
            }
        }
    }

    @Test("a code is given once, for tokens of the person, and the method is told of it")
    func code() async throws {
        try await App.run { app async throws in
            let session = try await app.begin()
            app.person.next(.done(account: "account-a", acr: "urn:x"))
            let answer = try await app.goOn(session)
            #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
            #expect(answer.body?.members.map(\.name) == ["authorization_code"])
            #expect(app.person.signedIn == ["phone"])
            let code = try #require(try answer.body?.requiredString("authorization_code"))
            let tokens = try await app.f.token(code, ["redirect_uri": nil])
            let claims = try app.f.claims(
                #require(try tokens.body?.requiredString("id_token")), type: "JWT")
            #expect(claims.members["nonce"] == .string("n-1") && claims.members["amr"] == .array([.string("pwd")]))
            #expect(try await app.goOn(session).error == "invalid_session")
            #expect(try await app.f.token(code, ["redirect_uri": nil]).error == "invalid_grant")
        }
    }

    @Test("what ends a sign-in is told, and its auth_session and the next are worth nothing then")
    func ends() async throws {
        let ends: [(ScriptedSteps.Coming, String)] = [
            (.denied, "access_denied"), (.web, "redirect_to_web"), (.doneByNobody, "invalid_session"),
            (.done(account: "account-b", acr: "urn:x"), "access_denied"),
        ]
        try await App.run { app async throws in
            app.f.people.lock("account-b")
            for (coming, error) in ends {
                let session = try await app.begin()
                app.person.next(coming)
                let answer = try await app.goOn(session)
                #expect(answer.status == 400 && answer.error == error && answer.body?["auth_session"] == nil)
                #expect(try await app.f.store.request(String(session.split(separator: ".")[0])) == nil, "\(error)")
                app.person.next(.needs)
                #expect(try await app.goOn(session).error == "invalid_session")
            }
            #expect(app.person.signedIn.isEmpty)
        }
    }

    @Test(
        "less sure than the request asks, or somebody else than it expects, gets no code; in a browser there may be a way"
    )
    func refusals() async throws {
        try await App.run { app async throws in
            let hint = try await app.f.tokens(account: "account-a").id
            app.person.next(.done(account: "account-a", acr: "urn:one"))
            let lesser = try await app.post(app.first(["acr_values": "urn:two", "username": "a", "password": "b"]))
            #expect(lesser.error == "redirect_to_web")
            #expect(lesser.refusal?.reason?.contains("less sure") == true)
            app.person.next(.done(account: "account-b", acr: "urn:one"))
            let other = try await app.post(app.first(["id_token_hint": hint, "username": "a", "password": "b"]))
            #expect(other.error == "login_required")
            app.person.next(.done(account: "account-a", acr: "urn:two"))
            let right = try await app.post(
                app.first(["acr_values": "urn:two", "id_token_hint": hint, "username": "a", "password": "b"]))
            #expect(right.status == 200)
        }
    }

    @Test("what a page has to ask goes on in a browser, and nothing waits for it")
    func page() async throws {
        try await App.run { app async throws in
            for prompt in ["consent", "create"] {
                #expect(try await app.post(app.first(["prompt": prompt])).error == "redirect_to_web", "\(prompt)")
            }
            #expect(try await app.post(app.first(["prompt": "login select_account"])).body?["next"] != nil)
            #expect(try await app.post(app.first(["prompt": "none"])).error == "login_required")
            #expect(app.person.proofs.count == 1)
        }
    }

    // MARK: What passes

    @Test("a step that could not be judged says by what it goes on; the one that came is spent")
    func interrupted() async throws {
        try await App.run { app async throws in
            let unavailable = StoreError(.unavailable, "as the test wants it")
            app.person.next(.fails(unavailable))
            var session = try await app.interrupted { try await app.post(app.first(App.password.mapValues { $0 })) }
            for _ in 0..<2 {
                let before = session
                session = try await app.interrupted { try await app.goOn(before) }
                #expect(session != before)
                #expect(try await app.goOn(before).error == "invalid_session")
            }
            app.person.next(.done(account: "account-a", acr: "urn:x"))
            #expect(try await app.goOn(session).status == 200)
        }
    }

    @Test("asking what a phone has said is paced, by each sign-in; what comes too soon spends nothing and asks nobody")
    func pace() async throws {
        try await App.run { app async throws in
            let wait: [String: String?] = ["phone": "wait"]
            var session = try App.session(try await app.goOn(try await app.begin(), ["phone": "start"]))
            session = try App.session(try await app.goOn(session, wait))
            let asked = app.person.proofs.count
            for _ in 0..<3 {
                let answer = try await app.goOn(session, wait)
                #expect(answer.status == 400 && answer.error == "slow_down")
                #expect(answer.body?["interval"] == .integer(5))
                #expect(try App.session(answer) == session)
                #expect(answer.refusal?.code == "slow_down" && answer.refusal?.client == app.client.client.id)
            }
            #expect(app.person.proofs.count == asked)
            // Another one's pace is its own, and what is no such question has none.
            let other = try App.session(try await app.goOn(try await app.begin(), wait))
            _ = try App.session(try await app.goOn(other, ["otp": "1"]))
            app.f.clock.advance(.milliseconds(3999))
            #expect(try await app.goOn(session, wait).error == "slow_down")
            app.f.clock.advance(.milliseconds(1))
            #expect(try await app.goOn(session, wait).error == "insufficient_authorization")
        }
    }

    // MARK: The request

    @Test("a client that signs its requests is told what the authorization endpoint tells it, and signs them here, too")
    func signed() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            var settings = key.settings
            settings.profile.requiresSignedRequests = true
            let app = try await App(f, settings)
            let id = app.client.client.id
            let unsigned = try await app.post(app.first(), assertion: key)
            let page = try await f.provider.authorizations.authorize(
                f.query(client: app.client), browser: f.browser, session: nil, source: "a", address: nil)
            guard case .client(let told) = page else { throw OAuthError(.serverError, detail: "\(page)") }
            let same = try ProviderFixture.fields(of: told)
            #expect(unsigned.error == "invalid_request" && same["error"] == "invalid_request")
            #expect(try unsigned.body?.string("error_description") == same["error_description"])
            #expect(same["error_description"]?.contains("RFC 9101") == true)
            let now = f.clock.source.now().seconds
            func object(by signer: ClientKey) throws -> String {
                try JWS.sign(
                    JSON.object([
                        "iss": .string(id), "aud": .string(ProviderFixture.issuer), "exp": .integer(now + 60),
                        "nbf": .integer(now), "client_id": .string(id), "response_type": .string("code"),
                        "scope": .string("openid"), "nonce": .string("n-signed"), "password": .string("signed"),
                        "code_challenge": .string(f.verifier.challenge.text), "code_challenge_method": .string("S256"),
                    ]).serialized, type: "oauth-authz-req+jwt", with: signer.signing)
            }
            let wrong = try await app.post(["request": object(by: ClientKey(.es256))], assertion: key)
            #expect(wrong.error == "invalid_request_object" && app.person.proofs.isEmpty)
            // What stands beside it counts for nothing, but what is shown.
            app.person.next(.done(account: "account-a", acr: "urn:x"))
            let right = try await app.post(
                [
                    "request": object(by: key), "scope": "other", "nonce": "beside", "code_challenge": "x",
                    "username": "alice", "password": "shown",
                ], assertion: key)
            #expect(app.person.proofs == [.password(username: "alice", password: "shown")])
            let code = try #require(try right.body?.requiredString("authorization_code"))
            let tokens = try await f.token(
                code, assertion: key.assertion(id, f), ["redirect_uri": nil])
            let claims = try f.claims(#require(try tokens.body?.requiredString("id_token")), type: "JWT")
            #expect(claims.members["nonce"] == .string("n-signed"))
        }
    }

    @Test("a request that is named, or signed by a client without keys, is refused as at the authorization endpoint")
    func unsupported() async throws {
        try await App.run { app async throws in
            #expect(try await app.post(app.first(["request": "a.b.c"])).error == "request_not_supported")
            let named = try await app.post(app.first(["request_uri": "urn:ietf:params:oauth:request_uri:x"]))
            #expect(named.error == "request_uri_not_supported")
            #expect(app.person.proofs.isEmpty)
        }
    }

    @Test("a network has a budget of sign-ins that begin, and what is no request has none of it")
    func budget() async throws {
        var limits = Limits()
        limits.signInBurst = 1
        limits.signInsPerMinute = 6
        try await ProviderFixture.run(limits: limits) { f in
            let app = try await App(f)
            for _ in 0..<3 { #expect(try await app.post(app.first(["scope": "other"])).error == "invalid_scope") }
            _ = try await app.begin()
            let refused = try await app.post(app.first())
            #expect(refused.status == 429 && refused.error == "temporarily_unavailable")
            #expect(refused.header("Retry-After") == "10" && refused.shortage?.setting == "signInsPerMinute")
        }
    }

    // MARK: The key

    @Test("a key that is named is proved at each step, by a proof of its own; without it nothing goes on or is spent")
    func key() async throws {
        try await App.run { app async throws in
            let (key, other) = (try KeyHolder(), try KeyHolder())
            func proof(_ key: KeyHolder) async throws -> String {
                try await key.proof(app.f, ["htu": .string(App.endpoint)])
            }
            let named: [String: String?] = ["dpop_jkt": key.thumbprint]
            #expect(try await app.post(app.first(named)).error == "invalid_dpop_proof")
            #expect(try await app.post(app.first(named), proofs: [proof(other)]).error == "invalid_dpop_proof")
            let elsewhere = try await app.post(app.first(named), proofs: [key.proof(app.f)])
            #expect(elsewhere.error == "invalid_dpop_proof")
            #expect(app.person.proofs.isEmpty)
            let once = try await proof(key)
            let session = try await app.begin(named, proofs: [once])
            #expect(try await app.goOn(session, proofs: [once]).error == "invalid_dpop_proof")
            #expect(try await app.goOn(session, proofs: [proof(other)]).error == "invalid_dpop_proof")
            #expect(try await app.goOn(session).error == "invalid_dpop_proof")
            #expect(app.person.proofs == [nil])
            app.person.next(.done(account: "account-a", acr: "urn:x"))
            let done = try await app.goOn(session, proofs: [proof(key)])
            let code = try #require(try done.body?.requiredString("authorization_code"))
            let form = app.f.form(code, ["redirect_uri": nil])
            let tokens = try await app.f.provider.grants.answer(
                header: app.f.basic(), body: form, proofs: [key.proof(app.f)])
            let access = try #require(try tokens.body?.requiredString("access_token"))
            #expect(try app.f.claims(access, type: "at+jwt").members["cnf"] == key.confirmation)
        }
    }

    @Test("a code that was begun with a key is spent on whoever redeems it without")
    func codeOfAKey() async throws {
        try await App.run { app async throws in
            let key = try KeyHolder()
            app.person.next(.done(account: "account-a", acr: "urn:x"))
            let done = try await app.post(
                app.first(App.password.mapValues { $0 }),
                proofs: [key.proof(app.f, ["htu": .string(App.endpoint)])])
            let code = try #require(try done.body?.requiredString("authorization_code"))
            #expect(try await app.f.token(code, ["redirect_uri": nil]).error == "invalid_grant")
        }
    }

    // MARK: Clients

    @Test("apps without a secret sign people in, and neither goes on with the other's auth_session")
    func publicApps() async throws {
        try await ProviderFixture.run { f in
            let settings = ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "none")
            let (app, other) = (try await App(f, settings), try await App(f, settings))
            let session = try await app.begin()
            #expect(try await other.goOn(session).error == "invalid_session")
            app.person.next(.done(account: "account-a", acr: "urn:x"))
            let code = try #require(try await app.goOn(session).body?.requiredString("authorization_code"))
            for (client, expected) in [(other, 400), (app, 400)] {
                // It was the other's first, and is spent.
                let form = f.form(code, ["redirect_uri": nil, "client_id": client.client.client.id])
                #expect(try await f.provider.grants.answer(header: nil, body: form).status == expected)
            }
        }
    }

    @Test("a client that is switched off goes on nowhere, and a code of it counts for nothing")
    func disabled() async throws {
        try await App.run { app async throws in
            func turn(off isDisabled: Bool) async throws {
                var change = ClientChange()
                change.isDisabled = isDisabled
                _ = try await app.f.provider.clients.change(app.client.client.id, change)
            }
            let session = try await app.begin()
            app.person.next(.done(account: "account-a", acr: "urn:x"))
            try await turn(off: true)
            for answer in [try await app.post(app.first()), try await app.goOn(session)] {
                #expect(answer.status == 401 && answer.error == "invalid_client")
                #expect(answer.refusal?.reason?.contains("--no-disabled") == true)
            }
            try await turn(off: false)
            let code = try #require(try await app.goOn(session).body?.requiredString("authorization_code"))
            try await turn(off: true)
            #expect(try await app.f.token(code, ["redirect_uri": nil]).error == "invalid_client")
        }
    }

    @Test("only a first party's client with codes, and none of fapi2, is marked, and the trail tells of it")
    func marks() async throws {
        try await App.run { app async throws in
            let (f, id) = (app.f, app.client.client.id)
            let mark = ClientChange(profile: ClientProfileChange(signsInDirectly: true))
            let trail = try await f.store.auditEntries(after: 0, limit: 99).map(\.event)
            #expect(trail.last?.detail == "\(id) usual direct")
            let device = try await f.provider.clients.register(
                name: "Television", redirectURIs: [],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["urn:ietf:params:oauth:grant-type:device_code"]))
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(device.client.id, mark)
            }
            _ = try await f.provider.clients.change(
                id, ClientChange(profile: ClientProfileChange(signsInDirectly: false)))
            let answer = try await app.post(app.first())
            #expect(answer.status == 400 && answer.error == "unauthorized_client")
            #expect(answer.refusal?.reason?.contains("--direct-sign-in") == true)
        }
    }
}
