import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite(
    "The app sign-in service: where signing out leads, also by the provider that the person came from (OpenID Connect RP-Initiated Logout 1.0, row F045 of the parity table)"
)
struct AppSignInLogoutTests {
    private static let home = "https://www.example/"
    private static let site: HTTPFields = [.origin: "https://www.example"]
    private static let proxy = "logingov_logout_proxy"

    /// The deployment, where people are signed out at Login.gov as well, and nowhere else.
    private static func run(
        logger: Logger? = nil, _ body: @escaping @Sendable (ProvidersPlace) async throws -> Void
    ) async throws {
        try await ProvidersPlace.run(logger: logger) { place async throws in
            try await Self.set("logingov", ["signsOut": .bool(true)], place)
            try await body(place)
        }
    }

    @discardableResult
    private static func set(
        _ provider: String, _ settings: JSONObject, _ place: ProvidersPlace
    ) async throws -> JSONObject {
        try await place.place.server.withSocketClient { client in
            let changed = try await client.send(.patch, "/admin/v1/providers/\(provider)", settings)
            try #require(changed.response.status == .ok, "\(changed.response.text)")
            return changed.object
        }
    }

    private static func level(of provider: String) -> String { provider == "logingov" ? "ial1" : "loa1" }

    /// The cookies of a session of the web site's, whose person has signed in by that provider.
    private static func web(_ place: ProvidersPlace, by provider: String) async throws -> [String: String] {
        let back = try await place.signIn("web", by: provider, Self.level(of: provider))
        let code = try #require(back.redirectParameters["code"], "\(back.status) \(back.text)")
        return try await place.place.redeem(code).signInCookies
    }

    /// The tokens of an app whose person has signed in by that provider.
    private static func app(
        _ place: ProvidersPlace, _ client: String = "app", by provider: String = "logingov", scope: String? = nil
    ) async throws -> AppTokens {
        let begun = try await place.browser.get(
            place.place.authorize(client, ["type": provider, "acr": Self.level(of: provider), "scope": scope]))
        let away = try await TwoServers.follow(place.browser, begun, at: "http://localhost:8080")
        let back = try await place.comeBack(away, by: provider)
        return try AppTokens(try await place.place.redeem(try #require(back.redirectParameters["code"])))
    }

    private static func out(_ place: ProvidersPlace, _ cookies: [String: String]) async throws -> TestResponse {
        try await place.place.get("logout?client_id=web", cookies: cookies, headers: Self.site)
    }

    private static func isAlive(_ place: ProvidersPlace, _ cookies: [String: String]) async throws -> Bool {
        try await place.place.get("introspect", cookies: cookies).status == .ok
    }

    /// Where a browser is sent that comes back with that state.
    private static func back(_ place: ProvidersPlace, _ state: String?) async throws -> TestResponse {
        try await place.place.get("\(Self.proxy)?\(AppSignIn.encoded(["state": state]))")
    }

    // MARK: The four cases

    @Test("a client that nobody knows is 400, whatever is shown with it")
    func unknownClient() async throws {
        try await Self.run { place async throws in
            let cookies = try await Self.web(place, by: "logingov")
            for query in ["", "?client_id=nobody", "?client_id="] {
                let answer = try await place.place.get("logout\(query)", cookies: cookies, headers: Self.site)
                #expect(answer.status == .badRequest && answer.errors == "The client_id is not known.")
                #expect(answer.headers[values: .setCookie].isEmpty && answer.headers[.location] == nil)
            }
            #expect(try await Self.isAlive(place, cookies))
        }
    }

    @Test(
        "a good token: the session and its cookies end, and the browser goes by the provider that signs out, else where the client has registered, else nowhere"
    )
    func goodToken() async throws {
        try await Self.run { place async throws in
            let cookies = try await Self.web(place, by: "logingov")
            let other = try await Self.web(place, by: "logingov")
            let calls = place.providers.callCount
            let sent = try await Self.out(place, cookies)
            #expect(sent.status == .found && sent.body.readableBytes == 0)
            #expect(sent.headers[values: .setCookie].count == 4)
            #expect(sent.headers[values: .setCookie].allSatisfy { $0.contains("=; ") && $0.contains("Max-Age=0") })
            #expect(try await !Self.isAlive(place, cookies))
            #expect(try await place.place.post("refresh", [:], cookies: cookies).status == .unauthorized)
            #expect(try await Self.isAlive(place, other), "that session alone")
            let returned = try place.providers.signOut(sent, at: "logingov")
            #expect(place.providers.callCount == calls, "what it has said of itself is there still")
            let end = try await place.browser.get(returned)
            #expect(end.status == .found && end.headers[.location] == Self.home)
            #expect(end.headers[.cacheControl] == "no-store" && end.headers[values: .setCookie].isEmpty)

            // Another credential: of a provider that signs nobody out, and a password.
            let passed = try await Self.out(place, try await Self.web(place, by: "idme"))
            #expect(passed.status == .found && passed.headers[.location] == Self.home)
            #expect(passed.headers[values: .setCookie].count == 4)
            let code = try await place.place.code("web", ["acr": "loa1"])
            let byPassword = try await Self.out(place, try await place.place.redeem(code).signInCookies)
            #expect(byPassword.status == .found && byPassword.headers[.location] == Self.home)
            #expect(byPassword.headers[values: .setCookie].count == 4)

            // No address.
            let app = try await Self.app(place, by: "idme")
            let done = try await place.place.get(
                "logout?client_id=app", headers: [.authorization: "Bearer \(app.access)"])
            #expect(done.status == .ok && done.headers[.location] == nil && done.body.readableBytes == 0)
            #expect(try await place.place.introspect(app.access) == 401)
        }
    }

    @Test("a token that is bad or past, or none: the client's address at once, and nothing ends")
    func badToken() async throws {
        try await Self.run { place async throws in
            let cookies = try await Self.web(place, by: "logingov")
            let ended = try await Self.web(place, by: "logingov")
            _ = try await Self.out(place, ended)
            var damaged = cookies
            damaged["vagov_access_token"]?.append("x")
            for shown in [[:], damaged, ended] {
                let answer = try await place.place.get("logout?client_id=web", cookies: shown)
                #expect(answer.status == .found && answer.headers[.location] == Self.home)
                #expect(answer.headers[values: .setCookie].isEmpty)
            }
            for header in ["Bearer x", "Basic eDp5"] {
                let app = try await place.place.get("logout?client_id=app", headers: [.authorization: header])
                #expect(app.status == .ok && app.headers[.location] == nil && app.body.readableBytes == 0)
            }
            #expect(try await Self.isAlive(place, cookies))
            place.place.server.clock.advance(by: .seconds(301))
            let expired = try await place.place.get("logout?client_id=web", cookies: cookies)
            #expect(expired.status == .found && expired.headers[.location] == Self.home)
            #expect(expired.headers[values: .setCookie].isEmpty)
            #expect(try await place.place.post("refresh", [:], cookies: cookies).status == .ok)
        }
    }

    @Test("a wrong anti-CSRF token, no page of the site and another client's session are 400, and nothing ends")
    func malformed() async throws {
        try await Self.run { place async throws in
            let cookies = try await Self.web(place, by: "logingov")
            let app = try await Self.app(place)
            var refused: [TestResponse] = []
            for query in ["", "&anti_csrf_token=x", "&client_id=web"] {
                let headers = query.isEmpty ? [:] : Self.site
                refused.append(
                    try await place.place.get("logout?client_id=web\(query)", cookies: cookies, headers: headers))
            }
            refused.append(
                try await place.place.get("logout?client_id=web", headers: [.authorization: "Bearer \(app.access)"]))
            for answer in refused {
                #expect(answer.status == .badRequest && answer.errors?.isEmpty == false)
                #expect(answer.headers[values: .setCookie].isEmpty && answer.headers[.location] == nil)
            }
            #expect(try await Self.isAlive(place, cookies))
            #expect(try await place.place.introspect(app.access) == 200)
        }
    }

    // MARK: By the provider and back

    @Test("a web view's session goes by the provider of its app's, and a client without an address ends on a page")
    func passedOn() async throws {
        try await Self.run { place async throws in
            let tokens = try await Self.app(place, scope: "device_sso")
            let view = try await place.place.post("token", AppSignIn.exchange(tokens, ["client_id": "web"]))
            let sent = try await Self.out(place, view.signInCookies)
            let returned = try place.providers.signOut(sent, at: "logingov")
            #expect(try await place.browser.get(returned).headers[.location] == Self.home)
            #expect(try await place.place.introspect(tokens.access) == 200, "the app is signed in still")

            let out = try await place.place.get(
                "logout?client_id=app", headers: [.authorization: "Bearer \(tokens.access)"])
            #expect(out.status == .found)
            #expect(try await place.place.introspect(tokens.access) == 401)
            let page = try await place.browser.get(try place.providers.signOut(out, at: "logingov"))
            #expect(page.status == .ok && page.headers[.contentType]?.hasPrefix("text/html") == true)
            #expect(page.text.contains("Your session at app has ended.") && page.headers[.location] == nil)
            _ = try await place.place.server.database.changeClient("app") { client in
                client.clientURI = "https://app.example/"
                return []
            }
            let led = try await place.browser.get(try place.providers.signOut(out, at: "logingov"))
            #expect(led.text.contains("href=\"https://app.example/\""))
        }
    }

    @Test("a state that is missing, changed or of no client of the service leads nowhere, and none leads anywhere else")
    func states() async throws {
        try await Self.run { place async throws in
            let sent = try await Self.out(place, try await Self.web(place, by: "logingov"))
            let state = try #require(sent.redirectParameters["state"])
            let parts = state.split(separator: ".").map(String.init)
            func named(_ client: String) -> String {
                ([Base64URL.encode(Array(client.utf8))] + parts.dropFirst()).joined(separator: ".")
            }
            #expect(named("web") == state)
            for wrong in [
                nil, "", "x", "..", parts[0], parts[0] + ".", parts.dropLast().joined(separator: "."), state + "x",
                String(state.dropLast()), state + ".", "." + state, named("app"), named("vaweb"), named("nobody"),
                parts.dropLast().joined(separator: ".") + ".", "https://evil.example/",
            ] as [String?] {
                let answer = try await Self.back(place, wrong)
                #expect(
                    answer.status == .badRequest && answer.errors == "The state is not valid.", "\(wrong ?? "none")")
                #expect(answer.headers[.location] == nil)
            }
            #expect(try await place.place.get("\(Self.proxy)?state=\(state)&state=\(state)").status == .badRequest)
            let more = AppSignIn.encoded([
                "state": state, "post_logout_redirect_uri": "https://evil.example/", "client_id": "app",
            ])
            let led = try await place.place.get("\(Self.proxy)?\(more)")
            #expect(led.status == .found && led.headers[.location] == Self.home)
            // Each is another one.
            let next = try await Self.out(place, try await Self.web(place, by: "logingov"))
            #expect(try #require(next.redirectParameters["state"]) != state)
            // What the client has registered now counts, and nothing where it is no client any more.
            _ = try await place.place.server.database.changeClient("web") { client in
                client.postLogoutRedirectURIs = ["https://www.example/bye"]
                return []
            }
            #expect(try await Self.back(place, state).headers[.location] == "https://www.example/bye")
            _ = try await place.place.server.database.changeClient("web") { client in
                client.settings.isDisabled = true
                return []
            }
            #expect(try await Self.back(place, state).status == .badRequest)
        }
        // Without a client there is nothing at the address.
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await client.execute(uri: "/v0/sign_in/\(Self.proxy)?state=x", method: .get)
            #expect(answer.status == .notFound)
        }
    }

    @Test(
        "a provider that is down holds nobody up, for as long as what it said of itself is good enough for signing in")
    func heldUp() async throws {
        try await Self.run { place async throws in
            let tokens = try await Self.app(place)
            place.providers.shutDown()
            place.place.server.clock.advance(by: .seconds(20 * 60 * 60))
            let calls = place.providers.callCount
            let renewed = try AppTokens(try await place.place.refresh(tokens.refresh))
            let sent = try await place.place.get(
                "logout?client_id=app", headers: [.authorization: "Bearer \(renewed.access)"])
            #expect(sent.headers[.location]?.hasPrefix("https://logingov.example/logout?") == true)
            #expect(place.providers.callCount == calls)
        }
    }

    @Test(
        "where the provider cannot be asked, or names no address that a browser can be sent to, people are signed out here and go on, and the log says which provider and setting",
        arguments: [nil, "http://logingov.example/logout", "javascript:alert(1)", "down"])
    func failures(address: String?) async throws {
        let (events, continuation) = AsyncStream.makeStream(of: LogEvent.self)
        let logger = Logger(label: "test") { _ in HandedLog(lines: continuation) }
        try await Self.run(logger: logger) { place async throws in
            if address != "down" { place.providers.signOut(at: address) }
            // An app that a browser is led back to.
            try await place.place.register(
                "portal", AppSignIn.appSettings, at: "https://portal.example/in", home: ["https://portal.example/bye"],
                methods: ["provider:logingov"])
            try await place.place.change("portal") { $0.levels = ProvidersPlace.levels }
            var tokens = try await Self.app(place, "portal")
            if address == "down" {
                place.providers.shutDown()
                place.place.server.clock.advance(by: .seconds(26 * 60 * 60))
                tokens = try AppTokens(try await place.place.refresh(tokens.refresh))
            }
            let out = try await place.place.get(
                "logout?client_id=portal", headers: [.authorization: "Bearer \(tokens.access)"])
            #expect(out.status == .found && out.headers[.location] == "https://portal.example/bye")
            #expect(out.headers[values: .setCookie].count == 4)
            #expect(try await place.place.introspect(tokens.access) == 401)
        }
        continuation.finish()
        var told: [Logger.Metadata] = []
        for await event in events {
            if let metadata = event.metadata, metadata["error"] == "upstream-failed" { told.append(metadata) }
        }
        #expect(told.count == 1)
        #expect(told.first?["setting"] == "--sign-out" && told.first?["client"] == "portal")
        let reason = told.first?["reason"].map { "\($0)" } ?? ""
        let why = address == "down" ? "its discovery document cannot be had" : "has no end_session_endpoint"
        #expect(reason.contains("the provider logingov: ") && reason.contains(why), "\(reason)")
    }

    // MARK: The setting

    @Test("what an operator says of signing out is kept, shown and taken back, and is for OpenID Connect alone")
    func administration() async throws {
        try await Self.run { place async throws in
            try await place.place.server.withSocketClient { client in
                let path = "/admin/v1/providers/logingov"
                let shown = try await client.send(.get, path).object
                #expect(shown["signsOut"] == .bool(true))
                let address = "http://localhost:8080/v0/sign_in/logingov_logout_proxy"
                #expect(shown["postLogoutRedirectUri"] == .string(address))
                let other = try await client.send(.get, "/admin/v1/providers/idme").object
                #expect(other["signsOut"] == .bool(false) && other["postLogoutRedirectUri"] == nil)
                var plain: JSONObject = [
                    "name": .string("plain"), "kind": .string("oauth2"), "issuer": .string("https://plain.example"),
                    "clientId": .string("countersign"), "tokenEndpointAuthMethod": .string("none"),
                    "authorizationEndpoint": .string("https://plain.example/a"),
                    "tokenEndpoint": .string("https://plain.example/t"),
                    "userinfoEndpoint": .string("https://plain.example/u"), "signsOut": .bool(true),
                ]
                let refused = try await client.send(.post, "/admin/v1/providers", plain)
                #expect(refused.response.status == .badRequest)
                #expect(refused.response.text.contains("A provider of OAuth 2.0 alone signs nobody out."))
                plain["signsOut"] = .bool(false)
                #expect(try await client.send(.post, "/admin/v1/providers", plain).response.status == .created)
                let changed = try await client.send(
                    .patch, "/admin/v1/providers/plain", ["signsOut": .bool(true)])
                #expect(changed.response.status == .badRequest)
                let wrong = try await client.send(.patch, path, ["signsOut": .string("yes")])
                #expect(wrong.response.status == .badRequest)
                let back = try await client.send(.patch, path, ["signsOut": .bool(false)]).object
                #expect(back["signsOut"] == .bool(false) && back["postLogoutRedirectUri"] == nil)
            }
            let trail = try await place.place.server.database.auditEntries(after: 0, limit: 99).map(\.event)
            #expect(trail.count { $0.detail == "logingov sign-out" } == 2)
            let out = try await Self.out(place, try await Self.web(place, by: "logingov"))
            #expect(out.status == .found && out.headers[.location] == Self.home)
        }
    }
}
