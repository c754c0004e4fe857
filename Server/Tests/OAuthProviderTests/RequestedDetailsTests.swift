import Foundation
import JOSE
import OAuth
import OAuthProvider
import Records
import Sealing
import Testing
import _Primitives

@Suite("RFC 9396: what people are asked in detail (decision 40, parity F110)")
struct RequestedDetailsTests {
    private static let details = #"[{"type":"thing","count":"7"}]"#
    private static let json = JSON.array([.object(["type": .string("thing"), "count": .string("7")])])

    /// A provider that knows two types, of which the bank may ask for one.
    private static func run(_ body: (ProviderFixture) async throws -> Void) async throws {
        try await ProviderFixture.run { f in
            let types = ["thing", "other"].map { name in
                DetailType(AuthorizationDetailsType(name, required: ["count"], optional: ["note"])) { object in
                    let count = try object.requiredString("count")
                    guard count.utf8.count == 1 else { throw JSONError(.wrongType, "count") }
                    return "\(name): \(count)"
                } spelling: { object in
                    var spelled = object
                    spelled["count"] = .string(try object.requiredString("count").filter { $0 != " " })
                    return spelled
                }
            }
            var configuration = OpenIDProvider.Configuration(issuer: ProviderFixture.issuer)
            configuration.detailTypes = types
            let provider = try await OpenIDProvider.open(
                configuration, store: f.store,
                methods: [f.outcomes, RecordedOutcomes(name: "password", signsTexts: false)], people: f.people,
                time: f.clock.source)
            let settings = ClientChange(
                grantTypes: ["authorization_code", "refresh_token"],
                profile: ClientProfileChange(detailTypes: ["thing"]))
            _ = try await provider.clients.change(f.bank.client.id, settings)
            try await body(
                ProviderFixture(
                    provider: provider, store: f.store, hooks: f.hooks, clock: f.clock, outcomes: f.outcomes,
                    people: f.people, bank: f.bank, folder: f.folder))
        }
    }

    /// What the client is told once the person has proved who they are, and signed that text.
    private static func complete(_ request: String, signing text: String?, _ f: ProviderFixture) async throws
        -> (String) -> String?
    {
        f.outcomes.record(
            AuthenticationOutcome(
                account: "account-a", authenticatedAt: f.clock.source.now(), acr: "urn:x", amr: ["pin"],
                signedText: text.map { Sealing.digest(ofSecret: $0) }), request: request, browser: f.browser)
        let redirect =
            switch try await f.provider.authorizations.complete(request: request, browser: f.browser, session: nil) {
            case .signedIn(.redirect(let redirect), _, _), .refused(.redirect(let redirect)): redirect
            case .page(let error): throw error
            default: throw OAuthError(.serverError)
            }
        return { name in (try? ProviderFixture.parameter(name, of: redirect)).flatMap { $0 } }
    }

    private static let scope = ["scope": Optional("openid offline_access"), "authorization_details": details]

    @Test("what was agreed to is in the answer, in the access token, at introspection, and stays at a refresh")
    func echoed() async throws {
        try await Self.run { f in
            let request = try await f.begin(Self.scope)
            #expect(
                try await f.provider.authorizations.pending(request: request, browser: f.browser)?.agreement
                    == "thing: 7")
            let code = try #require(try await Self.complete(request, signing: "thing: 7", f)("code"))
            let body = try #require(try await f.token(code).body)
            #expect(body["authorization_details"] == Self.json)
            let access = try body.requiredString("access_token")
            #expect(try f.claims(access, type: "at+jwt").members["authorization_details"] == Self.json)
            #expect(try f.claims(body.requiredString("id_token"), type: "JWT").members["authorization_details"] == nil)
            let shown = try await f.provider.introspection.answer(header: f.basic(), body: "token=\(access)")
            #expect(shown.body?["authorization_details"] == Self.json)
            let form: Parameters = [
                "grant_type": "refresh_token", "refresh_token": try body.requiredString("refresh_token"),
            ]
            let renewed = try #require(try await f.provider.grants.answer(header: f.basic(), body: form.encoded).body)
            #expect(renewed["authorization_details"] == Self.json)
            let second = try f.claims(renewed.requiredString("access_token"), type: "at+jwt")
            #expect(second.members["authorization_details"] == Self.json)
        }
    }

    @Test("what was asked in another spelling is told everywhere in the one that was shown and signed")
    func spelled() async throws {
        try await Self.run { f in
            let raw = #"[{"type":"thing","count":" 7 "}]"#
            let request = try await f.begin(["scope": "openid offline_access", "authorization_details": raw])
            #expect(
                try await f.provider.authorizations.pending(request: request, browser: f.browser)?.agreement
                    == "thing: 7")
            let code = try #require(try await Self.complete(request, signing: "thing: 7", f)("code"))
            let body = try #require(try await f.token(code).body)
            #expect(body["authorization_details"] == Self.json)
            let access = try body.requiredString("access_token")
            #expect(try f.claims(access, type: "at+jwt").members["authorization_details"] == Self.json)
            let shown = try await f.provider.introspection.answer(header: f.basic(), body: "token=\(access)")
            #expect(shown.body?["authorization_details"] == Self.json)
            let form: Parameters = [
                "grant_type": "refresh_token", "refresh_token": try body.requiredString("refresh_token"),
                "authorization_details": raw,
            ]
            let renewed = try #require(try await f.provider.grants.answer(header: f.basic(), body: form.encoded).body)
            #expect(renewed["authorization_details"] == Self.json, "the client may ask again as it did")
        }
    }

    @Test("a refresh asks for what was granted, and for nothing else; what is wrong with it costs no token")
    func narrowed() async throws {
        try await Self.run { f in
            let request = try await f.begin(Self.scope)
            let code = try #require(try await Self.complete(request, signing: "thing: 7", f)("code"))
            let token = try #require(try await f.token(code).body).requiredString("refresh_token")
            func refresh(_ details: String) async throws -> ProviderAnswer {
                let form: Parameters = [
                    "grant_type": "refresh_token", "refresh_token": token, "authorization_details": details,
                ]
                return try await f.provider.grants.answer(header: f.basic(), body: form.encoded)
            }
            for wider in [
                #"[{"type":"thing","count":"8"}]"#, #"[{"type":"other","count":"7"}]"#, "[]", "x",
                #"[{"type":"thing","count":"7","note":"more"}]"#,
            ] {
                let answer = try await refresh(wider)
                #expect(answer.status == 400 && answer.error == "invalid_authorization_details", "\(wider)")
            }
            let same = try await refresh(#"[{"count":"7","type":"thing"}]"#)
            #expect(same.body?["authorization_details"] == Self.json)
        }
    }

    @Test("a sign-in without details has none, and a refresh of it asks for none")
    func without() async throws {
        try await Self.run { f in
            let request = try await f.begin(["scope": "openid offline_access"])
            #expect(try await f.provider.authorizations.pending(request: request, browser: f.browser)?.agreement == nil)
            let code = try #require(try await Self.complete(request, signing: nil, f)("code"))
            let body = try #require(try await f.token(code).body)
            #expect(body["authorization_details"] == nil)
            let form: Parameters = [
                "grant_type": "refresh_token", "refresh_token": try body.requiredString("refresh_token"),
                "authorization_details": Self.details,
            ]
            let answer = try await f.provider.grants.answer(header: f.basic(), body: form.encoded)
            #expect(answer.error == "invalid_authorization_details")
        }
    }

    @Test(
        "what is no such request is told the client, at the authorization endpoint and where it is pushed",
        arguments: [
            "x", "{}", "[]", "[1]", #"[{"count":"7"}]"#, #"[{"type":1,"count":"7"}]"#,
            #"[{"type":"unknown","count":"7"}]"#, #"[{"type":"other","count":"7"}]"#, #"[{"type":"thing"}]"#,
            #"[{"type":"thing","count":"77"}]"#, #"[{"type":"thing","count":7}]"#,
            #"[{"type":"thing","count":"7","colour":"red"}]"#,
            #"[{"type":"thing","count":"7"},{"type":"thing","count":"8"}]"#,
            #"[{"type":"thing","count":"7","note":"\#(String(repeating: "x", count: 2048))"}]"#,
        ])
    func refused(details: String) async throws {
        try await Self.run { f in
            let answer = try await f.provider.authorizations.authorize(
                f.query(["authorization_details": details]), browser: f.browser, session: nil, source: "a",
                address: nil)
            guard case .client(.redirect(let address)) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "invalid_authorization_details")
            let pushed = try await f.push(["authorization_details": details])
            #expect(pushed.status == 400 && pushed.error == "invalid_authorization_details")
            #expect(try await f.push(["authorization_details": Self.details]).status == 201)
        }
    }

    @Test("a client that may ask nothing is refused, and the log names the setting; nobody may ask what is not there")
    func settings() async throws {
        try await Self.run { f in
            _ = try await f.provider.clients.change(
                f.bank.client.id, ClientChange(profile: ClientProfileChange(detailTypes: [])))
            var refusal: ProviderRefusal?
            _ = try await f.provider.authorizations.authorize(
                f.query(["authorization_details": Self.details]), browser: f.browser, session: nil, source: "a",
                address: nil
            ) { refusal = $0 }
            #expect(refusal?.code == "invalid_authorization_details")
            #expect(refusal?.setting == "--authorization-details-type")
            for types in [["unknown"], ["thing", "thing"], [""]] {
                await #expect(throws: OAuthError(.invalidRequest)) {
                    _ = try await f.provider.clients.change(
                        f.bank.client.id, ClientChange(profile: ClientProfileChange(detailTypes: types)))
                }
            }
            let listed = try f.provider.discovery.strings("authorization_details_types_supported")
            #expect(listed == ["thing", "other"])
        }
    }

    @Test("what the operator takes from the client is not in what it gets from then on")
    func takenAway() async throws {
        try await Self.run { f in
            let request = try await f.begin(Self.scope)
            let code = try #require(try await Self.complete(request, signing: "thing: 7", f)("code"))
            let token = try #require(try await f.token(code).body).requiredString("refresh_token")
            _ = try await f.provider.clients.change(
                f.bank.client.id, ClientChange(profile: ClientProfileChange(detailTypes: ["other"])))
            let form: Parameters = ["grant_type": "refresh_token", "refresh_token": token]
            let renewed = try #require(try await f.provider.grants.answer(header: f.basic(), body: form.encoded).body)
            #expect(renewed["authorization_details"] == nil)
            let access = try f.claims(renewed.requiredString("access_token"), type: "at+jwt")
            #expect(access.members["authorization_details"] == nil)
        }
    }

    @Test("a person is offered the ways alone in which they can agree; where there is none, the client is told at once")
    func ways() async throws {
        try await Self.run { f in
            try await f.letIn(by: ["password", "phone"])
            let plain = try await f.begin()
            #expect(
                try await f.provider.authorizations.pending(request: plain, browser: f.browser)?.methods == [
                    "password", "phone",
                ])
            let request = try await f.begin(["authorization_details": Self.details])
            #expect(
                try await f.provider.authorizations.pending(request: request, browser: f.browser)?.methods == ["phone"])
            try await f.letIn(by: ["password"])
            var refusal: ProviderRefusal?
            _ = try await f.provider.authorizations.authorize(
                f.query(["authorization_details": Self.details]), browser: f.browser, session: nil, source: "a",
                address: nil
            ) { refusal = $0 }
            #expect(refusal?.code == "invalid_authorization_details" && refusal?.setting == "--sign-in-method")
        }
    }

    @Test("a third party's client has its person asked on the page too, each time: one agreement stands for no other")
    func thirdParty() async throws {
        try await Self.run { f in
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(party: .third))
            var session: SessionSecret?
            for round in 1...2 {
                let request = try await f.begin(["authorization_details": Self.details], session: session)
                f.outcomes.record(
                    AuthenticationOutcome(
                        account: "account-a", authenticatedAt: f.clock.source.now(), acr: "urn:x", amr: ["pin"],
                        signedText: Sealing.digest(ofSecret: "thing: 7")), request: request, browser: f.browser)
                guard
                    case .consent(_, let begun?, _) = try await f.provider.authorizations.complete(
                        request: request, browser: f.browser, session: session)
                else {
                    Issue.record("not asked, in round \(round)")
                    return
                }
                session = begun
                let question = try await f.provider.authorizations.consentQuestion(
                    request: request, browser: f.browser, session: begun)
                #expect(question?.agreement == "thing: 7")
                let answer = try await f.provider.authorizations.decide(
                    request: request, browser: f.browser, session: begun, isGranted: true, address: nil)
                guard case .client(let client) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
                let code = try #require(try ProviderFixture.fields(of: client)["code"])
                #expect(try await f.token(code).body?["authorization_details"] == Self.json)
            }
            // What was agreed to beside is remembered as ever, and once.
            #expect(try await f.answer([:], session: session) == "code")
            #expect(try await f.provider.authorizations.consents.given(byAccount: "account-a").count == 1)
        }
    }

    @Test("a request that is pushed, or signed, has its details as any other")
    func pushedAndSigned() async throws {
        try await Self.run { f in
            let name = try await f.pushed(["authorization_details": Self.details])
            guard case .signIn(let pushed, _) = try await f.come(with: name) else {
                Issue.record("no page")
                return
            }
            #expect(
                try await f.provider.authorizations.pending(request: pushed, browser: f.browser)?.agreement
                    == "thing: 7")
            let key = try ClientKey(.es256)
            var settings = key.settings
            settings.profile.detailTypes = ["thing"]
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address], settings: settings
            ).client.id
            func come(_ details: JSON) async throws -> AuthorizationAnswer {
                let claims: JSONObject = [
                    "iss": .string(shop), "aud": .string(ProviderFixture.issuer), "client_id": .string(shop),
                    "exp": .integer(f.clock.source.now().seconds + 60), "nbf": .integer(f.clock.source.now().seconds),
                    "response_type": .string("code"), "redirect_uri": .string(ProviderFixture.address),
                    "scope": .string("openid"), "code_challenge": .string(f.verifier.challenge.text),
                    "code_challenge_method": .string("S256"), "authorization_details": details,
                ]
                let object = try JWS.sign(
                    JSON.object(claims).serialized, type: "oauth-authz-req+jwt", with: key.signing)
                let parameters: Parameters = [
                    "client_id": shop, "request": object,
                    "authorization_details": #"[{"type":"thing","count":"9"}]"#,
                ]
                return try await f.provider.authorizations.authorize(
                    parameters.encoded, browser: f.browser, session: nil, source: "a", address: nil)
            }
            guard case .signIn(let signed, _) = try await come(Self.json),
                case .client(.redirect(let refused)) = try await come(.array([.object(["type": .string("thing")])]))
            else {
                Issue.record("not answered as it should be")
                return
            }
            #expect(
                try await f.provider.authorizations.pending(request: signed, browser: f.browser)?.agreement
                    == "thing: 7")
            #expect(try ProviderFixture.parameter("error", of: refused) == "invalid_authorization_details")
        }
    }

    @Test("a token of a service's own, and a device's, have none: nobody is shown them there")
    func whereNobodyIsAsked() async throws {
        try await Self.run { f in
            let device = "urn:ietf:params:oauth:grant-type:device_code"
            _ = try await f.provider.clients.change(
                f.bank.client.id,
                ClientChange(
                    grantTypes: ["authorization_code", "client_credentials", device],
                    tokens: TokenSettingsChange(scopes: ["read"])))
            let asked: Parameters = ["authorization_details": Self.details]
            let code = try await DeviceAuthorizations(f.provider.authorizations).authorize(
                header: f.basic(), body: asked.encoded, source: "tv")
            #expect(code.status == 400 && code.error == "invalid_authorization_details")
            for type in ["client_credentials", device] {
                var form: Parameters = ["grant_type": type, "device_code": "x"]
                #expect(
                    try await f.provider.grants.answer(header: f.basic(), body: form.encoded).error
                        != "invalid_authorization_details")
                form.append("authorization_details", Self.details)
                let answer = try await f.provider.grants.answer(header: f.basic(), body: form.encoded)
                #expect(answer.status == 400 && answer.error == "invalid_authorization_details", "\(type)")
            }
        }
    }

    @Test("who has not signed what was shown has agreed to nothing", arguments: [nil, "", "thing: 8", "thing: 7 "])
    func unsigned(text: String?) async throws {
        try await Self.run { f in
            let request = try await f.begin(["authorization_details": Self.details])
            let answered = try await Self.complete(request, signing: text, f)
            #expect(answered("error") == "access_denied" && answered("code") == nil)
            #expect(answered("state") == "st&te")
            #expect(try await f.provider.authorizations.pending(request: request, browser: f.browser) == nil)
        }
    }

    @Test("it is asked each time: no session agrees, and nothing was agreed to before")
    func everyTime() async throws {
        try await Self.run { f in
            let session = try await f.signIn().session
            for _ in 0..<2 {
                let request = try await f.begin(["authorization_details": Self.details], session: session)
                _ = try await Self.complete(request, signing: "thing: 7", f)
                let silent = try await f.provider.authorizations.authorize(
                    f.query(["authorization_details": Self.details, "prompt": "none"]), browser: f.browser,
                    session: session, source: "a", address: nil)
                guard case .client(.redirect(let address)) = silent else {
                    Issue.record("\(silent)")
                    return
                }
                #expect(try ProviderFixture.parameter("error", of: address) == "consent_required")
            }
        }
    }
}
