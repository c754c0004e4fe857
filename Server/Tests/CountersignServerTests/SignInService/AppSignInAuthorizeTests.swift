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

@Suite("The app sign-in service: how a sign-in begins (row F015 of the parity table)")
struct AppSignInAuthorizeTests {
    @Test("the app's address gets code, type, state and issuer, and its code is worth its tokens")
    func signsIn() async throws {
        try await AppSignIn.run { place async throws in
            let answer = try await place.signedIn(AppSignIn.app)
            #expect(answer.status == .seeOther)
            #expect(answer.headers[.location]?.hasPrefix(AppSignIn.appAddress + "?") == true)
            let parameters = answer.redirectParameters
            #expect(Set(parameters.keys) == ["code", "type", "state", "iss"])
            #expect(parameters["type"] == "password" && parameters["state"] == AppSignIn.state)
            #expect(parameters["iss"] == "http://localhost:8080")
            let tokens = try AppTokens(try await place.redeem(try #require(parameters["code"])))
            #expect(try await place.introspect(tokens.access) == 200)
        }
    }

    @Test("what is wrong with a request is found in the order of the service, and an app's browser is told in words")
    func order() async throws {
        try await AppSignIn.run { place async throws in
            let cases: [([String: String?], String)] = [
                (["client_id": "nobody", "type": "x"], "The client_id is not known."),
                (["client_id": nil], "The client_id is not known."),
                (["type": "idme", "operation": "x"], "The type is not valid."),
                (["type": nil], "The type is not valid."),
                (["operation": "x", "acr": "x"], "The operation is not valid."),
                (["acr": "ial2", "code_challenge_method": "plain"], "The acr is not valid."),
                (["acr": nil], "The acr is not valid."),
                (["code_challenge_method": "plain", "code_challenge": "x"], "The code_challenge_method is not valid."),
                (["code_challenge_method": nil], "The code_challenge_method is not valid."),
                (["code_challenge": "x", "scope": "x"], "The code_challenge is malformed."),
                (["code_challenge": nil], "The code_challenge is malformed."),
                (["scope": "openid", "state": "x"], "The scope is not valid for this client."),
                (["state": "a-state-of-21-letters"], "The state is not valid."),
                (["state": String(repeating: "s", count: 1025)], "The state is not valid."),
            ]
            for (changes, expected) in cases {
                let answer = try await place.client.execute(
                    uri: place.authorize(AppSignIn.app, changes), method: .get)
                #expect(answer.status == .badRequest && answer.errors == expected, "\(changes) \(answer.text)")
                #expect(answer.headers[.location] == nil)
            }
            // Twenty-two are enough, and so is none, and padding is tolerated.
            for changes in [
                ["state": "a-state-of-22-letters-"], ["state": nil], ["code_challenge": place.challenge + "="],
                ["operation": "sign_up"],
            ] as [[String: String?]] {
                let answer = try await place.client.execute(
                    uri: place.authorize(AppSignIn.app, changes), method: .get)
                #expect(answer.status == .seeOther, "\(changes) \(answer.text)")
            }
        }
    }

    @Test("a web site is told of a failure by a code, at its own address")
    func webSite() async throws {
        try await AppSignIn.run { place async throws in
            let answer = try await place.client.execute(
                uri: place.authorize(AppSignIn.web, ["acr": "x"]), method: .get)
            #expect(answer.status == .found)
            #expect(answer.headers[.location]?.hasPrefix(AppSignIn.webAddress + "?") == true)
            let parameters = answer.redirectParameters
            #expect(parameters["auth"] == "fail" && parameters["code"] == "400")
            #expect(parameters["request_id"]?.isEmpty == false && parameters.count == 3)
        }
    }

    @Test("a browser's cookies of an earlier sign-in go when another begins")
    func forgets() async throws {
        try await AppSignIn.run { place async throws in
            let answer = try await place.client.execute(uri: place.authorize(AppSignIn.web), method: .get)
            let ended = answer.headers[values: .setCookie].filter { $0.hasPrefix("vagov_") }
            #expect(ended.count == 4 && ended.allSatisfy { $0.contains("; Max-Age=0;") })
        }
    }

    @Test("device_sso is for apps that share their sessions, and for no others")
    func deviceScope() async throws {
        try await AppSignIn.run { place async throws in
            func begin(_ client: String) async throws -> TestResponse {
                try await place.client.execute(
                    uri: place.authorize(client, ["scope": "device_sso"]), method: .get)
            }
            #expect(try await begin(AppSignIn.app).status == .seeOther)
            #expect(try await begin(AppSignIn.web).redirectParameters["auth"] == "fail")
            try await place.change(AppSignIn.app) { $0.sharesSessions = false }
            let refused = try await begin(AppSignIn.app)
            #expect(refused.errors == "The scope is not valid for this client.")
        }
    }

    @Test("a person who is signed in signs in again: no session of the browser stands for it")
    func alwaysAsks() async throws {
        try await AppSignIn.run { place async throws in
            let browser = TestBrowser(place.client)
            _ = try await place.signedIn(AppSignIn.app, in: browser)
            let again = try await browser.get(place.authorize(AppSignIn.app))
            #expect(again.headers[.location]?.hasPrefix("/sign-in?") == true)
            let page = try await browser.get(try #require(again.headers[.location]))
            #expect(page.headers[.location]?.hasPrefix("/sign-in/password") == true)
        }
    }

    @Test("who is not as surely authenticated as the level needs is let in nowhere")
    func belowTheLevel() async throws {
        try await AppSignIn.run(
            web: {
                var settings = AppSignIn.webSettings
                settings.levels = [.init("loa3", needed: AssuranceLevel.twoFactor.rawValue)]
                return settings
            }()
        ) { place async throws in
            let app = try await place.signedIn(AppSignIn.app, ["acr": "loa3"])
            #expect(app.status == .badRequest && app.headers[.location] == nil)
            #expect(app.errors == "The person cannot be authenticated as surely as the request asks.")
            let web = try await place.signedIn(AppSignIn.web, ["acr": "loa3"])
            #expect(web.redirectParameters["auth"] == "fail" && web.redirectParameters["code"] == "007")
            #expect(try await place.signedIn(AppSignIn.app, ["acr": "min"]).redirectParameters["code"] != nil)
        }
    }

    @Test("there is nothing at any of the addresses until there is a client, and nothing again when it is gone")
    func notThere() async throws {
        let server = try await ServerFixture()
        let paths: [(HTTPRequest.Method, String)] = [
            (.get, "/v0/sign_in/authorize?client_id=x"), (.get, "/v0/sign_in/authorize_sso"),
            (.post, "/v0/sign_in/token"), (.post, "/v0/sign_in/refresh"), (.post, "/v0/sign_in/revoke"),
            (.get, "/v0/sign_in/revoke_all_sessions"), (.post, "/v0/sign_in/revoke_all_sessions"),
            (.get, "/v0/sign_in/logout"), (.post, "/v0/sign_in/logout"), (.get, "/v0/sign_in/introspect"),
            (.get, "/sign_in/openid_connect/certs"),
        ]
        try await server.withPublicClient { client async throws in
            let place = AppSignIn(server: server, client: client)
            func expect(_ isThere: Bool) async throws {
                for (method, path) in paths {
                    let answer = try await client.execute(uri: path, method: method)
                    #expect((answer.status == .notFound) != isThere, "\(path)")
                }
            }
            try await expect(false)
            try await place.register(AppSignIn.app, AppSignIn.appSettings, at: AppSignIn.appAddress)
            try await expect(true)
            _ = try await server.assembly.provider.clients.delete(AppSignIn.app)
            try await expect(false)
        }
    }

    private static var anySchemeSettings: SignInServiceSettings {
        var settings = AppSignIn.appSettings
        settings.takesAnyScheme = true
        return settings
    }

    @Test("an app at a scheme of its own works where the operator lets it, who is warned")
    func anyScheme() async throws {
        let settings = Self.anySchemeSettings
        try await AppSignIn.run(app: settings, appAddress: "vamobile://login-success") { place async throws in
            let answer = try await place.signedIn(AppSignIn.app)
            #expect(answer.headers[.location]?.hasPrefix("vamobile://login-success?code=") == true)
            let shown = try await place.server.withSocketClient {
                try await $0.send(.get, "/admin/v1/clients/vamobile")
            }
            #expect(try shown.object.strings("warnings")?.first?.contains("Any app can take the scheme") == true)
            let web = try await place.server.withSocketClient { try await $0.send(.get, "/admin/v1/clients/vaweb") }
            #expect(try web.object.strings("warnings") == nil)
        }
        try await AppSignIn.run { place async throws in
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await place.register("other", AppSignIn.appSettings, at: "vamobile://login-success")
            }
            for scheme in ["javascript", "data", "file", "intent", "https"] {
                await #expect(throws: OAuthError(.invalidRequest), "\(scheme)") {
                    try await place.register("other", settings, at: "\(scheme):///x")
                }
            }
        }
    }
}
