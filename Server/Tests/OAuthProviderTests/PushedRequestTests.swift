import Foundation
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Sealing
import Settings
import Testing
import _Primitives

extension ProviderFixture {
    /// Pushes an authorization request that is right but for `changes`.
    func push(_ changes: [String: String?] = [:], client: RegisteredClient? = nil) async throws -> ProviderAnswer {
        try await self.provider.authorizations.push(
            header: self.basic(client), body: self.query(changes, client: client), source: "a")
    }

    /// The name of a request that was pushed.
    func pushed(_ changes: [String: String?] = [:]) async throws -> String {
        try #require(try await self.push(changes).body).requiredString("request_uri")
    }

    /// What a browser is told that comes with a pushed request.
    func come(
        with name: String, _ more: Parameters = [:], client: RegisteredClient? = nil, browser: BrowserSecret? = nil,
        session: SessionSecret? = nil, explain: (ProviderRefusal) -> Void = { _ in }
    ) async throws -> AuthorizationAnswer {
        var parameters: Parameters = ["client_id": (client ?? self.bank).client.id, "request_uri": name]
        for (name, value) in more.members { parameters.append(name, value) }
        return try await self.provider.authorizations.authorize(
            parameters.encoded, browser: browser ?? self.browser, session: session, source: "a", address: nil,
            explain: explain)
    }
}

/// People whose sessions end while they are looked up.
private struct LeavingPeople: PersonDirectory {
    let f: ProviderFixture

    func person(account: String) async throws -> Person? {
        try await self.f.endSessions()
        return try await self.f.people.person(account: account)
    }
}

@Suite("RFC 9126: requests that clients push")
struct PushedRequestTests {
    private static let ended = AuthorizationAnswer.page(OAuthError(.invalidRequestURI))

    private func request(_ answer: AuthorizationAnswer) throws -> String {
        guard case .signIn(let request, _) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return request
    }

    private func address(_ answer: AuthorizationAnswer) throws -> String {
        guard case .client(.redirect(let address)) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return address
    }

    @Test("is answered by a name that nobody can guess, and that ends before 600 seconds (section 2.2)")
    func isNamed() async throws {
        try await ProviderFixture.run { f in
            var names: Set<String> = []
            for _ in 0..<3 {
                let answer = try await f.push()
                #expect(answer.status == 201 && answer.header("Cache-Control") == "no-store")
                let body = try #require(answer.body)
                #expect(Set(body.members.map(\.name)) == ["request_uri", "expires_in"])
                #expect(body["expires_in"] == .integer(90))
                let name = try body.requiredString("request_uri")
                let prefix = "urn:ietf:params:oauth:request_uri:"
                #expect(name.hasPrefix(prefix))
                #expect(Base64URL.decode(String(name.dropFirst(prefix.count)))?.count == 32)
                names.insert(name)
            }
            #expect(names.count == 3)
        }
    }

    @Test("signs a person in, and what it says alone counts")
    func signsIn() async throws {
        try await ProviderFixture.run { f in
            let name = try await f.pushed()
            let others: Parameters = [
                "redirect_uri": "https://evil.example/", "state": "other", "nonce": "other", "scope": "other",
            ]
            let request = try self.request(try await f.come(with: name, others))
            f.authenticate(request)
            let answer = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            guard case .signedIn(.redirect(let redirect), _, _) = answer else {
                Issue.record("not signed in: \(answer)")
                return
            }
            #expect(redirect.hasPrefix(ProviderFixture.address + "?"))
            #expect(try ProviderFixture.parameter("state", of: redirect) == "st&te")
            let code = try #require(try ProviderFixture.parameter("code", of: redirect))
            let body = try #require(try await f.token(code).body)
            #expect(body["scope"] == .string("openid profile"))
            let claims = try f.claims(body.requiredString("id_token"), type: "JWT")
            #expect(claims.members["nonce"] == .string("n-1"))
        }
    }

    @Test("is its client's alone, and another one's attempt does not spend it")
    func isItsClients() async throws {
        try await ProviderFixture.run { f in
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256))
            let name = try await f.pushed()
            var refusal: ProviderRefusal?
            #expect(try await f.come(with: name, client: shop) { refusal = $0 } == Self.ended)
            #expect(refusal?.code == "invalid_request_uri" && refusal?.client == shop.client.id)
            _ = try self.request(try await f.come(with: name))
        }
    }

    @Test("that is unknown, or of no client, is told on a page, and nobody is sent anywhere")
    func unknown() async throws {
        try await ProviderFixture.run { f in
            let name = try await f.pushed()
            for other in [name + "x", String(name.dropLast()), "urn:ietf:params:oauth:request_uri:"] {
                let answer = try await f.come(with: other, ["redirect_uri": ProviderFixture.address])
                #expect(answer == Self.ended, "\(other)")
            }
            let nobodys: Parameters = ["request_uri": name, "redirect_uri": ProviderFixture.address]
            let answer = try await f.provider.authorizations.authorize(
                nobodys.encoded, browser: f.browser, session: nil, source: "a", address: nil)
            #expect(answer == .page(OAuthError(.invalidRequest)))
        }
    }

    @Test func ends() async throws {
        try await ProviderFixture.run { f in
            let lifetime = Limits().oauth.pushedRequestLifetime
            #expect(lifetime < .seconds(600))
            let (first, second) = (try await f.pushed(), try await f.pushed())
            f.clock.advance(lifetime - .seconds(1))
            _ = try self.request(try await f.come(with: first))
            f.clock.advance(.seconds(1))
            #expect(try await f.come(with: second) == Self.ended)
            // Of the first one, too, which waits for its person (section 4).
            #expect(try await f.come(with: first) == Self.ended)
            #expect(try await f.provider.sweep() == 2)
        }
    }

    @Test("can be come with again until the person has signed in, and not after (section 4)")
    func reload() async throws {
        try await ProviderFixture.run { f in
            let name = try await f.pushed(["prompt": "login"])
            let request = try self.request(try await f.come(with: name))
            #expect(try self.request(try await f.come(with: name)) == request)
            f.authenticate(request)
            #expect(try self.request(try await f.come(with: name)) == request)
            let answer = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: nil)
            guard case .signedIn(_, let session, _) = answer else {
                Issue.record("not signed in: \(answer)")
                return
            }
            #expect(try await f.come(with: name) == Self.ended)
            #expect(try await f.come(with: name, session: session) == Self.ended)
        }
    }

    @Test func endsWithTheRefusalOfItsPerson() async throws {
        try await ProviderFixture.run { f in
            let name = try await f.pushed()
            let request = try self.request(try await f.come(with: name))
            let answer = try await f.provider.authorizations.refuse(request: request, browser: f.browser)
            #expect(try ProviderFixture.parameter("error", of: self.address(answer)) == "access_denied")
            #expect(try await f.come(with: name) == Self.ended)
        }
    }

    @Test("is the first browser's that comes with it")
    func isItsBrowsers() async throws {
        try await ProviderFixture.run { f in
            let name = try await f.pushed()
            let request = try self.request(try await f.come(with: name))
            #expect(try await f.come(with: name, browser: BrowserSecret()) == Self.ended)
            #expect(try self.request(try await f.come(with: name)) == request)
            let contested = try await f.pushed()
            let answers = try await withThrowingTaskGroup(of: AuthorizationAnswer.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await f.come(with: contested, browser: BrowserSecret()) }
                }
                return try await group.reduce(into: [AuthorizationAnswer]()) { $0.append($1) }
            }
            #expect(answers.count { $0 == Self.ended } == 19)
        }
    }

    @Test("gives one code where the browser has a session, also to twenty at once, and also while its page is open")
    func isAnsweredBySession() async throws {
        try await ProviderFixture.run { f in
            let open = try await f.pushed()
            let request = try self.request(try await f.come(with: open))
            let session = try await f.signIn().session
            for name in [try await f.pushed(), open] {
                let answers = try await withThrowingTaskGroup(of: AuthorizationAnswer.self) { group in
                    for _ in 0..<20 { group.addTask { try await f.come(with: name, session: session) } }
                    return try await group.reduce(into: [AuthorizationAnswer]()) { $0.append($1) }
                }
                #expect(answers.count { $0 == Self.ended } == 19)
                let codes = try answers.compactMap { answer in
                    guard case .client(.redirect(let address)) = answer else { return String?.none }
                    return try ProviderFixture.parameter("code", of: address)
                }
                #expect(codes.count == 1)
            }
            #expect(try await f.provider.authorizations.pending(request: request, browser: f.browser) == nil)
        }
    }

    @Test("is spent by a refusal that its client is told")
    func isSpentByARefusal() async throws {
        try await ProviderFixture.run { f in
            let name = try await f.pushed(["prompt": "none"])
            let told = try self.address(try await f.come(with: name))
            #expect(try ProviderFixture.parameter("error", of: told) == "login_required")
            #expect(try await f.come(with: name) == Self.ended)
        }
    }

    @Test("is not spent where the browser's source has begun too many sign-ins")
    func isNotSpentByABudget() async throws {
        var limits = Limits()
        limits.signInBurst = 1
        limits.signInsPerMinute = 6
        try await ProviderFixture.run(limits: limits) { f in
            _ = try await f.begin()
            let name = try await f.pushed()
            guard case .tooMany = try await f.come(with: name) else {
                Issue.record("not told to wait")
                return
            }
            f.clock.advance(.seconds(10))
            _ = try self.request(try await f.come(with: name))
        }
    }

    @Test("holds no other request (section 2.1), and stands beside none")
    func holdsNoOtherRequest() async throws {
        try await ProviderFixture.run { f in
            let name = try await f.pushed()
            for inside in [name, "https://a.example/"] {
                let answer = try await f.push(["request_uri": inside])
                #expect(answer.status == 400 && answer.error == "invalid_request")
            }
            #expect(try await f.push(["request": "e30.e30."]).error == "request_not_supported")
            #expect(try await f.come(with: name, ["request": "e30.e30."]) == .page(OAuthError(.invalidRequest)))
            _ = try self.request(try await f.come(with: name))
        }
    }

    @Test(
        "is checked at once as at the authorization endpoint, and its client told in the answer (section 2.3)",
        arguments: [
            (["redirect_uri": nil], "invalid_request"), (["redirect_uri": "https://evil.example/"], "invalid_request"),
            (["state": String(repeating: "s", count: 1025)], "invalid_request"),
            (["response_type": nil], "invalid_request"), (["response_type": "token"], "unsupported_response_type"),
            (["response_mode": "fragment"], "invalid_request"), (["scope": "profile"], "invalid_scope"),
            (["nonce": String(repeating: "n", count: 513)], "invalid_request"),
            (["code_challenge": nil], "invalid_request"),
            (["code_challenge_method": "plain"], "invalid_request"), (["prompt": "none login"], "invalid_request"),
            (["max_age": "-1"], "invalid_request"), (["id_token_hint": "x"], "invalid_request"),
        ] as [([String: String?], String)])
    func isChecked(changes: [String: String?], error: String) async throws {
        var limits = Limits()
        limits.oauth.pushedRequestBurst = 1
        try await ProviderFixture.run(limits: limits) { f in
            let answer = try await f.push(changes)
            #expect(answer.status == 400 && answer.error == error)
            #expect(answer.refusal?.code == error && answer.refusal?.client == f.bank.client.id)
            // Nothing was kept, and nothing counted.
            f.clock.advance(.seconds(3600))
            #expect(try await f.provider.sweep() == 0)
            #expect(try await f.push().status == 201)
        }
    }

    @Test("is checked again when a browser comes: no address is followed that the client has no more")
    func isCheckedAgain() async throws {
        try await ProviderFixture.run { f in
            let name = try await f.pushed()
            var change = ClientChange()
            change.redirectURIs = ["https://bank.example/new"]
            _ = try await f.provider.clients.change(f.bank.client.id, change)
            #expect(try await f.come(with: name) == .page(OAuthError(.invalidRequest)))
            #expect(try await f.provider.clients.delete(f.bank.client.id))
            #expect(try await f.come(with: name) == Self.ended)
        }
    }

    @Test("comes from a client that proves itself, and what it proves itself by is not kept")
    func isOfAClient() async throws {
        try await ProviderFixture.run { f in
            for header in [nil, f.basic(secret: "wrong"), "Bearer x"] {
                let answer = try await f.provider.authorizations.push(header: header, body: f.query(), source: "a")
                #expect(answer.status == 401 && answer.error == "invalid_client")
                #expect(answer.header("WWW-Authenticate")?.hasPrefix("Basic ") == true)
            }
            let posted = try await f.provider.authorizations.push(
                header: nil, body: f.query(["client_secret": f.bank.secret, "login_hint": "alice"]), source: "a")
            #expect(posted.status == 201)
            let name = try #require(posted.body).requiredString("request_uri")
            let digest = Sealing.digest(ofSecret: String(name.dropFirst("urn:ietf:params:oauth:request_uri:".count)))
            let kept = try #require(try await f.store.pushedRequest(digest: digest))
            #expect(kept.parameters.contains("login_hint=alice") && !kept.parameters.contains("client_secret"))
            #expect(try await f.store.pushedRequest(digest: Sealing.digest(ofSecret: name)) == nil)
            #expect(try await f.push(["client_id": "another"]).error == "invalid_request")
            // Without a client_id in the form it is that of the client that has proved itself.
            let unnamed = try #require(try await f.push(["client_id": nil]).body).requiredString("request_uri")
            _ = try self.request(try await f.come(with: unnamed))
        }
    }

    @Test("a client has a budget of them, and is told which setting raises it")
    func budget() async throws {
        var limits = Limits()
        limits.oauth.pushedRequestBurst = 2
        limits.oauth.pushedRequestsPerMinute = 6
        try await ProviderFixture.run(limits: limits) { f in
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256))
            for _ in 0..<2 { #expect(try await f.push().status == 201) }
            // From wherever it comes.
            let refused = try await f.provider.authorizations.push(header: f.basic(), body: f.query(), source: "b")
            #expect(refused.status == 429 && refused.error == "temporarily_unavailable")
            #expect(refused.header("Retry-After") == "10" && refused.header("Cache-Control") == "no-store")
            #expect(refused.shortage?.setting == "pushedRequestsPerMinute")
            #expect(refused.shortage?.clientID == f.bank.client.id)
            #expect(refused.refusal?.setting == "pushedRequestsPerMinute")
            #expect(try refused.body?.string("error_description")?.contains("pushedRequestsPerMinute") == true)
            #expect(try await f.push(client: shop).status == 201)
            f.clock.advance(.seconds(10))
            #expect(try await f.push().status == 201)
            #expect(try await f.push().status == 429)
        }
    }

    @Test("nobody is asked, and the session ends in between: the client is told login_required, and no page is shown")
    func sessionEnds() async throws {
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn()
            let name = try await f.pushed(["prompt": "none"])
            // The person is looked up after the session, and before there is a code.
            let provider = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: LeavingPeople(f: f), time: f.clock.source)
            let parameters: Parameters = ["client_id": f.bank.client.id, "request_uri": name]
            let answer = try await provider.authorizations.authorize(
                parameters.encoded, browser: f.browser, session: signedIn.session, source: "a", address: nil)
            let address = try self.address(answer)
            #expect(try ProviderFixture.parameter("error", of: address) == "login_required")
        }
    }

    @Test("is taken of clients that sign who they are, and of apps, for which each source has a budget")
    func kindsOfClients() async throws {
        var limits = Limits()
        limits.oauth.pushedRequestBurst = 1
        try await ProviderFixture.run(limits: limits) { f in
            func client(_ settings: ClientSettings) async throws -> RegisteredClient {
                try await f.provider.clients.register(
                    name: "Shop", redirectURIs: [ProviderFixture.address], settings: settings)
            }
            let key = try ClientKey(.es256)
            let signing = try await client(key.settings)
            let assertion = try key.assertion(signing.client.id, f)
            let form = f.query(
                [
                    "client_assertion": assertion,
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                ], client: signing)
            let signed = try await f.provider.authorizations.push(header: nil, body: form, source: "a")
            #expect(signed.status == 201)
            let name = try #require(signed.body).requiredString("request_uri")
            let digest = Sealing.digest(ofSecret: String(name.dropFirst("urn:ietf:params:oauth:request_uri:".count)))
            #expect(try await f.store.pushedRequest(digest: digest)?.parameters.contains("assertion") == false)
            #expect(
                try await f.provider.authorizations.push(header: nil, body: form, source: "a").error == "invalid_client"
            )
            let app = try await client(ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "none"))
            for (source, status) in [("a", 201), ("b", 201), ("a", 429)] {
                let answer = try await f.provider.authorizations.push(
                    header: nil, body: f.query(client: app), source: source)
                #expect(answer.status == status, "\(source)")
            }
        }
    }
}
