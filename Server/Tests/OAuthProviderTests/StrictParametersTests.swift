import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("RFC 6749, sections 3.1 and 3.2: which parameters count, and how exactly they are read")
struct StrictParametersTests {
    /// What came of an authorization request: `sign-in`, `page`, `code`, or the error that the client is told.
    private func outcome(_ f: ProviderFixture, _ query: String, _ session: SessionSecret? = nil) async throws -> String
    {
        switch try await f.provider.authorizations.authorize(
            query, browser: f.browser, session: session, source: "a", address: nil)
        {
        case .signIn: return "sign-in"
        case .consent: return "consent"
        case .tooMany: return "too many"
        case .page: return "page"
        case .client(let answer): return try ProviderFixture.fields(of: answer)["error"] ?? "code"
        }
    }

    @Test(
        "a parameter that nobody knows is ignored, at both endpoints",
        arguments: ["&colour=x", "&login_hint=bob", "&ui_locales=de", "&x", "&client_secret=x", "&Scope=x"])
    func unknownParameters(suffix: String) async throws {
        try await ProviderFixture.run { f in
            #expect(try await self.outcome(f, f.query() + suffix) == "sign-in")
            guard !suffix.contains("secret") else { return }  // That one is known at the token endpoint.
            let code = try await f.signIn().code
            let answer = try await f.provider.grants.answer(header: f.basic(), body: f.form(code) + suffix)
            #expect(answer.status == 200)
        }
    }

    @Test("values are compared with their case, and names too")
    func caseCounts() async throws {
        try await ProviderFixture.run { f in
            for (changes, result) in [
                (["response_type": "Code"], "unsupported_response_type"),
                (["response_mode": "Query"], "invalid_request"), (["scope": "OpenID"], "invalid_scope"),
                (["code_challenge_method": "s256"], "invalid_request"), (["prompt": "None"], "invalid_request"),
                (["response_type": nil, "Response_Type": "code"], "invalid_request"),
                (["client_id": f.bank.client.id.uppercased() + "x"], "page"),
                (["client_id": nil, "CLIENT_ID": f.bank.client.id], "page"),
            ] as [([String: String?], String)] {
                #expect(try await self.outcome(f, f.query(changes)) == result, "\(changes)")
            }
            let code = try await f.signIn().code
            #expect(try await f.token(code, ["grant_type": "Authorization_Code"]).error == "unsupported_grant_type")
            #expect(try await f.token(code, ["code": nil, "Code": code]).error == "invalid_request")
            #expect(try await f.token(code).status == 200, "nothing of that has spent the code")
        }
    }

    @Test("a parameter without a value counts as missing")
    func emptyIsMissing() async throws {
        try await ProviderFixture.run { f in
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(codeBinding: .pkce))
            for (name, result) in [
                ("client_id", "page"), ("redirect_uri", "page"), ("response_type", "invalid_request"),
                ("scope", "invalid_scope"), ("code_challenge", "invalid_request"),
                ("code_challenge_method", "invalid_request"), ("state", "sign-in"), ("nonce", "sign-in"),
                ("prompt", "sign-in"), ("max_age", "sign-in"), ("request", "sign-in"), ("response_mode", "sign-in"),
            ] {
                #expect(try await self.outcome(f, f.query([name: ""])) == result, "\(name)")
            }
            let code = try await f.signIn().code
            for name in ["grant_type", "code", "redirect_uri", "code_verifier"] {
                #expect(try await f.token(code, [name: ""]).error == "invalid_request", "\(name)")
            }
            let signedIn = try await f.signIn(["state": "", "nonce": ""])
            #expect(try ProviderFixture.parameter("state", of: signedIn.redirect) == nil)
            let token = try #require(try await f.token(signedIn.code).body?.requiredString("id_token"))
            #expect(try f.claims(token, type: "JWT").members["nonce"] == nil)
        }
    }

    @Test(
        "any parameter that occurs twice is refused before anything else is looked at (section 3.1)",
        arguments: ["client_id", "redirect_uri", "state", "nonce", "scope", "code_challenge", "unknown"])
    func twiceIsRefused(name: String) async throws {
        try await ProviderFixture.run { f in
            let outcome = try await self.outcome(f, f.query(["unknown": "1"]) + "&\(name)=2")
            #expect(outcome == "page")
        }
    }

    @Test(
        "state and nonce of the length that profiles ask for come back whole (FAPI 2.0, section 5.3)",
        arguments: [64, 128, 512])
    func longValues(length: Int) async throws {
        let value = String(repeating: "sN-_.~09", count: length / 8)
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn(["state": value, "nonce": value])
            #expect(try ProviderFixture.parameter("state", of: signedIn.redirect) == value)
            let token = try #require(try await f.token(signedIn.code).body?.requiredString("id_token"))
            #expect(try f.claims(token, type: "JWT").members["nonce"] == .string(value))
        }
    }

    @Test("codes, session cookies and client secrets carry at least 128 random bits (RFC 6749, section 10.10)")
    func secretsAreLong() async throws {
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn()
            let secrets = [try signedIn.code, signedIn.session.cookieValue, f.secret]
            for secret in secrets {
                let bytes = try #require(Base64URL.decode(secret))
                #expect(bytes.count >= 16)
            }
            let next = try await f.signIn().code
            #expect(next != secrets[0])
        }
    }

    @Test("neither answer says whether the client or its secret was wrong (RFC 6749, section 5.2)")
    func clientsCannotBeGuessed() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            let unknown = try await f.provider.grants.answer(
                header: nil, body: f.form(code, ["client_id": "nobody", "client_secret": f.secret]))
            let wrong = try await f.provider.grants.answer(
                header: nil, body: f.form(code, ["client_id": f.bank.client.id, "client_secret": "x"]))
            #expect(unknown.status == 401 && unknown.body == wrong.body)
        }
    }
}
