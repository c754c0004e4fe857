import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAF
import UAFClient

@Suite("Operations parity 45, 46, 50: the end of a waiting time", .overEachKeyAbility)
struct CoolDownDeadlineTests {
    /// Three wrong answers begin a waiting time. The fourth answer comes 20 seconds later, and at the fifth question the
    /// person gives up.
    private final class Person: Sendable {
        private let clock: FakeClock
        private let seen = Mutex<[Date?]>([])

        init(_ clock: FakeClock) { self.clock = clock }

        var deadlines: [Date?] { self.seen.withLock { $0 } }

        /// Returns `true` if the person answers.
        @Sendable func answers(_ deadline: Date?) -> Bool {
            let count = self.seen.withLock { seen in
                seen.append(deadline)
                return seen.count
            }
            if count == 4 { self.clock.advance(by: .seconds(20)) }
            return count < 5
        }
    }

    private func now(_ clock: FakeClock) -> Date {
        Date(timeIntervalSince1970: Double(clock.now().milliseconds) / 1000)
    }

    @Test("each question of an authentication has the end on the app's clock", arguments: ChangedSecret.allCases)
    func authentication(secret: ChangedSecret) async throws {
        let world = try await World()
        try await world.enroll("alice", [secret.model])
        let person = Person(world.phone.clock)
        let end = self.now(world.phone.clock).addingTimeInterval(60)
        let operation = world.phone.ready(try await world.operation(try await world.server.authentication()))
            .pinUserVerifier { person.answers($0.coolDownDeadline) ? secret.wrong : nil }
            .passwordUserVerifier { person.answers($0.coolDownDeadline) ? secret.wrong : nil }
        #expect(await operationError { _ = try await operation.execute() } == .fido(.userCanceled))
        #expect(person.deadlines == [nil, nil, nil, end, end])
    }

    @Test("each question of a change has the end on the app's clock", arguments: ChangedSecret.allCases)
    func change(secret: ChangedSecret) async throws {
        let world = try await World()
        try await world.enroll("alice", [secret.model])
        let person = Person(world.phone.clock)
        let end = self.now(world.phone.clock).addingTimeInterval(60)
        let operations = world.phone.client.operations
        let error = await operationError {
            switch secret {
            case .pin:
                try await operations.pinChange.username("alice").pinChanger {
                    person.answers($0.coolDownDeadline) ? (secret.wrong, secret.next) : nil
                }.execute()
            case .password:
                try await operations.passwordChange.username("alice").passwordChanger {
                    person.answers($0.coolDownDeadline) ? (secret.wrong, secret.next) : nil
                }.execute()
            }
        }
        #expect(error == .fido(.userCanceled))
        #expect(person.deadlines == [nil, nil, nil, end, end])
        let status = try #require(try await secret.status(world))
        #expect(status.coolDownDeadline(readAt: self.now(world.phone.clock)) == end)
    }

    @Test("a status without a waiting time has no end")
    func none() {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        for status: AuthenticatorProtectionStatus in [
            .unlocked, .lockedOut, .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0),
        ] { #expect(status.coolDownDeadline(readAt: now) == nil) }
        let waiting = AuthenticatorProtectionStatus.lastAttemptFailed(remainingTries: 1, coolDownTimeInSeconds: 180)
        #expect(waiting.coolDownDeadline(readAt: now) == now.addingTimeInterval(180))
    }
}

@Suite("Reference of operations, 1.4: `onValidCredentialsProvided` of the verifiers", .overEachKeyAbility)
struct ValidCredentialsTests {
    private static let models = [World.pin, World.password, World.fingerprint, World.face, World.passcode]

    /// A person's screens, which note when the SDK calls them.
    private final class Verifier: PinUserVerifier, PasswordUserVerifier, FingerprintUserVerifier, BiometricUserVerifier,
        DevicePasscodeUserVerifier
    {
        private let person: VirtualPerson
        private let whenValid: @Sendable () async -> Void
        private let events = Mutex<[String]>([])

        init(_ person: VirtualPerson, whenValid: @escaping @Sendable () async -> Void = {}) {
            self.person = person
            self.whenValid = whenValid
        }

        var calls: [String] { self.events.withLock { $0 } }
        private func note(_ event: String) { self.events.withLock { $0.append(event) } }

        func onValidCredentialsProvided() async {
            self.note("valid")
            await self.whenValid()
        }
        func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) {
            self.note("asked")
            self.person.verifyPin(context: context, handler: handler)
        }
        func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) {
            self.note("asked")
            self.person.verifyPassword(context: context, handler: handler)
        }
        func verifyFingerprint(
            context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler
        ) {
            self.note("asked")
            self.person.verifyFingerprint(context: context, handler: handler)
        }
        func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) {
            self.note("asked")
            self.person.verifyBiometric(context: context, handler: handler)
        }
        func verifyDevicePasscode(
            context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
        ) {
            self.note("asked")
            self.person.verifyDevicePasscode(context: context, handler: handler)
        }
    }

    private func match(_ world: World) {
        world.phone.sensor.feel(.match)
        world.phone.camera.feel(.match)
        world.phone.passcode.answer(.match)
    }

    private func authentication(_ verifier: Verifier, _ world: World) async throws -> OutOfBandAuthentication {
        world.phone.ready(try await world.operation(try await world.server.authentication()))
            .pinUserVerifier(verifier).passwordUserVerifier(verifier).fingerprintUserVerifier(verifier)
            .biometricUserVerifier(verifier).devicePasscodeUserVerifier(verifier)
    }

    @Test("an authentication calls the verifier once, after the right answer and before it is sent", arguments: models)
    func authentication(model: AuthenticatorModel) async throws {
        let world = try await World()
        try await world.enroll("alice", [model])
        self.match(world)
        world.phone.person.script.pins = ["000000", "135790"]
        world.phone.person.script.passwords = ["another password", "lantern street 9"]
        let answers = Mutex<[Int]>([])
        let verifier = Verifier(world.phone.person) {
            let count = await world.server.accepted.count
            answers.withLock { $0.append(count) }
        }
        let before = await world.server.accepted.count
        _ = try await self.authentication(verifier, world).execute()
        let wrong = [World.pin, World.password].contains(model) ? ["asked"] : []
        #expect(verifier.calls == wrong + ["asked", "valid"])
        #expect(answers.withLock { $0 } == [before])
        #expect(await world.server.accepted.count == before + 1)
    }

    @Test("a registration calls the verifier of a finger, a face and a passcode, and of no new PIN", arguments: models)
    func registration(model: AuthenticatorModel) async throws {
        let world = try await World()
        self.match(world)
        let verifier = Verifier(world.phone.person)
        let registration = try await world.registration(
            try await world.server.registration(for: "alice", policy: World.policy([[model]])))
        _ = try await world.phone.ready(registration).fingerprintUserVerifier(verifier).biometricUserVerifier(verifier)
            .devicePasscodeUserVerifier(verifier).execute()
        #expect(verifier.calls == ([World.pin, World.password].contains(model) ? [] : ["asked", "valid"]))
    }

    @Test("an operation whose person gives up calls nothing", arguments: models)
    func cancelled(model: AuthenticatorModel) async throws {
        let world = try await World()
        try await world.enroll("alice", [model])
        for question: VirtualPerson.Question in [.pin, .password, .finger, .face, .passcode] {
            world.phone.person.script.reactions[question] = .cancels
        }
        let verifier = Verifier(world.phone.person)
        let operation = try await self.authentication(verifier, world)
        #expect(await operationError { _ = try await operation.execute() } == .fido(.userCanceled))
        #expect(verifier.calls == ["asked"])
    }

    @Test("a verifier that does not return delays the operation up to the time of an answer")
    func late() async throws {
        let world = try await World()
        try await world.enroll()
        let clock = world.phone.clock
        let verifier = Verifier(world.phone.person) { try? await clock.sleep(for: .seconds(100_000)) }
        let operation = try await self.authentication(verifier, world)
        let before = await world.server.accepted.count
        let ended = Task { await operationError { _ = try await operation.execute() } }
        while verifier.calls.count < 2 { await Task.yield() }
        await clock.untilSleeping(2)
        #expect(await world.server.accepted.count == before)
        clock.advance(by: .seconds(240))
        #expect(await ended.value == nil)
        #expect(await world.server.accepted.count == before + 1)
    }

    @Test("an operation that is cancelled meanwhile sends no answer")
    func cancelledMeanwhile() async throws {
        let world = try await World()
        try await world.enroll()
        let clock = world.phone.clock
        let verifier = Verifier(world.phone.person) { try? await clock.sleep(for: .seconds(100_000)) }
        let operation = try await self.authentication(verifier, world)
        let before = await world.server.accepted.count
        let ended = Task { await operationError { _ = try await operation.execute() } }
        while verifier.calls.count < 2 { await Task.yield() }
        ended.cancel()
        #expect(await ended.value == .fido(.userCanceled))
        #expect(await world.server.accepted.count == before)
        #expect(await world.server.clientErrorCodes == [3])
    }
}
