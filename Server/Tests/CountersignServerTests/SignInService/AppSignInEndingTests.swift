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

@Suite("The app sign-in service: how sessions end (rows F042 to F046 of the parity table)")
struct AppSignInEndingTests {
    /// Two devices of alice's, each with a web view.
    private struct Devices {
        let place: AppSignIn
        let app: AppTokens
        let web: [String: String]
        let other: AppTokens
        let otherWeb: [String: String]

        init(_ place: AppSignIn) async throws {
            self.place = place
            self.app = try await place.appTokens()
            self.web = try await place.webView(self.app)
            self.other = try await place.appTokens()
            self.otherWeb = try await place.webView(self.other)
        }

        /// Whose access tokens are good: the app's, its web view's, the other device's, and that one's web view's.
        func alive() async throws -> [Bool] {
            var alive: [Bool] = []
            for token in [
                self.app.access, self.web["vagov_access_token"], self.other.access,
                self.otherWeb["vagov_access_token"],
            ] { alive.append(try await self.place.introspect(try #require(token)) == 200) }
            return alive
        }

        /// Whether the device's secret opens a session.
        func isSecretAlive() async throws -> Bool {
            try await self.place.post("token", AppSignIn.exchange(self.app)).status == .ok
        }
    }

    @Test("to revoke ends one session with its web views, and leaves those of other devices (row F042)")
    func one() async throws {
        try await AppSignIn.run { place async throws in
            let devices = try await Devices(place)
            let answer = try await place.post("revoke", ["refresh_token": devices.app.refresh])
            #expect(answer.status == .ok && answer.body.readableBytes == 0)
            #expect(try await devices.alive() == [false, false, true, true])
            #expect(try await !devices.isSecretAlive())
        }
    }

    @Test("with the device's secret all sessions of the device end, and those of no other (row F043)")
    func device() async throws {
        try await AppSignIn.run { place async throws in
            let devices = try await Devices(place)
            let answer = try await place.post(
                "revoke", ["refresh_token": devices.app.refresh, "device_secret": devices.app.deviceSecret])
            #expect(answer.status == .ok)
            #expect(try await devices.alive() == [false, false, true, true])
            #expect(try await !devices.isSecretAlive())
            #expect(try await place.post("refresh", [:], cookies: devices.web).status == .unauthorized)
            #expect(try await place.post("refresh", [:], cookies: devices.otherWeb).status == .ok)
            let (app, origin) = (try await place.appTokens(), try AppTokens.session(devices.app.access))
            let view = try await place.webView(app)
            let revoked = try await place.post("revoke", ["device_secret": app.deviceSecret], cookies: view)
            #expect(revoked.status == .ok, "a web view may end its device, too")
            #expect(try await place.introspect(app.access) == 401)
            let trail = try await place.server.database.auditEntries(after: 0, limit: 99).map(\.event)
            #expect(
                trail.contains {
                    $0.kind.rawValue == "device-sessions-ended" && $0.actor == AppSignIn.app && $0.detail == origin
                })
        }
    }

    @Test("another device's secret ends nothing but the session that it was shown with, and what came of that")
    func anotherDevice() async throws {
        try await AppSignIn.run { place async throws in
            let devices = try await Devices(place)
            let answer = try await place.post(
                "revoke", ["refresh_token": devices.app.refresh, "device_secret": devices.other.deviceSecret])
            #expect(answer.status == .ok)
            #expect(try await devices.alive() == [false, false, true, true])
            let view = try await place.webView(devices.other)
            let foreign = try await place.post("revoke", ["device_secret": "x"], cookies: view)
            #expect(foreign.status == .ok)
            #expect(try await devices.alive() == [false, false, true, true], "a web view ends nothing that it came of")
        }
    }

    @Test("what is missing is 400, what is none of ours 401, and a token that is past ends its session")
    func revocationRefusals() async throws {
        try await AppSignIn.run { place async throws in
            #expect(try await place.post("revoke", [:]).status == .badRequest)
            #expect(try await place.post("revoke", ["refresh_token": "x.y.V0"]).status == .unauthorized)
            let first = try await place.appTokens()
            let second = try AppTokens(try await place.refresh(first.refresh))
            let third = try AppTokens(try await place.refresh(second.refresh))
            #expect(try await place.introspect(third.access) == 200)
            // A request that is late ends nothing.
            #expect(try await place.post("revoke", ["refresh_token": first.refresh]).status == .unauthorized)
            #expect(try await place.introspect(third.access) == 200)
            place.server.clock.advance(by: .seconds(60))
            #expect(try await place.post("revoke", ["refresh_token": first.refresh]).status == .unauthorized)
            #expect(try await place.introspect(third.access) == 401)
            #expect(try await place.post("revoke", ["refresh_token": third.refresh]).status == .unauthorized)
        }
    }

    @Test("all sessions of a person end at once, on every device and in every browser (row F044)")
    func all() async throws {
        try await AppSignIn.run { place async throws in
            let devices = try await Devices(place)
            let bob = try await place.appTokens(as: "bob")
            let browser = TestBrowser(place.client)
            _ = try await place.signedIn(AppSignIn.web, in: browser)
            let answer = try await place.get(
                "revoke_all_sessions", headers: [.authorization: "Bearer \(devices.other.access)"])
            #expect(answer.status == .ok && answer.body.readableBytes == 0)
            #expect(try await devices.alive() == [false, false, false, false])
            #expect(try await place.refresh(devices.app.refresh).status == .unauthorized)
            #expect(try await place.introspect(bob.access) == 200)
            let account = try #require(
                try await place.server.database.accounts(after: nil, limit: 9).first { $0.username?.text == "alice" })
            #expect(try await place.server.assembly.provider.sessions.running(ofAccount: account.id).isEmpty)
            // Nobody is signed in any more who could do it again.
            let again = try await place.get(
                "revoke_all_sessions", headers: [.authorization: "Bearer \(devices.other.access)"])
            #expect(again.status == .unauthorized)
            #expect(try await place.get("revoke_all_sessions").status == .unauthorized)
        }
    }

    @Test(
        "cookies alone end nothing: a page of the site has to have asked, or know the anti-CSRF token",
        arguments: ["logout?client_id=vaweb", "revoke_all_sessions"])
    func cause(path: String) async throws {
        try await AppSignIn.run { place async throws in
            let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
            let referer = try #require(HTTPField.Name("Referer"))
            let refused: [HTTPFields] = [
                [:], [site: "cross-site"], [site: "none"], [site: "same-site"], [.origin: "https://evil.example"],
                [site: "cross-site", .origin: "https://www.va.example"], [referer: "https://evil.example/x"],
                [site: "same-site", referer: "https://www.va.example.evil.example/"], [.origin: "null"],
            ]
            let cookies = try await place.webView(try await place.appTokens())
            for headers in refused {
                let answer = try await place.get(path, cookies: cookies, headers: headers)
                #expect(answer.status.code == (path.hasPrefix("logout") ? 400 : 401), "\(headers)")
                #expect(answer.headers[values: .setCookie].isEmpty && answer.headers[.location] == nil)
            }
            let mark = path.contains("?") ? "&" : "?"
            let wrong = try await place.get("\(path)\(mark)anti_csrf_token=x", cookies: cookies)
            #expect(wrong.status.code == (path.hasPrefix("logout") ? 400 : 401))
            #expect(try await place.get("introspect", cookies: cookies).status == .ok, "nothing has ended")
            let taken: [HTTPFields] = [
                [site: "same-origin"], [site: "same-site", .origin: "https://www.va.example"],
                [.origin: "https://www.va.example"], [referer: "https://www.va.example/account?a=b"],
            ]
            for headers in taken {
                let session = try await place.webView(try await place.appTokens())
                let answer = try await place.get(path, cookies: session, headers: headers)
                #expect(answer.status.code == (path.hasPrefix("logout") ? 302 : 200), "\(headers)")
                #expect(try await place.get("introspect", cookies: session).status == .unauthorized)
                #expect(answer.headers[values: .setCookie].count == 4, "and the cookies go")
            }
            let session = try await place.webView(try await place.appTokens())
            let token = try #require(session["vagov_anti_csrf_token"])
            let answer = try await place.get("\(path)\(mark)anti_csrf_token=\(token)", cookies: session)
            #expect(answer.status.code == (path.hasPrefix("logout") ? 302 : 200))
        }
    }

    @Test("at a host that others share a page of the same origin may be anybody's, and its cookies alone end nothing")
    func sharedHost() async throws {
        let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
        try await AppSignIn.run(path: "/id") { place async throws in
            let cookies = try await place.webView(try await place.appTokens())
            for headers in [[site: "same-origin"], [.origin: "http://localhost:8080"]] as [HTTPFields] {
                for path in ["logout?client_id=vaweb", "revoke_all_sessions"] {
                    let answer = try await place.get(path, cookies: cookies, headers: headers)
                    #expect(answer.status.code == (path.hasPrefix("logout") ? 400 : 401), "\(headers)")
                }
            }
            #expect(try await place.get("introspect", cookies: cookies).status == .ok, "nothing has ended")
            let page: HTTPFields = [.origin: "https://www.va.example"]
            let out = try await place.get("logout?client_id=vaweb", cookies: cookies, headers: page)
            #expect(out.status == .found)
            #expect(try await place.get("introspect", cookies: cookies).status == .unauthorized)
        }
    }

    @Test("signing out leads where the client has registered, also who is signed out already")
    func logout() async throws {
        try await AppSignIn.run { place async throws in
            let devices = try await Devices(place)
            for query in ["", "?client_id=nobody"] {
                let unknown = try await place.get("logout\(query)", cookies: devices.web)
                #expect(unknown.status == .badRequest && unknown.errors == "The client_id is not known.")
            }
            let token = try #require(devices.web["vagov_anti_csrf_token"])
            let out = try await place.post(
                "logout", ["client_id": AppSignIn.web, "anti_csrf_token": token], cookies: devices.web)
            #expect(out.status == .found && out.headers[.location] == AppSignIn.webHome)
            #expect(out.headers[values: .setCookie].allSatisfy { $0.contains("=; ") && $0.contains("Max-Age=0") })
            #expect(try await devices.alive() == [true, false, true, true])
            #expect(try await devices.isSecretAlive(), "the web view's session alone has ended")
            // Ended, none at all, and one that was invented.
            for cookies in [devices.web, [:], ["vagov_access_token": "x"]] {
                let again = try await place.get("logout?client_id=vaweb", cookies: cookies)
                #expect(again.status == .found && again.headers[.location] == AppSignIn.webHome)
            }
            // Whose link it was is not known: it takes no cookies. A page of the site has them taken.
            let page: HTTPFields = [.origin: "https://www.va.example"]
            for headers in [[:], [.origin: "https://evil.example"]] as [HTTPFields] {
                let again = try await place.get("logout?client_id=vaweb", cookies: devices.web, headers: headers)
                #expect(again.status == .found && again.headers[values: .setCookie].isEmpty)
            }
            let shown = try await place.get("logout?client_id=vaweb", cookies: devices.web, headers: page)
            #expect(shown.status == .found && shown.headers[values: .setCookie].count == 4)
            // Whose access token has expired is signed out by a page of the site, and by no link.
            let later = try await place.webView(devices.other)
            place.server.clock.advance(by: .seconds(301))
            for headers in [[:], [.origin: "https://evil.example"]] as [HTTPFields] {
                let expired = try await place.get(
                    "logout?client_id=vaweb", cookies: devices.otherWeb, headers: headers)
                #expect(expired.status == .found && expired.headers[values: .setCookie].isEmpty)
            }
            #expect(try await place.post("refresh", [:], cookies: devices.otherWeb).status == .ok)
            let expired = try await place.get("logout?client_id=vaweb", cookies: later, headers: page)
            #expect(expired.status == .found && expired.headers[values: .setCookie].count == 4)
            #expect(try await place.post("refresh", [:], cookies: later).status == .unauthorized)
            // An app's session, by its token, and with no address to go to.
            let app = try await place.get(
                "logout?client_id=vamobile", headers: [.authorization: "Bearer \(devices.other.access)"])
            #expect(app.status == .ok && app.headers[.location] == nil && app.body.readableBytes == 0)
            #expect(try await place.introspect(devices.other.access) == 401)
            let mixed = try await place.get(
                "logout?client_id=vaweb", headers: [.authorization: "Bearer \(devices.app.access)"])
            #expect(mixed.status == .badRequest)
            #expect(try await place.introspect(devices.app.access) == 200)
        }
    }

    @Test("a token that was used by a thief as well ends its own session and its web views, and no other's")
    func reuse() async throws {
        try await AppSignIn.run { place async throws in
            let devices = try await Devices(place)
            let second = try AppTokens(try await place.refresh(devices.app.refresh))
            _ = try await place.refresh(second.refresh)
            place.server.clock.advance(by: .seconds(60))
            #expect(try await place.refresh(devices.app.refresh).status == .unauthorized)
            #expect(try await devices.alive() == [false, false, true, true])
            #expect(try await !devices.isSecretAlive())
        }
    }

    @Test("introspection says who it is, 403 for what has expired and 401 for everything else (row F046)")
    func introspection() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let answer = try await place.get("introspect", headers: [.authorization: "Bearer \(tokens.access)"])
            #expect(answer.status == .ok && answer.headers[.cacheControl] == "no-store")
            let data = try answer.json.requiredObject("data")
            let id = try data.requiredString("id")
            #expect(try tokens.claims["sub"] == .string(id) && data["type"] == .string("users"))
            let attributes = try data.requiredObject("attributes")
            let known: JSONObject = [
                "uuid": .string(id), "first_name": .string("Alice van"), "last_name": .string("Example"),
                "email": .string("alice@post.example"), "authn_context": .string("urn:countersign:acr:one-factor"),
                "verified": .bool(false), "access_token_ttl": .integer(1800),
            ]
            for (name, value) in known.members { #expect(attributes[name] == value, "\(name)") }
            // All else is what clients read and this server does not know (`AppSignInBackEndClientTests.profile`).
            for (name, value) in attributes.members where known[name] == nil {
                #expect([.string(""), .array([]), .bool(false)].contains(value), "\(name)")
            }
            let cookies = try await place.webView(tokens)
            let byCookie = try await place.get("introspect", cookies: cookies)
            #expect(try byCookie.json.requiredObject("data")["id"] == .string(id))
            for header in [
                "Bearer x", "Bearer \(tokens.access)x", "Basic eDp5", "Bearer \(tokens.refresh)",
                "DPoP \(tokens.access)",
            ] {
                let refused = try await place.get("introspect", headers: [.authorization: header])
                #expect(refused.status == .unauthorized && refused.errors?.isEmpty == false, "\(header)")
            }
            #expect(try await place.get("introspect").status == .unauthorized)
            // An app's token is no cookie.
            #expect(
                try await place.get("introspect", cookies: ["vagov_access_token": tokens.access]).status
                    == .unauthorized)
            place.server.clock.advance(by: .seconds(1800))
            let expired = try await place.get("introspect", headers: [.authorization: "Bearer \(tokens.access)"])
            #expect(expired.status == .forbidden && expired.errors == "The access token has expired.")
        }
    }

    @Test("where a client has no anti-CSRF tokens, none that is invented ends anything")
    func causeWithoutTokens() async throws {
        try await AppSignIn.run { place async throws in
            let former = try await place.webView(try await place.appTokens())
            try await place.change(AppSignIn.web) { $0.usesAntiCSRF = false }
            let cookies = try await place.webView(try await place.appTokens())
            for session in [former, cookies] {
                let token = former["vagov_anti_csrf_token"] ?? "x"
                for query in ["", "&anti_csrf_token=\(token)"] {
                    let answer = try await place.get("logout?client_id=vaweb\(query)", cookies: session)
                    #expect(answer.status == .badRequest && answer.headers[values: .setCookie].isEmpty)
                }
                #expect(try await place.get("introspect", cookies: session).status == .ok)
            }
            let page: HTTPFields = [.origin: "https://www.va.example"]
            let out = try await place.get("logout?client_id=vaweb", cookies: cookies, headers: page)
            #expect(out.status == .found)
            #expect(try await place.get("introspect", cookies: cookies).status == .unauthorized)
        }
    }

    @Test("what is posted stands in the body, wherever the operator does not let it into the address")
    func addresses() async throws {
        try await AppSignIn.run { place async throws in
            let cookies = try await place.webView(try await place.appTokens())
            let token = try #require(cookies["vagov_anti_csrf_token"])
            for path in ["refresh?", "logout?client_id=vaweb&", "revoke_all_sessions?"] {
                let answer = try await place.post("\(path)anti_csrf_token=\(token)", [:], cookies: cookies)
                #expect(answer.status == .badRequest && answer.errors == "The parameters belong into the body.")
            }
            #expect(try await place.get("introspect", cookies: cookies).status == .ok)
            try await place.change(AppSignIn.web) { $0.takesQuery = true }
            let answer = try await place.post("refresh?anti_csrf_token=\(token)", [:], cookies: cookies)
            #expect(answer.status == .ok)
        }
    }
}
