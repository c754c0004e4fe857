import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import JOSE
import OAuthProvider
import Records
import Synchronization
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D4, D5, F031, F032, F097, F116: an app with the SDK at the real server")
struct AppSignInTests {
    private static let grants = [
        "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange",
    ]

    /// A transport whose answers can be lost, after the server has done its work.
    private final class Lossy: Transport {
        private let router: RouterTransport
        private let losses = Mutex(0)
        private let seen = Mutex<[String]>([])

        init(_ client: any TestClientProtocol) { self.router = RouterTransport(client: client) }

        func lose(_ count: Int) { self.losses.withLock { $0 = count } }
        /// The paths that were asked for.
        var paths: [String] { self.seen.withLock { $0 } }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            self.seen.withLock { $0.append(request.url.path()) }
            let answer = try await self.router.send(request)
            let isLost = self.losses.withLock { losses in
                guard losses > 0, answer.status == 200 else { return false }
                losses -= 1
                return true
            }
            if isLost { throw TransportError(.unreachable, "lost") }
            return answer
        }
    }

    /// A server with an app and its person, who signs in by the phone in a browser.
    private struct Scene: Sendable {
        let server: ServerFixture
        let transport: Lossy
        let device: VirtualSignInDevice
        let configuration: SignInConfiguration

        init(_ server: ServerFixture, _ client: any TestClientProtocol, phone: VirtualPhone) async throws {
            self.server = server
            self.transport = Lossy(client)
            self.device = try VirtualSignInDevice(
                baseURL: #require(URL(string: "http://localhost:8080")), clock: server.clock,
                sharedStorage: InMemoryStorage())
            self.configuration = try await Self.register("health", server)
            self.device.browser.onVisit { page, _ in
                let browser = TestBrowser(client)
                let authorize = try await browser.get(page.absoluteString)
                let request = try #require(authorize.redirectParameters["request"])
                let open = try await browser.get(try #require(authorize.headers[.location]))
                _ = try await phone.authenticate(try server.typedPayload(open))
                return try await browser.get("/sign-in/complete?request=\(request)").headers[.location]
            }
        }

        /// An app of the maker's, as the server knows it.
        static func register(_ name: String, _ server: ServerFixture) async throws -> SignInConfiguration {
            let address = "com.example.\(name):/signed-in"
            let client = try await server.assembly.provider.clients.register(
                name: name, redirectURIs: [address],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: AppSignInTests.grants, authenticationMethod: "none",
                    tokens: TokenSettings(group: "makers-apps"))
            ).client
            var configuration = SignInConfiguration(
                baseURL: try #require(URL(string: "http://localhost:8080")), clientID: client.id, redirectURI: address)
            configuration.scopes.append("device_sso")
            return configuration
        }

        /// A process of the app.
        func start() async throws -> SignIn {
            try await SignIn(self.configuration, platform: self.device.platform, transport: self.transport)
        }

        /// What the person's page at the server says to the app.
        func userinfo(_ app: SignIn) async throws -> Int {
            let url = try #require(URL(string: "http://localhost:8080/oauth2/userinfo"))
            var request = TransportRequest(
                method: "GET", url: url, headers: try await app.authorization(method: "GET", url: url), body: [],
                timeout: .seconds(5))
            request.headers.append(("Accept", "application/json"))
            return try await self.transport.send(request).status
        }
    }

    private func withScene(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            try await body(try await Scene(server, client, phone: phone))
        }
    }

    @Test("the person signs in by the browser, comes back by finger, and the token is bound to the device")
    func signsIn() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            try await app.withBrowser { true }
            #expect(try await scene.userinfo(app) == 200)
            #expect(try app.kept == .guardedSession)
            let fields = try await app.authorization(method: "GET", url: scene.configuration.baseURL)
            #expect(fields.first?.value.hasPrefix("DPoP ") == true && fields.last?.name == "DPoP")
            let next = try await scene.start()
            scene.device.sensor.feel(.match)
            try await next.restore()
            #expect(try await scene.userinfo(next) == 200)
        }
    }

    @Test("killed after each step of a renewal, or with its answer lost, the app comes back a day later")
    func killed() async throws {
        try await self.withScene { scene in
            try await scene.start().withBrowser { true }
            for step in 0..<4 {
                let app = try await scene.start()
                scene.device.sensor.feel(.match, .match)
                if step == 0 { scene.transport.lose(1) }
                scene.device.storage.interrupt(afterWrites: step)
                try? await app.restore()
                scene.device.storage.interruptAfterWrite(nil)
                scene.server.clock.advance(by: .seconds(86_400))
                let next = try await scene.start()
                try await next.restore()
                #expect(try await scene.userinfo(next) == 200, "step \(step)")
            }
        }
    }

    @Test("twenty callers share one renewal, and two processes follow each other")
    func oneRenewal() async throws {
        try await self.withScene { scene in
            try await scene.start().withBrowser { true }
            let app = try await scene.start()
            scene.device.sensor.feel(.match)
            for _ in 1..<20 { scene.device.sensor.feel(.cancelled) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 { group.addTask { try await app.restore() } }
                try await group.waitForAll()
            }
            #expect(scene.device.sensor.readingCount == 1)
            let before = scene.transport.paths.count
            scene.server.clock.advance(by: .seconds(600))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask { _ = try await app.authorization(method: "GET", url: scene.configuration.baseURL) }
                }
                try await group.waitForAll()
            }
            // One more where the server's nonce has changed meanwhile.
            #expect((1...2).contains(scene.transport.paths.count - before))
            #expect(try await scene.userinfo(app) == 200)
        }
    }

    @Test("who signs out is signed out at the server: what was kept before opens nothing")
    func signsOut() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            try await app.withBrowser { true }
            let copy = InMemoryStorage(scene.device.storage.snapshot)
            #expect(try await app.signOut())
            #expect(Set(scene.device.storage.snapshot.keys) == ["sign-in-choice"])
            var platform = scene.device.platform
            platform.storage = copy
            platform.biometricKeys = SensorGuardedKeys(storage: copy, sensor: scene.device.sensor)
            let old = try await SignIn(scene.configuration, platform: platform, transport: scene.transport)
            #expect(try old.kept == .guardedSession)
            scene.device.sensor.feel(.match)
            await #expect(throws: SignInError(.sessionEnded)) { try await old.restore() }
        }
    }

    @Test("after the grant's last day nothing comes back, whatever the device says of the time")
    func lastDay() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            try await app.withBrowser { true }
            scene.server.clock.advance(by: .seconds(86_400 * 46))
            let next = try await scene.start()
            scene.device.sensor.feel(.match)
            await #expect(throws: SignInError(.sessionEnded)) { try await next.restore() }
            #expect(try next.kept == .nothing)
        }
    }

    @Test("a second app of the maker's signs in by the first, and not any more when that has signed out")
    func group() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            try await app.withBrowser()
            let configuration = try await Scene.register("travel", scene.server)
            var platform = scene.device.platform
            platform.storage = InMemoryStorage()
            platform.webAuthentication = nil
            let second = try await SignIn(configuration, platform: platform, transport: scene.transport)
            #expect(try second.canUseGroup)
            try await second.withGroup()
            #expect(try await scene.userinfo(second) == 200)
            let shared = try #require(scene.device.sharedStorage).snapshot
            #expect(try await app.signOut())
            #expect(try !second.canUseGroup)
            // A copy of what was there opens nothing either.
            platform.sharedStorage = InMemoryStorage(shared)
            platform.storage = InMemoryStorage()
            let third = try await SignIn(configuration, platform: platform, transport: scene.transport)
            await #expect(throws: SignInError(.sessionEnded)) { try await third.withGroup() }
        }
    }
}
