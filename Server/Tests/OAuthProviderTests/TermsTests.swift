import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("What people agree to before anything is issued for them (decision 46)")
struct TermsTests {
    private static let first = Terms(version: "2027-01", address: "https://id.example/terms")
    private static let second = Terms(version: "2027-02", address: "https://id.example/terms/2")

    /// A node over the same store whose operator wants people to agree to `terms`.
    private func node(_ f: ProviderFixture, _ terms: Terms?) async throws -> OpenIDProvider {
        var configuration = OpenIDProvider.Configuration(issuer: ProviderFixture.issuer)
        configuration.terms = terms
        return try await OpenIDProvider.open(
            configuration, store: f.store, methods: [f.outcomes], people: f.people, time: f.clock.source)
    }

    private func client(
        _ f: ProviderFixture, party: ClientSettings.Party = .first, isPublic: Bool = false
    ) async throws -> RegisteredClient {
        try await f.provider.clients.register(
            name: "Mail", redirectURIs: [ProviderFixture.address],
            settings: ClientSettings(
                idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"],
                authenticationMethod: isPublic ? "none" : "client_secret_basic", party: party))
    }

    /// Authenticates alice at a node and gives what becomes of it.
    private func authenticate(
        _ f: ProviderFixture, _ node: OpenIDProvider, _ client: RegisteredClient, account: String = "account-a"
    ) async throws -> (request: String, answer: CompletionAnswer) {
        let begun = try await node.authorizations.authorize(
            f.query(["scope": "openid offline_access"], client: client), browser: f.browser, session: nil, source: "a",
            address: nil)
        guard case .signIn(let request, _) = begun else { throw OAuthError(.serverError, detail: "\(begun)") }
        f.authenticate(request, account: account)
        return (request, try await node.authorizations.complete(request: request, browser: f.browser, session: nil))
    }

    /// The session in which somebody is asked.
    private func asked(_ answer: CompletionAnswer) throws -> SessionSecret {
        guard case .consent(_, let session?, _) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return session
    }

    private func decide(
        _ f: ProviderFixture, _ node: OpenIDProvider, _ request: String, _ session: SessionSecret,
        _ isGranted: Bool = true, version: String? = "2027-01"
    ) async throws -> AuthorizationAnswer {
        try await node.authorizations.decide(
            request: request, browser: f.browser, session: session, isGranted: isGranted, terms: version,
            address: "192.0.2.9")
    }

    private func code(_ answer: AuthorizationAnswer) throws -> String {
        guard case .client(let client) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return try #require(try ProviderFixture.fields(of: client)["code"])
    }

    private func tokens(
        _ f: ProviderFixture, _ node: OpenIDProvider, _ client: RegisteredClient, _ code: String
    ) async throws -> ProviderAnswer {
        guard client.secret == nil else {
            return try await node.grants.answer(header: f.basic(client), body: f.form(code))
        }
        return try await node.grants.answer(header: nil, body: f.form(code, ["client_id": client.client.id]))
    }

    private func refresh(
        _ f: ProviderFixture, _ node: OpenIDProvider, _ client: RegisteredClient, _ token: String
    ) async throws -> ProviderAnswer {
        let form: Parameters = [
            "grant_type": "refresh_token", "refresh_token": token, "client_id": client.client.id,
        ]
        return try await node.grants.answer(header: nil, body: form.encoded)
    }

    @Test("who has not agreed is asked after the sign-in and before there is a code, and once for a version")
    func onceAVersion() async throws {
        try await ProviderFixture.run { f async throws in
            let (node, client) = (try await self.node(f, Self.first), try await self.client(f))
            let (request, answer) = try await self.authenticate(f, node, client)
            let session = try self.asked(answer)
            let question = try #require(
                try await node.authorizations.consentQuestion(request: request, browser: f.browser, session: session))
            #expect(question.terms == Self.first && question.items.isEmpty && question.username == "alice")
            // A page that showed another version, or none, agrees to nothing.
            for version in [nil, "2026-12", "2027-01 "] {
                guard case .consent = try await self.decide(f, node, request, session, version: version) else {
                    Issue.record("agreed to \(version ?? "nothing")")
                    return
                }
            }
            #expect(try await f.store.hasAgreed(account: "account-a", version: "2027-01") == false)
            let code = try self.code(try await self.decide(f, node, request, session))
            #expect(try await self.tokens(f, node, client, code).status == 200)
            let event = try #require(
                try await f.store.auditEntries(after: 0, limit: 99).map(\.event).last {
                    $0.kind.rawValue == "terms-agreed"
                })
            #expect(event.accountID == "account-a" && event.detail == "2027-01" && event.address == "192.0.2.9")
            guard case .signedIn = try await self.authenticate(f, node, client).answer else {
                Issue.record("asked again")
                return
            }
            // Another person, and another version.
            _ = try self.asked(try await self.authenticate(f, node, client, account: "account-b").answer)
            let later = try await self.node(f, Self.second)
            _ = try self.asked(try await self.authenticate(f, later, client).answer)
            // Where the operator wants it no more, nobody is asked.
            guard case .signedIn = try await self.authenticate(f, try await self.node(f, nil), client).answer else {
                Issue.record("asked without terms")
                return
            }
        }
    }

    @Test("who does not agree is not let in, and is asked again the next time")
    func refusal() async throws {
        try await ProviderFixture.run { f async throws in
            let (node, client) = (try await self.node(f, Self.first), try await self.client(f))
            let (request, answer) = try await self.authenticate(f, node, client)
            let session = try self.asked(answer)
            guard case .client(let told) = try await self.decide(f, node, request, session, false) else {
                Issue.record("the client is told nothing")
                return
            }
            #expect(try ProviderFixture.fields(of: told)["error"] == "access_denied")
            #expect(try await f.store.hasAgreed(account: "account-a", version: "2027-01") == false)
            // The session is one, and gives no code to anybody.
            for (more, expected) in [([:], "consent"), (["prompt": "none"], "interaction_required")]
                as [([String: String?], String)]
            {
                let again = try await node.authorizations.authorize(
                    f.query(more, client: client), browser: f.browser, session: session, source: "a", address: nil)
                switch again {
                case .consent: #expect(expected == "consent")
                case .client(let told): #expect(try ProviderFixture.fields(of: told)["error"] == expected)
                default: Issue.record("\(again)")
                }
            }
        }
    }

    @Test("a service of somebody else's is agreed to after the terms, on a page of its own")
    func thirdParty() async throws {
        try await ProviderFixture.run { f async throws in
            let (node, client) = (try await self.node(f, Self.first), try await self.client(f, party: .third))
            let (request, answer) = try await self.authenticate(f, node, client)
            let session = try self.asked(answer)
            guard case .consent(request, client.client.id) = try await self.decide(f, node, request, session) else {
                Issue.record("not asked for the service")
                return
            }
            let question = try #require(
                try await node.authorizations.consentQuestion(request: request, browser: f.browser, session: session))
            #expect(question.terms == nil && question.items.isEmpty == false)
            let code = try self.code(try await self.decide(f, node, request, session, version: nil))
            #expect(try await self.tokens(f, node, client, code).status == 200)
            // With new terms the consent of before stands, and what is given stands on it.
            let later = try await self.node(f, Self.second)
            let (again, asked) = try await self.authenticate(f, later, client)
            let next = try self.asked(asked)
            let given = try self.code(try await self.decide(f, later, again, next, version: "2027-02"))
            #expect(try await self.tokens(f, later, client, given).status == 200)
        }
    }

    @Test("a refresh gives nothing until the person has agreed, and ends nothing")
    func refreshing() async throws {
        try await ProviderFixture.run { f async throws in
            let (node, client) = (try await self.node(f, nil), try await self.client(f, isPublic: true))
            guard case .signedIn(let answer, _, _) = try await self.authenticate(f, node, client).answer else {
                Issue.record("nobody is signed in")
                return
            }
            let code = try #require(try ProviderFixture.fields(of: answer)["code"])
            let body = try #require(try await self.tokens(f, node, client, code).body)
            let token = try body.requiredString("refresh_token")
            let asking = try await self.node(f, Self.first)
            for _ in 0..<3 {
                let refused = try await self.refresh(f, asking, client, token)
                #expect(refused.status == 400 && refused.error == "invalid_grant")
                #expect(refused.refusal?.reason?.contains("2027-01") == true)
                f.clock.advance(.seconds(120))
            }
            let agreed = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: f.clock.source.now())
            #expect(try await f.store.agree(account: "account-a", version: "2027-01", audit: agreed))
            #expect(try await self.refresh(f, asking, client, token).status == 200)
        }
    }

    @Test("a code that was made before the terms gives nothing after them")
    func codes() async throws {
        try await ProviderFixture.run { f async throws in
            let (node, client) = (try await self.node(f, nil), try await self.client(f))
            guard case .signedIn(let answer, _, _) = try await self.authenticate(f, node, client).answer else {
                Issue.record("nobody is signed in")
                return
            }
            let code = try #require(try ProviderFixture.fields(of: answer)["code"])
            let refused = try await self.tokens(f, try await self.node(f, Self.first), client, code)
            #expect(refused.status == 400 && refused.error == "invalid_grant")
        }
    }
}
