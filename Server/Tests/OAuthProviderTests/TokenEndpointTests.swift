import Crypto
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 6749, sections 4.1.3 to 5.2: token request and response")
struct TokenEndpointTests {
    @Test func aCodeGivesTokens() async throws {
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn()
            let answer = try await f.token(signedIn.code)
            #expect(answer.status == 200)
            #expect(answer.header("Cache-Control") == "no-store")
            #expect(answer.header("Content-Type") == "application/json")
            let body = try #require(answer.body)
            #expect(body["token_type"] == .string("Bearer"))
            #expect(body["expires_in"] == .integer(300))
            #expect(body["scope"] == .string("openid profile"))
        }
    }

    @Test("the ID token says who, when and how (OpenID Connect Core 1.0, section 2)")
    func idToken() async throws {
        try await ProviderFixture.run { f in
            let tokens = try await f.tokens()
            let claims = try f.claims(tokens.id, type: "JWT")
            let now = f.clock.source.now()
            try claims.check(issuer: ProviderFixture.issuer, audience: f.bank.client.id, at: f.clock.source)
            #expect(claims.audience == [f.bank.client.id])
            #expect(claims.subject == f.provider.keys.subject(ofAccount: "account-a", client: f.bank.client.id))
            #expect(claims.issuedAt == now && claims.expiration == now + .seconds(300))
            #expect(claims.members["auth_time"] == .integer(now.seconds))
            #expect(claims.members["nonce"] == .string("n-1"))
            #expect(claims.members["acr"] == .string("urn:x"))
            #expect(claims.members["amr"] == .array([.string("pin"), .string("hwk")]))
            let half = Array(SHA256.hash(data: Array(tokens.access.utf8)).prefix(16))
            #expect(claims.members["at_hash"] == .string(Base64URL.encode(half)))
            #expect(try claims.members.requiredString("sid").utf8.count == 43)
        }
    }

    @Test func withoutNonceThereIsNone() async throws {
        try await ProviderFixture.run { f in
            let claims = try f.claims(try await f.tokens(["nonce": nil]).id, type: "JWT")
            #expect(claims.members["nonce"] == nil)
        }
    }

    @Test("the access token is an at+jwt (RFC 9068, section 2)")
    func accessToken() async throws {
        try await ProviderFixture.run { f in
            let claims = try f.claims(try await f.tokens().access, type: "at+jwt")
            try claims.check(issuer: ProviderFixture.issuer, audience: ProviderFixture.issuer, at: f.clock.source)
            #expect(claims.members["client_id"] == .string(f.bank.client.id))
            #expect(claims.members["scope"] == .string("openid profile"))
            #expect(claims.subject == f.provider.keys.subject(ofAccount: "account-a", client: f.bank.client.id))
            #expect(claims.expiration == f.clock.source.now() + .seconds(300))
            #expect(claims.issuedAt == f.clock.source.now())
            #expect(claims.members["jti"] != nil)
            guard case .string(let grant) = claims.members["grant_id"] else {
                Issue.record("no grant")
                return
            }
            #expect(
                try await f.store.grant(grant, token: nil, at: f.clock.source.now())?.authentication.account
                    == "account-a")
            #expect(claims.members["jti"] != .string(grant))
        }
    }

    @Test func aClientCanAuthenticateInTheBody() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            let changes = ["client_id": f.bank.client.id, "client_secret": f.secret]
            let answer = try await f.provider.grants.answer(header: nil, body: f.form(code, changes))
            #expect(answer.status == 200)
        }
    }

    @Test func aClientThatDoesNotAuthenticateIsRefusedAndSpendsNothing() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            let wrong = String(f.secret.reversed())
            for header in [nil, "Basic !", "Bearer x", f.basic(secret: wrong), f.basic(secret: f.secret + "x")] {
                let answer = try await f.provider.grants.answer(header: header, body: f.form(code))
                #expect(answer.status == 401 && answer.error == "invalid_client")
                #expect(answer.header("WWW-Authenticate") == "Basic realm=\"https://id.example\"")
            }
            for changes in [
                ["client_id": f.bank.client.id], ["client_id": f.bank.client.id, "client_secret": wrong],
                ["client_id": "unknown", "client_secret": f.secret],
            ] {
                let answer = try await f.provider.grants.answer(header: nil, body: f.form(code, changes))
                #expect(answer.status == 401 && answer.error == "invalid_client")
            }
            let twice = try await f.provider.grants.answer(
                header: f.basic(), body: f.form(code, ["client_secret": f.secret]))
            #expect(twice.status == 400 && twice.error == "invalid_request")
            #expect(try await f.token(code).status == 200)
        }
    }

    @Test(
        "a request that is not whole is refused and spends nothing",
        arguments: [
            (["grant_type": nil], "invalid_request"), (["grant_type": "password"], "unsupported_grant_type"),
            (["grant_type": "refresh_token"], "unauthorized_client"), (["code": nil], "invalid_request"),
            (["redirect_uri": nil], "invalid_request"), (["code_verifier": nil], "invalid_request"),
            (["code_verifier": "short"], "invalid_grant"),
        ] as [([String: String?], String)])
    func incomplete(changes: [String: String?], error: String) async throws {
        try await ProviderFixture.run { f in
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(codeBinding: .pkce))
            let code = try await f.signIn().code
            let answer = try await f.token(code, changes)
            #expect(answer.status == 400 && answer.error == error)
            #expect(try await f.token(code).status == 200)
        }
    }

    @Test func aBodyThatCannotBeReadIsRefused() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            let body = f.form(code)
            for suffix in ["&code=x", "&x=%", "&x=" + String(repeating: "x", count: 8192)] {
                let answer = try await f.provider.grants.answer(header: f.basic(), body: body + suffix)
                #expect(answer.status == 400 && answer.error == "invalid_request")
            }
        }
    }

    private func refused(_ answer: ProviderAnswer) {
        #expect(answer.status == 400)
        // One sentence for all, so that a thief learns nothing about the code.
        #expect(
            answer.body == [
                "error": .string("invalid_grant"), "error_description": .string("The code is not valid."),
            ])
    }

    @Test(
        "a code with the wrong verifier or address is refused, and spent",
        arguments: [
            ["code_verifier": CodeVerifier(random: .system).text], ["redirect_uri": ProviderFixture.afterLogout],
            ["redirect_uri": ProviderFixture.address + "/"],
        ])
    func wrongProof(changes: [String: String?]) async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            self.refused(try await f.token(code, changes))
            self.refused(try await f.token(code))
        }
    }

    @Test func anotherClientsCodeIsRefusedAndSpent() async throws {
        try await ProviderFixture.run { f in
            let shop = try await f.provider.clients.register(name: "Shop", redirectURIs: [ProviderFixture.address])
            let code = try await f.signIn().code
            self.refused(try await f.provider.grants.answer(header: f.basic(shop), body: f.form(code)))
            self.refused(try await f.token(code))
        }
    }

    @Test func anUnknownCodeIsRefused() async throws {
        try await ProviderFixture.run { f in
            self.refused(try await f.token("unknown"))
            self.refused(try await f.token(RandomSource.system.token(byteCount: 32)))
        }
    }

    @Test func aCodeEnds() async throws {
        try await ProviderFixture.run { f in
            let first = try await f.signIn().code
            f.clock.advance(.milliseconds(59_999))
            #expect(try await f.token(first).status == 200)
            let second = try await f.signIn().code
            f.clock.advance(.seconds(60))
            self.refused(try await f.token(second))
        }
    }

    @Test func aCodeEndsWithItsSession() async throws {
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn()
            try await f.endSessions()
            self.refused(try await f.token(signedIn.code))
        }
    }

    @Test func aReplayedCodeRevokesWhatItGave() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            let access = try #require(try await f.token(code).body?.requiredString("access_token"))
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 200)
            self.refused(try await f.token(code))
            let answer = try await f.provider.userinfo.answer(header: "Bearer \(access)")
            #expect(answer.status == 401 && answer.error == "invalid_token")
        }
    }

    @Test func oneOfFiftyTokenRequestsWins() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { try await f.token(code).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == 1)
            #expect(statuses.filter { $0 == 400 }.count == 49)
        }
    }

    @Test func aDeletedClientGetsNothing() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            #expect(try await f.provider.clients.delete(f.bank.client.id))
            #expect(try await f.token(code).error == "invalid_client")
        }
    }

    @Test func aClosedStoreIsAnErrorOfTheStore() async throws {
        try await ProviderFixture.run(closing: false) { f in
            let code = try await f.signIn().code
            await f.store.close()
            await #expect(throws: StoreError(.unavailable, "")) { try await f.token(code) }
        }
    }
}
