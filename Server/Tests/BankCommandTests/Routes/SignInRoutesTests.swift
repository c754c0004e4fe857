import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import BankCommand

@Suite("The bank's sign-in: OpenID Connect Core 1.0, section 3.1.3.7, RFC 6749, section 4.1, and RFC 9207")
struct BankSignInTests {
    @Test("A right sign-in asks with PKCE, state and nonce, proves the client, and renews the session")
    func signsIn() async throws {
        try await BankFixture.run { bank in
            let sent = try await bank.beginSignIn()
            #expect(sent.status == 303 && sent.location?.hasPrefix("\(bank.issuer)/authorize?") == true)
            #expect(try sent.parameter("response_type") == "code")
            #expect(try sent.parameter("scope") == "openid profile")
            #expect(try sent.parameter("redirect_uri") == "http://127.0.0.1:8081/callback")
            #expect(try sent.parameter("code_challenge_method") == "S256")
            let answer = try await bank.comeBack(sent)
            #expect(answer.location == "/accounts")
            #expect(answer.headers[.setCookie]?.contains("HttpOnly; SameSite=Lax") == true)
            #expect(answer.headers[.setCookie] != sent.headers[.setCookie], "the session has a new name")
            let asked = bank.provider.state.withLock { $0 }
            #expect(asked.tokenForm["grant_type"] == "authorization_code" && asked.tokenForm["code"] == "code")
            let verifier = try #require(asked.tokenForm["code_verifier"])
            #expect(try sent.parameter("code_challenge") == Base64.sha256URL(verifier))
            // RFC 6749, section 2.3.1: form-encoded before they are joined.
            #expect(asked.authorizations == ["Basic " + Data("bank:p%3Aw%20d".utf8).base64EncodedString()])
            let page = try await bank.get("/accounts")
            #expect(page.text.contains("Good to see you, Ada &lt;Lovelace&gt;."))
            #expect(try await bank.get("/").location == "/accounts")
        }
    }

    @Test("Each sign-in has a state, a nonce and a verifier of its own")
    func neverRepeats() async throws {
        try await BankFixture.run { bank in
            let first = try await bank.beginSignIn()
            let second = try await bank.beginSignIn()
            for name in ["state", "nonce", "code_challenge"] {
                #expect(try first.parameter(name) != second.parameter(name), "\(name)")
            }
        }
    }

    static let answers: [[String: String?]] = [
        ["state": nil], ["state": "another"], ["iss": nil], ["iss": "https://other.example"], ["code": nil],
        ["error": "access_denied"], ["error": "access_denied", "code": nil], ["state": ""],
    ]

    @Test("An answer that is not the provider's to this browser's request signs nobody in", arguments: answers)
    func refusesAnswers(changes: [String: String?]) async throws {
        try await BankFixture.run { bank in
            let sent = try await bank.beginSignIn()
            let answer = try await bank.comeBack(sent, changes)
            #expect(answer.status == 400 && answer.text.contains("data-testid=\"error\""))
            #expect(bank.provider.state.withLock(\.tokenForm).isEmpty, "the code was not redeemed")
            #expect(try await bank.isSignedIn == false)
            #expect(try await bank.comeBack(sent).status == 400, "the attempt is over")
            #expect(try await bank.isSignedIn == false)
        }
    }

    @Test("Only the browser that began can end a sign-in, and only once")
    func bindsTheBrowser() async throws {
        try await BankFixture.run { bank in
            let sent = try await bank.beginSignIn()
            let other = bank.otherBrowser()
            #expect(try await other.comeBack(sent).status == 400)
            #expect(try await other.isSignedIn == false)
            #expect(try await bank.comeBack(sent).status == 303)
            #expect(try await bank.comeBack(sent).status == 400)
        }
    }

    @Test("What somebody types of the person's no is told apart from a failure")
    func tellsANo() async throws {
        try await BankFixture.run { bank in
            let denied = try await bank.comeBack(try await bank.beginSignIn(), ["error": "access_denied", "code": nil])
            #expect(denied.text.contains("You declined on your phone"))
            let forged = try await bank.comeBack(
                try await bank.beginSignIn(), ["error": "access_denied", "code": nil, "state": "x"])
            #expect(!forged.text.contains("You declined on your phone"))
        }
    }

    static let tokens: [(name: String, value: String?)] = [
        ("iss", "https://other.example"), ("aud", "shop"), ("azp", "shop"), ("nonce", "another"), ("nonce", nil),
        ("sub", ""), ("sub", nil), ("exp", "1"), ("exp", nil), ("iat", "99999999999"), ("aud", nil),
    ]

    @Test("An ID token with a wrong or missing claim signs nobody in", arguments: tokens)
    func refusesIDTokens(name: String, value: String?) async throws {
        try await BankFixture.run { bank in
            bank.provider.state.withLock { $0.idToken = [name: value] }
            try await bank.expectRefusal()
        }
    }

    @Test("An ID token that another key has signed signs nobody in")
    func refusesForeignSignatures() async throws {
        try await BankFixture.run { bank in
            bank.provider.state.withLock { $0.signsWithForeignKey = true }
            try await bank.expectRefusal()
            bank.provider.state.withLock { $0.signsWithForeignKey = false }
            try await bank.signIn()
        }
    }

    @Test("A provider that refuses the code, or tells of somebody else, signs nobody in")
    func refusesOtherPeople() async throws {
        try await BankFixture.run { bank in
            bank.provider.state.withLock { $0.tokenStatus = 400 }
            try await bank.expectRefusal()
            bank.provider.state.withLock { $0.tokenStatus = 200 }
            // OpenID Connect Core 1.0, section 5.3.2.
            bank.provider.state.withLock { $0.userinfo = ["sub": "s-2"] }
            try await bank.expectRefusal()
        }
    }

    @Test("A discovery document of another issuer is not believed (OpenID Connect Discovery 1.0, section 4.3)")
    func refusesOtherDiscovery() async throws {
        try await BankFixture.run { bank in
            bank.provider.state.withLock { $0.discovery = ["issuer": "https://other.example"] }
            let answer = try await bank.beginSignIn()
            #expect(answer.status == 400 && answer.location == nil)
            bank.provider.state.withLock { $0.discovery = ["token_endpoint": nil] }
            let broken = try await bank.beginSignIn()
            #expect(broken.status == 502 && broken.text.contains("does not answer"))
        }
    }

    @Test("A form that another site has made changes nothing", arguments: ["/sign-in", "/sign-out", "/transfers"])
    func refusesForgedForms(path: String) async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            for token in ["", "x", try await bank.otherBrowser().get("/").formToken()] {
                let fields = [
                    ("form_token", token), ("amount", "1"), ("payee", "Eve"), ("iban", "DE89370400440532013000"),
                    ("reference", ""),
                ]
                #expect(try await bank.post(path, fields).status == 403)
            }
            #expect(try await bank.isSignedIn)
            #expect(bank.provider.state.withLock(\.dispatched).isEmpty)
        }
    }

    @Test("Signing out ends the session here and leads to the provider's page for it")
    func signsOut() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let token = try await bank.get("/accounts").formToken()
            let answer = try await bank.post("/sign-out", [("form_token", token)])
            #expect(answer.location?.hasPrefix("\(bank.issuer)/logout?") == true)
            #expect(try answer.parameter("client_id") == "bank")
            #expect(try answer.parameter("post_logout_redirect_uri") == "http://127.0.0.1:8081/signed-out")
            let hint = try UnverifiedToken(answer.parameter("id_token_hint"))
            #expect(hint.header.typ == "JWT")
            #expect(try await bank.isSignedIn == false)
        }
    }

    @Test("Every page forbids foreign scripts, frames and referrers, and is not stored")
    func setsHeaders() async throws {
        try await BankFixture.run { bank in
            for path in ["/", "/signed-out", "/callback", "/transfers/none", "/bank.js"] {
                let page = try await bank.get(path)
                let policy = try #require(page.headers[.contentSecurityPolicy])
                #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
                #expect(!policy.contains("unsafe"))
                #expect(page.headers[.xContentTypeOptions] == "nosniff")
                #expect(page.headers[.cacheControl] == (path == "/bank.js" ? "no-cache" : "no-store"))
            }
        }
    }
}
