import Foundation
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Sealing
import Testing
import _Primitives

@Suite(
    "RFC 7591, section 2: each member of a registration has an effect, is refused by name, or is named in the answer")
struct RegisteredRulesTests {
    /// A client that has registered itself.
    private struct Registered {
        let record: ClientRecord
        let secret: String
        /// The registration access token, as it is shown.
        let header: String

        var id: String { self.record.id }
        /// The client's own credentials.
        var basic: String { "Basic " + Data("\(self.id):\(self.secret)".utf8).base64EncodedString() }
    }

    /// What registers clients, each with an initial access token of its own.
    private struct Registering {
        let f: ProviderFixture
        let registrations: ClientRegistrations

        init(_ f: ProviderFixture) {
            self.f = f
            self.registrations = ClientRegistrations(clients: f.provider.clients, store: f.store)
        }

        func register(_ changes: [String: JSON?] = [:]) async throws -> ProviderAnswer {
            let token = try await self.registrations.makeInitialToken(lifetime: nil, uses: 1, by: "root").secret
            return try await self.registrations.register(
                header: "Bearer \(token)", body: RegisteredRulesTests.body(changes), source: "a")
        }

        func client(_ changes: [String: JSON?] = [:]) async throws -> Registered {
            let answer = try await self.register(changes)
            let body = try #require(answer.status == 201 ? answer.body : nil, "\(answer.body ?? [:])")
            let record = try #require(try await self.f.provider.clients.client(body.requiredString("client_id")))
            return Registered(
                record: record, secret: try body.requiredString("client_secret"),
                header: "Bearer \(try body.requiredString("registration_access_token"))")
        }

        /// A code of alice's, who has agreed.
        func code(_ client: Registered, _ scope: String = "openid") async throws -> String {
            let session = try await self.f.signIn().session
            let asked = try await self.f.provider.authorizations.authorize(
                self.f.query(["client_id": client.id, "scope": scope]), browser: self.f.browser, session: session,
                source: "a", address: nil)
            // The person has agreed before.
            if case .client(let led) = asked { return try #require(try ProviderFixture.fields(of: led)["code"]) }
            guard case .consent(let request, _) = asked else { throw OAuthError(.serverError, detail: "\(asked)") }
            let decided = try await self.f.provider.authorizations.decide(
                request: request, browser: self.f.browser, session: session, isGranted: true, address: nil)
            guard case .client(let led) = decided else { throw OAuthError(.serverError, detail: "\(decided)") }
            return try #require(try ProviderFixture.fields(of: led)["code"])
        }

        func tokens(_ client: Registered, _ scope: String = "openid") async throws -> ProviderAnswer {
            try await self.f.provider.grants.answer(header: client.basic, body: self.f.form(self.code(client, scope)))
        }

        func push(_ client: Registered) async throws -> ProviderAnswer {
            try await self.f.provider.authorizations.push(
                header: client.basic, body: self.f.query(["client_id": client.id]), source: "a")
        }

        func replace(_ id: String, _ header: String, _ changes: [String: JSON?]) async throws -> ProviderAnswer {
            let body = RegisteredRulesTests.body(changes.merging(["client_id": .string(id)]) { $1 })
            return try await self.registrations.replace(id, header: header, body: body)
        }
    }

    private static func body(_ changes: [String: JSON?] = [:]) -> JSONObject {
        var body: JSONObject = [
            "redirect_uris": .array([.string(ProviderFixture.address)]),
            "id_token_signed_response_alg": .string("ES256"),
        ]
        for (name, value) in changes { body[name] = value }
        return body
    }

    private static let refused: [(String, JSON)] = [
        ("application_type", .string("desktop")), ("authorization_details_types", .array([.string("payment")])),
        ("authorization_signed_response_alg", .string("ES256")), ("authorization_encrypted_response_alg", .string("x")),
        ("backchannel_token_delivery_mode", .string("poll")), ("backchannel_user_code_parameter", .bool(true)),
        ("default_acr_values", .array([.string("a")])),
        ("frontchannel_logout_uri", .string("https://bank.example/out")),
        ("frontchannel_logout_session_required", .bool(true)), ("introspection_signed_response_alg", .string("ES256")),
        ("request_object_encryption_alg", .string("RSA-OAEP")), ("request_object_signing_alg", .string("none")),
        ("request_uris", .array([.string("https://bank.example/r")])), ("subject_type", .string("other")),
        ("tls_client_auth_subject_dn", .string("CN=a")), ("tls_client_auth_san_dns", .string("a.example")),
        ("token_endpoint_auth_signing_alg", .string("HS256")), ("use_mtls_endpoint_aliases", .bool(true)),
        ("userinfo_encrypted_response_alg", .string("RSA-OAEP")),
    ]

    @Test(
        "a member that the client would rely on, and that is not supported, is refused by its name", arguments: refused)
    func unsupported(name: String, value: JSON) async throws {
        try await ProviderFixture.run { f in
            let answer = try await Registering(f).register([name: value])
            #expect(answer.status == 400 && answer.error == "invalid_client_metadata")
            #expect(try answer.body?.string("error_description")?.contains(name) == true)
            #expect(try await f.provider.clients.all().count == 1)
        }
    }

    private static let wrong: [(String, JSON)] = [
        ("dpop_bound_access_tokens", .string("true")), ("require_pushed_authorization_requests", .integer(1)),
        ("require_signed_request_object", .string("yes")), ("require_signed_request_object", .bool(true)),
        ("default_max_age", .string("1")), ("default_max_age", .integer(-1)), ("default_max_age", .integer(1 << 40)),
        ("userinfo_signed_response_alg", .string("none")), ("userinfo_signed_response_alg", .string("HS256")),
        ("sector_identifier_uri", .string("http://sector.example/")), ("sector_identifier_uri", .string("x")),
        ("tls_client_certificate_bound_access_tokens", .bool(true)), ("require_auth_time", .string("no")),
    ]

    @Test("a rule that is none, or that the client cannot keep, is refused", arguments: wrong)
    func wrongRules(name: String, value: JSON) async throws {
        try await ProviderFixture.run(calls: TestCalls()) { f in
            let answer = try await Registering(f).register([name: value])
            #expect(answer.status == 400 && answer.error == "invalid_client_metadata", "\(answer.body ?? [:])")
            #expect(try await f.provider.clients.all().count == 1)
        }
    }

    @Test("the answer shows what holds, narrowed where the client asked for something else, in each read")
    func answers() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let answer = try await registering.register([
                "subject_type": .string("public"), "scope": .string("openid everything"),
                "require_auth_time": .bool(false), "application_type": .string("web"), "default_max_age": .integer(0),
                "contacts": .array([.string("a@bank.example")]), "request_object_signing_alg": .string("ES256"),
                "request_uris": .array([]),
            ])
            let body = try #require(answer.body)
            #expect(answer.status == 201, "\(body)")
            #expect(body["subject_type"] == .string("pairwise") && body["require_auth_time"] == .bool(true))
            #expect(try body.string("scope")?.contains("everything") == false)
            #expect(try body.string("scope")?.hasPrefix("openid ") == true)
            #expect(body["default_max_age"] == .integer(0))
            for rule in [
                "dpop_bound_access_tokens", "require_pushed_authorization_requests", "require_signed_request_object",
                "tls_client_certificate_bound_access_tokens",
            ] { #expect(body[rule] == .bool(false), "\(rule)") }
            let ignored = try body.strings("ignored_members") ?? []
            #expect(
                Set(ignored) == ["application_type", "contacts", "request_object_signing_alg", "request_uris"])
            let id = try body.requiredString("client_id")
            let header = "Bearer \(try body.requiredString("registration_access_token"))"
            let read = try await registering.registrations.read(id, header: header)
            let replaced = try await registering.replace(id, header, [:])
            for later in [read, replaced] {
                #expect(later.status == 200)
                #expect(later.body?["registration_access_token"] == body["registration_access_token"])
                #expect(later.body?["registration_client_uri"] == body["registration_client_uri"])
                #expect(later.body?["ignored_members"] == nil)
            }
        }
    }

    @Test("RFC 9449, section 5.2: a client whose tokens are bound to a key gets none without a proof")
    func keyBound() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let client = try await registering.client(["dpop_bound_access_tokens": .bool(true)])
            let bare = try await registering.tokens(client)
            #expect(bare.status == 400 && bare.error == "invalid_dpop_proof")
            var change = ClientChange()
            change.tokens.keyBound = false
            #expect(try await f.provider.clients.change(client.id, change)?.settings.tokens.keyBound == false)
            #expect(try await registering.tokens(client).status == 200)
        }
    }

    @Test("RFC 9126, section 6: a client that pushes its requests is refused others")
    func pushed() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let client = try await registering.client(["require_pushed_authorization_requests": .bool(true)])
            #expect(try await f.answer(["client_id": client.id], session: nil) == "invalid_request")
            let pushed = try await registering.push(client)
            let address = try #require(try pushed.body?.string("request_uri"))
            let query = (["client_id": client.id, "request_uri": address] as Parameters).encoded
            let asked = try await f.provider.authorizations.authorize(
                query, browser: f.browser, session: nil, source: "a", address: nil)
            guard case .signIn = asked else {
                Issue.record("\(asked)")
                return
            }
        }
    }

    @Test("RFC 9101, section 10.5: a client that signs its requests is refused others, pushed or not")
    func signed() async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256, named: "one")
            let registering = Registering(f)
            let client = try await registering.client([
                "require_signed_request_object": .bool(true), "jwks": try JSON(parsing: Array(key.set.utf8)),
                "token_endpoint_auth_method": .string("client_secret_basic"),
            ])
            #expect(try await f.answer(["client_id": client.id], session: nil) == "invalid_request")
            let pushed = try await registering.push(client)
            #expect(pushed.status == 400 && pushed.error == "invalid_request")
        }
    }

    @Test("a request without max_age has the client's own, and a max_age that was sent counts")
    func defaultMaximumAge() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let client = try await registering.client(["default_max_age": .integer(300)])
            let session = try await f.signIn().session
            func answer(_ changes: [String: String?] = [:]) async throws -> String {
                try await f.answer(changes.merging(["client_id": client.id]) { $1 }, session: session)
            }
            #expect(try await answer() == "consent")
            f.clock.advance(.seconds(301))
            #expect(try await answer(["prompt": "none"]) == "login_required")
            #expect(try await answer() == "sign-in")
            #expect(try await answer(["max_age": "1000"]) == "consent")
            let lesser = try await registering.replace(client.id, client.header, [:])
            #expect(lesser.status == 200 && lesser.body?["default_max_age"] == nil)
            #expect(try await answer() == "consent")
        }
    }

    @Test(
        "OpenID Connect Core 1.0, section 5.3.2: userinfo is signed for a client that registers an algorithm",
        arguments: [JWSAlgorithm.es256, .edDSA])
    func signedUserinfo(algorithm: JWSAlgorithm) async throws {
        try await ProviderFixture.run { f in
            #expect(
                try f.provider.discovery.strings("userinfo_signing_alg_values_supported")?.contains(algorithm.rawValue)
                    == true)
            let registering = Registering(f)
            let client = try await registering.client([
                "userinfo_signed_response_alg": .string(algorithm.rawValue)
            ])
            let tokens = try #require(try await registering.tokens(client, "openid profile").body)
            let access = try tokens.requiredString("access_token")
            let answer = try await f.provider.userinfo.answer(header: "Bearer \(access)")
            #expect(answer.status == 200 && answer.header("Content-Type") == "application/jwt" && answer.body == nil)
            let claims = try f.claims(try #require(answer.signed?.text), type: "userinfo+jwt")
            #expect(claims.issuer == ProviderFixture.issuer && claims.audience == [client.id])
            #expect(claims.subject == f.provider.keys.subject(ofAccount: "account-a", of: client.record))
            #expect(claims.members["name"] == .string("Alice Example"))
            // A refusal is no statement about a person.
            let refused = try await f.provider.userinfo.answer(header: "Bearer x")
            #expect(refused.status == 401 && refused.signed == nil)
        }
    }

    // MARK: Sectors

    private static let sector = "https://sector.example/all.json"

    private static func list(_ addresses: String...) -> String { JSON.array(addresses.map(JSON.string)).text }

    @Test(
        "OpenID Connect Core 1.0, section 8.1: the clients of a sector know a person by one name, and others by another"
    )
    func sectors() async throws {
        let calls = TestCalls()
        try await ProviderFixture.run(calls: calls) { f in
            calls.answer(200, Self.list(ProviderFixture.address, "https://other.example/"))
            let registering = Registering(f)
            let one = try await registering.client(["sector_identifier_uri": .string(Self.sector)])
            let two = try await registering.client([
                "sector_identifier_uri": .string("https://SECTOR.example/another.json")
            ])
            let alone = try await registering.client()
            #expect(calls.calls.map(\.address) == [Self.sector, "https://SECTOR.example/another.json"])
            let names = [one, two, alone].map { f.provider.keys.subject(ofAccount: "account-a", of: $0.record) }
            #expect(names[0] == names[1] && names[0] != names[2])
            #expect(names[0] != f.provider.keys.subject(ofAccount: "account-b", of: one.record))
            #expect(names[2] == f.provider.keys.subject(ofAccount: "account-a", client: alone.id))
            // What the client is told is that name.
            let tokens = try #require(try await registering.tokens(one).body)
            #expect(try f.claims(tokens.requiredString("id_token"), type: "JWT").subject == names[0])
            #expect(try await f.provider.tokens.account(ofSubject: names[0], client: one.id) == "account-a")
            #expect(try await f.provider.clients.subject(ofAccount: "account-a", ofClient: one.id) == names[0])
            // The client keeps its sector, whatever else it registers.
            for changes: [String: JSON?] in [
                [:], ["sector_identifier_uri": .string("https://elsewhere.example/all.json")],
            ] {
                let answer = try await registering.replace(one.id, one.header, changes)
                #expect(answer.status == 400 && answer.error == "invalid_client_metadata")
            }
            let kept = try await registering.replace(
                one.id, one.header, ["sector_identifier_uri": .string(Self.sector)])
            #expect(kept.status == 200 && kept.body?["sector_identifier_uri"] == .string(Self.sector))
            let joined = try await registering.replace(
                alone.id, alone.header, ["sector_identifier_uri": .string(Self.sector)])
            #expect(joined.status == 400)
        }
    }

    @Test("a sector's document lists each redirect address, and a document that does not, or cannot be had, is refused")
    func wrongSectors() async throws {
        let calls = TestCalls()
        try await ProviderFixture.run(calls: calls) { f in
            let answers: [Result<OutgoingAnswer, OutgoingCallError>] =
                [
                    Self.list("https://bank.example/callback/"), Self.list(), "{}", "[1]", "x",
                    JSON.string(ProviderFixture.address).text,
                ].map { .success(OutgoingAnswer(status: 200, body: Array($0.utf8))) }
                + [
                    .success(OutgoingAnswer(status: 302, body: Array(Self.list(ProviderFixture.address).utf8))),
                    .failure(OutgoingCallError("its host stands for 10.0.0.1, which is private")),
                ]
            for answer in answers {
                calls.answer(answer)
                let refused = try await Registering(f).register(["sector_identifier_uri": .string(Self.sector)])
                #expect(refused.status == 400 && refused.error == "invalid_client_metadata", "\(answer)")
                #expect(try refused.body?.string("error_description")?.contains("sector_identifier_uri") == true)
                // What this server can reach is for the operator's log.
                #expect(try refused.body?.string("error_description")?.contains("10.0.0.1") == false)
            }
            #expect(calls.calls.count == answers.count)
            #expect(try await f.provider.clients.all().count == 1)
        }
        try await ProviderFixture.run { f in
            let refused = try await Registering(f).register(["sector_identifier_uri": .string(Self.sector)])
            #expect(refused.status == 400 && refused.error == "invalid_client_metadata")
        }
    }

    @Test("an operator has the userinfo of any client signed, with a key that is there then, or not any more")
    func operatorsUserinfo() async throws {
        try await ProviderFixture.run { f in
            let access = try await f.tokens().access
            for (change, isSigned) in [(UserinfoAlgorithmChange.signed(.edDSA), true), (.unsigned, false)] {
                var settings = ClientChange()
                settings.tokens.userinfoAlgorithm = change
                _ = try await f.provider.clients.change(f.bank.client.id, settings, by: "root")
                let answer = try await f.provider.userinfo.answer(header: "Bearer \(access)")
                #expect(answer.status == 200 && (answer.signed != nil) == isSigned && (answer.body == nil) == isSigned)
            }
        }
    }

    @Test("tokens that are bound to a key are not pushed, as nobody proves the key then, and the refusal says so")
    func nothingPushed() async throws {
        try await ProviderFixture.run(calls: TestCalls()) { f in
            var push = ClientChange()
            (push.answerMode, push.answerAddress) = (.push, "https://bank.example/told")
            push.grantTypes = ["authorization_code", "urn:openid:params:grant-type:ciba"]
            _ = try await f.provider.clients.change(f.bank.client.id, push)
            var bound = ClientChange()
            bound.tokens.keyBound = true
            let refused = await #expect(throws: OAuthError.self) {
                try await f.provider.clients.change(f.bank.client.id, bound)
            }
            #expect(refused?.code == .invalidRequest)
            #expect(refused?.message?.contains("a certificate") == true)
            #expect(refused?.message?.contains("DPoP key") == true)
        }
    }

    @Test("of changes at once that ask for a secret, one tells the secret that is kept, and no other tells any")
    func secretsAtOnce() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let own = try #require(
                try await registering.register(["token_endpoint_auth_method": .string("none")]).body)
            let id = try own.requiredString("client_id")
            let header = "Bearer \(try own.requiredString("registration_access_token"))"
            let secrets = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await registering.replace(
                            id, header, ["token_endpoint_auth_method": .string("client_secret_basic")]
                        ).body?.string("client_secret")
                    }
                }
                return try await group.reduce(into: [String]()) { if let secret = $1 { $0.append(secret) } }
            }
            let kept = try await f.provider.clients.client(id)?.secretDigest
            #expect(secrets.map(Sealing.digest(ofSecret:)) == [kept])
        }
    }

    @Test("a client does not take a rule back by itself, and an operator does")
    func rulesStay() async throws {
        try await ProviderFixture.run { f in
            let registering = Registering(f)
            let client = try await registering.client([
                "dpop_bound_access_tokens": .bool(true), "require_pushed_authorization_requests": .bool(true),
            ])
            let replaced = try await registering.replace(
                client.id, client.header,
                [
                    "dpop_bound_access_tokens": .bool(false), "require_pushed_authorization_requests": .bool(false),
                ])
            #expect(replaced.status == 200)
            #expect(replaced.body?["dpop_bound_access_tokens"] == .bool(true))
            #expect(replaced.body?["require_pushed_authorization_requests"] == .bool(true))
            var change = ClientChange()
            change.profile.requiresPushedRequests = false
            let changed = try await f.provider.clients.change(client.id, change, by: "root")
            #expect(changed?.settings.profile.requiresPushedRequests == false)
            #expect(changed?.settings.tokens.keyBound == true)
        }
    }
}
