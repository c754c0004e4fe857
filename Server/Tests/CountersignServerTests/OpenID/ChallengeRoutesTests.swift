import Accounts
import Ceremony
import Countersign
import CountersignServer
import CountersignTestKit
import Crypto
import Endpoints
import Foundation
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Logging
import NIOCore
import OAuth
import OAuthProvider
import Passwords
import Records
import SQLStore
import Settings
import Testing
import _Primitives

/// An operator's own app that signs people in without a browser, at a server where alice has a password.
private struct App: Sendable {
    let place: PasswordPlace

    static func run(
        methods: [String] = ["password"], limits: Limits = Limits(), hashing: PasswordLimits = .cheap,
        _ body: @escaping @Sendable (App) async throws -> Void
    ) async throws {
        try await PasswordPlace.run(methods: methods, limits: limits, hashing: hashing) { place in
            let app = App(place: place)
            try await app.mark()
            try await body(app)
        }
    }

    func mark(_ isMarked: Bool = true) async throws {
        _ = try await self.place.server.assembly.provider.clients.change(
            self.place.party.id, ClientChange(profile: ClientProfileChange(signsInDirectly: isMarked)))
    }

    var challenge: String { self.place.party.challenge }

    /// What a first request has.
    var first: [String: String] {
        [
            "scope": "openid profile", "code_challenge": self.challenge, "code_challenge_method": "S256",
            "nonce": "n-1",
        ]
    }

    typealias Answer = (response: TestResponse, object: JSONObject)

    func post(_ fields: [String: String], proofs: [String] = [], as party: RelyingParty? = nil) async throws -> Answer {
        var headers: HTTPFields = [
            .contentType: "application/x-www-form-urlencoded",
            .authorization: (party ?? self.place.party).authorization,
        ]
        headers[values: .keyProof] = proofs
        let response = try await self.place.client.execute(
            uri: "/oauth2/challenge", method: .post, headers: headers,
            body: ByteBuffer(string: PasswordPlace.form(fields)))
        guard case .object(let object)? = try? JSON(parsing: Array(response.body.readableBytesView)) else {
            return (response, [:])
        }
        return (response, object)
    }

    /// A sign-in that has begun: its `auth_session`.
    func begin(_ more: [String: String] = [:]) async throws -> String {
        try await self.post(self.first.merging(more) { _, new in new }).object.requiredString("auth_session")
    }

    /// Shows alice's own password.
    func show(_ session: String) async throws -> Answer { try await self.show(PasswordPlace.password, session) }

    func show(_ password: String, as name: String = "alice", _ session: String) async throws -> Answer {
        try await self.post(["auth_session": session, "username": name, "password": password])
    }

    /// Redeems a code, without any address.
    func redeem(_ code: String, verifier: String? = nil, proofs: [String] = []) async throws -> Answer {
        var headers: HTTPFields = [
            .contentType: "application/x-www-form-urlencoded", .authorization: self.place.party.authorization,
        ]
        headers[values: .keyProof] = proofs
        let response = try await self.place.client.execute(
            uri: "/oauth2/token", method: .post, headers: headers,
            body: ByteBuffer(
                string: PasswordPlace.form([
                    "grant_type": "authorization_code", "code": code,
                    "code_verifier": verifier ?? self.place.party.verifier,
                ])))
        guard case .object(let object)? = try? JSON(parsing: Array(response.body.readableBytesView)) else {
            return (response, [:])
        }
        return (response, object)
    }

    static func claims(_ tokens: JSONObject) throws -> JSONObject {
        let token = try tokens.requiredString("id_token")
        let payload = try #require(Base64URL.decode(String(token.split(separator: ".")[1])))
        guard case .object(let claims) = try JSON(parsing: payload) else { return [:] }
        return claims
    }

    static func error(_ answer: Answer) -> String? { (try? answer.object.string("error")) ?? nil }
}

@Suite("OAuth 2.0 for First-Party Applications: an operator's own app signs people in (decision 50)")
struct ChallengeRoutesTests {
    @Test("a password, shown in a second step or in the first, gives a code, and that gives tokens, without an address")
    func password() async throws {
        try await App.run { app async throws in
            let begun = try await app.post(app.first)
            #expect(begun.response.status == .badRequest && App.error(begun) == "insufficient_authorization")
            #expect(begun.response.headers[.cacheControl] == "no-store")
            #expect(try begun.object.strings("next") == ["password"])
            let session = try begun.object.requiredString("auth_session")
            let done = try await app.show(session)
            #expect(done.response.status == .ok)
            let code = try done.object.requiredString("authorization_code")
            let tokens = try await app.redeem(code)
            #expect(tokens.response.status == .ok)
            let claims = try App.claims(tokens.object)
            #expect(try claims.strings("amr") == ["pwd"])
            #expect(try claims.string("nonce") == "n-1")
            // The session is the person's to see.
            let account = try await app.place.server.assembly.directory.account(username: "alice").id
            let listed = try await app.place.server.assembly.provider.sessions.running(ofAccount: account)
            #expect(listed.map { $0.services.map(\.origin) } == [["http://127.0.0.1:8081"]])
            let other = try await app.post(
                app.first.merging(["username": "alice", "password": PasswordPlace.password]) { _, new in new })
            #expect(try await app.redeem(other.object.requiredString("authorization_code")).response.status == .ok)
            #expect(App.error(try await app.redeem(code)) == "invalid_grant")
        }
    }

    @Test("a code of a browser needs its address all the same, and a code of none takes none")
    func addresses() async throws {
        try await App.run { app async throws in
            let request = try await app.place.begin()
            let response = try await app.place.show(PasswordPlace.password, request)
            let back = try await app.place.browser.get(try #require(response.headers[.location]))
            let code = try #require(back.redirectParameters["code"])
            #expect(App.error(try await app.redeem(code)) == "invalid_grant")
            let direct = try await app.show(try await app.begin()).object.requiredString("authorization_code")
            let exchange = try await app.place.party.exchange(direct, app.place.client)
            #expect(exchange.object["error"] == .string("invalid_grant"))
        }
    }

    @Test("where there is a second factor it is asked for, and counted", arguments: [true, false])
    func secondFactor(isTOTP: Bool) async throws {
        try await App.run { app async throws in
            let (totp, codes) = try await app.place.giveSecondFactor()
            let next = try await app.show(try await app.begin())
            #expect(App.error(next) == "insufficient_authorization" && next.object["authorization_code"] == nil)
            #expect(try next.object.strings("next") == ["otp"])
            let wrong = try await app.post([
                "auth_session": try next.object.requiredString("auth_session"), "otp": "000000",
            ])
            #expect(App.error(wrong) == "insufficient_authorization")
            #expect(try wrong.object.strings("next") == ["otp"])
            let code =
                isTOTP
                ? try #require(totp.code(at: app.place.server.clock.timeSource.now())) : codes[2].shownOnce
            let done = try await app.post([
                "auth_session": try wrong.object.requiredString("auth_session"), "otp": code,
            ])
            let tokens = try await app.redeem(done.object.requiredString("authorization_code"))
            #expect(try App.claims(tokens.object).strings("amr") == (isTOTP ? ["pwd", "otp", "mfa"] : ["pwd", "mfa"]))
            // The same once more counts for nothing.
            let again = try await app.show(try await app.begin())
            let refused = try await app.post([
                "auth_session": try again.object.requiredString("auth_session"), "otp": code,
            ])
            #expect(App.error(refused) == "insufficient_authorization")
        }
    }

    @Test("an unknown name, a wrong password, no password, a locked account and one that rests are told the same")
    func uniform() async throws {
        try await App.run { app async throws in
            for name in ["bob", "locked", "rests"] {
                _ = try await app.place.server.assembly.directory.create(username: name, displayName: nil, by: "test")
                guard name != "bob" else { continue }
                try await app.place.passwords.importHash(
                    try await PasswordPlace.hash(PasswordPlace.password), username: name, by: "test")
            }
            _ = try await app.place.server.assembly.directory.setLocked(true, username: "locked", by: "test")
            for _ in 0..<Limits().passwords.passwordAttempts {
                _ = try await app.show("wrong", as: "rests", try await app.begin())
            }
            var told: Set<String> = []
            for (name, password) in [
                ("nobody", PasswordPlace.password), ("alice", "wrong"), ("bob", PasswordPlace.password),
                ("locked", PasswordPlace.password), ("rests", PasswordPlace.password), ("a name", "x"),
            ] {
                let done = app.place.server.assembly.passwords.load.done
                let answer = try await app.show(password, as: name, try await app.begin())
                #expect(answer.response.status == .badRequest, "\(name)")
                var object = answer.object
                object["auth_session"] = nil
                told.insert(JSON.object(object).text)
                #expect(app.place.server.assembly.passwords.load.done == done + 1, "\(name)")
            }
            #expect(told.count == 1)
        }
    }

    @Test("attempts are the page's, and a network's: whoever rests there rests here, and past a budget it is 429")
    func attempts() async throws {
        var limits = Limits()
        limits.passwords.passwordBurst = 12
        limits.passwords.passwordsPerMinute = 6
        try await App.run(limits: limits) { app in
            let request = try await app.place.begin()
            for _ in 0..<5 { _ = try await app.place.show("wrong", request) }
            for _ in 0..<5 { _ = try await app.show("wrong", try await app.begin()) }
            #expect(App.error(try await app.show(try await app.begin())) == "insufficient_authorization")
            #expect(try await app.place.show(PasswordPlace.password, request).status == .forbidden)
            let begun = try await app.begin()
            let refused = try await app.show(begun)
            #expect(refused.response.status == .tooManyRequests)
            #expect(refused.response.headers[.retryAfter] == "10")
            #expect(App.error(refused) == "temporarily_unavailable")
            // The one that came is spent; it goes on with another.
            let next = try refused.object.requiredString("auth_session")
            app.place.server.clock.advance(by: .seconds(60))
            #expect(App.error(try await app.show(begun)) == "invalid_session")
            #expect(try await app.show(next).response.status == .ok)
        }
    }

    @Test("where too many passwords wait it is 503 with the auth_session by which it goes on, and nothing is counted")
    func busy() async throws {
        var hashing = PasswordLimits.cheap
        hashing.waitingHashes = 0
        try await App.run(hashing: hashing) { app in
            var session = try await app.begin()
            for _ in 0..<12 {
                let answer = try await app.show(session)
                #expect(answer.response.status == .serviceUnavailable)
                #expect(answer.response.headers[.retryAfter] == "10")
                #expect(App.error(answer) == "temporarily_unavailable")
                let next = try answer.object.requiredString("auth_session")
                #expect(next != session)
                session = next
            }
            #expect(try await !app.place.trail().contains("password-attempts-rest"))
        }
    }

    @Test("where the last step cannot be kept, the same is shown once more with the auth_session of the answer")
    func lastStep() async throws {
        try await App.run { app async throws in
            app.place.server.hooks.failNext(.completion, with: StoreError(.unavailable, "as the test wants it"))
            let failed = try await app.show(try await app.begin())
            #expect(failed.response.status == .serviceUnavailable && failed.response.headers[.retryAfter] == "5")
            let next = try failed.object.requiredString("auth_session")
            // Nobody is signed in by what is wrong, whatever was right before.
            let wrong = try await app.show("wrong", next)
            #expect(App.error(wrong) == "insufficient_authorization")
            let done = try await app.show(try wrong.object.requiredString("auth_session"))
            #expect(try await app.redeem(done.object.requiredString("authorization_code")).response.status == .ok)
        }
    }

    @Test("a step whose auth_session could not be taken is shown again with the same")
    func noStep() async throws {
        try await App.run { app async throws in
            let session = try await app.begin()
            app.place.server.hooks.failNext(.requestMove, with: StoreError(.unavailable, "as the test wants it"))
            let failed = try await app.show(session)
            #expect(failed.response.status == .serviceUnavailable)
            #expect(try failed.object.requiredString("auth_session") == session)
            #expect(try await app.show(session).response.status == .ok)
        }
    }

    @Test("an account that is locked at the very last, or is gone, gets no code")
    func lockedAtLast() async throws {
        try await App.run { app async throws in
            let session = try await app.begin()
            app.place.server.hooks.failNext(.completion, with: StoreError(.notFound, "as the test wants it"))
            let answer = try await app.show(session)
            #expect(answer.response.status == .badRequest && App.error(answer) == "access_denied")
            #expect(answer.object["auth_session"] == nil)
        }
    }

    @Test("a code is shown once more where the last step could not be kept, and counts")
    func lastCode() async throws {
        try await App.run { app async throws in
            let (totp, _) = try await app.place.giveSecondFactor()
            let asked = try await app.show(try await app.begin())
            app.place.server.hooks.failNext(.completion, with: StoreError(.unavailable, "as the test wants it"))
            let code = try #require(totp.code(at: app.place.server.clock.timeSource.now()))
            let failed = try await app.post([
                "auth_session": try asked.object.requiredString("auth_session"), "otp": code,
            ])
            #expect(failed.response.status == .serviceUnavailable)
            let done = try await app.post([
                "auth_session": try failed.object.requiredString("auth_session"), "otp": code,
            ])
            #expect(done.response.status == .ok)
        }
    }

    @Test("wrong codes rest as they do on the page, and a right password gives no more of them")
    func codesRest() async throws {
        try await App.run { app async throws in
            let (totp, _) = try await app.place.giveSecondFactor()
            func right(_ session: String) async throws -> App.Answer {
                try await app.post([
                    "auth_session": session,
                    "otp": try #require(totp.code(at: app.place.server.clock.timeSource.now())),
                ])
            }
            for _ in 0..<Limits().passwords.secondFactorAttempts {
                let asked = try await app.show(try await app.begin())
                let wrong = try await app.post([
                    "auth_session": try asked.object.requiredString("auth_session"), "otp": "000000",
                ])
                #expect(try wrong.object.strings("next") == ["otp"])
            }
            let asked = try await app.show(try await app.begin())
            let resting = try await right(asked.object.requiredString("auth_session"))
            #expect(App.error(resting) == "insufficient_authorization")
            app.place.server.clock.advance(by: .seconds(60))
            let done = try await right(resting.object.requiredString("auth_session"))
            #expect(done.response.status == .ok)
        }
    }

    @Test func aNetworkBeginsSoManyOnly() async throws {
        var limits = Limits()
        limits.signInBurst = 2
        limits.signInsPerMinute = 6
        try await App.run(limits: limits) { app in
            for _ in 0..<2 { _ = try await app.begin() }
            let refused = try await app.post(app.first)
            #expect(refused.response.status == .tooManyRequests)
            #expect(refused.object["auth_session"] == nil)
        }
    }

    // MARK: auth_session

    @Test("an auth_session is for one step, of two at once for one, and for a while")
    func once() async throws {
        try await App.run { app async throws in
            let session = try await app.begin()
            let next = try await app.show("wrong", session).object.requiredString("auth_session")
            #expect(next != session)
            #expect(App.error(try await app.show(session)) == "invalid_session")
            let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<16 {
                    group.addTask { App.error(try await app.show("wrong", next)) == "insufficient_authorization" }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(answers == 1)
            let late = try await app.begin()
            app.place.server.clock.advance(by: Limits().authorizationRequestLifetime)
            #expect(App.error(try await app.show(late)) == "invalid_session")
            for text in ["", ".", "x", "x.y", "\(late).z", String(late.dropLast()) + "A"] {
                let answer = try await app.post([
                    "auth_session": text.isEmpty ? "." : text, "username": "alice", "password": PasswordPlace.password,
                ])
                #expect(App.error(answer) == "invalid_session", "\(text)")
            }
            // What is done is done.
            let last = try await app.begin()
            #expect(try await app.show(last).response.status == .ok)
            #expect(App.error(try await app.show(last)) == "invalid_session")
        }
    }

    @Test("an auth_session is the client's that began, and of its code_challenge")
    func bound() async throws {
        try await App.run { app async throws in
            let other = try await app.place.server.relyingParty(signInMethods: ["password"])
            _ = try await app.place.server.assembly.provider.clients.change(
                other.id, ClientChange(profile: ClientProfileChange(signsInDirectly: true)))
            let session = try await app.begin()
            let fields = ["auth_session": session, "username": "alice", "password": PasswordPlace.password]
            #expect(App.error(try await app.post(fields, as: other)) == "invalid_session")
            let challenge = Base64URL.encode(Array(SHA256.hash(data: Array("another".utf8))))
            let changed = try await app.post(fields.merging(["code_challenge": challenge]) { _, new in new })
            #expect(App.error(changed) == "invalid_session")
            // Neither has spent it.
            let done = try await app.post(fields.merging(["code_challenge": app.challenge]) { _, new in new })
            let code = try done.object.requiredString("authorization_code")
            #expect(
                App.error(try await app.redeem(code, verifier: String(repeating: "v", count: 43))) == "invalid_grant")
        }
    }

    @Test("a sign-in that began with a key goes on with that key alone, and so does its code")
    func key() async throws {
        try await App.run { app async throws in
            let keys = try (0..<2).map { _ in
                try SigningKey(kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
            }
            var nonce: String?
            func proof(_ key: SigningKey, _ path: String = "/oauth2/challenge") throws -> String {
                try DPoPProof.make(
                    method: "POST", target: #require(TargetURI("http://localhost:8080\(path)")), accessToken: nil,
                    nonce: nonce, with: key, at: app.place.server.clock.timeSource.now(), random: .system)
            }
            let told = try await app.post(app.first, proofs: [try proof(keys[0])])
            #expect(App.error(told) == "use_dpop_nonce")
            nonce = told.response.headers[.keyProofNonce]
            let begun = try await app.post(app.first, proofs: [try proof(keys[0])])
            let session = try begun.object.requiredString("auth_session")
            let fields = ["auth_session": session, "username": "alice", "password": PasswordPlace.password]
            #expect(App.error(try await app.post(fields)) == "invalid_dpop_proof")
            #expect(App.error(try await app.post(fields, proofs: [try proof(keys[1])])) == "invalid_dpop_proof")
            let done = try await app.post(fields, proofs: [try proof(keys[0])])
            let code = try done.object.requiredString("authorization_code")
            let tokens = try await app.redeem(code, proofs: [try proof(keys[0], "/oauth2/token")])
            #expect(tokens.object["token_type"] == .string("DPoP"))
            // One that began without a key takes none later, nor does a code take another.
            let bare = ["auth_session": try await app.begin(), "username": "alice", "password": PasswordPlace.password]
            #expect(App.error(try await app.post(bare, proofs: [try proof(keys[0])])) == "invalid_dpop_proof")
            let again = try await app.post(app.first, proofs: [try proof(keys[0])]).object
            let second = try await app.post(
                [
                    "auth_session": try again.requiredString("auth_session"), "username": "alice",
                    "password": PasswordPlace.password,
                ], proofs: [try proof(keys[0])])
            let other = try await app.redeem(
                second.object.requiredString("authorization_code"), proofs: [try proof(keys[1], "/oauth2/token")])
            #expect(App.error(other) == "invalid_grant")
        }
    }

    @Test("no browser goes on where an app has begun")
    func noBrowser() async throws {
        try await App.run { app async throws in
            let parts = try await app.begin().split(separator: ".").map(String.init)
            for cookie in [parts[1], parts[0]] {
                let answer = try await app.place.client.execute(
                    uri: "/sign-in/password?request=\(parts[0])", method: .get,
                    headers: [.cookie: "countersign_browser=\(cookie)"])
                #expect(answer.status == .notFound)
            }
        }
    }

    // MARK: What is refused

    @Test("a request needs PKCE, openid, and what else a request needs; nobody is signed in unasked")
    func requests() async throws {
        try await App.run { app async throws in
            for (changes, code) in [
                (["code_challenge": ""], "invalid_request"), (["code_challenge_method": "plain"], "invalid_request"),
                (["code_challenge": "short"], "invalid_request"), (["scope": "profile"], "invalid_scope"),
                (["response_type": "token"], "unsupported_response_type"), (["prompt": "none"], "login_required"),
                (["resource": "https://api.example"], "invalid_target"),
                // A word that is no level of this server is passed over.
                (["acr_values": "urn:example:never"], "insufficient_authorization"),
            ] {
                let answer = try await app.post(app.first.merging(changes) { _, new in new })
                #expect(App.error(answer) == code, "\(changes)")
            }
            let wrong = RelyingParty(id: app.place.party.id, secret: "wrong")
            let refused = try await app.post(app.first, as: wrong)
            #expect(refused.response.status == .unauthorized && App.error(refused) == "invalid_client")
        }
    }

    @Test("PKCE is needed whatever the client's codes are bound to otherwise")
    func pkceAlways() async throws {
        try await App.run { app async throws in
            _ = try await app.place.server.assembly.provider.clients.change(
                app.place.party.id, ClientChange(codeBinding: .nonce))
            #expect(App.error(try await app.post(["scope": "openid", "nonce": "n"])) == "invalid_request")
        }
    }

    @Test("only a client that an operator has marked may, and only one of the operator's own, of no stricter profile")
    func marked() async throws {
        try await App.run { app async throws in
            let session = try await app.begin()
            try await app.mark(false)
            for fields in [app.first, ["auth_session": session, "username": "alice", "password": "x"]] {
                let answer = try await app.post(fields)
                #expect(answer.response.status == .badRequest && App.error(answer) == "unauthorized_client")
            }
            let provider = app.place.server.assembly.provider
            let third = try await app.place.server.relyingParty(signInMethods: ["password"], party: .third)
            #expect(App.error(try await app.post(app.first, as: third)) == "unauthorized_client")
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await provider.clients.change(
                    third.id, ClientChange(profile: ClientProfileChange(signsInDirectly: true)))
            }
            try await app.mark()
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await provider.clients.change(app.place.party.id, ClientChange(party: .third))
            }
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await provider.clients.change(
                    app.place.party.id, ClientChange(profile: ClientProfileChange(security: .fapi2)))
            }
        }
    }

    // MARK: What goes on in a browser

    @Test("a password for once, an agreement, and a level that is not reached go on in a browser")
    func web() async throws {
        try await App.run(methods: ["password", "phone"]) { app async throws in
            let two = try await app.begin(["acr_values": "urn:countersign:acr:two-factor"])
            let refused = try await app.show(two)
            #expect(refused.response.status == .badRequest && App.error(refused) == "redirect_to_web")
            #expect(App.error(try await app.show(two)) == "invalid_session")
            let consent = try await app.post(app.first.merging(["prompt": "consent"]) { _, new in new })
            #expect(App.error(consent) == "redirect_to_web")
            _ = try await app.place.server.assembly.provider.clients.change(
                app.place.party.id, ClientChange(profile: ClientProfileChange(detailTypes: ["payment"])))
            let payment =
                #"[{"type":"payment","amount":"1.00","currency":"EUR","payee":"Bob","iban":"DE89370400440532013000"}]"#
            let details = try await app.post(app.first.merging(["authorization_details": payment]) { _, new in new })
            #expect(App.error(details) == "redirect_to_web")
            try await app.place.passwords.setOneTime("for this once", username: "alice", by: "test")
            let once = try await app.show("for this once", try await app.begin())
            #expect(App.error(once) == "redirect_to_web" && once.object["auth_session"] == nil)
        }
    }

    @Test("whoever has still to agree to the terms goes on in a browser, whatever was right, and then comes by the app")
    func terms() async throws {
        let server = try await ServerFixture(
            terms: Terms(version: "2027-01", address: "https://id.example/terms"))
        let lines = try await server.requestLines { client in
            _ = try await server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
            try await PasswordDirectory(server.assembly.passwords).importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            let app = App(
                place: PasswordPlace(
                    server: server, client: client,
                    party: try await server.relyingParty(signInMethods: ["password"]), browser: TestBrowser(client)))
            try await app.mark()
            let session = try await app.begin()
            let refused = try await app.show(session)
            #expect(App.error(refused) == "redirect_to_web" && refused.object["auth_session"] == nil)
            #expect(App.error(try await app.show(session)) == "invalid_session")
            let account = try await server.assembly.directory.account(username: "alice").id
            #expect(try await server.assembly.provider.sessions.running(ofAccount: account).isEmpty)
            let audit = AuditEvent(
                AuditEvent.Kind(rawValue: "terms-agreed"), at: server.clock.timeSource.now(), accountID: account)
            _ = try await server.database.agree(account: account, version: "2027-01", audit: audit)
            #expect(try await app.show(try await app.begin()).response.status == .ok)
        }
        let refusal = lines.first { $0["error"] == "redirect_to_web" }
        #expect(refusal?["reason"]?.description.contains("--terms-version 2027-01") == true)
    }

    @Test("an account that is locked while it signs in gets no code")
    func locked() async throws {
        try await App.run { app async throws in
            let (totp, _) = try await app.place.giveSecondFactor()
            let next = try await app.show(try await app.begin()).object.requiredString("auth_session")
            _ = try await app.place.server.assembly.directory.setLocked(true, username: "alice", by: "test")
            let answer = try await app.post([
                "auth_session": next,
                "otp": try #require(totp.code(at: app.place.server.clock.timeSource.now())),
            ])
            #expect(answer.object["authorization_code"] == nil)
            #expect(App.error(answer) == "insufficient_authorization")
        }
    }

    // MARK: Phones

    /// An app whose service takes phones and passwords, and alice's phone.
    private func withPhone(
        limits: Limits = Limits(), _ body: @escaping @Sendable (App, VirtualPhone) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty(signInMethods: ["phone", "password"])
            let app = App(
                place: PasswordPlace(server: server, client: client, party: party, browser: TestBrowser(client)))
            try await app.mark()
            try await body(app, phone)
        }
    }

    /// Has a phone asked: what the app is told.
    private func ask(_ app: App) async throws -> App.Answer {
        try await app.post(["auth_session": try await app.begin(), "phone": "start"])
    }

    /// Looks, after the pause that an app has to make, what the phone has said.
    private func look(_ app: App, after answer: App.Answer) async throws -> App.Answer {
        app.place.server.clock.advance(by: .seconds(5))
        return try await app.post(["auth_session": try answer.object.requiredString("auth_session"), "phone": "wait"])
    }

    private func payload(_ asked: App.Answer) throws -> OutOfBandPayload {
        try OutOfBandPayload(
            redeemData: .init(
                token: try asked.object.requiredString("phone_code"),
                redeemURL: try #require(URL(string: "http://localhost:8080/token/redeem/authentication"))))
    }

    @Test("a phone is asked by a code that the app shows, and its yes gives a code")
    func phone() async throws {
        try await self.withPhone { app, phone async throws in
            let begun = try await app.post(app.first)
            #expect(try begun.object.strings("next") == ["password", "phone"])
            let asked = try await self.ask(app)
            #expect(App.error(asked) == "insufficient_authorization")
            #expect(try asked.object.strings("next") == ["phone"])
            #expect(try asked.object.requiredString("phone_qr").isEmpty == false)
            #expect(asked.object["phone_link"] == nil && asked.object["interval"] == .integer(5))
            let waiting = try await self.look(app, after: asked)
            #expect(App.error(waiting) == "insufficient_authorization" && waiting.object["phone_code"] == nil)
            #expect(try waiting.object.strings("next") == ["phone"])
            let tooSoon = try await app.post([
                "auth_session": try waiting.object.requiredString("auth_session"), "phone": "wait",
            ])
            #expect(tooSoon.response.status == .badRequest && App.error(tooSoon) == "slow_down")
            _ = try await phone.authenticate(try self.payload(asked))
            let done = try await self.look(app, after: tooSoon)
            let tokens = try await app.redeem(done.object.requiredString("authorization_code"))
            #expect(tokens.response.status == .ok)
            #expect(try App.claims(tokens.object).strings("amr")?.contains("pwd") == false)
            let numbers = app.place.server.assembly.configuration.metrics.registry.text
            #expect(numbers.contains("countersign_sign_ins_total{by=\"phone\"} 1"))
        }
    }

    @Test("a phone's yes that could not be kept counts at the next question, and once")
    func phoneOnce() async throws {
        try await self.withPhone { app, phone async throws in
            let asked = try await self.ask(app)
            _ = try await phone.authenticate(try self.payload(asked))
            app.place.server.hooks.failNext(.completion, with: StoreError(.unavailable, "as the test wants it"))
            let failed = try await self.look(app, after: asked)
            #expect(failed.response.status == .serviceUnavailable)
            let done = try await self.look(app, after: failed)
            #expect(done.response.status == .ok)
            #expect(App.error(try await self.look(app, after: failed)) == "invalid_session")
        }
    }

    @Test("a phone's no ends the sign-in")
    func phoneDenies() async throws {
        try await self.withPhone { app, phone async throws in
            let asked = try await self.ask(app)
            phone.person.script.reactions[.pin] = .cancels
            phone.person.script.reactions[.authenticator] = .cancels
            let payload = try self.payload(asked)
            await #expect(throws: OperationError.self) { try await phone.authenticate(payload) }
            let denied = try await self.look(app, after: asked)
            #expect(denied.response.status == .badRequest && App.error(denied) == "access_denied")
            #expect(denied.object["auth_session"] == nil)
            #expect(App.error(try await self.look(app, after: asked)) == "invalid_session")
        }
    }

    @Test("a phone that says nothing in time can be asked again, or a password is shown")
    func phoneIsSilent() async throws {
        var limits = Limits()
        limits.ceremonyLifetime = .seconds(300)
        try await self.withPhone(limits: limits) { app, phone in
            let asked = try await self.ask(app)
            app.place.server.clock.advance(by: .seconds(300))
            let over = try await self.look(app, after: asked)
            #expect(App.error(over) == "insufficient_authorization")
            #expect(try over.object.strings("next") == ["password", "phone"])
            let again = try await app.post([
                "auth_session": try over.object.requiredString("auth_session"), "phone": "start",
            ])
            _ = try await phone.authenticate(try self.payload(again))
            #expect(try await self.look(app, after: again).response.status == .ok)
        }
    }

    @Test("asking phones is of the same budget as the page's codes, and past it goes on with another auth_session")
    func phoneBudget() async throws {
        var limits = Limits()
        limits.codeBurst = 2
        limits.codesPerMinute = 6
        try await self.withPhone(limits: limits) { app, _ in
            var session = try await app.begin()
            for _ in 0..<2 {
                let asked = try await app.post(["auth_session": session, "phone": "start"])
                session = try asked.object.requiredString("auth_session")
            }
            let refused = try await app.post(["auth_session": session, "phone": "start"])
            #expect(refused.response.status == .tooManyRequests && refused.response.headers[.retryAfter] == "10")
            app.place.server.clock.advance(by: .seconds(10))
            let next = try await app.post([
                "auth_session": try refused.object.requiredString("auth_session"), "phone": "start",
            ])
            #expect(try next.object.requiredString("phone_code").isEmpty == false)
        }
    }

    @Test("while the password rests, the account's own phone signs in")
    func phoneIsNeverKeptOut() async throws {
        try await self.withPhone { app, phone async throws in
            try await app.place.passwords.importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            for _ in 0..<12 { _ = try await app.show("wrong", try await app.begin()) }
            let resting = try await app.show(try await app.begin())
            #expect(App.error(resting) == "insufficient_authorization")
            let asked = try await app.post([
                "auth_session": try resting.object.requiredString("auth_session"), "phone": "start",
            ])
            _ = try await phone.authenticate(try self.payload(asked))
            #expect(try await self.look(app, after: asked).response.status == .ok)
        }
    }

    @Test("a service that takes phones alone is shown no password, and a phone that is not asked has said nothing")
    func methods() async throws {
        try await App.run(methods: ["phone"]) { app in
            let begun = try await app.post(app.first)
            #expect(try begun.object.strings("next") == ["phone"])
            let shown = try await app.show(try begun.object.requiredString("auth_session"))
            #expect(App.error(shown) == "insufficient_authorization")
            #expect(try shown.object.strings("next") == ["phone"])
            let waiting = try await app.post([
                "auth_session": try shown.object.requiredString("auth_session"), "phone": "wait",
            ])
            #expect(try waiting.object.strings("next") == ["phone"])
        }
        try await App.run { app async throws in
            let asked = try await app.post(["auth_session": try await app.begin(), "phone": "start"])
            #expect(App.error(asked) == "insufficient_authorization" && asked.object["phone_code"] == nil)
            #expect(try asked.object.strings("next") == ["password"])
        }
    }

    @Test("the log says why, and no secret")
    func log() async throws {
        let server = try await ServerFixture()
        let lines = try await server.requestLines { client in
            let party = try await server.relyingParty(signInMethods: ["password"])
            let app = App(
                place: PasswordPlace(server: server, client: client, party: party, browser: TestBrowser(client)))
            _ = try await app.post(app.first)
            try await app.mark()
            let session = try await app.begin()
            _ = try await app.show("my secret", as: "zoe", session)
        }
        let told = lines.map { "\($0)" }
        #expect(told.contains { $0.contains("unauthorized_client") && $0.contains("--direct-sign-in") })
        #expect(told.contains { $0.contains("unknown-name") })
        #expect(told.allSatisfy { !$0.contains("my secret") && !$0.contains("zoe") && !$0.contains("auth_session") })
    }
}
