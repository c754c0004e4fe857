import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("RFC 6749, section 4.1.1, and OpenID Connect Core 1.0, section 3.1.2: authorization request")
struct AuthorizationEndpointTests {
    @Test func aRightRequestShowsTheSignInPage() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            let pending = try #require(
                try await f.provider.authorizations.pending(request: request, browser: f.browser))
            #expect(pending.client == f.bank.client.id && pending.clientName == "Demo Bank")
            #expect(pending.clientOrigin == "https://bank.example")
            #expect(pending.expiresAt == f.clock.source.now() + Limits().authorizationRequestLifetime)
        }
    }

    @Test(
        "is never redirected where client or address are not right (section 4.1.2.1)",
        arguments: [
            ["client_id": nil], ["client_id": "unknown"], ["redirect_uri": nil],
            ["redirect_uri": "https://evil.example/"],
            ["redirect_uri": "https://bank.example/callback/"], ["redirect_uri": "https://bank.example/callback?a=b"],
            ["redirect_uri": "https://BANK.example/callback"], ["redirect_uri": ProviderFixture.afterLogout],
            // A suffix, of the path and of the host.
            ["redirect_uri": "https://bank.example/callback2"], ["redirect_uri": "https://bank.example/callback/../x"],
            ["redirect_uri": "https://bank.example.evil.example/callback"],
            ["redirect_uri": "https://bank.example@evil.example/callback"],
            ["redirect_uri": "https://evil.example/https://bank.example/callback"],
            // Case, of the scheme and of the path.
            ["redirect_uri": "HTTPS://bank.example/callback"], ["redirect_uri": "https://bank.example/Callback"],
            // A query, an empty one too, and a fragment.
            ["redirect_uri": "https://bank.example/callback?"], ["redirect_uri": "https://bank.example/callback#"],
            // A port, the scheme's own too.
            ["redirect_uri": "https://bank.example:443/callback"],
            ["redirect_uri": "https://bank.example:8443/callback"],
            // Another spelling of the same, and another scheme.
            ["redirect_uri": "https://bank.example/%63allback"], ["redirect_uri": "https://bank.example//callback"],
            ["redirect_uri": "http://bank.example/callback"], ["redirect_uri": " https://bank.example/callback"],
        ] as [[String: String?]])
    func refusesWithoutRedirect(changes: [String: String?]) async throws {
        try await ProviderFixture.run { f in
            let answer = try await f.provider.authorizations.authorize(
                f.query(changes), browser: f.browser, session: nil, source: "a", address: nil)
            #expect(answer == .page(OAuthError(.invalidRequest)))
        }
    }

    @Test("is never redirected where it cannot be read", arguments: ["&state=2", "&%", "&x=%FF"])
    func refusesUnreadable(suffix: String) async throws {
        try await ProviderFixture.run { f in
            let answer = try await f.provider.authorizations.authorize(
                f.query() + suffix, browser: f.browser, session: nil, source: "a", address: nil)
            #expect(answer == .page(OAuthError(.invalidRequest)))
        }
    }

    @Test(
        "tells the client what is wrong",
        arguments: [
            (["response_type": nil], OAuthError.Code.invalidRequest),
            (["response_type": "token"], .unsupportedResponseType),
            (["response_type": "code id_token"], .unsupportedResponseType),
            (["response_mode": "fragment"], .invalidRequest), (["request": "e30.e30."], .requestNotSupported),
            (["request_uri": "https://a.example/r"], .requestURINotSupported),
            (["scope": nil], .invalidScope), (["scope": "profile"], .invalidScope),
            (["scope": "openid\"profile"], .invalidScope),
            (["code_challenge": nil], .invalidRequest), (["code_challenge": "short"], .invalidRequest),
            (["code_challenge_method": nil], .invalidRequest), (["code_challenge_method": "plain"], .invalidRequest),
            (["prompt": "none login"], .invalidRequest), (["prompt": "maybe"], .invalidRequest),
            (["prompt": "none"], .loginRequired), (["max_age": "-1"], .invalidRequest),
            (["max_age": "1.5"], .invalidRequest), (["max_age": "9999999999"], .invalidRequest),
            (["id_token_hint": "x"], .invalidRequest),
        ] as [([String: String?], OAuthError.Code)])
    func tellsTheClient(changes: [String: String?], code: OAuthError.Code) async throws {
        try await ProviderFixture.run { f in
            let answer = try await f.provider.authorizations.authorize(
                f.query(changes), browser: f.browser, session: nil, source: "a", address: nil)
            guard case .client(.redirect(let address)) = answer else {
                Issue.record("not a redirect: \(answer)")
                return
            }
            #expect(address.hasPrefix(ProviderFixture.address + "?"))
            #expect(try ProviderFixture.parameter("error", of: address) == code.rawValue)
            #expect(try ProviderFixture.parameter("state", of: address) == "st&te")
            // RFC 9207, section 2: errors too say who answers.
            #expect(try ProviderFixture.parameter("iss", of: address) == ProviderFixture.issuer)
            #expect(try ProviderFixture.parameter("code", of: address) == nil)
        }
    }

    @Test func whatIsTooLongIsRefused() async throws {
        var limits = Limits()
        limits.oauth.stateCharacters = 20
        limits.oauth.nonceCharacters = 20
        limits.oauth.parameterBytes = 1000
        try await ProviderFixture.run(limits: limits) { f in
            let long = String(repeating: "x", count: 21)
            // A state that cannot be given back leaves nobody to be told.
            let state = try await f.provider.authorizations.authorize(
                f.query(["state": long]), browser: f.browser, session: nil, source: "a", address: nil)
            #expect(state == .page(OAuthError(.invalidRequest)))
            #expect(try await self.answer(f, ["nonce": long], nil) == "invalid_request")
            #expect(try await self.answer(f, ["extra": String(repeating: "x", count: 1000)], nil) == "page")
            #expect(try await self.answer(f, ["extra": long, "nonce": String(long.dropLast())], nil) == "sign-in")
        }
    }

    @Test func withoutStateNoneIsGivenBack() async throws {
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn(["state": nil])
            #expect(try ProviderFixture.parameter("state", of: signedIn.redirect) == nil)
        }
    }

    @Test func aRequestIsTheStartingBrowsersAlone() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            #expect(try await f.provider.authorizations.pending(request: request, browser: BrowserSecret()) == nil)
            #expect(try await f.provider.authorizations.pending(request: "unknown", browser: f.browser) == nil)
            let refused = try await f.provider.authorizations.refuse(request: request, browser: BrowserSecret())
            #expect(refused == .page(OAuthError(.invalidRequest)))
            #expect(try await f.provider.authorizations.pending(request: request, browser: f.browser) != nil)
        }
    }

    @Test func aRequestEnds() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            f.authenticate(request)
            f.clock.advance(Limits().authorizationRequestLifetime)
            #expect(try await f.provider.authorizations.pending(request: request, browser: f.browser) == nil)
            let answer = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            #expect(answer == .page(OAuthError(.invalidRequest)))
            #expect(try await f.provider.sweep() == 1)
            #expect(try await f.provider.sweep() == 0)
        }
    }

    @Test func aPersonCanSayNo() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            guard
                case .client(.redirect(let address)) = try await f.provider.authorizations.refuse(
                    request: request, browser: f.browser)
            else {
                Issue.record("not a redirect")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "access_denied")
            #expect(try ProviderFixture.parameter("state", of: address) == "st&te")
            #expect(try ProviderFixture.parameter("iss", of: address) == ProviderFixture.issuer)
            #expect(try ProviderFixture.parameter("code", of: address) == nil)
            f.authenticate(request)
            let late = try await f.provider.authorizations.complete(request: request, browser: f.browser, session: nil)
            #expect(late == .page(OAuthError(.invalidRequest)))
            #expect(
                try await f.provider.authorizations.refuse(request: request, browser: f.browser)
                    == .page(OAuthError(.invalidRequest)))
        }
    }

    // MARK: Sessions (OpenID Connect Core 1.0, sections 3.1.2.1 and 3.1.2.3)

    private func answer(_ f: ProviderFixture, _ changes: [String: String?], _ session: SessionSecret?) async throws
        -> String
    { try await f.answer(changes, session: session) }

    @Test func aSessionGivesACodeAtOnce() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            #expect(try await self.answer(f, [:], session) == "code")
            #expect(try await self.answer(f, ["prompt": "none"], session) == "code")
            for prompt in ["login", "select_account", "login consent"] {
                #expect(try await self.answer(f, ["prompt": prompt], session) == "sign-in")
            }
        }
    }

    @Test("A sign-in without the phone is in the audit trail, with service, methods and address; a refused one is not")
    func aSessionsSignInIsInTheTrail() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            let before = try await f.store.auditEntries(after: 0, limit: 100).count
            for changes in [[:], ["prompt": "login"], ["response_type": "token"]] {
                _ = try await f.provider.authorizations.authorize(
                    f.query(changes), browser: f.browser, session: session, source: "a", address: "192.0.2.9")
            }
            let told = try await f.store.auditEntries(after: 0, limit: 100).dropFirst(before).map(\.event)
            #expect(told.map(\.kind) == [.init(rawValue: "signed-in-by-session")])
            #expect(told.first?.accountID == "account-a" && told.first?.at == f.clock.source.now())
            #expect(told.first?.detail == "service=\(f.bank.client.id) methods=pin,hwk")
            #expect(told.first?.address == "192.0.2.9")
        }
    }

    @Test(
        "A sign-in by session counts as one that begins: past its source's budget it leaves neither a code nor a trail")
    func sessionsAreCounted() async throws {
        var limits = Limits()
        limits.signInBurst = 3
        limits.signInsPerMinute = 6
        try await ProviderFixture.run(limits: limits) { f in
            let session = try await f.signIn().session
            #expect(try await self.answer(f, [:], session) == "code")
            #expect(try await self.answer(f, ["prompt": "none"], session) == "code")
            let before = try await f.store.auditEntries(after: 0, limit: 100).count
            for changes in [[:], ["prompt": "none"], ["prompt": "login"]] as [[String: String?]] {
                #expect(try await self.answer(f, changes, session) == "too many")
            }
            #expect(try await f.store.auditEntries(after: 0, limit: 100).count == before)
            // What leaves nothing is not counted.
            #expect(try await self.answer(f, ["prompt": "none"], nil) == "login_required")
            let elsewhere = try await f.provider.authorizations.authorize(
                f.query(), browser: f.browser, session: session, source: "b", address: nil)
            guard case .client(.redirect(let address)) = elsewhere else {
                Issue.record("not a redirect: \(elsewhere)")
                return
            }
            #expect(try ProviderFixture.parameter("code", of: address) != nil)
            f.clock.advance(.seconds(10))
            #expect(try await self.answer(f, ["prompt": "none"], session) == "code")
            #expect(try await self.answer(f, ["prompt": "none"], session) == "too many")
        }
    }

    @Test func theCodeOfASessionKeepsTheTimeOfTheAuthentication() async throws {
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn()
            let authenticated = f.clock.source.now().seconds
            f.clock.advance(.seconds(100))
            let answer = try await f.provider.authorizations.authorize(
                f.query(["nonce": "n-2"]), browser: f.browser, session: signedIn.session, source: "a", address: nil)
            guard case .client(.redirect(let address)) = answer else {
                Issue.record("not a redirect")
                return
            }
            let code = try #require(try ProviderFixture.parameter("code", of: address))
            let body = try #require(try await f.token(code).body)
            let claims = try f.claims(body.requiredString("id_token"), type: "JWT")
            #expect(claims.members["auth_time"] == .integer(authenticated))
            #expect(claims.members["nonce"] == .string("n-2"))
            #expect(claims.issuedAt == f.clock.source.now())
        }
    }

    @Test func maximumAgeIsKept() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            f.clock.advance(.seconds(100))
            #expect(try await self.answer(f, ["max_age": "100"], session) == "code")
            #expect(try await self.answer(f, ["max_age": "99"], session) == "sign-in")
            #expect(try await self.answer(f, ["max_age": "99", "prompt": "none"], session) == "login_required")
            #expect(try await self.answer(f, ["max_age": "0"], session) == "sign-in")
        }
    }

    @Test func aSessionEndsWhenIdleAndAbsolutely() async throws {
        try await ProviderFixture.run { f in
            let idle = Limits().oauth.sessionIdleLifetime
            let session = try await f.signIn().session
            f.clock.advance(idle - .seconds(1))
            #expect(try await f.provider.sessions.session(session)?.account == "account-a")
            #expect(try await self.answer(f, [:], session) == "code")  // and so it was used
            f.clock.advance(idle - .seconds(1))
            #expect(try await f.provider.sessions.session(session) != nil)
            f.clock.advance(.seconds(1))
            #expect(try await f.provider.sessions.session(session) == nil)
            #expect(try await self.answer(f, [:], session) == "sign-in")
        }
        var limits = Limits()
        limits.sessionLifetime = .seconds(100)
        try await ProviderFixture.run(limits: limits) { f in
            let session = try await f.signIn().session
            f.clock.advance(.seconds(99))
            #expect(try await self.answer(f, [:], session) == "code")
            f.clock.advance(.seconds(1))
            #expect(try await self.answer(f, [:], session) == "sign-in")
        }
    }

    @Test func aLockedAccountsSessionIsNotUsed() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            f.people.lock("account-a")
            #expect(try await self.answer(f, ["prompt": "none"], session) == "login_required")
        }
    }

    @Test func aHintNamesThePersonOfTheSession() async throws {
        try await ProviderFixture.run { f in
            let other = try await f.tokens(account: "account-b")
            let own = try await f.tokens(account: "account-a")
            #expect(try await self.answer(f, ["id_token_hint": own.id, "prompt": "none"], own.session) == "code")
            #expect(
                try await self.answer(f, ["id_token_hint": other.id, "prompt": "none"], own.session)
                    == "login_required")
            // An access token is no ID token, and an old one says nothing.
            #expect(try await self.answer(f, ["id_token_hint": own.access], own.session) == "invalid_request")
            f.clock.advance(Limits().oauth.hintLifetime)
            #expect(try await self.answer(f, ["id_token_hint": own.id], own.session) == "invalid_request")
        }
    }

    @Test("a hint of another person than the session's is login_required, whether or not a page could be shown")
    func aHintOfAnotherPerson() async throws {
        try await ProviderFixture.run { f in
            let other = try await f.tokens(account: "account-b")
            let own = try await f.tokens(account: "account-a")
            #expect(try await self.answer(f, ["id_token_hint": other.id], own.session) == "login_required")
            #expect(try await self.answer(f, ["id_token_hint": own.id], own.session) == "code")
            // Nobody is signed in, or the person is to sign in anew: the page may be shown, and whoever signs in there
            // is looked at.
            #expect(try await self.answer(f, ["id_token_hint": other.id], nil) == "sign-in")
            #expect(
                try await self.answer(f, ["id_token_hint": other.id, "prompt": "login"], own.session) == "sign-in")
        }
    }

    @Test("an ID token of another client names nobody")
    func aHintOfAnotherClient() async throws {
        try await ProviderFixture.run { f in
            let own = try await f.tokens()
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256))
            for session in [own.session, nil] {
                let answer = try await f.provider.authorizations.authorize(
                    f.query(["id_token_hint": own.id], client: shop), browser: f.browser, session: session, source: "a",
                    address: nil)
                guard case .client(.redirect(let address)) = answer else {
                    Issue.record("not a redirect: \(answer)")
                    return
                }
                #expect(try ProviderFixture.parameter("error", of: address) == "login_required")
            }
        }
    }

    @Test("a person who signs in at the page and is not the one of the hint is not signed in, and the client is told")
    func anotherPersonSignsIn() async throws {
        try await ProviderFixture.run { f in
            let hint = try await f.tokens(account: "account-a").id
            let request = try await f.begin(["id_token_hint": hint])
            f.authenticate(request, account: "account-b")
            let answer = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            guard case .refused(.redirect(let address)) = answer else {
                Issue.record("not a redirect: \(answer)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "login_required")
            #expect(try ProviderFixture.parameter("state", of: address) == "st&te")
            #expect(try ProviderFixture.parameter("code", of: address) == nil)
            #expect(try await f.provider.sessions.running(ofAccount: "account-b").isEmpty)
            // The request has ended with it.
            let again = try await f.provider.authorizations.complete(request: request, browser: f.browser, session: nil)
            #expect(again == .page(OAuthError(.invalidRequest)))
            // The right person is.
            let own = try await f.signIn(["id_token_hint": hint], account: "account-a")
            #expect(try await f.token(own.code).status == 200)
        }
    }

    @Test func unknownScopesAreLeftOut() async throws {
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn(["scope": "openid groups"])
            let body = try #require(try await f.token(signedIn.code).body)
            #expect(body["scope"] == .string("openid"))
        }
    }
}
