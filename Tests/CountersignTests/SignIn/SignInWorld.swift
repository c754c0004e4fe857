import Countersign
import CountersignTestKit
import Foundation
import Testing

/// An app, its device and its server, in one test.
struct SignInWorld: Sendable {
    let device: VirtualSignInDevice
    var configuration: SignInConfiguration

    /// The two faces, for tests that hold for both.
    enum Face: CaseIterable, Sendable { case openID, signInService }

    static let address = URL(string: "https://id.example.com")!

    init(
        _ face: Face = .openID, storage: InMemoryStorage = InMemoryStorage(), clock: FakeClock = FakeClock(),
        serverClock: FakeClock? = nil
    ) {
        self.device = VirtualSignInDevice(
            baseURL: Self.address, storage: storage, clock: clock, serverClock: serverClock)
        switch face {
        case .openID:
            self.configuration = SignInConfiguration(
                baseURL: Self.address, clientID: "health", redirectURI: "com.example.health:/signed-in")
            self.configuration.scopes.append("device_sso")
        case .signInService:
            self.configuration = SignInConfiguration(
                baseURL: Self.address, application: "health", redirectURI: "com.example.health:/signed-in")
        }
    }

    var server: VirtualSignInServer { self.device.server }

    /// The paths that the face renews and revokes at.
    var refreshPath: String { self.configuration.face == .openID ? "/oauth2/token" : "/v0/sign_in/refresh" }
    var tokenPath: String { self.configuration.face == .openID ? "/oauth2/token" : "/v0/sign_in/token" }

    /// A process of the app.
    func start() async throws -> SignIn { try await self.device.start(self.configuration) }

    /// A process whose person has signed in by the browser, and has said yes to finger or face.
    func signedIn() async throws -> SignIn {
        let app = try await self.start()
        try await app.withBrowser { true }
        return app
    }

    /// How many renewals the server has done.
    func renewals() async -> Int { await self.server.sessions.map(\.renewalCount).reduce(0, +) }

    /// Everything that lies on the device, as text.
    var stored: String {
        self.device.storage.snapshot.sorted { $0.key < $1.key }.map {
            "\($0.key)=\(String(decoding: $0.value, as: UTF8.self))"
        }.joined(separator: "\n")
    }
}

/// How something of a sign-in ended.
func signInError(_ body: () async throws -> Void) async -> SignInError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? SignInError)?.code
    }
}

/// Counts what a test's closures are called for.
actor Counter {
    private(set) var count = 0
    func add() { self.count += 1 }
}
