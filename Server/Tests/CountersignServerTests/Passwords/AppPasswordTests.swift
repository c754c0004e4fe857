import Accounts
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HummingbirdTesting
import JOSE
import OAuthProvider
import Records
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D1, D2, D3, F001 to F008: name and password in an operator's own app, at the real server")
struct AppPasswordTests {
    /// An app of the operator's, whose person alice has a password.
    private struct Scene: Sendable {
        let place: PasswordPlace
        let device: VirtualSignInDevice
        let configuration: SignInConfiguration

        func start() async throws -> SignIn {
            try await SignIn(
                self.configuration, platform: self.device.platform,
                transport: RouterTransport(client: self.place.client))
        }
    }

    private func withScene(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        try await PasswordPlace.run { place in
            let provider = place.server.assembly.provider
            let client = try await provider.clients.register(
                name: "Health", redirectURIs: ["com.example.health:/signed-in"],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"],
                    authenticationMethod: "none", signInMethods: ["password"])
            ).client
            _ = try await provider.clients.change(
                client.id, ClientChange(profile: ClientProfileChange(signsInDirectly: true)))
            let address = try #require(URL(string: "http://localhost:8080"))
            try await body(
                Scene(
                    place: place, device: VirtualSignInDevice(baseURL: address, clock: place.server.clock),
                    configuration: SignInConfiguration(
                        baseURL: address, clientID: client.id, redirectURI: "com.example.health:/signed-in")))
        }
    }

    @Test("alice types once, says yes, and signs in by her finger from then on")
    func signsIn() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            try await app.withPassword(username: "alice", password: PasswordPlace.password) { true }
            #expect(await app.isSignedIn)
            let next = try await scene.start()
            #expect(try next.kept == .guardedPassword)
            scene.device.sensor.feel(.match)
            try await next.withSavedPassword()
            #expect(await next.isSignedIn)
            let fields = try await next.authorization(method: "GET", url: scene.configuration.baseURL)
            #expect(fields.first?.value.hasPrefix("DPoP ") == true)
        }
    }

    @Test("each start with the finger leaves one session at the server, and a sign-out leaves none")
    func formerSession() async throws {
        try await self.withScene { scene in
            let provider = scene.place.server.assembly.provider
            let account = try await scene.place.server.assembly.directory.account(written: "alice").id
            try await scene.start().withPassword(username: "alice", password: PasswordPlace.password) { true }
            #expect(try await provider.sessions.running(ofAccount: account).count == 1)
            var app = try await scene.start()
            for _ in 0..<2 {
                app = try await scene.start()
                scene.device.sensor.feel(.match)
                try await app.withSavedPassword()
                #expect(try await provider.sessions.running(ofAccount: account).count == 1)
            }
            #expect(try await app.signOut())
            #expect(try await provider.sessions.running(ofAccount: account).isEmpty)
        }
    }

    @Test("a wrong password and an unknown name are one error, and nothing is saved of either")
    func refused() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            var errors: [String] = []
            for (name, password) in [("alice", "wrong"), ("nobody", PasswordPlace.password)] {
                do {
                    try await app.withPassword(username: name, password: password) { true }
                } catch { errors.append("\(error)") }
                #expect(scene.device.storage.snapshot["sign-in-credentials"] == nil)
            }
            #expect(errors.count == 2 && Set(errors).count == 1)
            #expect(errors.first?.contains("wrongCredentials") == true)
            #expect(try app.kept == .nothing)
        }
    }

    @Test("a saved password that the server takes no more is deleted, and the app asks for the new one")
    func changed() async throws {
        try await self.withScene { scene in
            let app = try await scene.start()
            try await app.withPassword(username: "alice", password: PasswordPlace.password) { true }
            try await scene.place.passwords.importHash(
                PasswordPlace.hash("another battery staple"), username: "alice", by: "test")
            let next = try await scene.start()
            scene.device.sensor.feel(.match)
            await #expect(throws: SignInError(.wrongCredentials)) { try await next.withSavedPassword() }
            #expect(try next.kept == .nothing)
            try await next.withPassword(username: "alice", password: "another battery staple")
            #expect(await next.isSignedIn)
        }
    }

    @Test("an app that is not the operator's own is told that its code is wrong, and no password is judged")
    func notOwn() async throws {
        try await self.withScene { scene in
            _ = try await scene.place.server.assembly.provider.clients.change(
                scene.configuration.clientID, ClientChange(profile: ClientProfileChange(signsInDirectly: false)))
            let app = try await scene.start()
            await #expect(throws: SignInError(.misconfigured)) {
                try await app.withPassword(username: "alice", password: PasswordPlace.password)
            }
        }
    }
}
