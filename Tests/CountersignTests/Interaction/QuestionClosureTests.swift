import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAF
import UAFClient

@Suite("Operations parity 92: every screen of an app can be an async closure", .overEachKeyAbility)
struct QuestionClosureTests {
    /// What the closures were asked.
    private final class Asked: Sendable {
        private let words = Mutex<[String]>([])
        var all: [String] { self.words.withLock { $0 } }
        func note(_ word: String) { self.words.withLock { $0.append(word) } }

        /// Notes the question, and returns its number among the questions of that name.
        func count(_ word: String) -> Int {
            self.words.withLock { words in
                words.append(word)
                return words.count { $0 == word }
            }
        }
    }

    private static let models: [AuthenticatorModel] = [
        World.pin, World.password, World.fingerprint, World.face, World.passcode,
    ]

    @Sendable private static func firstCompliant(_ context: AuthenticatorSelectionContext) async -> Aaid? {
        await Task.yield()
        return context.authenticators.first { context.isPolicyCompliant(authenticatorAaid: $0.aaid) }?.aaid
    }

    /// Registers with closures alone.
    private func register(_ model: AuthenticatorModel, _ asked: Asked, _ world: World) async throws {
        let registration = try await world.registration(
            try await world.server.registration(for: "alice", policy: World.policy([[model]])))
        _ =
            try await registration.deviceInformation(DeviceInformation(name: "Phone"))
            .authenticatorSelector(Self.firstCompliant)
            .pinEnroller(policy: PinPolicy(minLength: 4, maxLength: 4)) { context in
                asked.note("new PIN after \(context.lastRecoverableError.map { "\($0)" } ?? "nothing")")
                return context.lastRecoverableError == nil ? "135790" : "8642"
            }
            .passwordEnroller(policy: PasswordLengthPolicy(minLength: 12)) { context in
                asked.note("new password of \(context.username)")
                return context.lastRecoverableError == nil ? "lantern" : "lantern street 9"
            }
            .fingerprintUserVerifier { _ in asked.count("finger") > 0 }
            .biometricUserVerifier { _ in asked.count("face") > 0 ? SystemPrompt(reason: "Enrol") : nil }
            .devicePasscodeUserVerifier { _ in asked.count("passcode") > 0 ? SystemPrompt() : nil }
            .execute()
    }

    private func match(_ world: World) {
        world.phone.sensor.feel(.match)
        world.phone.camera.feel(.match)
        world.phone.passcode.answer(.match)
    }

    /// An authentication whose questions are closures. `givesUp` names the question at which the person gives up.
    private func authentication(_ asked: Asked, _ world: World, givesUp: String = "") async throws
        -> OutOfBandAuthentication
    {
        let operation = try await world.operation(
            try await world.server.authentication(
                transaction: [text("Pay 5")],
                requester: ReturnUAFRequest.Requester(service: "Bank", browserID: "browser")))
        @Sendable func goesOn(_ question: String) -> Bool {
            asked.note(question)
            return question != givesUp
        }
        return
            operation
            .accountSelector { context in goesOn("account") ? context.accounts[0].username : nil }
            .requesterVerifier { context in context.requester.service == "Bank" && goesOn("browser") }
            .transactionConfirmer { context in
                goesOn("content") && context.transactionConfirmationData == Data("Pay 5".utf8)
            }
            .authenticatorSelector { context in goesOn("authenticator") ? await Self.firstCompliant(context) : nil }
            .pinUserVerifier { context in
                goesOn("pin") ? (context.lastRecoverableError == nil ? "0000" : "8642") : nil
            }
            .passwordUserVerifier { _ in goesOn("password") ? "lantern street 9" : nil }
            .fingerprintUserVerifier { _ in goesOn("finger") }
            .biometricUserVerifier { _ in goesOn("face") ? SystemPrompt(reason: "Sign in") : nil }
            .devicePasscodeUserVerifier { _ in goesOn("passcode") ? SystemPrompt(reason: "Sign in") : nil }
    }

    @Test("closures register and authenticate, and are asked again with the reason", arguments: models)
    func success(model: AuthenticatorModel) async throws {
        let world = try await World()
        let asked = Asked()
        self.match(world)
        try await self.register(model, asked, world)
        let enrolment: [String] =
            switch model.factor {
            case .pin: ["new PIN after nothing", "new PIN after invalidPinFormat"]
            case .password: ["new password of alice", "new password of alice"]
            default: [Self.question(model)]
            }
        #expect(asked.all == enrolment)
        self.match(world)
        let answers = Asked()
        _ = try await self.authentication(answers, world).execute()
        let questions = ["account", "browser", "content", "authenticator", Self.question(model)]
        #expect(answers.all == questions + (model == World.pin ? ["pin"] : []))
        #expect(await world.server.accepted.last?.assertions.map(\.aaid) == [model.aaid])
        #expect(world.phone.person.asked.isEmpty)
    }

    @Test("a closure that gives nothing gives up, and the server is told", arguments: models)
    func givesUp(model: AuthenticatorModel) async throws {
        for question in ["account", "browser", "content", "authenticator", Self.question(model)] {
            let world = try await World()
            self.match(world)
            try await self.register(model, Asked(), world)
            let asked = Asked()
            let operation = try await self.authentication(asked, world, givesUp: question)
            #expect(await operationError { _ = try await operation.execute() } == .fido(.userCanceled), "\(question)")
            #expect(asked.all.last == question)
            #expect(await world.server.clientErrorCodes == [3])
        }
    }

    @Test("a closure that gives no new PIN or password leaves nothing", arguments: [World.pin, World.password])
    func noEnrolment(model: AuthenticatorModel) async throws {
        let world = try await World()
        let registration = try await world.registration(
            try await world.server.registration(for: "alice", policy: World.policy([[model]])))
        let operation = registration.deviceInformation(DeviceInformation(name: "Phone"))
            .authenticatorSelector(Self.firstCompliant).pinEnroller { _ in nil }.passwordEnroller { _ in nil }
        #expect(await operationError { _ = try await operation.execute() } == .fido(.userCanceled))
        #expect(await world.isEmpty())
    }

    @Test("closures change a PIN and a password by their policies, or give up")
    func changes() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.pin])
        try await world.enroll("bob", [World.password])
        let operations = world.phone.client.operations
        let asked = Asked()
        try await operations.pinChange.username("alice")
            .pinChanger(policy: PinPolicy(rules: PinRule.simple)) { context in
                asked.note(context.lastRecoverableError.map { "\($0)" } ?? "PIN")
                return ("135790", context.lastRecoverableError == nil ? "123456" : "864209")
            }.execute()
        try await operations.passwordChange.username("bob")
            .passwordChanger { context in
                asked.note(context.lastRecoverableError == nil ? "password" : "password again")
                return ("lantern street 9", context.lastRecoverableError == nil ? "short" : "harbour bridge 4")
            }.execute()
        #expect(asked.all == ["PIN", "\(PinChangeRecoverableError.unsafePin(.row))", "password", "password again"])
        #expect(
            await operationError {
                try await operations.pinChange.username("alice").pinChanger { _ in nil }.execute()
            } == .fido(.userCanceled))
        #expect(
            await operationError {
                try await operations.passwordChange.username("bob").passwordChanger { _ in nil }.execute()
            } == .fido(.userCanceled))
    }

    @Test("a closure whose question is over is cancelled, and its answer does nothing")
    func abandoned() async throws {
        let world = try await World()
        try await world.enroll()
        let (asked, clock) = (Asked(), world.phone.clock)
        let operation = world.phone.ready(try await world.operation(try await world.server.authentication()))
            .pinUserVerifier { _ in
                asked.note("shown")
                do { try await clock.sleep(for: .seconds(100_000)) } catch { asked.note("taken away") }
                return "135790"
            }
        let ended = Task { await operationError { _ = try await operation.execute() } }
        while asked.all.isEmpty || clock.sleepingCount < 2 { await Task.yield() }
        clock.advance(by: .seconds(240))
        #expect(await ended.value == .fido(.userNotResponsive))
        while asked.all.count < 2 { await Task.yield() }
        #expect(asked.all == ["shown", "taken away"])
        #expect(await world.server.accepted.isEmpty)
    }

    private static func question(_ model: AuthenticatorModel) -> String {
        switch model.factor {
        case .pin: "pin"
        case .password: "password"
        case .fingerprint: "finger"
        case .face: "face"
        default: "passcode"
        }
    }
}
