import Accounts
import CountersignServer
import CountersignTestKit
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

/// To lock an account ends what it has, so that nothing of it reaches a gate any more. Here nothing has ended: each gate
/// looks for itself.
@Suite("The app sign-in service: nobody whose account is locked passes a gate (row F049 of the parity table)")
struct AppSignInLockTests {
    private func lock(_ name: String, at place: AppSignIn) async throws {
        try FreshStore.lock(account: try await self.account(name, at: place), in: place.server.folder)
    }

    /// Locks alice's account when the store has taken her next password: the sign-in is not over yet.
    private func lockAliceOnceAuthenticated(at place: AppSignIn) async throws {
        let account = try await self.account("alice", at: place)
        place.server.hooks.atNext(.passwordAdvance, .after) { [folder = place.server.folder] in
            try FreshStore.lock(account: account, in: folder)
        }
    }

    private func account(_ name: String, at place: AppSignIn) async throws -> String {
        let accounts = try await place.server.database.accounts(after: nil, limit: 9)
        return try #require(accounts.first { $0.username?.text == name }).id
    }

    @Test("at login: who authenticates gets no code")
    func login() async throws {
        try await AppSignIn.run { place async throws in
            try await self.lockAliceOnceAuthenticated(at: place)
            let web = try await place.signedIn(AppSignIn.web)
            #expect(web.headers[.location]?.hasPrefix(AppSignIn.webAddress + "?") == true)
            #expect(web.redirectParameters["auth"] == "fail" && web.redirectParameters["code"] == "107")
            _ = try await place.server.assembly.directory.setLocked(false, username: "alice", by: "test")
            try await self.lockAliceOnceAuthenticated(at: place)
            let app = try await place.signedIn(AppSignIn.app)
            #expect(app.status == .badRequest && app.headers[.location] == nil && app.errors?.isEmpty == false)
            #expect(try await place.signedIn(AppSignIn.app, as: "bob").redirectParameters["code"] != nil)
        }
    }

    @Test("at login: a code that is there already is worth nothing")
    func code() async throws {
        try await AppSignIn.run { place async throws in
            let code = try await place.code(AppSignIn.app)
            let other = try await place.code(AppSignIn.app, as: "bob")
            try await self.lock("alice", at: place)
            let refused = try await place.redeem(code)
            #expect(refused.status == .badRequest && refused.errors == "The account cannot sign in.")
            #expect(try await place.redeem(other).status == .ok)
        }
    }

    @Test("at refresh: a session is not renewed")
    func refresh() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let others = try await place.appTokens(as: "bob")
            try await self.lock("alice", at: place)
            let refused = try await place.refresh(tokens.refresh)
            #expect(refused.status == .unauthorized && refused.errors == "The account cannot sign in.")
            #expect(try await place.refresh(others.refresh).status == .ok)
        }
    }

    @Test("at exchange: no session of the web is opened")
    func exchange() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let others = try await place.appTokens(as: "bob")
            try await self.lock("alice", at: place)
            let refused = try await place.post("token", AppSignIn.exchange(tokens))
            #expect(refused.status == .badRequest && refused.errors == "The session has ended.")
            #expect(refused.signInCookies.isEmpty)
            #expect(try await place.post("token", AppSignIn.exchange(others)).status == .ok)
        }
    }
}
