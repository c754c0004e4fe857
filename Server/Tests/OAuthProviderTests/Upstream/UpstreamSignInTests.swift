import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

/// Over a simulated provider: a real one is in `Tests/Browser`.
@Suite("OpenID Connect Core 1.0, section 3.1, as a client: signing in by another provider (decision 45)")
struct UpstreamSignInTests {
    private static let created: @Sendable (inout UpstreamChange) -> Void = { $0.newcomers = .created }

    @Test("somebody who comes for the first time gets an account without a user name, and it is theirs the next time")
    func newcomer() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            let trip = try await place.leave()
            #expect(trip.address.hasPrefix("https://up.example/authorize?tenant=7&"))
            #expect(trip["response_type"] == "code" && trip["client_id"] == "our-client")
            #expect(trip["redirect_uri"] == "https://id.example/sign-in/provider/up/callback")
            #expect(trip["scope"] == "openid profile email" && trip["code_challenge_method"] == "S256")
            #expect(trip["state"].utf8.count >= 43 && trip["nonce"].utf8.count >= 43)
            #expect(trip["prompt"] == "" && trip["acr_values"] == "" && trip["max_age"] == "")
            place.upstream.change { state in
                state.userinfo = [
                    "sub": .string("person-1"), "name": .string("Pat"), "email": .string("pat@up.example"),
                ]
            }
            let now = place.f.clock.source.now()
            place.authenticate(
                trip,
                [
                    "acr": .string("their:mfa=1"), "auth_time": .integer(now.seconds - 40),
                    "amr": .array([.string("pwd"), .string("otp"), .string("magic"), .string("pwd"), .integer(1)]),
                ])
            #expect(try await place.comeBack(trip)?.step == .finished)
            let exchange = try #require(try place.upstream.exchange)
            #expect(exchange.form["redirect_uri"] == trip["redirect_uri"] && exchange.form["code"] == "code-1")
            #expect(exchange.authorization == "Basic b3VyLWNsaWVudDpzM2NyZXQlM0ElMjY=")
            let claims = try await place.claims(trip.request)
            #expect(try claims.string("acr") == "urn:high")
            #expect(try claims.strings("amr") == ["pwd", "otp"])
            #expect(try claims.integer("auth_time", as: Int64.self) == now.seconds - 40)
            #expect(claims["preferred_username"] == nil)
            let id = try #require(try await place.account())
            let account = try #require(try await place.f.store.account(id: id))
            #expect(account.username == nil && account.displayName == "Pat" && account.reference.text == "id:\(id)")
            #expect(account.email == AccountEmail(address: "pat@up.example", isVerified: false))
            // Once more: nobody is added, and the service knows the person by the same subject.
            let again = try await place.goThere()
            #expect(again.step == .finished)
            let second = try await place.claims(again.request)
            #expect(second["sub"] == claims["sub"] && second["acr"] == .string("urn:low"))
            #expect(try await place.trail("account-created").map(\.actor) == ["provider:up"])
            #expect(try await place.trail("identity-linked").map(\.accountID) == [id])
            let signedIn = try await place.trail("signed-in")
            #expect(signedIn.count == 2 && signedIn[0].address == "192.0.2.7")
            #expect(signedIn[0].detail == "service=\(place.f.bank.client.id) methods=pwd,otp provider=up")
            #expect(
                try await place.f.store.notices(accountID: id, limit: 9).map(\.subject) == ["Demo Bank", "Demo Bank"])
            // The discovery document and the keys were fetched once.
            #expect(place.upstream.calls.filter { $0 == "openid-configuration" || $0 == "keys" }.count == 2)
        }
    }

    @Test("another person there is another one here, whatever name and address they have")
    func anotherSubject() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            let profile: [String: JSON?] = ["email": .string("same@up.example"), "name": .string("Same")]
            for subject in ["person-1", "Person-1"] {
                #expect(try await place.goThere(as: subject, claims: profile).step == .finished)
            }
            #expect(try await place.account("person-1") != place.account("Person-1"))
        }
    }

    @Test("that an address is verified counts of the domains that the provider decides about, and of no other")
    func verifiedAddresses() async throws {
        for (address, said, isVerified) in [
            ("a@people.example", JSON.bool(true), true), ("a@PEOPLE.example", .bool(true), true),
            ("a@people.example", .bool(false), false), ("a@people.example", .string("true"), false),
            ("a@other.example", .bool(true), false), ("a@sub.people.example", .bool(true), false),
            ("people.example", .bool(true), true),
        ] {
            try await UpstreamPlace.run({
                $0.newcomers = .created
                $0.emailDomains = ["people.example"]
            }) { place async throws in
                #expect(
                    try await place.goThere(claims: ["email": .string(address), "email_verified": said]).step
                        == .finished)
                let account = try #require(try await place.account())
                #expect(try await place.f.store.account(id: account)?.email?.isVerified == isVerified, "\(address)")
            }
        }
    }

    /// What an ID token can have wrong.
    private static let wrongClaims: [(name: String, changes: [String: JSON?])] = [
        ("another issuer", ["iss": .string("https://up.example/")]), ("no issuer", ["iss": nil]),
        ("another audience", ["aud": .string("other")]), ("no audience", ["aud": nil]),
        ("two audiences and no azp", ["aud": .array([.string("our-client"), .string("other")])]),
        (
            "another azp",
            ["aud": .array([.string("our-client"), .string("other")]), "azp": .string("other")]
        ),
        ("another azp alone", ["azp": .string("other")]), ("an azp that is none", ["azp": .integer(1)]),
        ("expired", ["exp": .integer(1_799_999_969)]), ("no end", ["exp": nil]),
        ("not yet", ["nbf": .integer(1_800_000_031)]), ("made later", ["iat": .integer(1_800_000_031)]),
        ("of no age", ["iat": nil]),
        ("another nonce", ["nonce": .string("n-1")]), ("no nonce", ["nonce": nil]),
        ("a nonce that is none", ["nonce": .integer(1)]),
        ("of another access token", ["at_hash": .string("AAAAAAAAAAAAAAAAAAAAAA")]),
        ("a hash that is none", ["at_hash": .bool(true)]),
        ("about nobody", ["sub": nil]), ("an empty subject", ["sub": .string("")]),
        ("a subject that is none", ["sub": .integer(7)]),
        ("a long subject", ["sub": .string(String(repeating: "s", count: 256))]),
        ("an authentication to come", ["auth_time": .integer(1_800_000_031)]),
        ("an authentication that is no moment", ["auth_time": .string("now")]),
    ]

    @Test("an ID token with a wrong claim signs nobody in (section 3.1.3.7)", arguments: wrongClaims.indices)
    func wrongClaim(index: Int) async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            let (step, request) = try await place.goThere(claims: Self.wrongClaims[index].changes)
            guard case .refused(let refusal)? = step else {
                Issue.record("\(Self.wrongClaims[index].name): \(String(describing: step))")
                return
            }
            #expect(refusal.code == .failed && refusal.reason.hasPrefix("its "))
            #expect(try await place.complete(request).fields.members.isEmpty)
            #expect(try await place.account() == nil)
            #expect(try await place.trail("signed-in").isEmpty)
        }
    }

    @Test("what an ID token may have, and is right")
    func rightClaims() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            for changes: [String: JSON?] in [
                // Some providers date their tokens minutes back: the nonce says whose request a token answers.
                ["iat": .integer(1_799_999_700)],
                ["aud": .array([.string("our-client")])], ["azp": .string("our-client")],
                ["aud": .array([.string("our-client"), .string("other")]), "azp": .string("our-client")],
                // Within the half minute that clocks may differ.
                ["exp": .integer(1_799_999_971)], ["iat": .integer(1_800_000_030)], ["iat": .integer(1_799_999_970)],
                ["acr": nil], ["sub": .string(String(repeating: "s", count: 255))], ["amr": .string("pwd")],
                ["auth_time": .number(1_799_999_000.5)], ["auth_time": .integer(1_800_000_020)],
                // SHA-256 of `access-1`, the left half.
                ["at_hash": .string("9MKET0Y7WpOlF96BtnoJyA")],
            ] {
                let step = try await place.goThere(claims: changes).step
                #expect(step == .finished, "\(changes)")
            }
        }
    }

    @Test("a signature of another key, kind or algorithm signs nobody in")
    func wrongSignatures() async throws {
        let changes: [@Sendable (inout SimulatedProvider.State) throws -> Void] = [
            { $0.key = try ClientKey(.es256, named: "up-1") }, { $0.key = try ClientKey(.es256, named: "up-2") },
            { state in
                // A symmetric key of the secret that both know is none of its keys.
                let jwk = try JWK(.octets(Array("s3cret:&".utf8) + [UInt8](repeating: 0, count: 24)), keyID: "up-1")
                state.key = ClientKey(signing: try SigningKey(jwk, algorithm: .hs256), set: state.keySet)
            },
            { $0.keySet = #"{"keys":[]}"# }, { $0.keySet = "no keys" },
        ]
        for change in changes {
            try await UpstreamPlace.run(Self.created) { place async throws in
                try place.upstream.change { state in try change(&state) }
                guard case .refused(let refusal)? = try await place.goThere().step else {
                    Issue.record("not refused")
                    return
                }
                #expect(refusal.code == .failed)
            }
        }
    }

    @Test("the operator is told what is wrong with a key of theirs that cannot be used")
    func anUnusableKey() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            // The coordinate without its leading zero, as some providers publish it.
            place.upstream.change {
                $0.keySet =
                    #"{"keys":[{"kty":"EC","crv":"P-256","kid":"up-1","x":"toMxQWV7thICUlYOU3G7UhhTNhAhaIhlPImZMq0WKw","#
                    + #""y":"udIebJ_FiLs3wU2M2iaD1Ju6CJSyo5MA3jdp21d8C-8"}]}"#
            }
            guard case .refused(let refusal)? = try await place.goThere().step else {
                Issue.record("not refused")
                return
            }
            #expect(refusal.reason.contains("coordinates that are not 32 bytes"), "\(refusal.reason)")
        }
    }

    @Test("keys that were rotated there are fetched again, once a minute at most")
    func rotatedKeys() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            #expect(try await place.goThere().step == .finished)
            try place.upstream.change { state in
                state.key = try ClientKey(.edDSA, named: "up-2")
                state.keySet = state.key.set
            }
            guard case .refused? = try await place.goThere().step else {
                Issue.record("within the minute")
                return
            }
            place.f.clock.advance(.seconds(60))
            #expect(try await place.goThere().step == .finished)
        }
    }

    @Test("what its token endpoint answers has to be tokens, and nothing of it is repeated to anybody")
    func tokenAnswers() async throws {
        for (status, body, reason) in [
            (200, #"{"access_token":"a"}"#, "it answers without an ID token"),
            (200, #"{"id_token":7}"#, "it answers without an ID token"),
            (200, #"{"id_token":"x"}"#, "its ID token is refused"), (200, "[]", "answers 200, and no JSON object"),
            (400, #"{"error":"invalid_grant"}"#, "answers 400, invalid_grant"),
            (500, #"{"error":"<script>"}"#, "answers 500, no error of RFC 6749"),
            (302, "", "answers 302, and no JSON object"),
        ] {
            try await UpstreamPlace.run(Self.created) { place async throws in
                place.upstream.change { $0.tokenAnswer = OutgoingAnswer(status: status, body: Array(body.utf8)) }
                guard case .refused(let refusal)? = try await place.goThere().step else {
                    Issue.record("not refused: \(body)")
                    return
                }
                #expect(refusal.code == .failed && refusal.reason.contains(reason), "\(refusal.reason)")
            }
        }
        try await UpstreamPlace.run(Self.created) { place async throws in
            // The provider holds a code against its challenge, so the verifier is the one of the trip.
            let trip = try await place.leave()
            place.authenticate(trip)
            place.upstream.change { $0.challenge = "another" }
            guard case .refused? = try await place.comeBack(trip)?.step else {
                Issue.record("not refused")
                return
            }
        }
    }

    @Test("whose answer it is has to be said where the provider always says it, and be right (RFC 9207)")
    func mixUp() async throws {
        for (named, always, isRight) in [
            (nil, true, false), ("https://other.example", true, false), ("https://other.example", false, false),
            ("https://up.example", false, true), (nil, false, true),
        ] as [(String?, Bool, Bool)] {
            try await UpstreamPlace.run(Self.created) { place async throws in
                place.upstream.change {
                    $0.discovery["authorization_response_iss_parameter_supported"] = always ? .bool(true) : nil
                }
                let trip = try await place.leave()
                place.authenticate(trip)
                let step = try await place.comeBack(trip, ["iss": named])?.step
                #expect((step == .finished) == isRight)
                // Nothing was asked with a code that may be another's.
                #expect(place.upstream.calls.contains("token") == isRight)
            }
        }
    }

    @Test("a state is good once, in the browser that it was made for, at the provider's own address, and for its time")
    func states() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            var other = UpstreamChange()
            other.clientID = "c"
            other.secret = SecretBytes(utf8: "s")
            _ = try await place.providers.add(
                name: "other", kind: .openID, issuer: "https://other.example", other, by: "operator")
            try await place.f.letIn(by: ["provider:up", "provider:other"])
            let trip = try await place.leave()
            place.authenticate(trip)
            #expect(try await place.comeBack(trip, ["state": "unknown"]) == nil)
            #expect(try await place.comeBack(trip, ["state": nil]) == nil)
            #expect(try await place.comeBack(trip, browser: BrowserSecret()) == nil)
            #expect(try await place.comeBack(trip, to: "other") == nil)
            #expect(try await place.comeBack(trip, to: "nobody") == nil)
            #expect(place.upstream.calls.contains("token") == false)
            #expect(try await place.comeBack(trip)?.step == .finished)
            #expect(try await place.comeBack(trip) == nil)
            // Another way there and back ends the one before.
            let (first, second) = (
                try await place.leave(), try await place.leave()
            )
            _ = try await place.leave(request: first.request)
            place.authenticate(first)
            #expect(try await place.comeBack(first) == nil)
            place.authenticate(second)
            place.f.clock.advance(Limits().oauth.upstreamTripLifetime)
            #expect(try await place.comeBack(second) == nil)
        }
    }

    @Test("of fifty that come back at once with one state one is taken")
    func atOnce() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            let trip = try await place.leave()
            place.authenticate(trip)
            let finished = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 { group.addTask { try await place.comeBack(trip)?.step == .finished } }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(finished == 1)
        }
    }

    @Test("what the provider answers the browser with is told apart: the person's no, and everything else")
    func errors() async throws {
        for (error, code, reason) in [
            ("access_denied", UpstreamRefusal.Code.declined, "access_denied"),
            ("login_required", .failed, "login_required"), ("server_error", .failed, "server_error"),
            ("<script>", .failed, "no error of RFC 6749"),
        ] {
            try await UpstreamPlace.run(Self.created) { place async throws in
                let trip = try await place.leave()
                place.authenticate(trip)
                let step = try await place.comeBack(trip, ["error": error])?.step
                guard case .refused(let refusal)? = step else {
                    Issue.record("\(error): \(String(describing: step))")
                    return
                }
                #expect(refusal.code == code && refusal.reason.hasSuffix(reason))
                #expect(place.upstream.calls.contains("token") == false)
                // It can begin anew.
                let again = try await place.leave(request: trip.request)
                place.authenticate(again)
                #expect(try await place.comeBack(again)?.step == .finished)
            }
        }
        try await UpstreamPlace.run(Self.created) { place async throws in
            let trip = try await place.leave()
            guard case .refused? = try await place.comeBack(trip, ["code": nil])?.step else {
                Issue.record("neither code nor error")
                return
            }
        }
    }

    @Test("an outcome is worth something for a while, and the sign-in is one of the provider's for every client")
    func outcomes() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            let late = try await place.goThere()
            place.f.clock.advance(Limits().outcomeLifetime)
            #expect(try await place.complete(late.request).fields.members.isEmpty)
            let (_, request) = try await place.goThere()
            let session = try #require(try await place.complete(request).session)
            func answer() async throws -> String {
                switch try await place.provider.authorizations.authorize(
                    place.f.query(), browser: place.f.browser, session: session, source: "a", address: nil)
                {
                case .client: "code"
                case .signIn: "sign-in"
                default: "else"
                }
            }
            #expect(try await answer() == "code")
            for ways in [["phone"], ["phone", "provider:other"]] {
                try await place.f.letIn(by: ways)
                #expect(try await answer() == "sign-in")
            }
            // One that the client has stopped to take meanwhile signs nobody in.
            try await place.f.letIn(by: ["provider:up"])
            let (_, pending) = try await place.goThere(["prompt": "login"])
            try await place.f.letIn(by: ["phone", "provider:other"])
            #expect(try await place.complete(pending).fields.members.isEmpty)
        }
    }

    @Test("a request is sent to the providers that its client takes, and to no others")
    func offered() async throws {
        try await UpstreamPlace.run { place async throws in
            let request = try await place.leave().request
            let method = UpstreamSignInMethod(
                store: place.f.store,
                finished: FinishedSignIns(store: place.f.store, limits: Limits(), time: place.f.clock.source),
                time: place.f.clock.source, random: .system)
            #expect(
                try await method.offered(to: ["phone", "provider:up", "provider:gone"]).map(\.title) == [
                    "Staff accounts"
                ])
            #expect(try await method.offered(to: ["phone"]).isEmpty)
            func begin(_ name: String, _ browser: BrowserSecret) async throws -> UpstreamSignIns.Answer? {
                try await place.signIns.begin(name, request: request, browser: browser, source: "a")
            }
            #expect(try await begin("up", BrowserSecret()) == nil)
            #expect(try await begin("gone", place.f.browser) == nil)
            try await place.f.letIn(by: ["phone", "provider:gone"])
            #expect(try await begin("up", place.f.browser) == nil)
            #expect(try await begin("gone", place.f.browser) == nil)
        }
    }

    @Test("each way there is counted as a sign-in that begins")
    func budget() async throws {
        var limits = Limits()
        (limits.signInBurst, limits.signInsPerMinute) = (3, 1)
        try await UpstreamPlace.run(limits: limits) { place async throws in
            let request = try await place.leave().request
            func begin() async throws -> UpstreamSignIns.Step? {
                try await place.signIns.begin("up", request: request, browser: place.f.browser, source: "b")?.step
            }
            for _ in 0..<3 {
                guard case .away? = try await begin() else {
                    Issue.record("too few")
                    return
                }
            }
            guard case .tooMany(let shortage)? = try await begin() else {
                Issue.record("no end")
                return
            }
            #expect(shortage.setting == "signInsPerMinute")
        }
    }
}

extension ClientKey {
    /// A key for a test's own signature.
    init(signing: SigningKey, set: String) {
        self.signing = signing
        self.set = set
    }
}
