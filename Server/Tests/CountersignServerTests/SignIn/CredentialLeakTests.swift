import Accounts
import Ceremony
import Countersign
import CountersignLinux
import CountersignServer
import CountersignTestKit
import Foundation
import Hummingbird
import HummingbirdTesting
import JOSE
import Logging
import OAuthProvider
import Records
import Synchronization
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in F002: no secret of a sign-in is in a file, in a line of a log or in an address")
struct CredentialLeakTests {
    private static let issuer = "https://api.va.example"

    /// A transport whose network can be gone.
    private final class Network: Transport {
        private let router: RouterTransport
        private let isGone = Mutex(false)

        init(_ client: any TestClientProtocol) { self.router = RouterTransport(client: client) }

        func lose(_ isGone: Bool) { self.isGone.withLock { $0 = isGone } }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            guard !self.isGone.withLock({ $0 }) else { throw TransportError(.unreachable, "no network") }
            return try await self.router.send(request)
        }
    }

    /// A server that says all it can, and a device that keeps in files: what they write is in one folder.
    private struct Scene: Sendable {
        let place: AppSignIn
        let watched: WatchedClient
        let network: Network
        let lines: LoggedLines
        let folder: String
        let trace: TraceRecorder
        let device: VirtualSignInDevice

        /// A process of an app, which has a folder of its own, as it is configured.
        func start(_ configuration: SignInConfiguration, in name: String = "app") async throws -> SignIn {
            let storage = try AppFileStorage(directory: "\(self.folder)/\(name)")
            var platform = self.device.platform
            platform.storage = storage
            platform.biometricKeys = SensorGuardedKeys(storage: storage, sensor: self.device.sensor)
            platform.installation = FileInstallationMark(path: "\(self.folder)/\(name)-installed")
            platform.sharedStorage = try AppFileStorage(directory: "\(self.folder)/shared")
            platform.random = self.watched.secrets.noting(.system)
            return try await SignIn(
                configuration, platform: platform, transport: self.network, traceRecorder: self.trace)
        }

        /// An app of the server's operator at the OpenID face.
        func register(_ name: String) async throws -> SignInConfiguration {
            let address = "com.example.\(name):/signed-in"
            let provider = self.place.server.assembly.provider
            let client = try await provider.clients.register(
                name: name, redirectURIs: [address],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256,
                    grantTypes: [
                        "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange",
                    ],
                    authenticationMethod: "none", tokens: TokenSettings(group: "makers-apps"),
                    signInMethods: ["password"])
            ).client
            _ = try await provider.clients.change(
                client.id, ClientChange(profile: ClientProfileChange(signsInDirectly: true)))
            var configuration = SignInConfiguration(
                baseURL: try #require(URL(string: CredentialLeakTests.issuer)), clientID: client.id,
                redirectURI: address)
            configuration.scopes.append("device_sso")
            return configuration
        }

        /// Alice signs in by her password on the page that an app opens.
        func signInOnPages() {
            self.device.browser.onVisit { page, _ in
                let browser = TestBrowser(self.watched)
                var begun = try await browser.get(page.absoluteString, headers: [.accept: "text/html"])
                if begun.status == .ok { begun = try await browser.get(try begun.attribute("href", of: "by-password")) }
                let request = try #require(begun.redirectParameters["request"], "\(begun.text)")
                let signedIn = try await browser.post(
                    "/sign-in/password",
                    form: PasswordPlace.form(
                        ["request": request, "username": "alice", "password": PasswordPlace.password]))
                return try await TwoServers.follow(browser, signedIn, at: CredentialLeakTests.issuer)
                    .headers[.location]
            }
        }

        /// Looks for everything secret so far in everything that was written so far.
        func search(_ moment: String) throws {
            let finder = SecretFinder(self.watched.secrets)
            // By these a client knows its own request again: the server gives them back, in the address that the browser
            // brought them in and in the ID token, and they are worth nothing to anybody else.
            let bindings = SecretFinder(self.watched.secrets, allowing: ["state", "nonce"])
            try finder.search(folder: self.folder, moment)
            try bindings.search(folder: self.place.server.folder, moment)
            finder.search(log: self.lines, moment)
            for address in self.watched.addresses {
                let found = bindings.names(in: Array(address.utf8))
                #expect(found.isEmpty, "\(moment): an address has \(found.sorted()): \(address)")
            }
        }
    }

    private func withScene(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/leaks-\(RandomSource.system.token())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let lines = LoggedLines()
        let logger = lines.logger
        let trace = try TraceRecorder(path: "\(folder)/server-trace")
        let phoneTrace = try TraceRecorder(path: "\(folder)/app-trace")
        try await AppSignIn.run(issuer: Self.issuer, trace: trace, logger: logger) { place in
            let watched = WatchedClient(place.client)
            watched.secrets.note(PasswordPlace.password, as: "password")
            let address = try #require(URL(string: Self.issuer))
            let scene = Scene(
                place: AppSignIn(server: place.server, client: watched), watched: watched, network: Network(watched),
                lines: lines, folder: folder, trace: phoneTrace,
                device: VirtualSignInDevice(baseURL: address, clock: place.server.clock))
            scene.signInOnPages()
            try await body(scene)
            #expect(
                lines.all.count >= 10 && FileManager.default.contents(atPath: "\(folder)/app-trace")?.isEmpty == false)
        }
    }

    @Test("name and password in an app: typed wrongly, saved, opened by a finger, refused later")
    func passwords() async throws {
        try await self.withScene { scene in
            let configuration = try await scene.register("health")
            let app = try await scene.start(configuration)
            await #expect(throws: SignInError(.wrongCredentials)) {
                try await app.withPassword(username: "alice", password: "what she has elsewhere") { true }
            }
            try scene.search("refused")
            try await app.withPassword(username: "alice", password: PasswordPlace.password) { true }
            try scene.search("saved")
            let next = try await scene.start(configuration)
            scene.device.sensor.feel(.match)
            try await next.withSavedPassword()
            _ = try await next.authorization(method: "GET", url: configuration.baseURL)
            try scene.search("opened")
            #expect(try await next.signOut())
            try scene.search("signed out")
            #expect(
                scene.watched.secrets.names.isSuperset(of: [
                    "password", "authorization_code", "code_verifier", "access_token", "refresh_token", "id_token",
                    "device_secret", "proof", "random",
                ]))
        }
    }

    @Test("the browser, the finger, another app of the maker's, and a sign-out without a network")
    func browser() async throws {
        try await self.withScene { scene in
            let configuration = try await scene.register("health")
            let app = try await scene.start(configuration)
            try await app.withBrowser { true }
            try scene.search("signed in")
            let next = try await scene.start(configuration)
            scene.device.sensor.feel(.match)
            try await next.restore()
            try scene.search("restored")
            let other = try await scene.start(try await scene.register("travel"), in: "other")
            try await other.withGroup()
            try scene.search("joined")
            scene.network.lose(true)
            #expect(try await !next.signOut())
            try scene.search("signed out without a network")
            scene.network.lose(false)
            try await next.sendOrders()
            try scene.search("told")
            #expect(
                scene.watched.secrets.names.isSuperset(of: [
                    "code", "state", "nonce", "refresh_token", "device_secret", "actor_token", "subject_token", "token",
                ]))
        }
    }

    @Test("the sign-in service: the page, the finger, web views with cookies, and a sign-out")
    func signInService() async throws {
        try await self.withScene { scene in
            var configuration = SignInConfiguration(
                baseURL: try #require(URL(string: Self.issuer)), application: AppSignIn.app,
                redirectURI: AppSignIn.appAddress)
            configuration.webViews = WebViewSites(
                application: AppSignIn.web, hosts: ["api.va.example"], cookiePrefix: "vagov_")
            try await scene.start(configuration).withBrowser { true }
            let app = try await scene.start(configuration)
            scene.device.sensor.feel(.match)
            try await app.restore()
            try scene.search("restored")
            let page = try #require(URL(string: "\(Self.issuer)/v0/sign_in/introspect"))
            let opened = try await app.webView(page, displayTitle: "Records", useSSO: true)
            #expect(opened.isSignedIn)
            let cookies = try #require(scene.device.webViews.views.last).cookies
            let sent = Dictionary(cookies.map { ($0.name, $0.value) }) { $1 }
            #expect(try await scene.place.get("introspect", cookies: sent).status == .ok)
            try scene.search("opened a page")
            #expect(try await app.signOut())
            try scene.search("signed out")
            #expect(
                scene.watched.secrets.names.isSuperset(of: [
                    "code", "code_verifier", "access_token", "refresh_token", "device_secret", "vagov_access_token",
                    "vagov_refresh_token", "vagov_anti_csrf_token",
                ]))
        }
    }

    @Test("what is looked for is found in every form in which it could stand somewhere")
    func finder() {
        let secrets = SecretsSeen()
        let token = "Zm9vYmFyYmF6cXV4_-8xMjM0NTY3ODk"
        secrets.note("correct horse?>", as: "password")
        secrets.note(token, as: "token")
        secrets.note("public-client", as: "client_id")
        let finder = SecretFinder(secrets)
        let raw = Base64URL.decode(token) ?? []
        func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02X", $0) }.joined() }
        for before in ["", "a", "ab", "abc"] {
            for (bytes, name) in [
                (Array("correct horse?>".utf8), "password"), (Array(token.utf8), "token"), (raw, "token"),
            ] {
                let around = Array(before.utf8) + bytes + Array("z".utf8)
                let forms = [
                    around, Array(hex(around).utf8), Array(hex(around).lowercased().utf8),
                    Array(Data(around).base64EncodedString().utf8), Array(Base64URL.encode(around).utf8),
                ]
                for form in forms { #expect(finder.names(in: form) == [name]) }
                #expect(finder.names(in: Array(around.prefix(around.count / 2))) == [], "a part is not the value")
            }
        }
        #expect(finder.names(in: Array("p=correct%20horse?>".utf8)) == ["password"])
        #expect(finder.names(in: Array("p=correct+horse?>".utf8)) == ["password"])
        #expect(finder.names(in: Array("public-client".utf8)) == [])
    }
}
