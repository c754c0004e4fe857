import Countersign
import CountersignTestKit
import Foundation
import OAuth
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in F116: the apps of one maker sign in by each other")
struct GroupTests {
    private let shared = InMemoryStorage()
    private let server = VirtualSignInServer(baseURL: SignInWorld.address)

    /// An app of its own on the device, which shares what the maker's apps share.
    private func app(_ id: String) async throws -> (signIn: SignIn, device: VirtualSignInDevice) {
        let device = VirtualSignInDevice(baseURL: SignInWorld.address, sharedStorage: self.shared)
        let server = self.server
        device.browser.onVisit { try await server.signedIn($0, $1) }
        var configuration = SignInConfiguration(
            baseURL: SignInWorld.address, clientID: id, redirectURI: "com.example.\(id):/signed-in")
        configuration.scopes.append("device_sso")
        return (try await SignIn(configuration, platform: device.platform, transport: self.server), device)
    }

    @Test("the second app signs in by what the first has left, and nobody is asked to type")
    func signsIn() async throws {
        let first = try await self.app("health")
        let second = try await self.app("travel")
        #expect(try !second.signIn.canUseGroup)
        #expect(await signInError { try await second.signIn.withGroup() } == .notSignedIn)
        try await first.signIn.withBrowser()
        #expect(try second.signIn.canUseGroup)
        try await second.signIn.withGroup { true }
        #expect(await second.signIn.isSignedIn)
        #expect(second.device.browser.opened.isEmpty)
        #expect(try second.signIn.kept == .guardedSession)
        let last = try #require(await self.server.requests.last)
        let form = try Parameters(parsing: String(decoding: last.body, as: UTF8.self))
        #expect(form["client_id"] == "travel" && form["audience"] == "https://id.example.com")
        #expect(form["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token")
        #expect(form["actor_token_type"] == "urn:openid:params:token-type:device-secret")
        #expect(form["actor_token"] == (await self.server.sessions.first?.deviceSecret))
    }

    @Test("an app that signs out leaves nothing for the others")
    func signOut() async throws {
        let first = try await self.app("health")
        let second = try await self.app("travel")
        try await first.signIn.withBrowser()
        try await first.signIn.signOut()
        #expect(self.shared.snapshot.isEmpty)
        #expect(try !second.signIn.canUseGroup)
    }

    @Test("an app that signed in by another one's takes nothing along when it signs out")
    func joinedSignOut() async throws {
        let first = try await self.app("health")
        let second = try await self.app("travel")
        try await first.signIn.withBrowser()
        try await second.signIn.withGroup()
        #expect(await self.server.sessions.map { $0.deviceSecret == nil } == [false, true])
        #expect(try await second.signIn.signOut())
        #expect(await self.server.sessions.map(\.isActive) == [true, false])
        #expect(try second.signIn.canUseGroup)
        try await second.signIn.withGroup()
        #expect(await second.signIn.isSignedIn)
    }

    @Test("what the server takes no more is deleted, and what it cannot answer is not")
    func refused() async throws {
        let first = try await self.app("health")
        let second = try await self.app("travel")
        try await first.signIn.withBrowser()
        await self.server.reachable(false)
        #expect(await signInError { try await second.signIn.withGroup() } == .networkError)
        #expect(try second.signIn.canUseGroup)
        await self.server.reachable(true)
        for (word, code) in [
            ("invalid_scope", SignInError.Code.browserNeeded), ("unauthorized_client", .misconfigured),
            ("invalid_target", .refused),
        ] {
            await self.server.intercept { _ in
                TransportResponse(status: 400, headers: [], body: Array(#"{"error":"\#(word)"}"#.utf8))
            }
            #expect(await signInError { try await second.signIn.withGroup() } == code)
            #expect(try second.signIn.canUseGroup)
        }
        await self.server.intercept(nil)
        await self.server.end(try #require(await self.server.sessions.first).id)
        #expect(await signInError { try await second.signIn.withGroup() } == .sessionEnded)
        #expect(try !second.signIn.canUseGroup)
    }
}
