import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import _Primitives

/// Web servers of strangers, as far as this server can tell: each address answers with a document.
private final class DocumentHosts: OutgoingCalls {
    private struct Hosts {
        var documents: [ExactText: OutgoingAnswer] = [:]
        var calls: [OutgoingCall] = []
    }

    private let state = Mutex(Hosts())

    var calls: [OutgoingCall] { self.state.withLock { $0.calls } }

    func put(_ body: String, at address: String, status: Int = 200, type: String? = "application/json") {
        let answer = OutgoingAnswer(status: status, body: Array(body.utf8), mediaType: type)
        self.state.withLock { $0.documents[ExactText(address)] = answer }
    }

    func remove(_ address: String) { self.state.withLock { $0.documents[ExactText(address)] = nil } }

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        try self.state.withLock { state in
            state.calls.append(call)
            guard let answer = state.documents[ExactText(call.address)] else {
                throw OutgoingCallError("there is no connection to it")
            }
            return answer
        }
    }
}

/// A provider that strangers' clients can come to.
private struct StrangerFixture {
    static let id = "https://app.example/client.json"
    static let callback = "https://app.example/callback"

    let f: ProviderFixture
    let hosts: DocumentHosts
    let registrations: ClientRegistrations

    static func texts(_ texts: String...) -> JSON { .array(texts.map(JSON.string)) }

    init(f: ProviderFixture, hosts: DocumentHosts) {
        self.f = f
        self.hosts = hosts
        self.registrations = ClientRegistrations(clients: f.provider.clients, store: f.store)
    }

    static func run(limits: Limits = Limits(), _ body: (StrangerFixture) async throws -> Void) async throws {
        let hosts = DocumentHosts()
        try await ProviderFixture.run(
            limits: limits, calls: hosts,
            configure: {
                $0.isRegistrationOpen = true
                $0.takesClientDocuments = true
            }
        ) { f in
            let fixture = StrangerFixture(f: f, hosts: hosts)
            fixture.put()
            try await body(fixture)
        }
    }

    /// Puts a document at an address, right but for `changes`; `nil` leaves a member out.
    func put(_ changes: [String: JSON?] = [:], at id: String = Self.id) {
        var document: JSONObject = [
            "client_id": .string(id), "client_name": .string("Your Bank"),
            "client_uri": .string("https://bank.example/"),
            "redirect_uris": Self.texts(Self.callback), "logo_uri": .string("https://app.example/logo.png"),
            "id_token_signed_response_alg": .string("ES256"), "token_endpoint_auth_method": .string("none"),
            "grant_types": Self.texts("authorization_code", "refresh_token"),
        ]
        for (name, value) in changes { document[name] = value }
        self.hosts.put(JSON.object(document).text, at: id)
    }

    func query(_ changes: [String: String?] = [:]) -> String {
        self.f.query(["client_id": Self.id, "redirect_uri": Self.callback].merging(changes) { $1 })
    }

    func authorize(
        _ changes: [String: String?] = [:], session: SessionSecret? = nil, source: String = "a"
    ) async throws -> AuthorizationAnswer {
        try await self.f.provider.authorizations.authorize(
            self.query(changes), browser: self.f.browser, session: session, source: source, address: nil)
    }

    /// What the request came to, in a word; of a page its error.
    func outcome(_ changes: [String: String?] = [:], source: String = "a") async throws -> String {
        switch try await self.authorize(changes, source: source) {
        case .signIn: "sign-in"
        case .consent: "consent"
        case .tooMany(let shortage): shortage.setting
        case .page(let error): error.code.rawValue
        case .client(let answer): try ProviderFixture.fields(of: answer)["error"] ?? "code"
        }
    }

    /// Signs alice in from the start, up to the question whether the client may have what it asks for.
    func asked(_ changes: [String: String?] = [:], session: SessionSecret? = nil) async throws -> (
        request: String, session: SessionSecret
    ) {
        guard case .signIn(let request, _) = try await self.authorize(changes) else {
            throw OAuthError(.serverError, detail: "no sign-in")
        }
        self.f.authenticate(request)
        let answer = try await self.f.provider.authorizations.complete(
            request: request, browser: self.f.browser, session: session)
        guard case .consent(_, let secret?, _) = answer else {
            throw OAuthError(.serverError, detail: "\(answer)")
        }
        return (request, secret)
    }

    func decide(_ request: String, _ session: SessionSecret, isGranted: Bool = true) async throws -> Parameters {
        let answer = try await self.f.provider.authorizations.decide(
            request: request, browser: self.f.browser, session: session, isGranted: isGranted, address: nil)
        guard case .client(let client) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return try ProviderFixture.fields(of: client)
    }

    /// A whole sign-in up to the code.
    func code(_ changes: [String: String?] = [:]) async throws -> String {
        let asked = try await self.asked(changes)
        return try #require(try await self.decide(asked.request, asked.session)["code"])
    }

    func tokens(_ code: String, id: String = Self.id) async throws -> ProviderAnswer {
        try await self.f.provider.grants.answer(
            header: nil, body: self.f.form(code, ["client_id": id, "redirect_uri": Self.callback]))
    }

    /// What is kept of clients, beside the fixture's own.
    func kept() async throws -> [ClientRecord] {
        try await self.f.store.clients().filter { $0.id != self.f.bank.client.id }
    }

    func register(_ changes: [String: JSON?] = [:], source: String = "a", header: String? = nil) async throws
        -> ProviderAnswer
    {
        var body: JSONObject = [
            "client_name": .string("Your Bank"), "redirect_uris": Self.texts(Self.callback),
            "id_token_signed_response_alg": .string("ES256"), "token_endpoint_auth_method": .string("none"),
        ]
        for (name, value) in changes { body[name] = value }
        return try await self.registrations.register(header: header, body: body, source: source)
    }
}

@Suite("draft-ietf-oauth-client-id-metadata-document, section 4: clients with a document")
struct ClientDocumentTests {
    @Test("a client signs its people in, and is written down once a person has let the client have something")
    func signsIn() async throws {
        try await StrangerFixture.run { f in
            let asked = try await f.asked(["scope": "openid profile offline_access"])
            #expect(try await f.kept().isEmpty)
            let code = try #require(try await f.decide(asked.request, asked.session)["code"])
            let kept = try #require(try await f.kept().first)
            #expect(kept.id == StrangerFixture.id && kept.registration == .document && kept.settings.party == .third)
            let tokens = try #require(try await f.tokens(code).body)
            let claims = try f.f.claims(tokens.requiredString("id_token"), type: "JWT")
            #expect(claims.audience == [StrangerFixture.id])
            let refreshed = try await f.f.provider.grants.answer(
                header: nil,
                body: ([
                    "grant_type": "refresh_token", "client_id": StrangerFixture.id,
                    "refresh_token": try tokens.requiredString("refresh_token"),
                ] as Parameters).encoded)
            #expect(refreshed.status == 200)
        }
    }

    @Test("no document is looked for unless the operator has said so, and discovery says whether")
    func isOff() async throws {
        let hosts = DocumentHosts()
        try await ProviderFixture.run(calls: hosts) { f in
            let fixture = StrangerFixture(f: f, hosts: hosts)
            fixture.put()
            let answer = try await fixture.outcome()
            #expect(answer == "invalid_request")
            #expect(hosts.calls.isEmpty)
            #expect(f.provider.discovery["client_id_metadata_document_supported"] == nil)
        }
        try await StrangerFixture.run { f in
            #expect(f.f.provider.discovery["client_id_metadata_document_supported"] == .bool(true))
        }
    }

    @Test("people are shown hosts, and neither a name, a logo nor a link that a stranger has chosen")
    func shown() async throws {
        try await StrangerFixture.run { f in
            f.put(["redirect_uris": StrangerFixture.texts("https://other.example/callback")])
            guard
                case .signIn(let request, _) = try await f.authorize(["redirect_uri": "https://other.example/callback"])
            else { throw OAuthError(.serverError) }
            let pending = try #require(
                try await f.f.provider.authorizations.pending(request: request, browser: f.f.browser))
            #expect(pending.clientName == "app.example (not known to the operator)")
            #expect(pending.clientOrigin == "https://other.example")
            #expect(pending.methods == ["phone"])
            f.f.authenticate(request)
            guard
                case .consent(_, let session?, _) = try await f.f.provider.authorizations.complete(
                    request: request, browser: f.f.browser, session: nil)
            else { throw OAuthError(.serverError) }
            let question = try #require(
                try await f.f.provider.authorizations.consentQuestion(
                    request: request, browser: f.f.browser, session: session))
            #expect(question.isStranger && question.clientName == pending.clientName)
            #expect(question.clientOrigin == "https://other.example")
            _ = try await f.decide(request, session)
            let kept = try #require(try await f.kept().first)
            #expect(kept.name == pending.clientName && kept.clientURI == nil)
            #expect(try await f.f.provider.clients.service(StrangerFixture.id)?.home == nil)
            let given = try await f.f.provider.authorizations.consents.given(byAccount: "account-a")
            #expect(given.map(\.clientName) == [pending.clientName])
        }
    }

    @Test("a host that is too long to be shown whole is none of a client")
    func longHost() async throws {
        try await StrangerFixture.run { f in
            let id = "https://" + String(repeating: "a.", count: 60) + "example/client.json"
            f.put(at: id)
            let answer = try await f.outcome(["client_id": id])
            #expect(answer == "invalid_client_metadata")
        }
    }

    @Test("a person is asked each time, also with a session and after the same was allowed before")
    func isAskedEachTime() async throws {
        try await StrangerFixture.run { f in
            let first = try await f.asked()
            #expect(try await f.decide(first.request, first.session)["code"] != nil)
            for _ in 0..<2 {
                guard case .consent(let request, _) = try await f.authorize(session: first.session) else {
                    Issue.record("not asked")
                    return
                }
                #expect(try await f.decide(request, first.session)["code"] != nil)
            }
            guard case .client(let silent) = try await f.authorize(["prompt": "none"], session: first.session) else {
                Issue.record("not refused")
                return
            }
            #expect(try ProviderFixture.fields(of: silent)["error"] == "consent_required")
            #expect(try await f.f.provider.authorizations.consents.given(byAccount: "account-a").count == 1)
        }
    }

    @Test("whoever says no, or only signs in, leaves nothing of the client")
    func denied() async throws {
        try await StrangerFixture.run { f in
            let asked = try await f.asked()
            #expect(try await f.decide(asked.request, asked.session, isGranted: false)["error"] == "access_denied")
            #expect(try await f.kept().isEmpty)
            #expect(
                try await f.f.store.auditEntries(after: 0, limit: 99).allSatisfy {
                    $0.event.actor != StrangerFixture.id
                })
        }
    }

    @Test("a document is fetched once in an hour, as a call of its own kind and of 5 KiB")
    func isKept() async throws {
        try await StrangerFixture.run { f in
            for _ in 0..<5 { #expect(try await f.outcome() == "sign-in") }
            let call = try #require(f.hosts.calls.first)
            #expect(f.hosts.calls.count == 1)
            #expect(call.address == StrangerFixture.id && call.party == .clientDocument && call.longestAnswer == 5120)
            f.f.clock.advance(.seconds(60 * 60 - 1))
            #expect(try await f.outcome() == "sign-in")
            #expect(f.hosts.calls.count == 1)
            f.f.clock.advance(.seconds(1))
            #expect(try await f.outcome() == "sign-in")
            #expect(f.hosts.calls.count == 2)
        }
    }

    @Test("what a document says next counts an hour later, also for what is kept of the client")
    func changes() async throws {
        try await StrangerFixture.run { f in
            _ = try await f.code()
            f.put(["redirect_uris": StrangerFixture.texts("https://app.example/new")])
            f.f.clock.advance(.seconds(60 * 60))
            #expect(try await f.outcome() == "invalid_request")
            let asked = try await f.asked(["redirect_uri": "https://app.example/new"])
            #expect(try await f.decide(asked.request, asked.session)["code"] != nil)
            #expect(try await f.kept().map(\.redirectURIs) == [["https://app.example/new"]])
        }
    }

    @Test(
        "an answer that is no document of the address makes no client",
        arguments: [
            (200, "text/plain", nil), (200, nil, nil), (404, "application/json", nil), (302, "application/json", nil),
            (200, "application/json", "{}"), (200, "application/json", "[]"),
            (200, "application/json", #"{"client_id":"https://app.example/client.jsoN"}"#),
        ] as [(Int, String?, String?)])
    func refused(status: Int, type: String?, body: String?) async throws {
        try await StrangerFixture.run { f in
            let right = #"{"client_id":"\#(StrangerFixture.id)","redirect_uris":["\#(StrangerFixture.callback)"]}"#
            f.hosts.put(body ?? right, at: StrangerFixture.id, status: status, type: type)
            let first = try await f.outcome()
            #expect(first == "invalid_client_metadata")
            // Asked again within a moment nobody is called.
            let again = try await f.outcome()
            #expect(again == "invalid_client_metadata")
            #expect(f.hosts.calls.count == 1)
            f.hosts.put(right, at: StrangerFixture.id, type: "application/problem+json")
            f.f.clock.advance(.seconds(15))
            let later = try await f.outcome()
            #expect(later == "sign-in")
        }
    }

    @Test(
        "a document gives a client nothing that an operator gives",
        arguments: [
            #"{"grant_types":["authorization_code", "urn:openid:params:grant-type:ciba"]}"#,
            #"{"grant_types":["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"]}"#,
            #"{"grant_types":["client_credentials"]}"#,
            #"{"grant_types":["password"]}"#,
            #"{"sector_identifier_uri":"https://app.example/sector"}"#,
            #"{"redirect_uris":["https://id.example/callback"]}"#,
            #"{"redirect_uris":[]}"#,
            #"{"redirect_uris":["https://*.example/callback"]}"#,
            #"{"backchannel_token_delivery_mode":"poll"}"#,
            #"{"token_endpoint_auth_method":"client_secret_basic"}"#,
            #"{"client_secret":"a"}"#,
            #"{"token_endpoint_auth_method":"private_key_jwt"}"#,
        ])
    func bounds(members: String) async throws {
        try await StrangerFixture.run { f in
            guard case .object(let object) = try JSON(parsing: members) else { throw OAuthError(.serverError) }
            f.put(Dictionary(uniqueKeysWithValues: object.members.map { ($0.name, $0.value) }))
            let outcome = try await f.outcome()
            #expect(outcome == "invalid_client_metadata" || outcome == "invalid_redirect_uri")
            #expect(try await f.kept().isEmpty)
        }
    }

    @Test("the scope device_sso means nothing to a stranger's client")
    func scopes() async throws {
        try await StrangerFixture.run { f in
            let asked = try await f.asked(["scope": "openid device_sso offline_access"])
            let question = try #require(
                try await f.f.provider.authorizations.consentQuestion(
                    request: asked.request, browser: f.f.browser, session: asked.session))
            #expect(question.items == [.identity, .offlineAccess])
        }
    }

    @Test("addresses that are none of a client are not called, and neither is this server")
    func addresses() async throws {
        try await StrangerFixture.run { f in
            for id in [
                "http://app.example/a", "https://app.example", "https://app.example/a?b", "https://APP.example/a",
            ] {
                f.put(at: id)
                let answer = try await f.outcome(["client_id": id])
                #expect(answer == "invalid_request")
            }
            let own = "https://id.example/client.json"
            f.put(at: own)
            let answer = try await f.outcome(["client_id": own])
            #expect(answer == "invalid_client_metadata")
            #expect(f.hosts.calls.isEmpty)
        }
    }

    @Test("a network has a budget, and so has a host; a client that people use needs neither")
    func budgets() async throws {
        var limits = Limits()
        limits.oauth.clientDocumentBurst = 3
        limits.oauth.clientDocumentsPerMinute = 1
        limits.oauth.clientDocumentBurstPerHost = 4
        limits.oauth.clientDocumentsPerHostAndMinute = 1
        try await StrangerFixture.run(limits: limits) { f in
            _ = try await f.code()
            for number in 0..<2 {
                f.put(at: "https://app.example/\(number)")
                #expect(try await f.outcome(["client_id": "https://app.example/\(number)"]) == "sign-in")
            }
            #expect(try await f.outcome(["client_id": "https://b.example/"]) == "clientDocumentsPerMinute")
            // Another network is not the first one, and a document that is kept costs nothing.
            #expect(
                try await f.outcome(["client_id": "https://b.example/"], source: "b") == "invalid_client_metadata")
            f.put(at: "https://app.example/2")
            #expect(try await f.outcome(["client_id": "https://app.example/2"], source: "b") == "sign-in")
            #expect(try await f.outcome(["client_id": "https://app.example/1"], source: "a") == "sign-in")
            #expect(
                try await f.outcome(["client_id": "https://app.example/3"], source: "c")
                    == "clientDocumentsPerHostAndMinute")
            f.f.clock.advance(.seconds(60 * 60))
            for number in 0..<4 {
                _ = try await f.outcome(["client_id": "https://app.example/x\(number)"], source: "d\(number)")
            }
            #expect(
                try await f.outcome(["client_id": "https://app.example/4"], source: "e")
                    == "clientDocumentsPerHostAndMinute")
            #expect(try await f.outcome(source: "e") == "sign-in")
        }
    }

    @Test("a budget that has run out leaves a document that is kept in force, as an address does that does not answer")
    func budgetOfTheHost() async throws {
        var limits = Limits()
        limits.oauth.clientDocumentBurstPerHost = 2
        limits.oauth.clientDocumentsPerHostAndMinute = 1
        try await StrangerFixture.run(limits: limits) { f in
            #expect(try await f.outcome() == "sign-in")
            f.f.clock.advance(.seconds(60 * 60))
            for number in 0..<3 {
                _ = try await f.outcome(["client_id": "https://app.example/x\(number)"], source: "d\(number)")
            }
            #expect(
                try await f.outcome(["client_id": "https://app.example/4"], source: "e")
                    == "clientDocumentsPerHostAndMinute")
            let calls = f.hosts.calls.count
            #expect(try await f.outcome(source: "f") == "sign-in" && f.hosts.calls.count == calls)
        }
    }

    @Test("whoever has no budget left takes no place of a document that is kept")
    func places() async throws {
        var limits = Limits()
        (limits.oauth.clientDocuments, limits.oauth.clientDocumentBurst) = (1, 1)
        try await StrangerFixture.run(limits: limits) { f in
            let first = try await f.outcome()
            #expect(first == "sign-in")
            for number in 0..<3 {
                let refused = try await f.outcome(["client_id": "https://b.example/\(number)"])
                #expect(refused == "clientDocumentsPerMinute")
            }
            let again = try await f.outcome()
            #expect(again == "sign-in" && f.hosts.calls.count == 1)
        }
    }

    @Test("what strangers push is counted for their network, however many clients they are, and before it is judged")
    func pushesInAll() async throws {
        var limits = Limits()
        (limits.oauth.pushedRequestBurst, limits.oauth.pushedRequestsPerMinute) = (2, 1)
        try await StrangerFixture.run(limits: limits) { f in
            for number in 0..<3 {
                let id = "https://app.example/\(number)"
                f.put(at: id)
                let body = f.query(["client_id": id, "scope": number == 0 ? "profile" : "openid"])
                let status = try await f.f.provider.authorizations.push(header: nil, body: body, source: "a").status
                #expect(status == [400, 201, 429][number])
            }
            let other = try await f.f.provider.authorizations.push(header: nil, body: f.query(), source: "b").status
            #expect(other == 201)
        }
    }

    @Test("at the token endpoint nobody is called in the name of a client that nobody has used")
    func tokenEndpoint() async throws {
        try await StrangerFixture.run { f in
            let error = try await f.tokens("code").error
            #expect(error == "invalid_client")
            #expect(f.hosts.calls.isEmpty)
        }
    }

    @Test("a client with keys at an address of its own signs in, by calls that take no place of known clients")
    func keys() async throws {
        try await StrangerFixture.run { f in
            let key = try ClientKey(.es256, named: "one")
            let address = "https://app.example/keys"
            f.put(["token_endpoint_auth_method": .string("private_key_jwt"), "jwks_uri": .string(address)])
            f.hosts.put(key.set, at: address)
            let code = try await f.code()
            let answer = try await f.f.token(
                code, assertion: key.assertion(StrangerFixture.id, f.f), ["redirect_uri": StrangerFixture.callback])
            #expect(answer.status == 200)
            #expect(f.hosts.calls.map(\.party) == [.clientDocument, .clientDocument])
            #expect(f.hosts.calls.last?.address == address)
        }
    }

    @Test("a client pushes its first request, within the budget of its network")
    func pushes() async throws {
        var limits = Limits()
        limits.oauth.clientDocumentBurst = 1
        try await StrangerFixture.run(limits: limits) { f in
            let pushed = try await f.f.provider.authorizations.push(header: nil, body: f.query(), source: "a")
            let uri = try #require(try pushed.body?.requiredString("request_uri"))
            let answer = try await f.f.provider.authorizations.authorize(
                (["client_id": StrangerFixture.id, "request_uri": uri] as Parameters).encoded, browser: f.f.browser,
                session: nil, source: "a", address: nil)
            guard case .signIn = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(try await f.kept().isEmpty)
            let other = f.query(["client_id": "https://app.example/other"])
            #expect(try await f.f.provider.authorizations.push(header: nil, body: other, source: "a").status == 429)
        }
    }

    @Test("a sign-in that has begun ends though its document has an end meanwhile")
    func outlivesItsDocument() async throws {
        try await StrangerFixture.run { f in
            f.f.clock.advance(.seconds(1))
            #expect(try await f.outcome() == "sign-in")
            f.f.clock.advance(.seconds(60 * 60 - 1))
            guard case .signIn(let request, _) = try await f.authorize() else { throw OAuthError(.serverError) }
            f.f.clock.advance(.seconds(60))
            f.hosts.remove(StrangerFixture.id)
            f.f.authenticate(request)
            guard
                case .consent(_, let session?, _) = try await f.f.provider.authorizations.complete(
                    request: request, browser: f.f.browser, session: nil)
            else { throw OAuthError(.serverError) }
            #expect(try await f.decide(request, session)["code"] != nil)
        }
    }

    @Test("a client whose document is gone gets nothing more once the hour is over")
    func goneDocument() async throws {
        try await StrangerFixture.run { f in
            let code = try await f.code(["scope": "openid offline_access"])
            let refresh = try #require(try await f.tokens(code).body).requiredString("refresh_token")
            f.hosts.remove(StrangerFixture.id)
            f.f.clock.advance(.seconds(60 * 60) + Limits().authorizationRequestLifetime)
            #expect(try await f.outcome() == "invalid_client_metadata")
            let answer = try await f.f.provider.grants.answer(
                header: nil,
                body: ([
                    "grant_type": "refresh_token", "client_id": StrangerFixture.id, "refresh_token": refresh,
                ] as Parameters).encoded)
            #expect(answer.status >= 400 && answer.body?["access_token"] == nil)
        }
    }

    @Test("an operator switches such a client off, and changes nothing else of it")
    func disabled() async throws {
        try await StrangerFixture.run { f in
            let code = try await f.code()
            for change in [ClientChange(name: "Known"), ClientChange(party: .first), ClientChange(codeBinding: .pkce)] {
                await #expect(throws: OAuthError(.invalidRequest)) {
                    try await f.f.provider.clients.change(StrangerFixture.id, change)
                }
            }
            var off = ClientChange()
            off.isDisabled = true
            #expect(try await f.f.provider.clients.change(StrangerFixture.id, off)?.settings.isDisabled == true)
            #expect(try await f.outcome() == "unauthorized_client")
            #expect(try await f.tokens(code).error == "invalid_client")
            f.put(["client_name": .string("Another")])
            f.f.clock.advance(.seconds(60 * 60))
            #expect(try await f.outcome() == "unauthorized_client")
        }
    }

    @Test("there are as many as can be; those that nobody uses any more make room after a day")
    func room() async throws {
        var limits = Limits()
        limits.oauth.strangers = 1
        try await StrangerFixture.run(limits: limits) { f in
            _ = try await f.code()
            let second = "https://b.example/client"
            f.put(at: second)
            let asked = try await f.asked(["client_id": second])
            #expect(try await f.decide(asked.request, asked.session)["error"] == "temporarily_unavailable")
            let consent = try #require(
                try await f.f.provider.authorizations.consents.given(byAccount: "account-a").first)
            #expect(try await f.f.provider.authorizations.consents.end(consent.id, ofAccount: "account-a"))
            f.f.clock.advance(.seconds(24 * 60 * 60))
            try await f.f.provider.sweep()
            let again = try await f.asked(["client_id": second])
            #expect(try await f.decide(again.request, again.session)["code"] != nil)
            #expect(try await f.kept().map(\.id) == [second])
            let deleted = try await f.f.store.auditEntries(after: 0, limit: 99).map(\.event)
                .filter { $0.kind.rawValue == "unused-client-deleted" }
            #expect(deleted.map(\.detail) == [StrangerFixture.id])
        }
    }
}

@Suite("RFC 7591, section 3: open registration")
struct OpenRegistrationTests {
    @Test("anybody registers, and gets a third party's client by which people see hosts alone")
    func registers() async throws {
        try await StrangerFixture.run { f in
            #expect(f.f.provider.discovery["registration_endpoint"] != nil)
            let answer = try await f.register([
                "client_uri": .string("https://bank.example/"), "logo_uri": .string("https://app.example/l.png"),
                "redirect_uris": StrangerFixture.texts(
                    StrangerFixture.callback, "http://127.0.0.1/cb", "http://localhost:8080/cb", "com.example.app:/cb",
                    "https://app.example/other"),
            ])
            let body = try #require(answer.status == 201 ? answer.body : nil, "\(answer.body ?? [:])")
            #expect(
                try body.requiredString("client_name")
                    == "app.example, 127.0.0.1, localhost:8080, com.example.app: (not known to the operator)")
            #expect(Set(try body.strings("ignored_members") ?? []) == ["client_uri", "logo_uri"])
            let id = try body.requiredString("client_id")
            let token = "Bearer \(try body.requiredString("registration_access_token"))"
            let kept = try #require(try await f.kept().first)
            #expect(kept.id == id && kept.isStranger && kept.settings.party == .third && kept.clientURI == nil)
            let read = try await f.registrations.read(id, header: token)
            #expect(read.status == 200)
            let replaced = try await f.registrations.replace(
                id, header: token,
                body: [
                    "client_id": .string(id), "client_name": .string("Your Bank"),
                    "token_endpoint_auth_method": .string("none"), "id_token_signed_response_alg": .string("ES256"),
                    "redirect_uris": StrangerFixture.texts("https://new.example/cb"),
                ])
            #expect(replaced.body?["client_name"] == .string("new.example (not known to the operator)"))
            #expect(try await f.registrations.delete(id, header: token).status == 204)
            #expect(try await f.kept().isEmpty)
        }
    }

    @Test("people of such a client are asked each time")
    func isAskedEachTime() async throws {
        try await StrangerFixture.run { f in
            let id = try #require(try await f.register().body).requiredString("client_id")
            let first = try await f.asked(["client_id": id])
            let code = try #require(try await f.decide(first.request, first.session)["code"])
            #expect(try await f.tokens(code, id: id).status == 200)
            guard case .consent = try await f.authorize(["client_id": id], session: first.session) else {
                Issue.record("not asked")
                return
            }
        }
    }

    @Test("without the operator's word nobody registers without a token; a token of the operator's lets its client in")
    func isOff() async throws {
        try await ProviderFixture.run { f in
            let fixture = StrangerFixture(f: f, hosts: DocumentHosts())
            let status = try await fixture.register().status
            #expect(status == 401)
        }
        try await StrangerFixture.run { f in
            let token = try await f.registrations.makeInitialToken(lifetime: nil, uses: 1, by: "root").secret
            #expect(try await f.register(header: "Bearer unknown").status == 401)
            let invited = try await f.register(header: "Bearer \(token)")
            #expect(invited.status == 201 && invited.body?["client_name"] == .string("Your Bank"))
            #expect(try await f.kept().map(\.isStranger) == [false])
        }
    }

    @Test("a network has a budget")
    func budget() async throws {
        try await StrangerFixture.run { f in
            for _ in 0..<5 { #expect(try await f.register().status == 201) }
            let refused = try await f.register()
            #expect(refused.status == 429 && refused.header("Retry-After") == "60")
            #expect(try await f.register(source: "b").status == 201)
            // What is refused was counted, too: it costs as much.
            for _ in 0..<4 { #expect(try await f.register(["redirect_uris": nil], source: "b").status == 400) }
            #expect(try await f.register(source: "b").status == 429)
        }
    }

    @Test("what strangers sign is counted for their network at every endpoint, before it is judged and leaves a row")
    func statements() async throws {
        var limits = Limits()
        (limits.oauth.pushedRequestBurst, limits.oauth.pushedRequestsPerMinute) = (2, 1)
        try await StrangerFixture.run(limits: limits) { f in
            let key = try ClientKey(.es256, named: "one")
            let registered = try await f.register([
                "token_endpoint_auth_method": .string("private_key_jwt"), "jwks": JSON(parsing: Array(key.set.utf8)),
            ])
            let id = try #require(registered.body).requiredString("client_id")
            func form() throws -> String {
                let form: Parameters = [
                    "grant_type": "refresh_token", "refresh_token": "unknown", "token": "unknown",
                    "client_assertion": try key.assertion(id, f.f),
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                ]
                return form.encoded
            }
            for status in [400, 400, 429] {
                let answer = try await f.f.provider.grants.answer(header: nil, body: form(), source: "a")
                #expect(answer.status == status)
                let isTold = try answer.body?.string("error_description")?.contains("the clients of strangers on this")
                #expect(
                    isTold == (status == 429), "a client that has pushed nothing is told whose requests were counted")
            }
            #expect(try await f.f.provider.revocation.answer(header: nil, body: form(), source: "a").status == 429)
            #expect(try await f.f.provider.introspection.answer(header: nil, body: form(), source: "a").status == 429)
            #expect(try await f.f.provider.revocation.answer(header: nil, body: form(), source: "b").status == 200)
        }
    }

    @Test("strangers take no place of the operator's clients, and there are as many as can be")
    func room() async throws {
        var limits = Limits()
        limits.oauth.clients = 2
        limits.oauth.strangers = 2
        try await StrangerFixture.run(limits: limits) { f in
            for _ in 0..<2 { #expect(try await f.register().status == 201) }
            #expect(try await f.register().error == "temporarily_unavailable")
            _ = try await f.f.provider.clients.register(
                name: "Second", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256))
            f.f.clock.advance(.seconds(24 * 60 * 60))
            #expect(try await f.register().status == 201)
            // The oldest of the two has made room, and the other one stays.
            let strangers = try await f.kept().filter(\.isStranger).count
            #expect(strangers == 2)
        }
    }

    @Test(
        "such a client has nothing that an operator gives, not even by the operator",
        arguments: [
            ClientChange(grantTypes: ["authorization_code", "urn:openid:params:grant-type:ciba"]),
            ClientChange(grantTypes: ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"]),
            ClientChange(mayDeregister: true), ClientChange(party: .first), ClientChange(signInMethods: ["password"]),
            ClientChange(profile: ClientProfileChange(signsInDirectly: true)),
            ClientChange(tokens: TokenSettingsChange(group: "bank")),
            ClientChange(tokens: TokenSettingsChange(resources: ["https://api.example/"])),
        ])
    func bounds(change: ClientChange) async throws {
        try await StrangerFixture.run { f in
            let id = try #require(try await f.register().body).requiredString("client_id")
            await #expect(throws: OAuthError(.invalidRequest)) { try await f.f.provider.clients.change(id, change) }
        }
    }
}
