import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Synchronization
import Testing
import _Primitives

@Suite("OAuth 2.1, section 7.5, and RFC 9700, section 2.1.1: what authorization codes are bound to")
struct CodeBindingTests {
    private static let withoutChallenge: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil]

    /// What the client is told about an authorization request that is right but for `changes`.
    private func refusal(_ f: ProviderFixture, _ changes: [String: String?]) async throws -> (
        error: String?, description: String?
    ) {
        let answer = try await f.provider.authorizations.authorize(
            f.query(changes), browser: f.browser, session: nil, source: "a", address: nil)
        guard case .client(.redirect(let address)) = answer else { return (nil, nil) }
        return (
            try ProviderFixture.parameter("error", of: address),
            try ProviderFixture.parameter("error_description", of: address)
        )
    }

    /// Lets the bank rely on its nonce.
    private func allow(_ f: ProviderFixture) async throws {
        #expect(
            try await f.provider.clients.change(f.bank.client.id, ClientChange(codeBinding: .nonce))?.settings
                .codeBinding
                == .nonce)
    }

    private func refused(_ answer: ProviderAnswer) {
        #expect(answer.status == 400)
        #expect(
            answer.body == [
                "error": .string("invalid_grant"), "error_description": .string("The code is not valid."),
            ])
    }

    @Test("a client that has to send a challenge is told of the setting that it could have instead")
    func required() async throws {
        try await ProviderFixture.run { f in
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(codeBinding: .pkce))
            let refusal = try await self.refusal(f, Self.withoutChallenge)
            #expect(refusal.error == "invalid_request")
            #expect(refusal.description?.contains("--pkce nonce") == true)
            #expect(refusal.description?.contains("code_challenge") == true)
        }
    }

    @Test(
        "in the operator's own confidential client a nonce stands for the challenge, from the request to the ID token",
        arguments: [false, true])
    func nonceInstead(isAllowed: Bool) async throws {
        try await ProviderFixture.run { f in
            if isAllowed { try await self.allow(f) }
            let signedIn = try await f.signIn(Self.withoutChallenge)
            let answer = try await f.token(signedIn.code, ["code_verifier": nil])
            let token = try #require(try answer.body?.string("id_token"))
            #expect(try f.claims(token, type: "JWT").members["nonce"] == .string("n-1"))
            // In a session that goes on, too.
            let again = try await f.provider.authorizations.authorize(
                f.query(Self.withoutChallenge), browser: f.browser, session: signedIn.session, source: "a", address: nil
            )
            guard case .client(.redirect(let address)) = again else {
                Issue.record("not a redirect: \(again)")
                return
            }
            let code = try #require(try ProviderFixture.parameter("code", of: address))
            #expect(try await f.token(code, ["code_verifier": nil]).status == 200)
        }
    }

    @Test("without challenge and without nonce there is no code", arguments: [nil, ""])
    func neither(nonce: String?) async throws {
        try await ProviderFixture.run { f in
            var changes = Self.withoutChallenge
            changes["nonce"] = .some(nonce)
            let refusal = try await self.refusal(f, changes)
            #expect(refusal.error == "invalid_request")
            #expect(refusal.description?.contains("--pkce none") == true)
        }
    }

    @Test("a nonce without the scope openid is bound to no ID token, and stands for nothing")
    func nonceWithoutOpenID() async throws {
        try await ProviderFixture.run { f in
            var changes = Self.withoutChallenge
            changes["scope"] = "profile"
            let refusal = try await self.refusal(f, changes)
            #expect(refusal.error == "invalid_scope" || refusal.error == "invalid_request")
        }
    }

    /// Clients whose codes are bound to a challenge, whatever is set.
    enum Bound: String, CaseIterable, Sendable {
        case thirdParty, fapi2, app
    }

    @Test("a third party's, a fapi2 client and an app send a challenge always", arguments: Bound.allCases)
    func always(_ kind: Bound) async throws {
        try await ProviderFixture.run { f in
            let key = try ClientKey(.es256)
            var settings = ClientSettings(idTokenAlgorithm: .es256)
            switch kind {
            case .thirdParty: settings.party = .third
            case .fapi2:
                settings = key.settings
                settings.profile = ClientProfile(security: .fapi2)
            case .app: settings.authenticationMethod = "none"
            }
            let client = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address], settings: settings)
            let id = client.client.id
            for binding in [ClientSettings.CodeBinding.nonce, .nothing] {
                await #expect(throws: OAuthError(.invalidRequest), "\(binding)") {
                    try await f.provider.clients.change(id, ClientChange(codeBinding: binding))
                }
            }
            // A setting that an earlier version has kept counts for nothing.
            _ = try await f.store.changeClient(id) { current in
                current.settings.codeBinding = .nothing
                return []
            }
            var changes = Self.withoutChallenge
            changes["client_id"] = id
            if kind == .fapi2 {
                var form: Parameters = [
                    "client_assertion": try key.assertion(id, f),
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                ]
                for (name, value) in try Parameters(parsing: f.query(changes)).members { form.append(name, value) }
                let pushed = try await f.provider.authorizations.push(header: nil, body: form.encoded, source: "a")
                #expect(pushed.error == "invalid_request")
                #expect(try pushed.body?.string("error_description")?.contains("code_challenge") == true)
            } else {
                let refusal = try await self.refusal(f, changes)
                #expect(refusal.error == "invalid_request")
                #expect(refusal.description?.contains("code_challenge") == true)
                #expect(refusal.description?.contains("--pkce") == false, "no setting would help")
            }
        }
    }

    @Test("a client that can send neither is let in by a setting of its own, with a warning at each look")
    func neitherIsLet() async throws {
        try await ProviderFixture.run { f in
            #expect(try await f.provider.clients.warned().isEmpty)
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(codeBinding: .nothing))
            var changes = Self.withoutChallenge
            changes["nonce"] = .some(nil)
            let signedIn = try await f.signIn(changes)
            let answer = try await f.token(signedIn.code, ["code_verifier": nil])
            #expect(answer.status == 200)
            let token = try #require(try answer.body?.string("id_token"))
            #expect(try f.claims(token, type: "JWT").members["nonce"] == nil)
            // A challenge that was sent is held to, and one that was left out on the way gains nothing.
            self.refused(try await f.token(try await f.signIn().code, ["code_verifier": nil]))
            self.refused(try await f.token(try await f.signIn(changes).code))
            let warned = try await f.provider.clients.warned()
            #expect(warned.map(\.client.id) == [f.bank.client.id])
            #expect(warned.first?.warnings.map(\.setting) == ["--pkce none"])
            // Nobody else is.
            let other = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256))
            changes["client_id"] = other.client.id
            #expect(try await self.refusal(f, changes).error == "invalid_request")
        }
    }

    @Test(
        "half a challenge is none that was left out",
        arguments: [
            ["code_challenge": nil], ["code_challenge_method": nil], ["code_challenge_method": "plain"],
            ["code_challenge": ""], ["code_challenge": "short"],
        ] as [[String: String?]])
    func half(changes: [String: String?]) async throws {
        try await ProviderFixture.run { f in
            try await self.allow(f)
            #expect(try await self.refusal(f, changes).error == "invalid_request")
        }
    }

    @Test("a challenge that was sent is held to, though it need not have been")
    func challengeIsHeldTo() async throws {
        try await ProviderFixture.run { f in
            try await self.allow(f)
            self.refused(try await f.token(try await f.signIn().code, ["code_verifier": nil]))
            let other = CodeVerifier(random: .system).text
            self.refused(try await f.token(try await f.signIn().code, ["code_verifier": other]))
            #expect(try await f.token(try await f.signIn().code).status == 200)
        }
    }

    @Test("a verifier for a request that came without its challenge is refused, and the code spent (downgrade)")
    func downgrade() async throws {
        try await ProviderFixture.run { f in
            try await self.allow(f)
            let code = try await f.signIn(Self.withoutChallenge).code
            self.refused(try await f.token(code))
            self.refused(try await f.token(code, ["code_verifier": nil]))
        }
    }

    @Test("a setting that is taken back holds for the codes that are under way")
    func takenBack() async throws {
        try await ProviderFixture.run { f in
            try await self.allow(f)
            let code = try await f.signIn(Self.withoutChallenge).code
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(codeBinding: .pkce))
            #expect(try await f.token(code, ["code_verifier": nil]).error == "invalid_request")
            self.refused(try await f.token(code))
        }
    }

    @Test("a client that becomes one of another kind sends a challenge from then on")
    func becomes() async throws {
        try await ProviderFixture.run { f in
            let before = try await self.refusal(f, Self.withoutChallenge)
            #expect(before.error == nil)
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(party: .third))
            #expect(try await self.refusal(f, Self.withoutChallenge).error == "invalid_request")
        }
    }

    @Test("the operator is told which setting of which client a request does not fit, once a minute")
    func theOperatorIsTold() async throws {
        let misfits = Mutex<[ClientMisfit]>([])
        try await ProviderFixture.run { f in
            let provider = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(
                    issuer: ProviderFixture.issuer, note: { misfit in misfits.withLock { $0.append(misfit) } }),
                store: f.store, methods: [f.outcomes], people: f.people, time: f.clock.source)
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(codeBinding: .pkce))
            func send(_ changes: [String: String?]) async throws {
                _ = try await provider.authorizations.authorize(
                    f.query(changes), browser: f.browser, session: nil, source: "a", address: nil)
            }
            try await send([:])
            try await send(["client_id": "unknown"])
            #expect(misfits.withLock { $0 } == [])
            for _ in 0..<3 { try await send(Self.withoutChallenge) }
            let told = misfits.withLock { $0 }
            #expect(told.count == 1 && told[0].client == f.bank.client.id && told[0].setting == "--pkce")
            #expect(told[0].advice.contains("--pkce nonce"))
            f.clock.advance(.seconds(60))
            try await send(["redirect_uri": "https://evil.example/"])
            #expect(misfits.withLock { $0 }.map(\.setting) == ["--pkce", "--redirect-uri"])
            // What a stranger writes is not the log's.
            #expect(misfits.withLock { $0 }.allSatisfy { !$0.advice.contains("evil") })
        }
    }
}
