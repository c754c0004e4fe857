import Accounts
import AppSignIn
import Ceremony
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import JOSE
import OAuthProvider
import Passwords
import Records
import Synchronization
import Testing
import UAFClient
import _Primitives

/// The parts that the diagrams draw, each of them real, and all of them recording: the server, another provider that it sends
/// people to, an app with the SDK on a device with a storage and a sensor, a browser, and web views.
struct RecordedScene: Sendable {
    static let issuer = "https://api.va.example"

    /// By which of the server's two faces the app signs people in.
    enum Face: CaseIterable, Sendable { case signInService, openID }

    let place: AppSignIn
    let device: VirtualSignInDevice
    let recorders: RunRecorders
    let configuration: SignInConfiguration
    /// The operator's own app, which takes passwords.
    let passwords: SignInConfiguration
    let pages: PageViews
    private let way: Way
    private let other: any TestClientProtocol

    static func run(
        _ recorders: RunRecorders, face: Face = .signInService,
        _ body: @escaping @Sendable (RecordedScene) async throws -> Void
    ) async throws {
        let other = try await ServerFixture(issuer: TwoServers.upstream)
        try await Self.addPerson("pat", to: other)
        let registered = try await other.assembly.provider.clients.register(
            name: "The health service", redirectURIs: ["\(Self.issuer)/sign-in/provider/idme/callback"],
            settings: ClientSettings(idTokenAlgorithm: .es256, signInMethods: ["password"]))
        let secret = try #require(registered.secret)
        try await other.withPublicClient { upstream in
            let server = try await ServerFixture(
                issuer: Self.issuer, trace: recorders.server,
                calls: RouterCalls(client: upstream, origin: TwoServers.upstream),
                signInService: .init(issuer: "va.gov sign in", cookiePrefix: "vagov"))
            try await Self.addPerson("alice", to: server)
            let added = try await server.withSocketClient {
                try await $0.send(
                    .post, "/admin/v1/providers",
                    [
                        "name": .string("idme"), "title": .string("ID.me"), "issuer": .string(TwoServers.upstream),
                        "clientId": .string(registered.client.id), "clientSecret": .string(secret),
                        "newcomers": .string("created"),
                    ])
            }
            #expect(added.response.status == .created, "\(added.response.text)")
            try await server.withPublicClient { client in
                try await body(
                    try await RecordedScene(
                        AppSignIn(server: server, client: client), recorders, face: face, other: upstream))
            }
        }
    }

    private static func addPerson(_ name: String, to server: ServerFixture) async throws {
        _ = try await server.assembly.directory.create(
            username: name, displayName: "\(name.capitalized) Example",
            email: AccountEmail(address: "\(name)@post.example", isVerified: true), by: "test")
        try await PasswordDirectory(server.assembly.passwords).importHash(
            try await PasswordPlace.hash(PasswordPlace.password), username: name, by: "test")
    }

    private init(
        _ place: AppSignIn, _ recorders: RunRecorders, face: Face, other: any TestClientProtocol
    ) async throws {
        let address = try #require(URL(string: Self.issuer))
        let methods = ["provider:idme", "password"]
        self.place = place
        self.recorders = recorders
        self.way = Way(client: place.client, recorders: recorders)
        self.other = other
        self.device = VirtualSignInDevice(baseURL: address, clock: place.server.clock)
        self.pages = PageViews(self.device.webViews, way: self.way)
        try await place.register(AppSignIn.web, AppSignIn.webSettings, at: AppSignIn.webAddress, methods: methods)
        try await place.register(AppSignIn.app, AppSignIn.appSettings, at: AppSignIn.appAddress, methods: methods)
        var service = SignInConfiguration(
            baseURL: address, application: AppSignIn.app, redirectURI: AppSignIn.appAddress)
        service.webViews = WebViewSites(
            application: AppSignIn.web, hosts: ["api.va.example"], cookiePrefix: "vagov_")
        func register(_ name: String, at redirectURI: String, _ methods: [String]) async throws -> SignInConfiguration {
            let client = try await place.server.assembly.provider.clients.register(
                name: name, redirectURIs: [redirectURI],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"],
                    authenticationMethod: "none", signInMethods: methods)
            ).client
            return SignInConfiguration(baseURL: address, clientID: client.id, redirectURI: redirectURI)
        }
        self.passwords = try await register("Portal", at: "com.example.portal:/signed-in", ["password"])
        _ = try await place.server.assembly.provider.clients.change(
            self.passwords.clientID, ClientChange(profile: ClientProfileChange(signsInDirectly: true)))
        self.configuration =
            try await face == .signInService ? service : register("Health", at: "com.example.health:/in", methods)
        let visitor = self
        self.device.browser.onVisit { page, _ in
            recorders.pause()
            let visit = visitor.visit(page)
            let page = try await visit.isAsked(try await visit.goesAway(try await visit.opens()))
            return try await visit.goesBack(try await visit.answers(page))
        }
    }

    /// A process of the app; of the operator's own one where it is to take passwords.
    func start(
        _ configuration: SignInConfiguration? = nil, _ change: (inout SignInPlatform) -> Void = { _ in },
        transport: (any Transport)? = nil
    ) async throws -> SignIn {
        var platform = self.device.platform
        platform.webViews = self.pages
        change(&platform)
        return try await SignIn(
            configuration ?? self.configuration, platform: platform,
            transport: transport ?? self.transport, traceRecorder: self.recorders.app)
    }

    /// The app's way to the server.
    var transport: any Transport { RouterTransport(client: self.way) }

    /// A page that only who is signed in sees.
    var page: URL { get throws { try #require(URL(string: "\(Self.issuer)/v0/sign_in/introspect")) } }

    /// What the person does whose browser an app has opened.
    func visit(_ page: URL) -> Visit {
        Visit(
            page: page, here: TestBrowser(self.way),
            there: TestBrowser(RecordingProvider(way: Way(client: self.other, recorders: self.recorders))))
    }

    /// A way through the browser, step by step: each gives what the next one begins with.
    struct Visit: Sendable {
        let page: URL
        /// The one browser, as each of the two servers sees it.
        let here: TestBrowser
        let there: TestBrowser

        /// Opens the app's page, which asks by whom: the address of a choice.
        func opens() async throws -> String {
            let page = try await TwoServers.follow(
                self.here, try await self.here.get(self.page.absoluteString, headers: [.accept: "text/html"]),
                at: RecordedScene.issuer)
            return try page.attribute("href", of: "by-idme")
        }

        /// Chooses, and comes to where the other provider is.
        func goesAway(_ choice: String) async throws -> String {
            let away = try await TwoServers.follow(
                self.here, try await self.here.get(choice), at: RecordedScene.issuer)
            let location = try #require(away.headers[.location], "\(away.text)")
            #expect(location.hasPrefix(TwoServers.upstream + "/oauth2/authorize?"))
            return location
        }

        /// Opens the other provider's page, which asks who they are.
        func isAsked(_ location: String) async throws -> TestResponse {
            try await TwoServers.follow(self.there, try await self.there.get(location), at: TwoServers.upstream)
        }

        /// Says so: the address that leads back.
        func answers(_ page: TestResponse) async throws -> String {
            let request = try #require(TwoServers.field("request", page))
            let answer = try await self.there.post(
                "/sign-in/password",
                form: PasswordPlace.form(["request": request, "username": "pat", "password": PasswordPlace.password]))
            let left = try await TwoServers.follow(self.there, answer, at: TwoServers.upstream)
            return try #require(left.headers[.location], "\(left.text)")
        }

        /// Goes back to the server, agrees where the app is to be known, and so to the app: its address with the code.
        func goesBack(_ callback: String) async throws -> String? {
            var response = try await TwoServers.follow(
                self.here, try await self.here.get(callback), at: RecordedScene.issuer)
            if response.status == .ok, let confirmation = TwoServers.field("confirmation", response),
                let request = TwoServers.field("request", response)
            {
                response = try await TwoServers.follow(
                    self.here,
                    try await self.here.post(
                        "/sign-in/consent",
                        form: PasswordPlace.form([
                            "request": request, "confirmation": confirmation, "decision": "allow",
                        ])), at: RecordedScene.issuer)
            }
            return response.headers[.location]
        }
    }
}

/// Web views whose pages are requested at the server, with the cookies that the view has for them.
final class PageViews: WebViews, Sendable {
    private let views: VirtualWebViews
    private let way: Way
    private let statuses = Mutex<[Int]>([])

    init(_ views: VirtualWebViews, way: Way) {
        self.views = views
        self.way = way
    }

    /// What the server has answered to the pages so far.
    var answers: [Int] { self.statuses.withLock { $0 } }

    func makeView(displayTitle: String) async throws -> any SignInWebView {
        let view = try await self.views.makeView(displayTitle: displayTitle)
        return Page(view: try #require(view as? VirtualWebView), views: self)
    }

    func clear() async throws { try await self.views.clear() }

    private struct Page: SignInWebView {
        let view: VirtualWebView
        let views: PageViews

        func setCookie(_ cookie: WebViewCookie) async throws { try await self.view.setCookie(cookie) }
        func cookieNames(for url: URL) async throws -> [String] { try await self.view.cookieNames(for: url) }
        func clear() async throws { try await self.view.clear() }

        func load(_ url: URL, session: WebViewSession) async throws {
            try await self.view.load(url, session: session)
            let names = try await self.view.cookieNames(for: url)
            let cookies = self.view.cookies.filter { names.contains($0.name) }.map { "\($0.name)=\($0.value)" }
            var headers = HTTPFields()
            if !cookies.isEmpty { headers[.cookie] = cookies.joined(separator: "; ") }
            let response = try await self.views.way.executeRequest(
                uri: url.path(), method: .get, headers: headers, body: nil)
            self.views.statuses.withLock { $0.append(Int(response.status.code)) }
        }
    }
}
