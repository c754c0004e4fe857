import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import Testing
import UAFRelyingParty
import _Primitives

@Suite(
    "The app sign-in service: signing in by another provider, and how surely (rows F012 to F014, D4.5 and D4.8 of the parity table)"
)
struct AppSignInProviderTests {
    /// The app and the web site, whose people sign in by the other server of ours.
    private static func run(
        provider settings: JSONObject = [:], _ body: @escaping @Sendable (TwoServers, AppSignIn) async throws -> Void
    ) async throws {
        var provider: JSONObject = ["newcomers": .string("created")]
        for (name, value) in settings.members { provider[name] = value }
        try await TwoServers.run(settings: provider) { two async throws in
            let place = AppSignIn(server: two.server, client: two.client)
            var web = AppSignIn.webSettings
            web.levels.append(.init("loa3", needed: AssuranceLevel.twoFactor.rawValue))
            try await place.register(
                AppSignIn.app, AppSignIn.appSettings, at: AppSignIn.appAddress, methods: ["provider:staff"])
            try await place.register(AppSignIn.web, web, at: AppSignIn.webAddress, methods: ["provider:staff"])
            try await body(two, place)
        }
    }

    /// Begins a sign-in and follows it to where the browser leaves this server.
    private static func begin(
        _ two: TwoServers, _ place: AppSignIn, _ client: String, _ changes: [String: String?] = [:]
    ) async throws -> TestResponse {
        var asked: [String: String?] = ["type": "staff"]
        asked.merge(changes) { $1 }
        return try await TwoServers.follow(
            two.here, try await two.here.get(place.authorize(client, asked)), at: "http://127.0.0.1:8080")
    }

    @Test("the provider's name leads there at once, and back to the app with its code")
    func wholeWay() async throws {
        try await Self.run { two, place async throws in
            let away = try await Self.begin(two, place, AppSignIn.app)
            #expect(away.headers[.location]?.hasPrefix(TwoServers.upstream + "/oauth2/authorize?") == true)
            let back = try await two.signIn(away)
            #expect(back.headers[.location]?.hasPrefix(AppSignIn.appAddress + "?") == true)
            #expect(back.redirectParameters["type"] == "staff" && back.redirectParameters["state"] == AppSignIn.state)
            let tokens = try AppTokens(try await place.redeem(try #require(back.redirectParameters["code"])))
            let shown = try await place.get("introspect", headers: [.authorization: "Bearer \(tokens.access)"])
            let person = try shown.json.requiredObject("data").requiredObject("attributes")
            #expect(person["first_name"] == .string("Pat") && person["last_name"] == .string("Example"))
        }
    }

    @Test("what the provider has answered is taken once, in time, by the browser that began")
    func trips() async throws {
        try await Self.run { two, place async throws in
            func callback() async throws -> String {
                let away = try await Self.begin(two, place, AppSignIn.app)
                let page = try await two.otherPage(away)
                let request = try #require(TwoServers.field("request", page))
                let signedIn = try await two.there.post(
                    "/sign-in/password",
                    form: PasswordPlace.form(["request": request, "username": "pat", "password": TwoServers.password]))
                let left = try await TwoServers.follow(two.there, signedIn, at: TwoServers.upstream)
                two.there.forgetCookies()
                return try #require(left.headers[.location])
            }
            let first = try await callback()
            #expect(try await TestBrowser(two.client).get(first).status == .notFound, "another browser's")
            #expect(try await two.here.get(first).status == .seeOther)
            #expect(try await two.here.get(first).status == .notFound, "replayed")
            let late = try await callback()
            two.server.clock.advance(by: .seconds(60 * 60))
            #expect(try await two.here.get(late).status == .notFound, "an hour later")
        }
    }

    @Test(
        "each trip asks by the provider's words for the level, with a state of its own of which a digest is kept, and is over once",
        arguments: [
            ("idme", "loa3", "idme/loa/3_force", ["acr": .string("idme/loa/3")]),
            ("logingov", "ial2", "logingov/ial/2", ["acr": .string("logingov/ial/2")]),
            ("mhv", "loa3", "mhv/loa/1", ["mhv_account": .string("Premium")]),
        ] as [(String, String, String, JSONObject)])
    func oneTrip(provider: String, acr: String, sent: String, says: JSONObject) async throws {
        try await ProvidersPlace.run { place async throws in
            var states: Set<String> = []
            for client in ["app", "web"] {
                let away = try await place.begin(client, by: provider, acr)
                #expect(away.redirectParameters["acr_values"] == sent)
                let state = try #require(away.redirectParameters["state"])
                #expect(state.utf8.count >= 22)
                states.insert(state)
                let folder = place.place.server.folder
                let files = try FileManager.default.contentsOfDirectory(atPath: folder)
                #expect(!files.isEmpty)
                for file in files {
                    let bytes = FileManager.default.contents(atPath: "\(folder)/\(file)") ?? Data()
                    #expect(bytes.range(of: Data(state.utf8)) == nil, "\(file)")
                }
                // That something is kept of it is seen by its being taken, once.
                let back = try await place.comeBack(away, by: provider, says)
                #expect(back.redirectParameters["code"] != nil && back.redirectParameters["auth"] == nil)
                let again = try await place.comeBack(away, by: provider, says)
                #expect(again.status == .notFound && again.headers[.location] == nil, "replayed")
                let invented = try await place.browser.get("/sign-in/provider/\(provider)/callback?state=x&code=theirs")
                #expect(invented.status == .notFound)
            }
            #expect(states.count == 2)
        }
    }

    @Test("who comes less surely than the level needs is sent once more with the provider's own word for it")
    func secondTrip() async throws {
        let levels: JSON = .array([
            .object([
                "theirs": .string("urn:countersign:acr:two-factor"), "ours": .string("urn:countersign:acr:two-factor"),
            ])
        ])
        try await Self.run(provider: ["levels": levels]) { two, place async throws in
            let away = try await Self.begin(two, place, AppSignIn.app, ["acr": "loa3"])
            #expect(away.redirectParameters["acr_values"] == nil)
            let again = try await two.signIn(away)
            #expect(again.headers[.location]?.hasPrefix(TwoServers.upstream + "/oauth2/authorize?") == true)
            #expect(again.redirectParameters["acr_values"] == "urn:countersign:acr:two-factor")
            // Who asks for less is sent once.
            two.there.forgetCookies()
            let enough = try await two.signIn(try await Self.begin(two, place, AppSignIn.app, ["acr": "loa1"]))
            #expect(enough.redirectParameters["code"] != nil)
        }
    }

    @Test("who is not surely enough authenticated in the end is let in nowhere (row F012)")
    func blocked() async throws {
        try await Self.run { two, place async throws in
            let app = try await two.signIn(try await Self.begin(two, place, AppSignIn.app, ["acr": "loa3"]))
            #expect(app.status == .badRequest && app.headers[.location] == nil)
            #expect(app.errors == "The person cannot be authenticated as surely as the request asks.")
            two.there.forgetCookies()
            let web = try await two.signIn(try await Self.begin(two, place, AppSignIn.web, ["acr": "loa3"]))
            #expect(web.headers[.location]?.hasPrefix(AppSignIn.webAddress + "?") == true)
            #expect(web.redirectParameters["auth"] == "fail" && web.redirectParameters["code"] == "007")
        }
    }
}
