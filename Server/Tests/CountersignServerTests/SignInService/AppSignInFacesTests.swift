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

@Suite(
    "The app sign-in service: beside OpenID Connect, on devices' keys, and from the web to an app (row F047; decision 23)"
)
struct AppSignInFacesTests {
    private func openID(
        _ place: AppSignIn, _ values: [String: String?], _ party: RelyingParty? = nil
    ) async throws -> TestResponse {
        var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        if let party { headers[.authorization] = party.authorization }
        return try await place.client.execute(
            uri: "/oauth2/token", method: .post, headers: headers,
            body: ByteBuffer(string: AppSignIn.encoded(values)))
    }

    @Test("a client of the one face is none at the other")
    func clients() async throws {
        try await AppSignIn.run { place async throws in
            let party = try await place.server.relyingParty(signInMethods: ["password"])
            let page = try await place.client.execute(
                uri: party.authorizeAddress().replacing(party.id, with: AppSignIn.app), method: .get)
            #expect(page.status == .badRequest && page.headers[.location] == nil)
            for path in ["token", "par", "revoke", "introspect", "device_authorization", "bc-authorize"] {
                let answer = try await place.client.execute(
                    uri: "/oauth2/\(path)", method: .post,
                    headers: [.contentType: "application/x-www-form-urlencoded"],
                    body: ByteBuffer(string: "client_id=vamobile&grant_type=authorization_code&token=x"))
                #expect(answer.text.contains("\"error\":\"unauthorized_client\""), "\(path) \(answer.text)")
            }
            let other = try await place.client.execute(uri: place.authorize(party.id), method: .get)
            #expect(other.status == .badRequest && other.errors == "The client_id is not known.")
        }
    }

    @Test("codes and refresh tokens are refused and spent at the other face")
    func leaves() async throws {
        try await AppSignIn.run { place async throws in
            let party = try await place.server.relyingParty(signInMethods: ["password"])
            // This one's code there, by its own client and by another.
            for (caller, party) in [("vamobile", nil), (nil, party)] as [(String?, RelyingParty?)] {
                let code = try await place.code(AppSignIn.app)
                let there = try await self.openID(
                    place,
                    [
                        "grant_type": "authorization_code", "code": code, "code_verifier": place.verifier,
                        "redirect_uri": AppSignIn.appAddress, "client_id": caller,
                    ], party)
                #expect(there.status == .badRequest)
                #expect(try await place.redeem(code).status == .badRequest, "spent")
            }
            // This one's refresh token there.
            for (caller, party) in [("vamobile", nil), (nil, party)] as [(String?, RelyingParty?)] {
                let tokens = try await place.appTokens()
                let there = try await self.openID(
                    place,
                    ["grant_type": "refresh_token", "refresh_token": tokens.refresh, "client_id": caller], party)
                #expect(there.status == .badRequest)
                #expect(try await place.refresh(tokens.refresh).status == .unauthorized, "spent")
            }
            // That one's code here.
            let browser = TestBrowser(place.client)
            let begun = try await browser.get(party.authorizeAddress())
            let request = try #require(begun.redirectParameters["request"])
            let shown = try await browser.post(
                "/sign-in/password",
                form: PasswordPlace.form(
                    ["request": request, "username": "alice", "password": PasswordPlace.password]))
            let done = try await TwoServers.follow(browser, shown, at: "http://localhost:8080")
            let code = try #require(done.redirectParameters["code"])
            #expect(try await place.redeem(code, ["code_verifier": party.verifier]).errors == "The code is not valid.")
            #expect(try await party.exchange(code, place.client).response.status == .badRequest, "spent")
        }
    }

    @Test("an access token of the one face opens nothing at the other")
    func accessTokens() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let userinfo = try await place.client.send(
                .get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(tokens.access)"])
            #expect(userinfo.response.status == .unauthorized)
            let party = try await place.server.relyingParty(signInMethods: ["password"])
            let inactive = try await place.client.execute(
                uri: "/oauth2/introspect", method: .post,
                headers: [.contentType: "application/x-www-form-urlencoded", .authorization: party.authorization],
                body: ByteBuffer(string: "token=\(tokens.access)"))
            #expect(inactive.text == "{\"active\":false}")
            let browser = TestBrowser(place.client)
            let begun = try await browser.get(party.authorizeAddress())
            let request = try #require(begun.redirectParameters["request"])
            let shown = try await browser.post(
                "/sign-in/password",
                form: PasswordPlace.form(
                    ["request": request, "username": "alice", "password": PasswordPlace.password]))
            let done = try await TwoServers.follow(browser, shown, at: "http://localhost:8080")
            let code = try #require(done.redirectParameters["code"])
            let access = try await party.exchange(code, place.client).object.requiredString("access_token")
            #expect(try await place.introspect(access) == 401)
            #expect(
                try await place.post("token", AppSignIn.exchange(tokens, ["subject_token": access])).status
                    == .badRequest)
        }
    }

    @Test("what an app has for a key is renewed, exchanged and shown with that key alone")
    func bound() async throws {
        try await AppSignIn.run { place async throws in
            let keys = try (0..<2).map { _ in
                try SigningKey(kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
            }
            func proof(_ path: String, _ nonce: String?, by key: Int = 0, of access: String? = nil) throws -> String {
                try Self.proof(place, path, nonce, by: keys[key], of: access)
            }
            let code = try await place.code(AppSignIn.app)
            let first = try await place.redeem(code, proofs: [proof("token", nil)])
            #expect(try first.status == .badRequest && first.json.string("error") == "use_dpop_nonce")
            let nonce = try #require(first.headers[.keyProofNonce])
            let tokens = try AppTokens(try await place.redeem(code, proofs: [proof("token", nonce)]))
            #expect(try tokens.claims.requiredObject("cnf").string("jkt") != nil)
            // Without it, with another one, and with one that was shown before.
            let refresh = ["refresh_token": tokens.refresh]
            for proofs in [[], [try proof("refresh", nonce, by: 1)]] {
                #expect(try await place.post("refresh", refresh, proofs: proofs).status == .unauthorized)
            }
            let once = try proof("refresh", nonce)
            let renewed = AppTokens(
                try AppTokens(try await place.post("refresh", refresh, proofs: [once])),
                deviceSecret: tokens.deviceSecret)
            #expect(
                try await place.post("refresh", ["refresh_token": renewed.refresh], proofs: [once]).status
                    == .unauthorized)
            // Sender-constrained: a lost answer has all the time until its child is used.
            place.server.clock.advance(by: .seconds(120))
            let late = try await place.post("refresh", refresh, proofs: [proof("refresh", nonce)])
            #expect(late.status == .ok, "\(late.text)")
            let last = AppTokens(try AppTokens(late), deviceSecret: tokens.deviceSecret)
            // Whoever shows it at the other face, without the key, ends nothing.
            let there = try await self.openID(
                place, ["grant_type": "refresh_token", "refresh_token": last.refresh, "client_id": AppSignIn.app])
            #expect(there.status == .badRequest)
            // Nor is it exchanged without.
            for proofs in [[], [try proof("token", nonce, by: 1)]] {
                let answer = try await place.post("token", AppSignIn.exchange(last), proofs: proofs)
                #expect(try answer.status == .badRequest && answer.json.string("error") == "invalid_dpop_proof")
            }
            let web = try await place.post("token", AppSignIn.exchange(last), proofs: [proof("token", nonce)])
            #expect(web.status == .ok && web.signInCookies.count == 4)
            #expect(try AppTokens.claims(try #require(web.signInCookies["vagov_access_token"]))["cnf"] == nil)
            // And it is shown with it.
            #expect(try await place.introspect(last.access) == 401)
            var headers: HTTPFields = [.authorization: "DPoP \(last.access)"]
            #expect(try await place.get("introspect", headers: headers).status == .unauthorized)
            headers[.keyProof] = try proof("introspect", nonce, by: 1, of: last.access)
            #expect(try await place.get("introspect", headers: headers).status == .unauthorized)
            headers[.keyProof] = try proof("introspect", nonce, of: last.access)
            #expect(try await place.get("introspect", headers: headers).status == .ok)
        }
    }

    /// Returns a key's proof for a request to the service.
    private static func proof(
        _ place: AppSignIn, _ path: String, _ nonce: String?, by key: SigningKey, of access: String? = nil
    ) throws -> String {
        try DPoPProof.make(
            method: access == nil ? "POST" : "GET",
            target: #require(TargetURI("http://localhost:8080/v0/sign_in/\(path)")), accessToken: access,
            nonce: nonce, with: key, at: place.server.clock.timeSource.now(), random: .system)
    }

    @Test("a repeated request of an app with a key ends no session, and the proof of a refused request is used up")
    func repeated() async throws {
        try await AppSignIn.run { place async throws in
            let key = try SigningKey(kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
            let code = try await place.code(AppSignIn.app)
            let asked = try await place.redeem(code, proofs: [Self.proof(place, "token", nil, by: key)])
            let nonce = try #require(asked.headers[.keyProofNonce])
            let once = try Self.proof(place, "token", nonce, by: key)
            let tokens = try AppTokens(try await place.redeem(code, proofs: [once]))
            let again = try await place.redeem(code, proofs: [once])
            #expect(try again.status == .badRequest && again.json.string("error") == "invalid_dpop_proof")
            let spent = try Self.proof(place, "refresh", nonce, by: key)
            let refused = try await place.post("refresh", ["refresh_token": "unknown"], proofs: [spent])
            #expect(refused.status == .unauthorized)
            let refresh = ["refresh_token": tokens.refresh]
            #expect(try await place.post("refresh", refresh, proofs: [spent]).status == .unauthorized)
            let fresh = try Self.proof(place, "refresh", nonce, by: key)
            let renewed = try await place.post("refresh", refresh, proofs: [fresh])
            #expect(renewed.status == .ok, "\(renewed.text)")
        }
    }

    // MARK: From the web to an app

    private func opened(_ place: AppSignIn, _ changes: [String: String?] = [:], cookies: [String: String])
        async throws -> TestResponse
    {
        var values: [String: String?] = [
            "client_id": AppSignIn.app, "code_challenge": place.challenge, "code_challenge_method": "S256",
            "state": AppSignIn.state,
        ]
        values.merge(changes) { $1 }
        return try await place.get("authorize_sso?\(AppSignIn.encoded(values))", cookies: cookies)
    }

    /// The cookies of a person who has signed in to the web site.
    private func webSession(_ place: AppSignIn) async throws -> [String: String] {
        try await place.redeem(place.code(AppSignIn.web)).signInCookies
    }

    @Test("a web site's session opens an app at its claimed address, without a refresh token, and until its own end")
    func authorizeSSO() async throws {
        try await AppSignIn.run { place async throws in
            let cookies = try await self.webSession(place)
            #expect(cookies.count == 4)
            let answer = try await self.opened(place, cookies: cookies)
            #expect(answer.status == .found)
            #expect(answer.headers[.location]?.hasPrefix(AppSignIn.appAddress + "?") == true)
            let parameters = answer.redirectParameters
            #expect(parameters["type"] == "password" && parameters["state"] == AppSignIn.state)
            let code = try #require(parameters["code"])
            let tokens = try await place.redeem(code).json.requiredObject("data")
            #expect(tokens.members.map(\.name) == ["access_token"])
            let access = try tokens.requiredString("access_token")
            #expect(try await place.introspect(access) == 200)
            #expect(try AppTokens.claims(access)["client_id"] == .string("vamobile"))
            // What came of a session opens no further one.
            #expect(
                try await place.post(
                    "token",
                    [
                        "grant_type": AppSignIn.exchangeGrant, "subject_token": access,
                        "subject_token_type": AppSignIn.accessTokenKind,
                        "actor_token": try await place.appTokens().deviceSecret,
                        "actor_token_type": AppSignIn.actorKind, "client_id": AppSignIn.web,
                    ]
                ).status == .badRequest)
            place.server.clock.advance(by: .seconds(60 + 1800))
            #expect(try await place.introspect(access) != 200)
        }
    }

    @Test("what is wrong with it is 400, and who is not signed in so that it is enough goes to the sign-in page")
    func authorizeSSORefusals() async throws {
        try await AppSignIn.run { place async throws in
            let cookies = try await self.webSession(place)
            let malformed: [[String: String?]] = [
                ["client_id": nil], ["client_id": "nobody"], ["client_id": AppSignIn.web], ["code_challenge": nil],
                ["code_challenge": "x"], ["code_challenge_method": "plain"], ["state": "short"],
            ]
            for changes in malformed {
                let answer = try await self.opened(place, changes, cookies: cookies)
                #expect(try answer.status == .badRequest && answer.json.string("error") != nil, "\(changes)")
            }
            func expectSignIn(_ cookies: [String: String]) async throws {
                let answer = try await self.opened(place, cookies: cookies)
                #expect(answer.status == .found && answer.headers[.location]?.hasPrefix("/sign-in?") == true)
                #expect(answer.redirectParameters["oauth"] == "true")
                #expect(answer.redirectParameters["application"] == AppSignIn.app)
                #expect(answer.redirectParameters["code_challenge"] == place.challenge)
            }
            try await expectSignIn([:])
            try await expectSignIn(["vagov_access_token": "x"])
            // A web view's session came of an app's: it opens none.
            try await expectSignIn(try await place.webView(try await place.appTokens()))
            // A level that is more than the session has.
            try await place.change(AppSignIn.app) {
                $0.levels = [.init("loa3", needed: AssuranceLevel.twoFactor.rawValue)]
            }
            try await expectSignIn(cookies)
            try await place.change(AppSignIn.app) { $0.levels = [.init("loa1")] }
            #expect(try await self.opened(place, cookies: cookies).redirectParameters["code"] != nil)
            try await place.change(AppSignIn.web) { $0.sharesSessions = false }
            try await expectSignIn(cookies)
        }
    }

    @Test("an app at a scheme, which others can take, is never opened so")
    func authorizeSSOToSchemes() async throws {
        var settings = AppSignIn.appSettings
        settings.takesAnyScheme = true
        for address in ["org.example.app:/signed-in", "vamobile://login-success", "http://127.0.0.1:9/in"] {
            try await AppSignIn.run(app: settings, appAddress: address) { place async throws in
                let cookies = try await self.webSession(place)
                let answer = try await self.opened(place, cookies: cookies)
                #expect(answer.status == .badRequest && answer.headers[.location] == nil, "\(address)")
            }
        }
    }

    @Test("what a web site's session opened ends when that session does, at its own end or by signing out")
    func endsWithTheWeb() async throws {
        var web = AppSignIn.webSettings
        web.refreshTokenLifetime = .seconds(45 * 24 * 60 * 60)
        try await AppSignIn.run(web: web) { place async throws in
            var cookies = try await self.webSession(place)
            let code = try #require(try await self.opened(place, cookies: cookies).redirectParameters["code"])
            let late = try #require(try await self.opened(place, cookies: cookies).redirectParameters["code"])
            let access = try await place.redeem(code).json.requiredObject("data").requiredString("access_token")
            #expect(try await place.introspect(access) == 200)
            let out = try await place.get(
                "logout?client_id=vaweb", cookies: cookies, headers: [.origin: "https://www.va.example"])
            #expect(out.status == .found)
            #expect(try await place.introspect(access) == 401)
            #expect(try await place.redeem(late).errors == "The code is not valid.")
            // Shortly before its absolute end.
            cookies = try await self.webSession(place)
            place.server.clock.advance(by: .seconds(45 * 24 * 60 * 60 - 100))
            cookies = try await place.post("refresh", [:], cookies: cookies).signInCookies
            let last = try #require(try await self.opened(place, cookies: cookies).redirectParameters["code"])
            let token = try await place.redeem(last).json.requiredObject("data").requiredString("access_token")
            let end = place.server.clock.timeSource.now() + .seconds(100)
            #expect(try AppTokens.claims(token)["exp"] == .integer(end.seconds))
        }
    }
}
