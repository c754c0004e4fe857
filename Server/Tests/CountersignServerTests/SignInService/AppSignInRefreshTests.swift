import Accounts
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import UAFRelyingParty
import _Primitives

@Suite("The app sign-in service: sessions that are renewed (rows F026 to F030 of the parity table; decision 28)")
struct AppSignInRefreshTests {
    private static let day: Duration = .seconds(24 * 60 * 60)

    @Test(
        "each use gives the next token, in three parts, and the one after it ends the one before (row F027)")
    func rotation() async throws {
        try await AppSignIn.run { place async throws in
            let first = try await place.appTokens()
            #expect(first.refresh.split(separator: ".").count == 3 && first.refresh.hasSuffix(".V0"))
            let second = try AppTokens(try await place.refresh(first.refresh))
            #expect(second.refresh != first.refresh && second.access != first.access)
            #expect(second.deviceSecret == nil, "it stays as it is")
            #expect(try AppTokens.session(second.access) == AppTokens.session(first.access))
            let claims = try second.claims
            #expect(claims["refresh_token_hash"] == .string(SHA256Hash.hexadecimal(second.refresh)))
            #expect(claims["parent_refresh_token_hash"] == .string(SHA256Hash.hexadecimal(first.refresh)))
            #expect(try claims["device_secret_hash"] == first.claims["device_secret_hash"])
            let third = try AppTokens(try await place.refresh(second.refresh))
            // A request that is late ends nothing. A minute later the same token is somebody's who has what was another's.
            #expect(try await place.refresh(first.refresh).status == .unauthorized)
            #expect(try await place.introspect(third.access) == 200)
            place.server.clock.advance(by: .seconds(60))
            let reused = try await place.refresh(first.refresh)
            #expect(reused.status == .unauthorized && reused.errors == "The refresh token is not valid.")
            for token in [third.refresh, second.refresh] {
                #expect(try await place.refresh(token).status == .unauthorized)
            }
            #expect(try await place.introspect(third.access) == 401)
        }
    }

    @Test("an answer that was lost costs nothing: the same token again, until its child is used (row F028)")
    func lostAnswer() async throws {
        try await AppSignIn.run { place async throws in
            let first = try await place.appTokens()
            let lost = try AppTokens(try await place.refresh(first.refresh))
            place.server.clock.advance(by: .seconds(59))
            let again = try AppTokens(try await place.refresh(first.refresh))
            #expect(again.refresh == lost.refresh && again.access != lost.access)
            let next = try AppTokens(try await place.refresh(again.refresh))
            #expect(try await place.introspect(next.access) == 200)
            // A parent of whom nothing is proved ends the session after ten minutes.
            let other = try await place.appTokens()
            let child = try AppTokens(try await place.refresh(other.refresh))
            place.server.clock.advance(by: .seconds(599))
            #expect(try AppTokens(try await place.refresh(other.refresh)).refresh == child.refresh)
            place.server.clock.advance(by: .seconds(1))
            #expect(try await place.refresh(other.refresh).status == .unauthorized)
            #expect(try await place.refresh(child.refresh).status == .unauthorized)
        }
    }

    @Test("what is missing is 400, and what is none of ours, or was changed, is 401")
    func malformed() async throws {
        try await AppSignIn.run { place async throws in
            #expect(try await place.post("refresh", [:]).status == .badRequest)
            let tokens = try await place.appTokens()
            let parts = tokens.refresh.split(separator: ".").map(String.init)
            let other = try await place.appTokens(as: "bob").refresh.split(separator: ".").map(String.init)
            for text in [
                "x", "\(parts[0]).\(parts[1]).V1", "\(parts[0]).\(parts[1])", "\(parts[0]).\(other[1]).V0",
                "\(other[0]).\(parts[1]).V0", ".\(parts[1]).V0", "\(tokens.refresh).V0", "..", tokens.access,
                String(repeating: "A", count: 5000),
            ] {
                let answer = try await place.refresh(text)
                #expect(answer.status == .unauthorized && answer.errors == "The refresh token is not valid.", "\(text)")
            }
            #expect(
                try await place.post("refresh", ["refresh_token": tokens.refresh, "client_id": "vaweb"]).status
                    == .unauthorized)
            #expect(try await place.refresh(tokens.refresh).status == .ok, "nothing of it has ended the session")
        }
    }

    @Test("a session slides as long as it is used, and ends after 45 days however often (row F030)")
    func ends() async throws {
        try await AppSignIn.run { place async throws in
            var tokens = try await place.appTokens()
            var web = try await place.webView(tokens)
            place.server.clock.advance(by: .seconds(31 * 60))
            // The web site's half an hour is over, and the app's session is not.
            #expect(try await place.post("refresh", [:], cookies: web).status == .unauthorized)
            for _ in 0..<44 {
                place.server.clock.advance(by: Self.day)
                tokens = Self.renewed(try await place.refresh(tokens.refresh), tokens)
            }
            web = try await place.webView(tokens)
            let info = try Self.info(web)
            // The new session of the web keeps the end of the app's.
            place.server.clock.advance(by: .seconds(23 * 60 * 60 + 28 * 60))
            let last = try AppTokens(try await place.refresh(tokens.refresh))
            place.server.clock.advance(by: .seconds(2 * 60))
            #expect(try await place.refresh(last.refresh).status == .unauthorized)
            #expect(try await place.introspect(last.access) != 200)
            let late = AppTokens(last, deviceSecret: tokens.deviceSecret)
            #expect(try await place.post("token", AppSignIn.exchange(late)).status == .badRequest)
            #expect(info.0 < info.1)
        }
    }

    @Test("a session of the web ends when the app's does that it came of, however long it could go on (row F041)")
    func keepsTheEnd() async throws {
        var web = AppSignIn.webSettings
        web.refreshTokenLifetime = Self.day * 45
        web.usesAntiCSRF = false
        try await AppSignIn.run(web: web) { place async throws in
            var tokens = try await place.appTokens()
            place.server.clock.advance(by: Self.day * 40)
            tokens = Self.renewed(try await place.refresh(tokens.refresh), tokens)
            var cookies = try await place.webView(tokens)
            place.server.clock.advance(by: Self.day * 5 - .seconds(60))
            cookies = try await place.post("refresh", [:], cookies: cookies).signInCookies
            #expect(try await place.get("introspect", cookies: cookies).status == .ok)
            place.server.clock.advance(by: .seconds(60))
            #expect(try await place.post("refresh", [:], cookies: cookies).status == .unauthorized)
            #expect(try await place.get("introspect", cookies: cookies).status != .ok)
        }
    }

    private static func renewed(_ response: TestResponse, _ former: AppTokens) -> AppTokens {
        let tokens = try? AppTokens(response)
        #expect(tokens != nil, "\(response.status) \(response.text)")
        return tokens.map { AppTokens($0, deviceSecret: former.deviceSecret) } ?? former
    }

    private static func info(_ cookies: [String: String]) throws -> (String, String) {
        let text = try #require(cookies["vagov_info_token"]?.removingPercentEncoding)
        guard case .object(let info) = try JSON(parsing: text) else { return ("", "") }
        return (
            try info.requiredString("access_token_expiration"), try info.requiredString("refresh_token_expiration")
        )
    }

    @Test("an app's anti-CSRF token goes with its refresh token: without it nothing is renewed, and nothing ends")
    func antiCSRFOfApps() async throws {
        try await AppSignIn.run { place async throws in
            try await place.change(AppSignIn.app) { $0.usesAntiCSRF = true }
            let answer = try await place.redeem(place.code(AppSignIn.app))
            let (tokens, data) = (try AppTokens(answer), try answer.json.requiredObject("data"))
            let token = try data.requiredString("anti_csrf_token")
            for wrong in [nil, "x", String(token.dropLast()) + (token.hasSuffix("0") ? "1" : "0")] {
                let values = ["refresh_token": tokens.refresh, "anti_csrf_token": wrong]
                #expect(try await place.post("refresh", values).status == .unauthorized)
                #expect(try await place.post("revoke", values).status == .unauthorized)
            }
            let right = try await place.post(
                "refresh", ["refresh_token": tokens.refresh, "anti_csrf_token": token])
            #expect(right.status == .ok)
            let next = try right.json.requiredObject("data").requiredString("anti_csrf_token")
            #expect(next != token, "another one with each refresh token")
        }
    }

    @Test("an access token ends with its session at the latest")
    func endsWithItsSession() async throws {
        try await AppSignIn.run { place async throws in
            try await place.change(AppSignIn.app) { $0.refreshTokenLifetime = .seconds(300) }
            let first = try await place.appTokens()
            let renewed = try AppTokens(try await place.refresh(first.refresh))
            let end = place.server.clock.timeSource.now() + .seconds(300)
            for tokens in [first, renewed] { #expect(try tokens.claims["exp"] == .integer(end.seconds)) }
        }
    }

    @Test("whose account is locked renews nothing, opens nothing, and is nobody (row F049)")
    func locked() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let others = try await place.appTokens(as: "bob")
            _ = try await place.server.assembly.directory.setLocked(true, username: "alice", by: "test")
            #expect(try await place.refresh(tokens.refresh).status == .unauthorized)
            #expect(try await place.post("token", AppSignIn.exchange(tokens)).status == .badRequest)
            #expect(try await place.introspect(tokens.access) == 401)
            #expect(try await place.refresh(others.refresh).status == .ok)
            let browser = TestBrowser(place.client)
            let begun = try await browser.get(place.authorize(AppSignIn.app))
            let request = try #require(begun.redirectParameters["request"])
            let shown = try await browser.post(
                "/sign-in/password",
                form: PasswordPlace.form(
                    ["request": request, "username": "alice", "password": PasswordPlace.password]))
            #expect(shown.headers[.location] == nil, "and no sign-in leads to a code")
        }
    }

    @Test("terms that are not agreed to keep sign-in, renewal and exchange waiting, and end nothing (row F048)")
    func terms() async throws {
        try await AppSignIn.run(terms: Terms(version: "2027-01", address: "https://id.example/terms")) {
            place async throws in
            // Who signs in is asked on a page, and gets a code when they have agreed.
            let page = try await place.signedIn(AppSignIn.app)
            #expect(page.status == .ok && page.text.contains("data-testid=\"terms\""))
            // Of a client whose people need not agree nobody is asked.
            let browser = TestBrowser(place.client)
            let waiting = try await place.signedIn(AppSignIn.app, in: browser)
            try await place.change(AppSignIn.app) { $0.enforcesTerms = false }
            // Nor on a page that waited for it: it asks for the client, and leads to a code without the terms.
            let request = try #require(TwoServers.field("request", waiting))
            let confirmation = try #require(TwoServers.field("confirmation", waiting))
            let reloaded = try await browser.get("/sign-in/consent?request=\(request)")
            #expect(reloaded.status == .ok && !reloaded.text.contains("data-testid=\"terms\""))
            let done = try await browser.post(
                "/sign-in/consent",
                form: PasswordPlace.form(["request": request, "confirmation": confirmation, "decision": "allow"]))
            #expect(done.redirectParameters["code"] != nil, "\(done.status) \(done.text)")
            let tokens = try await place.appTokens()
            try await place.change(AppSignIn.app) { $0.enforcesTerms = true }
            #expect(try await place.refresh(tokens.refresh).status == .unauthorized)
            let refused = try await place.post("token", AppSignIn.exchange(tokens))
            #expect(refused.status == .badRequest, "the web site's people have to agree")
            let account = try #require(
                try await place.server.database.accounts(after: nil, limit: 9).first { $0.username?.text == "alice" })
            _ = try await place.server.database.agree(
                account: account.id, version: "2027-01",
                audit: AuditEvent(
                    AuditEvent.Kind(rawValue: "test"), at: place.server.clock.timeSource.now(), accountID: account.id))
            #expect(try await place.refresh(tokens.refresh).status == .ok, "the session has not ended")
            #expect(try await place.post("token", AppSignIn.exchange(tokens)).status == .ok)
        }
    }
}

extension AppTokens {
    /// Renewed tokens, with the secret that stays.
    init(_ tokens: AppTokens, deviceSecret: String?) {
        self.access = tokens.access
        self.refresh = tokens.refresh
        self.deviceSecret = deviceSecret
    }
}
