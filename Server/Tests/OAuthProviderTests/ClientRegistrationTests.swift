import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Sealing
import Settings
import Testing
import _Primitives

@Suite("RFC 7591 and RFC 7592: clients that register themselves (F130)")
struct ClientRegistrationTests {
    /// What registers, and a client that did.
    private struct Registering {
        let f: ProviderFixture
        let registrations: ClientRegistrations

        init(_ f: ProviderFixture, issuers: SoftwareStatementIssuers = SoftwareStatementIssuers()) {
            self.f = f
            self.registrations = ClientRegistrations(clients: f.provider.clients, store: f.store, issuers: issuers)
        }

        func token(_ uses: Int = 1, lifetime: Duration? = nil) async throws -> String {
            try await self.registrations.makeInitialToken(lifetime: lifetime, uses: uses, by: "root").secret
        }

        func post(_ body: JSONObject, _ token: String?) async throws -> ProviderAnswer {
            try await self.registrations.register(header: token.map { "Bearer \($0)" }, body: body, source: "a")
        }

        /// Registers with a token of its own.
        func register(_ changes: [String: JSON?] = [:]) async throws -> ProviderAnswer {
            try await self.post(ClientRegistrationTests.body(changes), self.token())
        }
    }

    /// Metadata that are right but for `changes`; `nil` leaves a member out.
    private static func body(_ changes: [String: JSON?] = [:]) -> JSONObject {
        var body: JSONObject = [
            "client_name": .string("Self"), "redirect_uris": .array([.string(ProviderFixture.address)]),
            "id_token_signed_response_alg": .string("ES256"),
        ]
        for (name, value) in changes { body[name] = value }
        return body
    }

    /// The code of a client whose people are asked what it may have, as nobody here vouches for it.
    private static func code(_ f: ProviderFixture, _ changes: [String: String?]) async throws -> String {
        let session = try await f.signIn().session
        let asked = try await f.provider.authorizations.authorize(
            f.query(changes), browser: f.browser, session: session, source: "a", address: nil)
        guard case .consent(let request, _) = asked else { throw OAuthError(.serverError, detail: "\(asked)") }
        let decided = try await f.provider.authorizations.decide(
            request: request, browser: f.browser, session: session, isGranted: true, address: nil)
        guard case .client(let led) = decided else { throw OAuthError(.serverError, detail: "\(decided)") }
        return try #require(try ProviderFixture.fields(of: led)["code"])
    }

    private static func texts(_ texts: String...) -> JSON { .array(texts.map(JSON.string)) }

    @Test("what registers signs its people in, with what it was told, and is a third party's")
    func registers() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let answer = try await registering.register([
                "grant_types": Self.texts("authorization_code", "refresh_token"),
                "post_logout_redirect_uris": Self.texts(ProviderFixture.afterLogout),
                "client_uri": .string("https://bank.example/"), "unknown": .bool(true),
                "backchannel_logout_uri": .string("https://bank.example/out"),
                "backchannel_logout_session_required": .bool(true), "logo_uri": .string("https://bank.example/l.png"),
            ])
            #expect(answer.status == 201)
            #expect(answer.header("Cache-Control") == "no-store")
            let body = try #require(answer.body)
            let id = try body.requiredString("client_id")
            #expect(try body.requiredString("client_name") == "Self")
            #expect(body["client_secret_expires_at"] == .integer(0))
            #expect(body["client_id_issued_at"] == .integer(f.clock.source.now().seconds))
            #expect(body["grant_types"] == Self.texts("authorization_code", "refresh_token"))
            #expect(body["response_types"] == Self.texts("code"))
            #expect(body["token_endpoint_auth_method"] == .string("client_secret_basic"))
            #expect(body["backchannel_logout_uri"] == .string("https://bank.example/out"))
            #expect(body["backchannel_logout_session_required"] == .bool(true))
            #expect(body["unknown"] == nil && body["logo_uri"] == nil)
            #expect(Set(try body.strings("ignored_members") ?? []) == ["unknown", "logo_uri"])
            #expect(
                try body.requiredString("registration_client_uri") == ProviderFixture.issuer + "/oauth2/register/\(id)")
            let secret = try body.requiredString("client_secret")
            #expect(secret.utf8.count == 43)
            let client = try #require(try await f.provider.clients.client(id))
            #expect(client.registration != nil && !client.settings.mayDeregister)
            #expect(client.settings.codeBinding == .usual)
            let registered = RegisteredClient.known(client, secret)
            let code = try await Self.code(f, ["client_id": id, "scope": "openid offline_access"])
            let tokens = try await f.provider.grants.answer(header: registered, body: f.form(code))
            #expect(tokens.status == 200 && tokens.body?["refresh_token"] != nil)
            let event = try await f.store.auditEntries(after: 0, limit: 99).map(\.event)
                .last { $0.kind.rawValue == "client-added" }
            guard case .invited(_, let initialToken)? = client.registration else {
                Issue.record("not by a token")
                return
            }
            #expect(event?.detail == id && event?.actor == initialToken)
        }
    }

    @Test("a client that says nothing but its address is an ordinary one, called by its address")
    func defaults() async throws {
        try await ProviderFixture.run { f in
            let answer = try await Registering(f).register(["client_name": nil])
            #expect(answer.status == 201)
            #expect(answer.body?["client_name"] == .string("https://bank.example"))
            #expect(answer.body?["grant_types"] == Self.texts("authorization_code"))
            let app = try await Registering(f).register([
                "token_endpoint_auth_method": .string("none"), "redirect_uris": Self.texts("com.example.app:/cb"),
            ])
            #expect(app.status == 201 && app.body?["client_secret"] == nil)
            #expect(app.body?["client_secret_expires_at"] == nil)
        }
    }

    @Test("nobody registers without a token of the operator's, which is for so many clients and so long")
    func initialTokens() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let token = try await registering.token(2, lifetime: .seconds(60))
            let access = try await f.tokens().access
            for wrong in [nil, "", "x", token + "x", String(token.dropLast()), access, f.secret] {
                let answer = try await registering.post(Self.body(), wrong)
                #expect(answer.status == 401 && answer.error == "invalid_token")
                #expect(answer.header("WWW-Authenticate")?.hasPrefix("Bearer") == true)
            }
            let basic = try await registering.registrations.register(
                header: "Basic \(token)", body: Self.body(), source: "a")
            #expect(basic.status == 401)
            // What is refused counts nothing.
            #expect(try await registering.post(Self.body(["redirect_uris": nil]), token).status == 400)
            for _ in 0..<2 { #expect(try await registering.post(Self.body(), token).status == 201) }
            #expect(try await registering.post(Self.body(), token).status == 401)
            let late = try await registering.token(1, lifetime: .seconds(60))
            f.clock.advance(.seconds(60))
            #expect(try await registering.post(Self.body(), late).status == 401)
            let revoked = try await registering.registrations.makeInitialToken(lifetime: nil, uses: nil, by: "root")
            #expect(try await registering.registrations.initialTokens().map(\.id) == [revoked.token.id])
            #expect(try await registering.registrations.revokeInitialToken(revoked.token.id, by: "root"))
            #expect(try await registering.registrations.revokeInitialToken(revoked.token.id, by: "root") == false)
            #expect(try await registering.post(Self.body(), revoked.secret).status == 401)
            #expect(try await f.provider.clients.all().count == 3)
            let kinds = try await f.store.auditEntries(after: 0, limit: 99).map(\.event)
                .filter { $0.detail == revoked.token.id }.map(\.kind.rawValue)
            #expect(kinds == ["initial-token-added", "initial-token-revoked"])
        }
    }

    @Test("a token has bounds, and there are so many")
    func bounds() async throws {
        var limits = Limits()
        (limits.oauth.initialTokens, limits.oauth.clients) = (2, 2)
        try await ProviderFixture.run(limits: limits) { f in
            let registrations = Registering(f).registrations
            for (lifetime, uses) in [
                (.zero, 1), (limits.oauth.initialTokenLifetime + .seconds(1), 1), (nil, 0), (nil, -1), (nil, 1001),
            ] as [(Duration?, Int)] {
                await #expect(throws: OAuthError(.invalidRequest)) {
                    _ = try await registrations.makeInitialToken(lifetime: lifetime, uses: uses, by: "root")
                }
            }
            let token = try await registrations.makeInitialToken(lifetime: nil, uses: 1000, by: "root").secret
            _ = try await registrations.makeInitialToken(lifetime: nil, uses: nil, by: "root")
            await #expect(throws: StoreError(.conflict, "")) {
                _ = try await registrations.makeInitialToken(lifetime: nil, uses: nil, by: "root")
            }
            // The fixture's client is one of the two.
            #expect(try await Registering(f).post(Self.body(), token).status == 201)
            let full = try await Registering(f).post(Self.body(), token)
            #expect(full.status == 503 && full.error == "temporarily_unavailable")
        }
    }

    private static let wrongAddresses: [JSON?] = [
        nil, .array([]), texts("http://bank.example/cb"), texts("https://bank.example/*"), texts("com.example.app:/cb"),
        texts("https://bank.example/#a"), texts("x"), texts(ProviderFixture.address, "http://bank.example/cb"),
    ]

    @Test("an address that cannot be answered at is invalid_redirect_uri", arguments: wrongAddresses)
    func addresses(addresses: JSON?) async throws {
        try await ProviderFixture.run { f in
            let answer = try await Registering(f).register(["redirect_uris": addresses])
            #expect(answer.status == 400 && answer.error == "invalid_redirect_uri")
            #expect(try await f.provider.clients.all().count == 1)
        }
    }

    private static let wrongMetadata: [(String, JSON)] = [
        ("redirect_uris", .string("https://a.example/")), ("redirect_uris", .array([.integer(1)])),
        ("client_name", .integer(1)), ("client_name", .string("")), ("client_name", .string("a\u{202E}b")),
        ("grant_types", texts("client_credentials")), ("grant_types", texts("refresh_token")),
        ("grant_types", texts("authorization_code", "password")), ("grant_types", .array([])),
        ("response_types", texts("token")), ("response_types", texts("code", "code id_token")),
        ("token_endpoint_auth_method", .string("client_secret_jwt")),
        ("token_endpoint_auth_method", .string("private_key_jwt")), ("jwks", .object(["keys": .array([])])),
        ("jwks_uri", .string("http://bank.example/keys")), ("id_token_signed_response_alg", .string("none")),
        ("id_token_signed_response_alg", .string("HS256")), ("backchannel_logout_uri", .string("ftp://a.example/")),
        ("client_uri", .string("javascript:alert(1)")), ("post_logout_redirect_uris", texts("x")),
        ("backchannel_logout_session_required", .string("yes")),
    ]

    @Test("what a client cannot be is invalid_client_metadata", arguments: wrongMetadata)
    func metadata(name: String, value: JSON) async throws {
        try await ProviderFixture.run { f in
            var changes: [String: JSON?] = [name: value]
            if name == "backchannel_logout_session_required" {
                changes["backchannel_logout_uri"] = .string("https://bank.example/out")
            }
            let answer = try await Registering(f).register(changes)
            #expect(answer.status == 400 && answer.error == "invalid_client_metadata", "\(answer.body ?? [:])")
            #expect(try answer.body?.string("error_description")?.isEmpty == false)
            #expect(try await f.provider.clients.all().count == 1)
        }
    }

    // MARK: Management

    @Test("what an operator has made of a client that registered itself, the client does not unmake")
    func managementWithinTheProfile() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let answer = try await registering.register()
            let body = try #require(answer.body)
            let id = try body.requiredString("client_id")
            let header = "Bearer \(try body.requiredString("registration_access_token"))"
            func replaced(_ changes: [String: JSON?]) async throws -> ProviderAnswer {
                try await registering.registrations.replace(
                    id, header: header, body: Self.body(changes.merging(["client_id": .string(id)]) { $1 }))
            }
            let key = try ClientKey(.es256, named: "one")
            let keys = try JSON(parsing: Array(key.set.utf8))
            _ = try await f.provider.clients.change(
                id,
                ClientChange(
                    authenticationMethod: "private_key_jwt", keySet: key.set,
                    profile: ClientProfileChange(security: .fapi2)))
            let lesser = try await replaced([:])
            #expect(lesser.status == 400 && lesser.error == "invalid_client_metadata")
            #expect(try await f.provider.clients.client(id)?.settings.authenticationMethod == "private_key_jwt")
            let fitting = try await replaced([
                "token_endpoint_auth_method": .string("private_key_jwt"), "jwks": keys, "client_name": .string("Other"),
            ])
            #expect(fitting.status == 200, "\(fitting.body ?? [:])")
            #expect(try await f.provider.clients.client(id)?.name == "Other")
        }
    }

    @Test("a client reads, replaces and deletes its registration with its own token, and nobody else's")
    func management() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let (first, second) = (try await registering.register(), try await registering.register())
            let body = try #require(first.body)
            let id = try body.requiredString("client_id")
            let header = "Bearer \(try body.requiredString("registration_access_token"))"
            let foreign = "Bearer \(try #require(second.body).requiredString("registration_access_token"))"
            let registrations = registering.registrations
            let initial = try await registering.token()
            for wrong in [nil, foreign, "Bearer x", f.basic(), "Bearer \(initial)"] {
                for answer in [
                    try await registrations.read(id, header: wrong),
                    try await registrations.replace(id, header: wrong, body: Self.body(["client_id": .string(id)])),
                    try await registrations.delete(id, header: wrong),
                    // A client that never was, and one that an operator registered.
                    try await registrations.read("never", header: wrong),
                    try await registrations.delete(f.bank.client.id, header: wrong),
                ] {
                    #expect(answer.status == 401 && answer.error == "invalid_token")
                }
            }
            let read = try await registrations.read(id, header: header)
            #expect(read.status == 200)
            #expect(read.body?["client_name"] == .string("Self") && read.body?["client_secret"] == nil)
            #expect(read.body?["registration_access_token"] == body["registration_access_token"])
            let replaced = try await registrations.replace(
                id, header: header,
                body: Self.body([
                    "client_id": .string(id), "client_name": .string("Other"),
                    "client_secret": body["client_secret"], "client_uri": .string("https://bank.example/"),
                ]))
            #expect(replaced.status == 200 && replaced.body?["client_name"] == .string("Other"))
            #expect(replaced.body?["client_secret"] == nil)
            let client = try #require(try await f.provider.clients.client(id))
            #expect(client.name == "Other" && client.clientURI == "https://bank.example/")
            let secret = try body.requiredString("client_secret")
            let code = try await Self.code(f, ["client_id": id])
            let tokens = try await f.provider.grants.answer(
                header: RegisteredClient.known(client, secret), body: f.form(code))
            #expect(tokens.status == 200, "its secret stays")
            // What is missing has its default again.
            _ = try await registrations.replace(id, header: header, body: Self.body(["client_id": .string(id)]))
            #expect(try await f.provider.clients.client(id)?.clientURI == nil)
            #expect(try await registrations.delete(id, header: header).status == 204)
            #expect(try await f.provider.clients.client(id) == nil)
            #expect(try await registrations.read(id, header: header).status == 401)
            #expect(try await f.provider.clients.all().count == 2)
        }
    }

    @Test("what is the server's to say, or not the client's own, is refused, and nothing changes")
    func wrongReplacements() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let body = try #require(try await registering.register().body)
            let id = try body.requiredString("client_id")
            let header = "Bearer \(try body.requiredString("registration_access_token"))"
            let before = try await f.provider.clients.client(id)
            for changes: [String: JSON?] in [
                ["client_id": nil], ["client_id": .string("other")],
                ["client_id": .string(id), "client_secret": .string("wrong")],
                ["client_id": .string(id), "registration_access_token": body["registration_access_token"]],
                ["client_id": .string(id), "registration_client_uri": body["registration_client_uri"]],
                ["client_id": .string(id), "client_secret_expires_at": .integer(0)],
                ["client_id": .string(id), "client_id_issued_at": .integer(0)],
                ["client_id": .string(id), "grant_types": Self.texts("client_credentials")],
            ] {
                let answer = try await registering.registrations.replace(
                    id, header: header, body: Self.body(changes))
                #expect(answer.status == 400 && answer.error == "invalid_client_metadata", "\(changes)")
            }
            #expect(try await f.provider.clients.client(id) == before)
        }
    }

    @Test("a client that comes to need a secret is told one, and one that needs none has none")
    func secrets() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let body = try #require(
                try await registering.register(["token_endpoint_auth_method": .string("none")]).body)
            let id = try body.requiredString("client_id")
            let header = "Bearer \(try body.requiredString("registration_access_token"))"
            let kept = try await registering.registrations.replace(
                id, header: header, body: Self.body(["client_id": .string(id)]))
            let secret = try #require(try kept.body?.string("client_secret"))
            #expect(try await f.provider.clients.client(id)?.secretDigest == Sealing.digest(ofSecret: secret))
            let none = try await registering.registrations.replace(
                id, header: header,
                body: Self.body(["client_id": .string(id), "token_endpoint_auth_method": .string("none")]))
            #expect(none.status == 200 && none.body?["client_secret"] == nil)
            #expect(try await f.provider.clients.client(id)?.secretDigest == nil)
        }
    }

    @Test("what an operator has decided about a client stays, whatever the client replaces")
    func operatorsDecisions() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let body = try #require(try await registering.register().body)
            let id = try body.requiredString("client_id")
            let header = "Bearer \(try body.requiredString("registration_access_token"))"
            _ = try await f.provider.clients.change(id, ClientChange(mayDeregister: true), by: "root")
            func replace(_ changes: [String: JSON?] = [:]) async throws -> ClientSettings? {
                var all = changes
                all["client_id"] = .string(id)
                let answer = try await registering.registrations.replace(id, header: header, body: Self.body(all))
                #expect(answer.status == 200)
                return try await f.provider.clients.client(id)?.settings
            }
            let kept = try await replace()
            #expect(kept?.mayDeregister == true)
            let app = try await replace(["token_endpoint_auth_method": .string("none")])
            #expect(app?.mayDeregister == true)
        }
    }

    @Test("a client that has registered itself sends a challenge always, whatever an operator does or has done")
    func codeBinding() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let body = try #require(try await registering.register().body)
            let id = try body.requiredString("client_id")
            let header = "Bearer \(try body.requiredString("registration_access_token"))"
            // Even where the operator makes the client its own.
            _ = try await f.provider.clients.change(id, ClientChange(party: .first))
            for binding in [ClientSettings.CodeBinding.nonce, .nothing] {
                await #expect(throws: OAuthError(.invalidRequest)) {
                    try await f.provider.clients.change(id, ClientChange(codeBinding: binding))
                }
            }
            let changes: [String: String?] = [
                "client_id": id, "code_challenge": nil, "code_challenge_method": nil,
                "redirect_uri": try body.strings("redirect_uris")?.first,
            ]
            #expect(try await f.answer(changes, session: nil) == "invalid_request")
            // An earlier version has let the client have a nonce instead. It counts for nothing, and goes with the next change.
            _ = try await f.store.changeClient(id) { client in
                client.settings.codeBinding = .nonce
                return []
            }
            #expect(try await f.answer(changes, session: nil) == "invalid_request")
            let answer = try await registering.registrations.replace(
                id, header: header, body: Self.body(["client_id": .string(id)]))
            #expect(answer.status == 200)
            #expect(try await f.provider.clients.client(id)?.settings.codeBinding == .usual)
        }
    }

    // MARK: Software statements

    private static let voucher = "https://voucher.example"

    private static func statement(
        _ key: ClientKey, _ f: ProviderFixture, _ claims: JSONObject, issuer: String? = voucher
    ) throws -> JSON {
        var claims = claims
        claims["iss"] = issuer.map(JSON.string)
        return .string(try JWS.sign(JSON.object(claims).serialized, type: "JWT", with: key.signing))
    }

    @Test(
        "what a statement of a known issuer says stands in the place of what the client says, and comes back as it was")
    func statements() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256, named: "k")
            let keys = try JWKSet(parsing: Array(key.set.utf8))
            let registering = Registering(f, issuers: SoftwareStatementIssuers([ExactText(Self.voucher): keys]))
            let now = f.clock.source.now()
            let statement = try Self.statement(
                key, f,
                [
                    "client_name": .string("Vouched"), "software_id": .string("s"),
                    "exp": .integer((now + .seconds(60)).seconds),
                ])
            let answer = try await registering.register(["software_statement": statement])
            #expect(answer.status == 201 && answer.body?["client_name"] == .string("Vouched"))
            #expect(answer.body?["software_statement"] == statement)
            let wrong = try await registering.register([
                "software_statement": try Self.statement(key, f, ["redirect_uris": .array([])])
            ])
            #expect(wrong.error == "invalid_redirect_uri")
        }
    }

    @Test("a statement of nobody, of somebody else, or that is over is invalid_software_statement")
    func wrongStatements() async throws {
        try await ProviderFixture.run { f in
            let (key, other) = (try ClientKey(.es256, named: "k"), try ClientKey(.es256, named: "k"))
            let keys = try JWKSet(parsing: Array(key.set.utf8))
            let issuers = SoftwareStatementIssuers([ExactText(Self.voucher): keys])
            let now = f.clock.source.now()
            let right = try Self.statement(key, f, ["client_name": .string("Vouched")])
            let none = try await Registering(f).register(["software_statement": right])
            #expect(none.status == 400 && none.error == "invalid_software_statement", "nobody is known")
            for wrong in [
                try Self.statement(other, f, [:]), try Self.statement(key, f, [:], issuer: nil),
                try Self.statement(key, f, [:], issuer: "https://voucher.example/"),
                try Self.statement(key, f, ["exp": .integer((now - .seconds(31)).seconds)]),
                try Self.statement(key, f, ["nbf": .integer((now + .seconds(31)).seconds)]), .string(""),
                .string("a.b.c"),
                .bool(true), .object([:]), .string(String(repeating: "a", count: 9000)),
            ] as [JSON] {
                let answer = try await Registering(f, issuers: issuers).register(["software_statement": wrong])
                #expect(answer.status == 400 && answer.error == "invalid_software_statement")
            }
            #expect(try await f.provider.clients.all().count == 1)
        }
    }

    @Test("the metadata name the address where an operator wants it")
    func discovery() async throws {
        try await ProviderFixture.run { f in
            #expect(f.provider.discovery["registration_endpoint"] == nil)
            var configuration = OpenIDProvider.Configuration(issuer: ProviderFixture.issuer)
            configuration.hasRegistration = true
            let provider = try await OpenIDProvider.open(
                configuration, store: f.store, methods: [f.outcomes], people: f.people, time: f.clock.source)
            #expect(
                provider.discovery["registration_endpoint"] == .string(ProviderFixture.issuer + "/oauth2/register"))
        }
    }
}

extension RegisteredClient {
    /// The `Authorization` of a client that is known by its secret.
    fileprivate static func known(_ client: ClientRecord, _ secret: String) -> String {
        "Basic " + Array("\(client.id):\(secret)".utf8).base64
    }
}

extension [UInt8] {
    fileprivate var base64: String {
        let text = Base64URL.encode(self).replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }
}
