import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 9470, section 5, and OpenID Connect Core Error Code unmet_authentication_requirements: how surely")
struct StepUpTests {
    /// Two levels of which one is surer, a word for each by others, and one that nothing here meets.
    private static let levels = [
        AssuranceWord("urn:low", levels: ["urn:low", "urn:high"]), AssuranceWord("urn:high", levels: ["urn:high"]),
        AssuranceWord("aal1", levels: ["urn:low", "urn:high"]), AssuranceWord("aal2", levels: ["urn:high"]),
        AssuranceWord("ial2", levels: []),
    ]

    private func run(_ body: (ProviderFixture) async throws -> Void) async throws {
        try await ProviderFixture.run(levels: Self.levels, body)
    }

    private func claims(_ f: ProviderFixture, _ signedIn: ProviderFixture.SignedIn) async throws -> JSONObject {
        let body = try #require(try await f.token(signedIn.code).body)
        return try f.claims(body.requiredString("id_token"), type: "JWT").members
    }

    @Test("a session that is sure enough is enough, for any of the words that are asked for")
    func enough() async throws {
        try await self.run { f in
            let session = try await f.signIn(acr: "urn:low").session
            for words in ["urn:low", "aal1", "aal2 aal1", "ial2 urn:low", "unknown aal1"] {
                #expect(
                    try await f.answer(["acr_values": words, "prompt": "none"], session: session) == "code", "\(words)")
            }
            for words in ["urn:high", "aal2", "ial2 aal2"] {
                #expect(try await f.answer(["acr_values": words], session: session) == "sign-in", "\(words)")
                #expect(
                    try await f.answer(["acr_values": words, "prompt": "none"], session: session) == "login_required",
                    "\(words)")
            }
        }
    }

    @Test("words that no level here has are passed over, and a known one beside them is a demand")
    func unknownWords() async throws {
        try await self.run { f in
            let low = try await f.signIn(acr: "urn:low").session
            for words in ["unknown", "unknown other", "urn:mace:incommon:iap:silver"] {
                #expect(
                    try await f.answer(["acr_values": words, "prompt": "none"], session: low) == "code", "\(words)")
            }
            let signedIn = try await f.signIn(["acr_values": "unknown"], acr: "urn:low")
            #expect(try await self.claims(f, signedIn)["acr"] == .string("urn:low"), "nobody is told an unknown word")
            for words in ["unknown aal2", "aal2 unknown"] {
                #expect(try await f.answer(["acr_values": words], session: low) == "sign-in", "\(words)")
                #expect(
                    try await f.answer(["acr_values": words, "prompt": "none"], session: low) == "login_required",
                    "\(words)")
            }
        }
    }

    @Test("what nobody can meet here is told at once, and no page is shown")
    func impossible() async throws {
        try await self.run { f in
            let session = try await f.signIn(acr: "urn:high").session
            let essential = #"{"id_token": {"acr": {"essential": true, "values": ["ial2", "unknown"]}}}"#
            for session in [session, nil] {
                for wishes in [
                    ["acr_values": "ial2"], ["acr_values": "unknown ial2 other"], ["claims": essential],
                    ["claims": #"{"id_token": {"acr": {"essential": true, "value": 7}}}"#],
                    ["claims": essential, "acr_values": "aal2"], ["acr_values": "ial2", "prompt": "none"],
                ] {
                    #expect(
                        try await f.answer(wishes, session: session) == "unmet_authentication_requirements", "\(wishes)"
                    )
                }
            }
        }
    }

    @Test("a surer authentication joins the session, which goes on under another cookie and keeps what it gave")
    func stepUp() async throws {
        try await self.run { f in
            let first = try await f.signIn(acr: "urn:low")
            let low = try await self.claims(f, first)
            let before = try #require(try await f.provider.sessions.running(ofAccount: "account-a").first)
            f.clock.advance(.seconds(60))
            let second = try await f.signIn(["acr_values": "aal2"], acr: "urn:high", session: first.session)
            let high = try await self.claims(f, second)
            #expect(low["acr"] == .string("urn:low") && high["acr"] == .string("aal2"))
            #expect(low["sid"] != nil && low["sid"] == high["sid"])
            #expect(high["auth_time"] == .integer(f.clock.source.now().seconds))

            let after = try await f.provider.sessions.running(ofAccount: "account-a")
            #expect(after.map(\.id) == [before.id] && after[0].expiresAt == before.expiresAt)
            #expect(after[0].authenticatedAt == f.clock.source.now(), "the last authentication counts")
            #expect(try await f.provider.sessions.session(first.session) == nil, "the former cookie opens nothing")
            #expect(try await f.provider.sessions.session(second.session)?.acr == "urn:high")
            // From then on nobody is asked again, and with its end both sign-ins have ended.
            #expect(try await f.answer(["acr_values": "aal2", "prompt": "none"], session: second.session) == "code")
            try await f.endSessions()
            #expect(try await f.provider.sessions.session(second.session) == nil)
        }
    }

    @Test("somebody else's authentication joins nobody's session, and neither does one that was not asked to be surer")
    func otherSessions() async throws {
        try await self.run { f in
            let alice = try await f.signIn(acr: "urn:low")
            f.clock.advance(.seconds(1))
            let carol = try await f.signIn(
                ["acr_values": "aal2"], account: "account-c", acr: "urn:high", session: alice.session)
            #expect(try await f.provider.sessions.session(alice.session) == nil)
            #expect(try await f.provider.sessions.session(carol.session)?.account == "account-c")
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").isEmpty)
            let before = try await f.provider.sessions.running(ofAccount: "account-c").map(\.id)
            _ = try await f.signIn(["prompt": "login"], account: "account-c", acr: "urn:high", session: carol.session)
            let after = try await f.provider.sessions.running(ofAccount: "account-c").map(\.id)
            #expect(before.count == 1 && after.count == 1 && before != after)
        }
    }

    @Test("an authentication that is not sure enough signs nobody in, the client is told, and the session goes on")
    func unmet() async throws {
        try await self.run { f in
            let session = try await f.signIn(acr: "urn:low").session
            let essential = #"{"id_token": {"acr": {"essential": true, "values": ["urn:high"]}}}"#
            for wishes in [["acr_values": "aal2"], ["claims": essential]] {
                let request = try await f.begin(wishes, session: session)
                f.authenticate(request, acr: "urn:low")
                let answer = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: session)
                guard case .refused(let told) = answer else {
                    Issue.record("not refused: \(answer)")
                    continue
                }
                let fields = try ProviderFixture.fields(of: told)
                #expect(fields["error"] == "unmet_authentication_requirements" && fields["code"] == nil)
                #expect(fields["state"] == "st&te" && fields["iss"] == ProviderFixture.issuer)
                let again = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: session)
                #expect(again == .page(OAuthError(.invalidRequest)), "the request has ended")
            }
            #expect(try await f.provider.sessions.session(session)?.acr == "urn:low")
            #expect(try await f.provider.sessions.running(ofAccount: "account-a").count == 1)
        }
    }

    @Test("where the session ends while its person authenticates, it is a sign-in like any other")
    func sessionEndsMeanwhile() async throws {
        try await self.run { f in
            let first = try await f.signIn(acr: "urn:low").session
            let request = try await f.begin(["acr_values": "aal2"], session: first)
            f.authenticate(request, acr: "urn:high")
            try await f.endSessions()
            let answer = try await f.provider.authorizations.complete(
                request: request, browser: f.browser, session: first)
            guard case .signedIn(_, let session, _) = answer else {
                Issue.record("not signed in: \(answer)")
                return
            }
            #expect(try await f.provider.sessions.session(session)?.acr == "urn:high")
        }
    }

    @Test("a level that would be welcome and is not essential is told where it is reached, and refused to nobody")
    func voluntary() async throws {
        try await self.run { f in
            let wish = #"{"id_token": {"acr": {"values": ["ial2", "aal2", "aal1"]}}}"#
            let low = try await f.signIn(["claims": wish], acr: "urn:low")
            #expect(try await self.claims(f, low)["acr"] == .string("aal1"))
            let none = try await f.signIn(
                ["claims": #"{"id_token": {"acr": {"value": "aal2"}}}"#], acr: "urn:low")
            #expect(try await self.claims(f, none)["acr"] == .string("urn:low"))
            let null = try await f.signIn(["claims": #"{"id_token": {"acr": {"essential": true}}}"#], acr: "urn:low")
            #expect(try await self.claims(f, null)["acr"] == .string("urn:low"))
        }
    }

    @Test("both ways to ask have to be met where both are there")
    func both() async throws {
        try await self.run { f in
            let session = try await f.signIn(acr: "urn:low").session
            let essential = #"{"id_token": {"acr": {"essential": true, "value": "aal1"}}}"#
            #expect(try await f.answer(["claims": essential], session: session) == "code")
            #expect(try await f.answer(["claims": essential, "acr_values": "aal2"], session: session) == "sign-in")
        }
    }

    @Test("more words than anybody needs, and claims that cannot be read, are refused")
    func malformed() async throws {
        try await self.run { f in
            let words = (0..<16).map { "w\($0)" } + ["aal1"]
            let wishes: [([String: String?], String)] = [
                (["acr_values": words.joined(separator: " ")], "invalid_request"),
                (["acr_values": words.dropFirst().joined(separator: " ")], "sign-in"),
                (["claims": "[]"], "invalid_request"), (["claims": "{"], "invalid_request"),
                (["claims": #"{"id_token": {"acr": 7}}"#], "invalid_request"),
            ]
            for (wish, expected) in wishes {
                let told = try await f.answer(wish, session: nil)
                #expect(told == expected, "\(wish)")
            }
        }
    }

    @Test("the metadata names the words that can be met, and no other")
    func metadata() async throws {
        try await self.run { f in
            let words = try f.provider.discovery.strings("acr_values_supported")
            #expect(words == ["urn:low", "urn:high", "aal1", "aal2"])
        }
    }
}
