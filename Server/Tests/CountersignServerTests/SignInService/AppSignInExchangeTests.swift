import Accounts
import AppSignIn
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
import Settings
import Testing
import UAFRelyingParty
import _Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(
    "The app sign-in service: a session of the web for an app's (rows F023 to F025 and F037 to F041 of the parity table)"
)
struct AppSignInExchangeTests {
    @Test(
        "an app's web view gets four cookies and an empty body, and its page knows the person (row F022)"
    )
    func opens() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let answer = try await place.post("token", AppSignIn.exchange(tokens))
            #expect(answer.status == .ok && answer.text == "{}" && answer.headers[.cacheControl] == "no-store")
            let cookies = answer.signInCookies
            #expect(
                Set(cookies.keys) == [
                    "vagov_access_token", "vagov_refresh_token", "vagov_anti_csrf_token", "vagov_info_token",
                ])
            let web = try #require(cookies["vagov_access_token"])
            let claims = try AppTokens.claims(web)
            #expect(claims["client_id"] == .string("vaweb") && claims["device_secret_hash"] == nil)
            #expect(try claims["sub"] == tokens.claims["sub"], "the same person")
            let shown = try await place.get("introspect", cookies: cookies)
            #expect(try shown.json.requiredObject("data").requiredString("type") == "users")
            // A second view has a session of its own.
            let renewed = AppTokens(
                try AppTokens(try await place.refresh(tokens.refresh)), deviceSecret: tokens.deviceSecret)
            let second = try #require(try await place.webView(renewed)["vagov_access_token"])
            #expect(try AppTokens.session(second) != AppTokens.session(web))
            #expect(try AppTokens.session(web) != AppTokens.session(tokens.access))
            let trail = try await place.server.database.auditEntries(after: 0, limit: 99).map(\.event)
            #expect(trail.filter { $0.kind.rawValue == "session-passed-on" }.count == 2)
        }
    }

    @Test(
        "each cookie goes where it has to and nowhere else, and is for this host alone unless it is said otherwise (rows F023 and F024)"
    )
    func attributes() async throws {
        try await AppSignIn.run(issuer: "https://id.example") { place async throws in
            let answer = try await place.post("token", AppSignIn.exchange(try await place.appTokens()))
            #expect(
                answer.attributes(ofCookie: "vagov_access_token") == ["httponly", "path=/", "samesite=lax", "secure"])
            #expect(
                answer.attributes(ofCookie: "vagov_refresh_token")
                    == ["httponly", "path=/v0/sign_in/refresh", "samesite=lax", "secure"])
            #expect(
                answer.attributes(ofCookie: "vagov_anti_csrf_token") == [
                    "httponly", "path=/", "samesite=lax", "secure",
                ])
            #expect(answer.attributes(ofCookie: "vagov_info_token") == ["path=/", "samesite=lax", "secure"])
            // All of them until the session ends, if it is not renewed: half an hour.
            for line in answer.headers[values: .setCookie] {
                #expect(line.contains("; Max-Age=1800;") && line.contains("; Expires="))
            }
            #expect(answer.headers[values: .setCookie].allSatisfy { $0.utf8.count <= 4096 })
        }
        let names = SignInService.Names(cookiePrefix: "vagov", cookieDomain: "va.example")
        try await AppSignIn.run(names: names) { place async throws in
            let answer = try await place.post("token", AppSignIn.exchange(try await place.appTokens()))
            // On loopback there is no TLS.
            #expect(
                answer.attributes(ofCookie: "vagov_access_token")
                    == ["domain=va.example", "httponly", "path=/", "samesite=lax"])
            #expect(answer.attributes(ofCookie: "vagov_info_token") == ["domain=va.example", "path=/", "samesite=lax"])
            for name in ["vagov_refresh_token", "vagov_anti_csrf_token"] {
                #expect(!answer.attributes(ofCookie: name).contains { $0.hasPrefix("domain=") }, "\(name)")
            }
        }
    }

    @Test("a browser sends the refresh token where sessions are renewed, and nowhere else (row F024)")
    func jar() async throws {
        try await AppSignIn.run(issuer: "https://id.example") { place async throws in
            let answer = try await place.post("token", AppSignIn.exchange(try await place.appTokens()))
            let origin = try #require(URL(string: "https://id.example/v0/sign_in/token"))
            let cookies = answer.headers[values: .setCookie].flatMap {
                HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": $0], for: origin)
            }
            #expect(cookies.count == 4)
            // RFC 6265, section 5.1.4: a cookie goes to its path, and to what lies below it.
            func sent(_ path: String) -> Set<String> {
                Set(
                    cookies.filter { cookie in
                        path == cookie.path
                            || path.hasPrefix(cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/")
                    }.map(\.name))
            }
            let usual: Set = ["vagov_access_token", "vagov_anti_csrf_token", "vagov_info_token"]
            #expect(sent("/v0/sign_in/refresh") == usual.union(["vagov_refresh_token"]))
            for path in ["/", "/account", "/v0/sign_in/token", "/v0/sign_in/logout", "/v0/sign_in"] {
                #expect(sent(path) == usual, "\(path)")
            }
        }
    }

    @Test("the info cookie says in two times when access and session end (row F025), and cookies end when it says")
    func info() async throws {
        try await AppSignIn.run { place async throws in
            let answer = try await place.post("token", AppSignIn.exchange(try await place.appTokens()))
            let text = try #require(answer.signInCookies["vagov_info_token"]?.removingPercentEncoding)
            let now = place.server.clock.timeSource.now()
            #expect(
                try JSON(parsing: text)
                    == .object([
                        "access_token_expiration": .string((now + .seconds(300)).description),
                        "refresh_token_expiration": .string((now + .seconds(1800)).description),
                    ]))
            let line = try #require(answer.headers[values: .setCookie].first)
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(identifier: "GMT")
            formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let end = formatter.string(from: Date(timeIntervalSince1970: Double(now.seconds + 1800)))
            #expect(line.contains("; Expires=\(end);"))
        }
    }

    @Test("a web site without anti-CSRF tokens has no cookie of them")
    func withoutAntiCSRF() async throws {
        try await AppSignIn.run { place async throws in
            try await place.change(AppSignIn.web) { $0.usesAntiCSRF = false }
            let cookies = try await place.webView(try await place.appTokens())
            #expect(cookies.count == 3 && cookies["vagov_anti_csrf_token"] == nil)
            #expect(try await place.post("refresh", [:], cookies: cookies).status == .ok)
        }
    }

    @Test("each thing that is wrong is 400 by itself, and opens nothing (row F037)")
    func refusals() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let others = try await place.appTokens(as: "bob")
            let again = try await place.appTokens()
            let web = try #require(try await place.webView(tokens)["vagov_access_token"])
            try await place.register("alone", Self.alone, at: "https://alone.example/in")
            let cases: [([String: String?], String)] = [
                (["subject_token": nil], "The parameter subject_token is missing."),
                (["subject_token_type": nil], "The parameter subject_token_type is missing."),
                (["actor_token": nil], "The parameter actor_token is missing."),
                (["actor_token_type": nil], "The parameter actor_token_type is missing."),
                (["client_id": nil], "The parameter client_id is missing."),
                (["subject_token": "x"], "The access token is not valid."),
                (["subject_token": tokens.access + "x"], "The access token is not valid."),
                (["subject_token": tokens.refresh], "The access token is not valid."),
                (
                    ["subject_token_type": "urn:ietf:params:oauth:token-type:id_token"],
                    "The subject_token_type is not valid."
                ),
                (["actor_token": "x"], "The tokens are not valid together."),
                (["actor_token": others.deviceSecret], "The tokens are not valid together."),
                // The secret of the sign-in before.
                (["actor_token": again.deviceSecret], "The tokens are not valid together."),
                (["subject_token": others.access], "The tokens are not valid together."),
                // A session that was opened opens none (row F040).
                (["subject_token": web], "The tokens are not valid together."),
                (["actor_token_type": "urn:x"], "The actor_token_type is not valid."),
                (["client_id": "nobody"], "The client_id is not known."),
                (["client_id": "alone"], "The client does not take sessions."),
            ]
            for (changes, expected) in cases {
                let answer = try await place.post("token", AppSignIn.exchange(tokens, changes))
                #expect(answer.status == .badRequest && answer.errors == expected, "\(changes) \(answer.text)")
                #expect(answer.headers[values: .setCookie].isEmpty)
            }
            #expect(try await place.post("token", AppSignIn.exchange(tokens)).status == .ok)
            try await place.change(AppSignIn.app) { $0.sharesSessions = false }
            let refused = try await place.post("token", AppSignIn.exchange(tokens))
            #expect(refused.errors == "The app does not open sessions.")
        }
    }

    private static var alone: SignInServiceSettings {
        var settings = AppSignIn.webSettings
        settings.sharesSessions = false
        return settings
    }

    @Test("both names of the secret's type are taken")
    func actorKinds() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let kind = "urn:openid:params:token-type:device-secret"
            #expect(try await place.post("token", AppSignIn.exchange(tokens, ["actor_token_type": kind])).status == .ok)
        }
    }

    @Test("an access token that has expired, and one whose session was revoked, are 400, never 500 (row F039)")
    func ended() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            place.server.clock.advance(by: .seconds(30 * 60))
            let expired = try await place.post("token", AppSignIn.exchange(tokens))
            #expect(expired.status == .badRequest && expired.errors == "The access token has expired.")
            let renewed = try AppTokens(try await place.refresh(tokens.refresh))
            #expect(try await place.post("revoke", ["refresh_token": renewed.refresh]).status == .ok)
            let revoked = try await place.post(
                "token", AppSignIn.exchange(AppTokens(renewed, deviceSecret: tokens.deviceSecret)))
            #expect(revoked.status == .badRequest && revoked.errors == "The session has ended.")
        }
    }

    @Test("an app that was given a session opens none with it, whatever it shows")
    func passedOnSessions() async throws {
        try await AppSignIn.run { place async throws in
            var second = AppSignIn.appSettings
            second.audience = "second"
            try await place.register("second", second, at: "https://second.va.example/in")
            let tokens = try await place.appTokens()
            let given = try AppTokens(
                try await place.post("token", AppSignIn.exchange(tokens, ["client_id": "second"])))
            #expect(given.deviceSecret == nil)
            let answer = try await place.post(
                "token", AppSignIn.exchange(AppTokens(given, deviceSecret: tokens.deviceSecret)))
            #expect(answer.errors == "The tokens are not valid together.")
            // Nor after it was renewed.
            let renewed = try AppTokens(try await place.refresh(given.refresh))
            let later = try await place.post(
                "token", AppSignIn.exchange(AppTokens(renewed, deviceSecret: tokens.deviceSecret)))
            #expect(later.errors == "The tokens are not valid together.")
        }
    }

    @Test(
        "a web site renews by its cookies; without the anti-CSRF token nothing is renewed, and nothing ends (row F026)")
    func renewsByCookies() async throws {
        try await AppSignIn.run { place async throws in
            let cookies = try await place.webView(try await place.appTokens())
            for value in [nil, "x"] {
                var wrong = cookies
                wrong["vagov_anti_csrf_token"] = value
                let answer = try await place.post("refresh", [:], cookies: wrong)
                #expect(answer.status == .unauthorized && answer.errors == "The anti-CSRF token is not valid.")
                #expect(answer.headers[values: .setCookie].isEmpty)
            }
            let right = try await place.post("refresh", [:], cookies: cookies)
            #expect(right.status == .ok && right.text == "{}" && right.signInCookies.count == 4)
            #expect(right.signInCookies["vagov_anti_csrf_token"] != cookies["vagov_anti_csrf_token"])
            #expect(right.signInCookies["vagov_refresh_token"] != cookies["vagov_refresh_token"])
            let shown = try await place.get("introspect", cookies: right.signInCookies)
            #expect(shown.status == .ok)
        }
    }

    @Test("no foreign page has a browser keep the cookies of a session: by a code, an exchange, a renewal")
    func foreignPages() async throws {
        try await AppSignIn.run { place async throws in
            let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
            let tokens = try await place.appTokens()
            let cookies = try await place.webView(tokens)
            let refused: [HTTPFields] = [
                [.origin: "https://evil.example"], [.origin: "null"], [site: "cross-site"], [site: "none"],
                [site: "cross-site", .origin: "https://www.va.example"],
                [site: "same-site", .origin: "https://evil.va.example"],
            ]
            let renewal = [
                "refresh_token": cookies["vagov_refresh_token"], "anti_csrf_token": cookies["vagov_anti_csrf_token"],
            ]
            for headers in refused {
                let code = [
                    "grant_type": "authorization_code", "code": try await place.code(AppSignIn.web),
                    "code_verifier": place.verifier,
                ]
                let answers = [
                    try await place.post("token", code, headers: headers),
                    try await place.post("token", AppSignIn.exchange(tokens), headers: headers),
                    try await place.post("refresh", renewal, headers: headers),
                ]
                #expect(answers.map(\.status.code) == [400, 400, 401], "\(headers)")
                for answer in answers {
                    #expect(answer.errors == "This page gets no cookies of the client.", "\(headers)")
                    #expect(answer.headers[values: .setCookie].isEmpty)
                }
            }
            // A page of the site gets them, and an app's JSON is no cookie.
            let page: HTTPFields = [site: "same-site", .origin: "https://www.va.example"]
            #expect(try await place.post("refresh", renewal, headers: page).status == .ok)
            #expect(try await place.post("token", AppSignIn.exchange(tokens), headers: page).status == .ok)
            let app = ["refresh_token": tokens.refresh]
            #expect(try await place.post("refresh", app, headers: [.origin: "https://evil.example"]).status == .ok)
        }
    }

    @Test("a client gets no session of a way of signing in that it does not take, nor of less than its least level")
    func notEnough() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            try await place.register(
                "narrow", AppSignIn.webSettings, at: "https://narrow.example/in", methods: ["phone"])
            let narrow = try await place.post("token", AppSignIn.exchange(tokens, ["client_id": "narrow"]))
            #expect(narrow.status == .badRequest && narrow.errors == "The session is not enough for the client.")
            try await place.change(AppSignIn.web) {
                $0.levels = [.init("loa3", needed: AssuranceLevel.twoFactor.rawValue)]
            }
            let less = try await place.post("token", AppSignIn.exchange(tokens))
            #expect(less.status == .badRequest && less.errors == "The session is not enough for the client.")
            #expect(less.headers[values: .setCookie].isEmpty)
            try await place.change(AppSignIn.web) { $0.levels.append(.init("loa1")) }
            #expect(try await place.post("token", AppSignIn.exchange(tokens)).status == .ok)
        }
    }

    @Test("sessions that are opened count with the sign-ins that a source begins: more are 429")
    func budget() async throws {
        var limits = Limits()
        limits.signInBurst = 4
        limits.signInsPerMinute = 1
        try await AppSignIn.run(limits: limits) { place async throws in
            let tokens = try await place.appTokens()
            let web = try await place.redeem(place.code(AppSignIn.web)).signInCookies
            let sso =
                "authorize_sso?"
                + AppSignIn.encoded([
                    "client_id": AppSignIn.app, "code_challenge": place.challenge, "code_challenge_method": "S256",
                ])
            #expect(try await place.get(sso, cookies: web).redirectParameters["code"] != nil)
            #expect(try await place.post("token", AppSignIn.exchange(tokens)).status == .ok)
            let answers = [
                try await place.post("token", AppSignIn.exchange(tokens)), try await place.get(sso, cookies: web),
                try await place.client.execute(uri: place.authorize(AppSignIn.web), method: .get),
            ]
            for answer in answers {
                #expect(answer.status == .tooManyRequests && answer.errors?.isEmpty == false)
                #expect(answer.headers[.retryAfter] != nil && answer.headers[values: .setCookie].isEmpty)
            }
            place.server.clock.advance(by: .seconds(60))
            #expect(try await place.post("token", AppSignIn.exchange(tokens)).status == .ok)
        }
    }
}
