import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAFClient

@MainActor
@Suite("Parity sign-in D1.4 and D2.7: what the person sees when the server has answered")
struct PasswordFormTests {
    private static let password = "lantern street 9"
    private let world: SignInWorld

    init() async {
        self.world = SignInWorld()
        await self.world.server.addAccount("alice", password: Self.password)
    }

    /// The fields with something in them.
    private func form(of username: String = "alice", _ password: String) async throws -> PasswordForm {
        let form = PasswordForm(try await self.world.start())
        form.username = username
        form.password = password
        return form
    }

    @Test("signed in, with an empty field for the password", arguments: [false, true])
    func signedIn(wantsFinger: Bool) async throws {
        let form = try await self.form(Self.password)
        await form.submit { wantsFinger }
        guard case .signedIn = form.state else { throw form.state.unexpected }
        #expect(form.message == nil)
        #expect(form.password.isEmpty && form.username == "alice")
        #expect(!form.canSubmit)
    }

    @Test("an error in words, with an empty field for the password", arguments: [false, true])
    func refused(wantsFinger: Bool) async throws {
        for username in ["alice", "nobody"] {
            let form = try await self.form(of: username, "wrong")
            await form.submit { wantsFinger }
            guard case .failed(let error as SignInError) = form.state else { throw form.state.unexpected }
            #expect(error.code == .wrongCredentials)
            #expect(form.message == "The name or the password is wrong. Type both again.")
            #expect(form.password.isEmpty && form.username == username)
        }
    }

    @Test("a server that does not answer is an error in words, too")
    func noNetwork() async throws {
        let form = try await self.form(Self.password)
        await self.world.server.reachable(false)
        await form.submit()
        #expect(form.message == "The server does not answer. Try again.")
        #expect(form.password.isEmpty)
        // The same fields can be used again.
        await self.world.server.reachable(true)
        form.password = Self.password
        await form.submit()
        guard case .signedIn = form.state else { throw form.state.unexpected }
    }

    @Test("who gives up is told nothing, and types anew")
    func cancelled() async throws {
        await self.world.server.addAccount("bob", password: Self.password, otp: "123456")
        let form = try await self.form(of: "bob", Self.password)
        await form.submit(secondFactor: { _ in nil })
        guard case .typing = form.state else { throw form.state.unexpected }
        #expect(form.message == nil && form.password.isEmpty)
    }

    @Test("the button does nothing while a field is empty")
    func empty() async throws {
        for (username, password) in [("", ""), ("alice", ""), ("", Self.password)] {
            let form = try await self.form(of: username, password)
            #expect(!form.canSubmit)
            await form.submit()
            guard case .typing = form.state else { throw form.state.unexpected }
            #expect(form.password == password)
        }
        #expect(try await self.form(Self.password).canSubmit)
        #expect(await self.world.server.requests.isEmpty)
    }

    @Test("the button does nothing while the server is asked")
    func once() async throws {
        let form = try await self.form(Self.password)
        await form.submit {
            // The question comes in the midst of it.
            let isThere = await form.canSubmit
            await form.submit()
            return isThere
        }
        guard case .signedIn = form.state else { throw form.state.unexpected }
        // What was answered says whether the button was there to be pressed.
        #expect(try await self.world.start().kept == .nothing)
    }
}

extension PasswordForm.State {
    /// What it is, for a test that wants another.
    fileprivate var unexpected: SignInError { SignInError(.protocolError, "\(self)") }
}
