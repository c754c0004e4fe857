import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, sections 3.1.2.4 and 3.1.2.1: what people agree to (decision 37)")
struct ConsentTests {
    /// A service of somebody else's.
    private func shop(_ f: ProviderFixture) async throws -> RegisteredClient {
        try await f.provider.clients.register(
            name: "Shop", redirectURIs: [ProviderFixture.address],
            settings: ClientSettings(
                idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"], party: .third))
    }

    /// The request that waits for its person's word.
    private func ask(
        _ f: ProviderFixture, _ shop: RegisteredClient, _ changes: [String: String?] = [:], _ session: SessionSecret
    ) async throws -> String {
        let answer = try await f.provider.authorizations.authorize(
            f.query(changes, client: shop), browser: f.browser, session: session, source: "a", address: nil)
        guard case .consent(let request, shop.client.id) = answer else {
            throw OAuthError(.serverError, detail: "not asked: \(answer)")
        }
        return request
    }

    /// As it is asked about on the page.
    @Test("what the apps of a device share is asked about")
    func deviceSSO() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            _ = try await f.provider.clients.change(
                shop.client.id, ClientChange(tokens: TokenSettingsChange(group: "apps")))
            let session = try await f.signIn().session
            let request = try await self.ask(f, shop, ["scope": "openid device_sso"], session)
            let question = try await f.provider.authorizations.consentQuestion(
                request: request, browser: f.browser, session: session)
            #expect(question?.items == [.identity, .deviceSSO])
        }
    }

    private func decide(
        _ f: ProviderFixture, _ request: String, _ session: SessionSecret?, _ isGranted: Bool = true
    ) async throws -> Parameters {
        let answer = try await f.provider.authorizations.decide(
            request: request, browser: f.browser, session: session, isGranted: isGranted, address: "192.0.2.9")
        guard case .client(let client) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return try ProviderFixture.fields(of: client)
    }

    /// The tokens of a code of the shop's.
    private func tokens(_ f: ProviderFixture, _ shop: RegisteredClient, _ code: String?) async throws -> JSONObject {
        let answer = try await f.provider.grants.answer(header: f.basic(shop), body: f.form(try #require(code)))
        return try #require(answer.body)
    }

    @Test("nobody is asked for the operator's own services, and everybody for the others")
    func parties() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn().session
            #expect(try await f.answer([:], session: session) == "code")
            #expect(try await f.answer([:], session: session, client: shop) == "consent")
            #expect(try await f.answer(["prompt": "none"], session: session, client: shop) == "consent_required")
            #expect(try await f.answer(["prompt": "none"], session: nil, client: shop) == "login_required")
            #expect(try await f.answer([:], session: nil, client: shop) == "sign-in")
            // Consent comes first: who it is that a hint names is told to nobody who was given nothing.
            let hinted = ["prompt": "none", "login_hint": "bob"]
            #expect(try await f.answer(hinted, session: session, client: shop) == "consent_required")
            #expect(try await f.answer(["login_hint": "bob"], session: session, client: shop) == "sign-in")
            let own = try await f.provider.clients.change(shop.client.id, ClientChange(party: .first))
            #expect(own?.settings.party == .first)
            #expect(try await f.answer([:], session: session, client: shop) == "code")
        }
    }

    @Test("what is agreed to is given, remembered, and nobody is asked again")
    func remembered() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn().session
            let request = try await self.ask(f, shop, ["scope": "openid email profile"], session)
            let question = try #require(
                try await f.provider.authorizations.consentQuestion(
                    request: request, browser: f.browser, session: session))
            #expect(question.clientName == "Shop" && question.clientOrigin == "https://bank.example")
            #expect(question.username == "alice" && question.items == [.identity, .username, .name, .profile, .email])
            let fields = try await self.decide(f, request, session)
            #expect(fields["state"] == "st&te" && fields["iss"] == ProviderFixture.issuer)
            #expect(try await self.tokens(f, shop, fields["code"])["id_token"] != nil)
            // The scopes in another order are the same.
            for scope in ["openid email profile", "profile openid email"] {
                let again = ["scope": scope, "prompt": "none"]
                #expect(try await f.answer(again, session: session, client: shop) == "code")
            }
            // A new session of the same person's is not asked either.
            let answer = try await f.provider.authorizations.authorize(
                f.query(["scope": "openid email profile"], client: shop), browser: f.browser, session: nil, source: "a",
                address: nil)
            guard case .signIn(let fresh, _) = answer else {
                Issue.record("no page: \(answer)")
                return
            }
            f.authenticate(fresh)
            guard
                case .signedIn = try await f.provider.authorizations.complete(
                    request: fresh, browser: f.browser, session: nil)
            else {
                Issue.record("asked again")
                return
            }
            let kinds = try await f.store.auditEntries(after: 0, limit: 99).map(\.event).filter {
                $0.kind.rawValue == "consent-given"
            }
            #expect(kinds.map(\.detail) == [shop.client.id] && kinds.first?.address == "192.0.2.9")
        }
    }

    @Test("a browser that was closed on the open question comes back to nothing: its session is gone")
    func closedBrowser() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let answer = try await f.provider.authorizations.authorize(
                f.query(client: shop), browser: f.browser, session: nil, source: "a", address: nil)
            guard case .signIn(let request, _) = answer else {
                Issue.record("no page: \(answer)")
                return
            }
            f.authenticate(request)
            let first = try await f.provider.authorizations.complete(request: request, browser: f.browser, session: nil)
            guard case .consent(_, let session?, _) = first else {
                Issue.record("not asked: \(first)")
                return
            }
            let other = try await f.signIn(account: "account-b").session
            for shown in [nil, other, SessionSecret(cookie: RandomSource.system.token(byteCount: 32))] {
                var reasons: [ProviderRefusal] = []
                let again = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: shown, explain: { reasons.append($0) })
                guard case .page = again else {
                    Issue.record("it goes on: \(again)")
                    return
                }
                #expect(reasons.count == 1)
            }
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").count == 1, "no other has begun")
            // The browser that has it goes on.
            guard
                case .consent = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: session)
            else {
                Issue.record("not asked")
                return
            }
            #expect(try await self.decide(f, request, session)["code"] != nil)
        }
    }

    @Test("exactly that is remembered: another scope, fewer, other claims, another client or person are asked anew")
    func exactly() async throws {
        try await ProviderFixture.run { f in
            let (shop, other) = (try await self.shop(f), try await self.shop(f))
            _ = try await f.resourceServer(owning: [ResourceTests.accounts])
            _ = try await f.provider.clients.change(
                shop.client.id, ClientChange(tokens: TokenSettingsChange(audiences: [ResourceTests.accounts])))
            let session = try await f.signIn().session
            let claims = #"{"userinfo": {"email": null}}"#
            let agreed = ["scope": "openid profile", "claims": claims]
            _ = try await self.decide(f, try await self.ask(f, shop, agreed, session), session)
            #expect(try await f.answer(agreed, session: session, client: shop) == "code")
            // The same in another spelling.
            let spelt = ["scope": "openid profile", "claims": #"{"userinfo":{"email":{}}}"#]
            #expect(try await f.answer(spelt, session: session, client: shop) == "code")
            for wanted in [
                ["scope": "openid profile phone", "claims": claims], ["scope": "openid", "claims": claims],
                ["scope": "openid profile"],
                ["scope": "openid profile", "claims": #"{"userinfo": {"address": null}}"#],
                ["scope": "openid profile", "claims": #"{"id_token": {"email": null}}"#],
                ["scope": "openid profile offline_access", "claims": claims],
                ["scope": "openid profile", "claims": claims, "resource": ResourceTests.accounts],
            ] as [[String: String?]] {
                #expect(try await f.answer(wanted, session: session, client: shop) == "consent", "\(wanted)")
            }
            #expect(try await f.answer(agreed, session: session, client: other) == "consent")
            let bob = try await f.signIn(account: "account-b").session
            #expect(try await f.answer(agreed, session: bob, client: shop) == "consent")
        }
    }

    @Test("a session that was ended while the question was open does not come back by the same authentication")
    func endedMeanwhile() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let begun = try await f.provider.authorizations.authorize(
                f.query(client: shop), browser: f.browser, session: nil, source: "a", address: nil)
            guard case .signIn(let request, _) = begun else { throw OAuthError(.serverError, detail: "\(begun)") }
            f.authenticate(request)
            guard
                case .consent(_, let secret?, _) = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else { throw OAuthError(.serverError, detail: "not asked") }
            let session = try #require(try await f.provider.sessions.running(ofAccount: "account-a").first)
            #expect(try await f.provider.sessions.end(session.id, ofAccount: "account-a"))
            for shown in [secret, nil] {
                switch try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: shown)
                {
                case .refused, .page: break
                case let answer: Issue.record("signed in again: \(answer)")
                }
            }
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").isEmpty)
        }
    }

    @Test("a client that is made a third party's has nothing any more that nobody has agreed to")
    func madeThirdParty() async throws {
        try await ProviderFixture.run { f in
            let own = try await f.provider.clients.register(
                name: "Own", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"]))
            let session = try await f.signIn().session
            func code() async throws -> String {
                let answer = try await f.provider.authorizations.authorize(
                    f.query(["scope": "openid offline_access"], client: own), browser: f.browser, session: session,
                    source: "a", address: nil)
                guard case .client(let led) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
                return try #require(try ProviderFixture.fields(of: led)["code"])
            }
            let refresh = try await self.tokens(f, own, try await code()).requiredString("refresh_token")
            let waiting = try await code()
            _ = try await f.provider.clients.change(own.client.id, ClientChange(party: .third))
            let renewing: Parameters = ["grant_type": "refresh_token", "refresh_token": refresh]
            for form in [renewing.encoded, f.form(waiting)] {
                let answer = try await f.provider.grants.answer(header: f.basic(own), body: form)
                #expect(answer.status == 400 && answer.error == "invalid_grant")
            }
            _ = try await f.provider.clients.change(own.client.id, ClientChange(party: .first))
            #expect(try await f.provider.grants.answer(header: f.basic(own), body: renewing.encoded).status == 200)
        }
    }

    @Test("whoever wants to be agreed to again is, and so is one of the operator's own services")
    func again() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn().session
            _ = try await self.decide(f, try await self.ask(f, shop, [:], session), session)
            #expect(try await f.answer(["prompt": "consent"], session: session, client: shop) == "consent")
            #expect(try await f.answer(["prompt": "consent"], session: session) == "consent")
            #expect(try await f.answer(["prompt": "login consent"], session: session) == "sign-in")
            let request = try await self.ask(f, shop, ["prompt": "consent"], session)
            #expect(try await self.decide(f, request, session)["code"] != nil)
            #expect(try await f.provider.authorizations.consents.given(byAccount: "account-a").count == 1)
        }
    }

    @Test("a person who does not agree is not let in, and the client is told so with state and issuer")
    func denied() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn().session
            let request = try await self.ask(f, shop, [:], session)
            let told = try await self.decide(f, request, session, false)
            #expect(told["error"] == "access_denied" && told["code"] == nil)
            #expect(told["state"] == "st&te" && told["iss"] == ProviderFixture.issuer)
            let late = try await f.provider.authorizations.decide(
                request: request, browser: f.browser, session: session, isGranted: true, address: nil)
            #expect(late == .page(OAuthError(.invalidRequest)), "the request has ended")
            #expect(try await f.provider.authorizations.consents.given(byAccount: "account-a").isEmpty)
            #expect(try await f.answer([:], session: session, client: shop) == "consent")
            #expect(try await f.provider.sessions.session(session) != nil, "the person stays signed in here")
        }
    }

    @Test("after an authentication the session begins, and the code waits for the person's word")
    func afterSigningIn() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let answer = try await f.provider.authorizations.authorize(
                f.query(client: shop), browser: f.browser, session: nil, source: "a", address: nil)
            guard case .signIn(let request, _) = answer else {
                Issue.record("no page: \(answer)")
                return
            }
            f.authenticate(request)
            guard
                case .consent(shop.client.id, let secret?, "phone") = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("not asked")
                return
            }
            #expect(try await f.provider.sessions.session(secret)?.account == "account-a")
            // Coming again changes nothing.
            guard
                case .consent(_, nil, _) = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: secret)
            else {
                Issue.record("not asked again")
                return
            }
            #expect(try await f.provider.sessions.session(secret) != nil)
            #expect(
                try await f.provider.authorizations.consentQuestion(request: request, browser: f.browser, session: nil)
                    == nil)
            let fields = try await self.decide(f, request, secret)
            let claims = try f.claims(
                try await self.tokens(f, shop, fields["code"]).requiredString("id_token"), type: "JWT")
            #expect(claims.subject == f.provider.keys.subject(ofAccount: "account-a", client: shop.client.id))
        }
    }

    @Test("nobody decides but the person: not another browser, not another session, not without one, not too late")
    func others() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn().session
            let request = try await self.ask(f, shop, [:], session)
            let ended = AuthorizationAnswer.page(OAuthError(.invalidRequest))
            let bob = try await f.signIn(account: "account-b").session
            for (browser, session) in [(BrowserSecret(), session), (f.browser, bob), (f.browser, nil)]
                as [(BrowserSecret, SessionSecret?)]
            {
                #expect(
                    try await f.provider.authorizations.consentQuestion(
                        request: request, browser: browser, session: session) == nil)
                #expect(
                    try await f.provider.authorizations.decide(
                        request: request, browser: browser, session: session, isGranted: true, address: nil) == ended)
            }
            // A request that waits for its person to sign in is nothing to decide about.
            let page = try await f.begin()
            #expect(
                try await f.provider.authorizations.decide(
                    request: page, browser: f.browser, session: session, isGranted: true, address: nil) == ended)
            try await f.endSessions()
            #expect(
                try await f.provider.authorizations.decide(
                    request: request, browser: f.browser, session: session, isGranted: true, address: nil) == ended)
            let again = try await f.signIn().session
            let late = try await self.ask(f, shop, [:], again)
            f.clock.advance(Limits().authorizationRequestLifetime)
            #expect(
                try await f.provider.authorizations.decide(
                    request: late, browser: f.browser, session: again, isGranted: true, address: nil) == ended)
        }
    }

    @Test("a locked account's person agrees to nothing")
    func locked() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn().session
            let request = try await self.ask(f, shop, [:], session)
            f.people.lock("account-a")
            #expect(
                try await f.provider.authorizations.consentQuestion(
                    request: request, browser: f.browser, session: session) == nil)
            #expect(try await self.decide(f, request, session)["error"] == "access_denied")
        }
    }

    @Test("of 20 who decide at once one has the code")
    func once() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn().session
            let request = try await self.ask(f, shop, [:], session)
            let codes = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let answer = try await f.provider.authorizations.decide(
                            request: request, browser: f.browser, session: session, isGranted: true, address: nil)
                        guard case .client(let client) = answer else { return false }
                        return try ProviderFixture.fields(of: client)["code"] != nil
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(codes == 1)
        }
    }

    @Test("what is taken back ends at once: access and refresh tokens of it, and nothing else")
    func revoked() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn().session
            let scopes = ["openid profile offline_access", "openid email"]
            var tokens: [JSONObject] = []
            for scope in scopes {
                let request = try await self.ask(f, shop, ["scope": scope], session)
                tokens.append(try await self.tokens(f, shop, try await self.decide(f, request, session)["code"]))
                f.clock.advance(.seconds(1))
            }
            // One that was given without asking again stands on the same consent.
            let more = try await f.provider.authorizations.authorize(
                f.query(["scope": scopes[0]], client: shop), browser: f.browser, session: session, source: "a",
                address: nil)
            guard case .client(let client) = more else {
                Issue.record("asked: \(more)")
                return
            }
            tokens.append(try await self.tokens(f, shop, try ProviderFixture.fields(of: client)["code"]))
            let given = try await f.provider.authorizations.consents.given(byAccount: "account-a")
            #expect(
                given.map(\.items) == [[.identity, .email], [.identity, .username, .name, .profile, .offlineAccess]])
            #expect(given.allSatisfy { $0.clientName == "Shop" && $0.client == shop.client.id })
            func isOpen(_ index: Int) async throws -> Bool {
                let access = try tokens[index].requiredString("access_token")
                return try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 200
            }
            #expect(try await [isOpen(0), isOpen(1), isOpen(2)] == [true, true, true])
            #expect(try await f.provider.authorizations.consents.end(given[1].id, ofAccount: "account-b") == false)
            #expect(try await f.provider.authorizations.consents.end(given[1].id, ofAccount: "account-a", by: "olga"))
            #expect(try await f.provider.authorizations.consents.end(given[1].id, ofAccount: "account-a") == false)
            #expect(try await [isOpen(0), isOpen(1), isOpen(2)] == [false, true, false])
            let refresh = try tokens[0].requiredString("refresh_token")
            let renewed = try await f.provider.grants.answer(
                header: f.basic(shop), body: "grant_type=refresh_token&refresh_token=\(refresh)")
            #expect(renewed.error == "invalid_grant")
            #expect(try await f.answer(["scope": scopes[0]], session: session, client: shop) == "consent")
            #expect(try await f.answer(["scope": scopes[1]], session: session, client: shop) == "code")
            let told = try await f.store.auditEntries(after: 0, limit: 99).map(\.event).filter {
                $0.kind.rawValue == "consent-revoked"
            }
            #expect(told.map(\.actor) == ["olga"] && told.map(\.detail) == [given[1].id])
        }
    }

    @Test("a session that is raised for a service of somebody else's is the same session, and its person is asked")
    func stepUp() async throws {
        let levels = [AssuranceWord("urn:high", levels: ["urn:high"])]
        try await ProviderFixture.run(levels: levels) { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn(acr: "urn:low").session
            let before = try await f.provider.sessions.running(ofAccount: "account-a").map(\.id)
            f.clock.advance(.seconds(5))
            let answer = try await f.provider.authorizations.authorize(
                f.query(["acr_values": "urn:high"], client: shop), browser: f.browser, session: session, source: "a",
                address: nil)
            guard case .signIn(let request, _) = answer else {
                Issue.record("no page: \(answer)")
                return
            }
            f.authenticate(request, acr: "urn:high")
            guard
                case .consent(_, let raised?, _) = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: session)
            else {
                Issue.record("not asked")
                return
            }
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").map(\.id) == before)
            #expect(try await f.provider.sessions.session(raised)?.acr == "urn:high")
            #expect(try await self.decide(f, request, raised)["code"] != nil)
        }
    }

    @Test("a pushed request is worth one answer, with a page in between too")
    func pushed() async throws {
        try await ProviderFixture.run { f in
            let shop = try await self.shop(f)
            let session = try await f.signIn().session
            let answer = try await f.provider.authorizations.push(
                header: f.basic(shop), body: f.query(client: shop), source: "a")
            let name = try #require(try answer.body?.string("request_uri"))
            let query: Parameters = ["client_id": shop.client.id, "request_uri": name]
            func come() async throws -> AuthorizationAnswer {
                try await f.provider.authorizations.authorize(
                    query.encoded, browser: f.browser, session: session, source: "a", address: nil)
            }
            guard case .consent(let request, _) = try await come(), case .consent(request, _) = try await come() else {
                Issue.record("not asked, or asked about another")
                return
            }
            #expect(try await self.decide(f, request, session)["code"] != nil)
            #expect(try await come() == .page(OAuthError(.invalidRequestURI)))
        }
    }
}
