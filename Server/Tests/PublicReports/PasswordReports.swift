import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Passwords
import Records
import Settings
import Testing
import _Primitives

@testable import CountersignServerTests

@Suite("Reports of passwords, names and codes (NIST SP 800-63B, section 5.2.2, RFC 6238 and decisions 44 and 92)")
struct PasswordReports {
    /// A right server tells a name that nobody has and a wrong password apart by nothing.
    ///
    /// Source: CWE-204; CVE-2024-41952 (ZITADEL); https://github.com/zitadel/zitadel/issues/9746.
    @Test("a wrong name, in whatever spelling, is answered as a wrong password is")
    func names() async throws {
        try await PasswordPlace.run { place in
            func text(_ name: String) async throws -> String {
                let answer = try await place.show("wrong", as: name, try await place.begin())
                #expect(answer.status == .forbidden, "\(name)")
                let page = answer.text.replacing(#/<code>[^<]*</code>/#, with: "")
                return page.replacing(#/value="[^"]*"/#, with: "")
            }
            let known = try await text("alice")
            for name in ["nobody", "Alice", " alice ", "ALICE", "a\u{301}lice", "alice\u{200B}", "alice@post.example"] {
                #expect(try await text(name) == known, "\(name)")
            }
        }
    }

    /// A right server says the same to whoever asks for a new password, and writes to addresses that it knows.
    ///
    /// Source: CVE-2023-7028 (GitLab: letters to addresses that were not confirmed); CWE-640.
    @Test("a forgotten password tells nobody who has an account, and no letter goes to an address that came along")
    func forgotten() async throws {
        try await PasswordPlace.run { place in
            try await place.enter(isVerified: false)
            let known = try await place.askForReset()
            let unknown = try await place.askForReset("nobody")
            #expect(known.status == unknown.status && known.text == unknown.text)
            #expect(try await place.sendMail().isEmpty)
            try await place.enter()
            for form in [
                "username=alice&username=mallory", "username=alice&email=mallory%40evil.example",
                "username=alice%2Cmallory%40evil.example", "username%5B%5D=alice&username%5B%5D=mallory",
            ] {
                _ = try await place.browser.post("/account/forgotten", form: form)
            }
            _ = try await place.askForReset()
            _ = try await place.sendMail()
            let letters = place.server.mail.messages
            #expect(!letters.isEmpty && letters.allSatisfy { !$0.contains("evil.example") })
        }
    }

    /// A right server's letters lead to itself, whatever a request says of its host.
    ///
    /// Source: CVE-2012-4520 (Django), CVE-2025-64101 (ZITADEL: forwarded hosts).
    @Test("a mailed link has the issuer's host", arguments: ["X-Forwarded-Host", "Forwarded", "X-Original-Host"])
    func hosts(field: String) async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let value = field == "Forwarded" ? "host=evil.example;proto=https" : "evil.example"
            _ = try await place.browser.post(
                "/account/forgotten", form: "username=alice", headers: [try #require(HTTPField.Name(field)): value])
            #expect(try await place.sendMail() == [.delivered])
            #expect(try place.server.mail.link().hasPrefix("/account/reset?"))
            #expect(!place.server.mail.text.contains("evil.example"))
            let metadata = try await place.client.send(
                .get, "/.well-known/openid-configuration", headers: [try #require(HTTPField.Name(field)): value])
            #expect(!metadata.response.text.contains("evil.example"))
        }
    }

    /// A right server's link for a new password is spent by its form, once, and opening it spends nothing.
    ///
    /// Source: CWE-640; https://github.com/supabase/auth/issues/1214.
    @Test("a mailed link sets one password, however often programs have opened it, and ends in time")
    func links() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let link = try await place.mailedLink()
            for _ in 0..<5 { #expect(try await place.browser.get("/account/reset?link=\(link)").status == .ok) }
            #expect(try await place.reset(link).status == .ok)
            #expect(try await place.reset(link, "another one of mine").status == .notFound)
            _ = try await place.sendMail()
            let second = try await place.mailedLink()
            place.server.clock.advance(by: .seconds(24 * 60 * 60))
            #expect(try await place.reset(second, "another one of mine").status == .notFound)
        }
    }

    /// A right server ends what a password has opened when the person has lost the password.
    ///
    /// Source: OWASP ASVS 4.0, 3.3.3.
    @Test("a new password by mail signs everybody out")
    func sessionsEnd() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            _ = try await place.claims(after: try await place.show(PasswordPlace.password, try await place.begin()))
            #expect(try await place.reset(try await place.mailedLink()).status == .ok)
            let silent = try await place.browser.get(place.party.authorizeAddress("&prompt=none"))
            #expect(silent.redirectParameters["error"] == "login_required")
        }
    }

    /// A right server takes a time-based code once, although it is good for half a minute.
    ///
    /// Source: RFC 6238, section 5.2; CVE-2021-43177 (devise-two-factor).
    @Test("a code of an authenticator app signs one browser in")
    func oneTime() async throws {
        try await PasswordPlace.run { place in
            let (totp, _) = try await place.giveSecondFactor()
            let code = try #require(totp.code(at: place.server.clock.timeSource.now()))
            func signIn() async throws -> TestResponse {
                place.browser.forgetCookies()
                let request = try await place.begin()
                let asked = try await place.show(PasswordPlace.password, request)
                #expect(asked.headers[.location]?.hasPrefix("/sign-in/code?") == true)
                return try await place.post("/sign-in/code", ["request": request, "code": code])
            }
            #expect(try await signIn().status == .seeOther)
            #expect(try await signIn().status == .forbidden)
        }
    }

    /// A right server counts wrong codes, so that a password's thief does not guess one of a million.
    ///
    /// Source: RFC 6238, section 5.2 (RFC 4226, section 7.3); CVE-2025-64102 (ZITADEL).
    @Test("codes that are guessed rest after a few, the right one too")
    func guessedCodes() async throws {
        try await PasswordPlace.run { place in
            let (totp, _) = try await place.giveSecondFactor()
            let request = try await place.begin()
            _ = try await place.show(PasswordPlace.password, request)
            func show(_ code: String) async throws -> HTTPResponse.Status {
                try await place.post("/sign-in/code", ["request": request, "code": code]).status
            }
            for guess in 0..<10 { #expect(try await show("00000\(guess)") == .forbidden) }
            let right = try #require(totp.code(at: place.server.clock.timeSource.now()))
            #expect(try await show(right) == .forbidden)
            place.server.clock.advance(by: .seconds(24 * 60 * 60))
            let later = try #require(totp.code(at: place.server.clock.timeSource.now()))
            #expect(try await show(later) != .seeOther, "the request has ended")
        }
    }

    /// A right server bounds guesses at a password, and keeps the owner's own browser out of that.
    ///
    /// Source: NIST SP 800-63B, section 5.2.2; https://github.com/usnistgov/800-63-3/issues/99; decision 92.
    @Test("bots make an account's attempts rest, and its owner's browser signs in all the same")
    func lockout() async throws {
        try await PasswordPlace.run { place in
            #expect(try await place.show(PasswordPlace.password, try await place.begin()).status == .seeOther)
            let bot = TestBrowser(place.client)
            let request = try await place.begin(bot)
            for _ in 0..<Limits().passwords.passwordAttempts { _ = try await place.show("wrong", request, bot) }
            #expect(try await place.show(PasswordPlace.password, request, bot).status == .forbidden)
            #expect(try await place.show(PasswordPlace.password, try await place.begin()).status == .seeOther)
        }
    }

    /// A right server believes of where a request comes from what its own proxies say, and nobody else.
    ///
    /// Source: CVE-2024-47070 (authentik: any text in `X-Forwarded-For` signed people in without a password).
    @Test(
        "a forwarded address of a stranger changes nothing", arguments: ["x", "127.0.0.1", "", "192.0.2.7, 192.0.2.8"])
    func forwarded(value: String) async throws {
        try await PasswordPlace.run { place in
            let field = try #require(HTTPField.Name("X-Forwarded-For"))
            let answer = try await place.browser.post(
                "/sign-in/password",
                form: PasswordPlace.form([
                    "request": try await place.begin(), "username": "alice", "password": "wrong",
                ]), headers: [field: value])
            #expect(answer.status == .forbidden && place.browser.cookies["countersign_session"] == nil)
        }
    }

    /// A right server looks at the whole of a password, or refuses it.
    ///
    /// Source: CWE-521; the cut of bcrypt at 72 bytes (Okta's advisory of 30 October 2024).
    @Test("a password whose beginning is right is wrong")
    func wholePassword() async throws {
        let long = String(repeating: "correct horse ", count: 7)
        try await PasswordPlace.run(hash: try await PasswordPlace.hash(long)) { place async throws in
            for wrong in [
                String(long.dropLast()), long + "x", String(long.prefix(72)), long.uppercased(), long + "\u{0}",
            ] {
                #expect(try await place.show(wrong, try await place.begin()).redirectParameters["code"] == nil)
                #expect(place.browser.cookies["countersign_session"] == nil, "\(wrong)")
            }
            #expect(try await place.show(long, try await place.begin()).status == .seeOther)
        }
    }

    /// A right server lets a person in who has the right password alone: none, and one that is empty, are none.
    ///
    /// Source: CWE-287; CWE-521.
    @Test("no password, an empty one and two are no password")
    func emptyPasswords() async throws {
        try await PasswordPlace.run { place in
            let right = PasswordPlace.form(["password": PasswordPlace.password])
            for form in [
                "", "password=", "password", "password=+", "\(right)&\(right)", "password=x&\(right)",
                "\(right)&username=bob",
            ] {
                let answer = try await place.browser.post(
                    "/sign-in/password", form: "request=\(try await place.begin())&username=alice&\(form)")
                #expect(answer.status.code >= 400, "\(form)")
                #expect(place.browser.cookies["countersign_session"] == nil)
            }
        }
    }

    /// A right server takes a recovery code once.
    ///
    /// Source: NIST SP 800-63B, section 5.1.2.2 (look-up secrets).
    @Test("a recovery code signs one browser in")
    func recoveryCodes() async throws {
        try await PasswordPlace.run { place in
            let (_, codes) = try await place.giveSecondFactor()
            func signIn() async throws -> HTTPResponse.Status {
                place.browser.forgetCookies()
                let request = try await place.begin()
                _ = try await place.show(PasswordPlace.password, request)
                return try await place.post("/sign-in/code", ["request": request, "code": codes[0].shownOnce]).status
            }
            #expect(try await signIn() == .ok)
            #expect(try await signIn() == .forbidden)
        }
    }
}
