import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("The app sign-in service: the page that an app opens (row F010 of the parity table)")
struct AppSignInStartTests {
    private func addProviders(_ place: AppSignIn, _ names: [String]) async throws {
        for name in names {
            let added = try await place.server.withSocketClient {
                try await $0.send(
                    .post, "/admin/v1/providers",
                    [
                        "name": .string(name), "title": .string("People of \(name)"),
                        "issuer": .string("https://\(name).example"), "clientId": .string("countersign"),
                        "clientSecret": .string("a-secret-of-ours"),
                    ])
            }
            #expect(added.response.status == .created, "\(added.response.text)")
        }
    }

    private func page(
        _ place: AppSignIn, _ client: String, _ changes: [String: String?] = [:]
    ) async throws -> TestResponse {
        var values: [String: String?] = [
            "application": client, "oauth": "true", "code_challenge": place.challenge,
            "code_challenge_method": "S256", "scope": "device_sso", "state": AppSignIn.state,
        ]
        values.merge(changes) { $1 }
        return try await place.client.execute(
            uri: "/sign-in?\(AppSignIn.encoded(values))", method: .get, headers: [.accept: "text/html"])
    }

    private func shown(_ page: TestResponse) throws -> [String] {
        page.text.matches(of: try Regex("data-testid=\"by-([a-z]*)\"")).compactMap {
            $0.output[1].substring.map(String.init)
        }
    }

    @Test("it offers the ways of that client and no others, and each leads on as the app has asked")
    func offers() async throws {
        try await AppSignIn.run { place async throws in
            try await self.addProviders(place, ["idme", "logingov", "mhv"])
            try await place.register(
                "arp", AppSignIn.appSettings, at: "https://arp.example/in",
                methods: ["provider:idme", "provider:logingov", "provider:gone"])
            let page = try await self.page(place, "arp")
            #expect(page.status == .ok && page.headers[.cacheControl] == "no-store")
            #expect(try self.shown(page) == ["idme", "logingov"])
            #expect(page.text.contains("People of logingov") && !page.text.contains("data-testid=\"cancel\""))
            let app = try await self.page(place, AppSignIn.app)
            #expect(try self.shown(app) == ["password", "phone"])
            let browser = TestBrowser(place.client)
            let begun = try await browser.get(try app.attribute("href", of: "by-password"))
            let request = try #require(begun.redirectParameters["request"], "\(begun.text)")
            let signedIn = try await browser.post(
                "/sign-in/password",
                form: PasswordPlace.form(
                    ["request": request, "username": "alice", "password": PasswordPlace.password]))
            let done = try await TwoServers.follow(browser, signedIn, at: "http://localhost:8080")
            #expect(done.redirectParameters["state"] == AppSignIn.state)
            let tokens = try AppTokens(try await place.redeem(try #require(done.redirectParameters["code"])))
            #expect(tokens.deviceSecret != nil)
        }
    }

    @Test("a choice begins a sign-in by that way alone")
    func theWayAlone() async throws {
        try await AppSignIn.run { place async throws in
            let browser = TestBrowser(place.client)
            let begun = try await browser.get(place.authorize(AppSignIn.app, ["type": "phone"]))
            let page = try await browser.get(try #require(begun.headers[.location]))
            #expect(
                page.status == .ok && page.text.contains("data-testid=\"typed-code\""), "no question, a code at once")
            let request = try #require(begun.redirectParameters["request"])
            let shown = try await browser.post(
                "/sign-in/password",
                form: PasswordPlace.form(
                    ["request": request, "username": "alice", "password": PasswordPlace.password]))
            #expect(shown.status == .notFound, "nobody signs in by a password who has chosen the phone")
        }
    }

    @Test("an address that is not right is a page of 400, before anybody chooses")
    func refusals() async throws {
        try await AppSignIn.run { place async throws in
            for changes in [
                ["application": "nobody"], ["oauth": nil], ["oauth": "false"], ["code_challenge": nil],
                ["code_challenge": "x"], ["code_challenge_method": "plain"], ["scope": "openid"], ["state": "short"],
                ["acr": "ial2"], ["operation": "x"],
            ] as [[String: String?]] {
                let page = try await self.page(place, AppSignIn.app, changes)
                #expect(page.status == .badRequest, "\(changes)")
                #expect(page.headers[.contentType]?.hasPrefix("text/html") == true)
                #expect(try self.shown(page).isEmpty)
            }
            #expect(try await self.page(place, AppSignIn.app, ["acr": "loa3"]).status == .ok)
        }
        let server = try await ServerFixture()
        try await server.withPublicClient { client async throws in
            let place = AppSignIn(server: server, client: client)
            let page = try await self.page(place, AppSignIn.app)
            #expect(page.status != .ok, "without a client there is no such page")
        }
    }
}
