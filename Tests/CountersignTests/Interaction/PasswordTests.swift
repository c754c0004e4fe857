import Countersign
import CountersignTestKit
import Testing
import UAF
import UAFClient

@Suite("Operations parity 11, 48, 50, 51, 55: password", .overEachKeyAbility)
struct PasswordTests {
    private func enroll(_ world: World) async throws {
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.password]]))
        _ = try await world.phone.enroll(payload)
    }

    private func authenticate(_ world: World) async throws {
        _ = try await world.phone.authenticate(try await world.server.authentication())
    }

    @Test("A password is enrolled and then verified on the device")
    func password() async throws {
        let world = try await World()
        try await self.enroll(world)
        #expect(world.phone.person.asked.map(\.question) == [.authenticator, .newPassword])
        world.phone.person.forget()
        try await self.authenticate(world)
        #expect(world.phone.person.asked.map(\.question).last == .password)
        #expect(world.phone.person.asked.last?.status == .unlocked)
        #expect(await world.server.accepted.last?.assertions.map(\.aaid) == [World.password.aaid])
        for request in await world.server.requests {
            #expect(!String(decoding: request.body, as: UTF8.self).contains("lantern"))
        }
    }

    @Test(
        "A password that is too short or too long is asked for again, with the policy's words",
        arguments: ["", "7 chars", String(repeating: "x", count: 129)])
    func defaultPolicy(password: String) async throws {
        let world = try await World()
        world.phone.person.script.newPasswords = [password, "lantern street 9"]
        try await self.enroll(world)
        let asked = world.phone.person.asked.filter { $0.question == .newPassword }
        #expect(asked.count == 2 && asked[0].lastError == nil)
        #expect(asked[1].lastError?.contains("8 to 128 characters") == true)
        try await self.authenticate(world)
    }

    @Test("The app's own policy decides, as long as it likes, for a registration")
    func ownPolicy() async throws {
        let world = try await World()
        let person = world.phone.person
        person.script.newPasswords = ["12345678", "short"]
        let enroller = StrictEnroller(person: person, policy: BlockList(clock: world.phone.clock))
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.password]]))
        let operation = try await world.registration(payload)
        let ended = Task {
            try await world.phone.ready(operation).passwordEnroller(enroller).execute()
        }
        for _ in 0..<2 {
            // The question's own time limit sleeps too.
            await world.phone.clock.untilSleeping(2)
            world.phone.clock.advance(by: .seconds(5))
        }
        _ = try await ended.value
        let asked = person.asked.filter { $0.question == .newPassword }
        #expect(asked.count == 2 && asked[1].lastError?.contains("too common") == true)
    }

    /// Passwords that are not worked on: too long, and with too many marks.
    private static let boundless = [
        String(repeating: "x", count: 1025), String(repeating: "\u{E9}", count: 513),
        "password e" + String(repeating: "\u{301}", count: 31),
        "password e" + String(repeating: "\u{301}\u{323}", count: 400_000),
    ]

    @Test("A password without a bound is refused before any work on it, the app's own too", arguments: 0..<4)
    func boundless(number: Int) async throws {
        let world = try await World()
        let person = world.phone.person
        let policy = Everything()
        person.script.newPasswords = [Self.boundless[number], "lantern street 9"]
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.password]]))
        guard case .registration(let operation) = try await world.phone.redeem(payload) else {
            throw OperationError(.missingInteraction, "not a registration")
        }
        _ =
            try await world.phone.ready(operation).passwordEnroller(StrictEnroller(person: person, policy: policy))
            .execute() as RegistrationResult
        let asked = person.asked.filter { $0.question == .newPassword }
        #expect(asked.count == 2 && asked[1].lastError?.contains("too long, or has too many marks") == true)
        #expect(await policy.judged.value == ["lantern street 9"])
        // Where it is typed it is a wrong one, and counts.
        person.forget()
        person.script.passwords = [Self.boundless[number], "lantern street 9"]
        try await self.authenticate(world)
        let typed = person.asked.filter { $0.question == .password }
        #expect(typed.map(\.lastError) == [nil, "invalidPassword"])
        #expect(typed.last?.status == .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0))
    }

    @Test("1024 bytes are taken where the app's policy takes them, and verified")
    func longest() async throws {
        let world = try await World()
        let longest = String(repeating: "\u{E9}", count: 512)
        world.phone.person.script.newPasswords = [longest]
        world.phone.person.script.passwords = [longest]
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.password]]))
        guard case .registration(let operation) = try await world.phone.redeem(payload) else {
            throw OperationError(.missingInteraction, "not a registration")
        }
        let enroller = StrictEnroller(person: world.phone.person, policy: Everything())
        _ = try await world.phone.ready(operation).passwordEnroller(enroller).execute() as RegistrationResult
        try await self.authenticate(world)
    }

    @Test("A length policy counts what Unicode counts at the upper end, and what a person counts at the lower")
    func lengths() async throws {
        let policy = PasswordLengthPolicy(minLength: 8, maxLength: 16)
        for password in ["12345678", String(repeating: "e\u{301}", count: 8)] {
            try await policy.validatePasswordForEnrollment(password)
        }
        for password in [
            "1234567", String(repeating: "e\u{301}", count: 7),
            "12345678e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}",
        ] {
            await #expect(throws: PasswordValidationError.self) {
                try await policy.validatePasswordForEnrollment(password)
            }
        }
    }

    @Test(
        "A policy that never answers, and stops for nobody, holds up no operation: the time limit ends it, and a cancel",
        arguments: [true, false], [true, false])
    func stubbornPolicy(isCancelled: Bool, atPolicy: Bool) async throws {
        let world = try await World()
        let gate = Gate()
        let enroller = StubbornEnroller(person: world.phone.person, gate: gate, givesPolicy: !atPolicy)
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.password]]))
        guard case .registration(let operation) = try await world.phone.redeem(payload) else {
            throw OperationError(.missingInteraction, "not a registration")
        }
        let ended = Task {
            await operationError {
                _ = try await world.phone.ready(operation).passwordEnroller(enroller).execute() as RegistrationResult
            }
        }
        await gate.untilSomebodyWaits()
        await world.phone.clock.untilSleeping()
        if isCancelled { ended.cancel() } else { world.phone.clock.advance(by: .seconds(240)) }
        #expect(await ended.value == .fido(isCancelled ? .userCanceled : .userNotResponsive))
        #expect(await world.isEmpty())
        await gate.open()
    }

    @Test("A policy that says nothing ends the operation at the time limit")
    func silentPolicy() async throws {
        let world = try await World()
        let enroller = StrictEnroller(
            person: world.phone.person, policy: BlockList(clock: world.phone.clock, time: .seconds(10_000)))
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.password]]))
        let operation = try await world.registration(payload)
        let ended = Task {
            await operationError {
                _ = try await world.phone.ready(operation).passwordEnroller(enroller).execute()
            }
        }
        await world.phone.clock.untilSleeping(2)
        world.phone.clock.advance(by: .seconds(240))
        #expect(await ended.value == .fido(.userNotResponsive))
        #expect(await world.isEmpty())
    }

    @Test("A wrong password is asked for again, with the tries that are left")
    func wrong() async throws {
        let world = try await World()
        try await self.enroll(world)
        world.phone.person.forget()
        world.phone.person.script.passwords = ["another password", "lantern street 9"]
        try await self.authenticate(world)
        let asked = world.phone.person.asked.filter { $0.question == .password }
        #expect(asked.map(\.lastError) == [nil, "invalidPassword"])
        #expect(asked.last?.status == .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0))
        #expect(try await world.phone.client.localData.passwordProtectionStatus(username: "alice") == .unlocked)
    }

    @Test("The fifth wrong password locks the password, and leaves the PIN alone")
    func lockOut() async throws {
        let world = try await World()
        try await world.enroll()
        try await self.enroll(world)
        let phone = world.phone
        phone.person.script.kind = .password
        phone.person.script.passwords = ["another password"]
        for tries in [4, 3, 2, 1] {
            phone.person.script.reactions = [:]
            let verifier = OneGuess(person: phone.person)
            let operation = try await world.operation(try await world.server.authentication())
            let error = await operationError {
                _ =
                    try await phone.ready(operation).passwordUserVerifier(verifier).execute()
            }
            #expect(error == .fido(.userCanceled))
            let seconds = [2: 60, 1: 180][tries] ?? 0
            #expect(
                try await phone.client.localData.passwordProtectionStatus(username: "alice")
                    == .lastAttemptFailed(remainingTries: tries, coolDownTimeInSeconds: seconds))
            phone.clock.advance(by: .seconds(seconds))
        }
        #expect(await operationError { try await self.authenticate(world) } == .fido(.userLockout))
        #expect(await world.server.clientErrorCodes.last == FidoErrorCode.userLockout.rawValue)
        let data = phone.client.localData
        #expect(try await data.passwordProtectionStatus(username: "alice") == .lockedOut)
        #expect(try await data.pinProtectionStatus(username: "alice") == .unlocked)
        phone.person.script = VirtualPerson.Script()
        phone.person.script.kind = .pin
        try await self.authenticate(world)
    }

    @Test("A password during the cool-down is neither judged nor counted")
    func coolDown() async throws {
        let world = try await World()
        try await self.enroll(world)
        let phone = world.phone
        phone.person.forget()
        phone.person.script.passwords = ["wrong one", "wrong two", "wrong three", "lantern street 9"]
        // The clock stands still: the person types once more, and gives up when the same time is left.
        #expect(await operationError { try await self.authenticate(world) } == .fido(.userCanceled))
        #expect(phone.person.asked.suffix(2).map(\.lastError) == ["coolingDown", "coolingDown"])
        #expect(
            phone.person.asked.last?.status
                == .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 60))
        phone.clock.advance(by: .seconds(60))
        try await self.authenticate(world)
    }

    @Test(
        "RFC 8265, section 4.2: however a keyboard writes the letters, it is the same password",
        arguments: [
            ("Stra\u{DF}e caf\u{E9}", "Stra\u{DF}e cafe\u{301}"), ("lantern street", "lantern\u{A0}street"),
            ("lantern street", "lantern\u{3000}street"),
        ])
    func sameLetters(enrolled: String, typed: String) async throws {
        let world = try await World()
        world.phone.person.script.newPasswords = [enrolled]
        try await self.enroll(world)
        world.phone.person.script.passwords = [typed]
        world.phone.person.forget()
        try await self.authenticate(world)
        #expect(world.phone.person.asked.filter { $0.question == .password }.count == 1)
    }

    @Test(
        "Other letters are another password",
        arguments: ["Lantern street 9", "lantern street 9 ", "lantern street \u{FF19}", ""])
    func otherLetters(typed: String) async throws {
        let world = try await World()
        try await self.enroll(world)
        world.phone.person.forget()
        world.phone.person.script.passwords = [typed, "lantern street 9"]
        try await self.authenticate(world)
        #expect(world.phone.person.asked.filter { $0.question == .password }.count == 2)
    }

    @Test("Without an app's screen a password cannot be chosen, and an account without one has no status")
    func noScreen() async throws {
        let world = try await World()
        try await self.enroll(world)
        let operation = try await world.operation(try await world.server.authentication())
        let error = await operationError {
            _ =
                try await operation.authenticatorSelector(world.phone.person).pinUserVerifier(world.phone.person)
                .execute()
        }
        #expect(error == OperationError(.missingInteraction))
        let data = world.phone.client.localData
        #expect(try await data.pinProtectionStatus(username: "alice") == nil)
        #expect(try await data.passwordProtectionStatus(username: "alice") == .unlocked)
        #expect(try await data.passwordProtectionStatus(username: "bob") == nil)
    }
}

/// Asks the person, and has a policy of its own.
private struct StrictEnroller: PasswordEnroller {
    let person: VirtualPerson
    let policy: any PasswordPolicy

    func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) {
        self.person.enrollPassword(context: context, handler: handler)
    }

    func passwordPolicy() -> any PasswordPolicy { self.policy }
}

/// Refuses one password, after some time.
private struct BlockList: PasswordPolicy {
    let clock: FakeClock
    var time = Duration.seconds(5)

    func validatePasswordForEnrollment(_ password: String) async throws(PasswordValidationError) {
        try? await self.clock.sleep(for: self.time)
        guard password != "12345678" else { throw PasswordValidationError("That one is too common.") }
    }

    func validatePasswordForPasswordChange(_ password: String) async throws(PasswordValidationError) {
        throw PasswordValidationError("not a change")
    }
}

/// Takes everything, and notes what it was given.
private struct Everything: PasswordPolicy {
    actor Judged {
        private(set) var value: [String] = []
        func note(_ password: String) { self.value.append(password) }
    }

    let judged = Judged()

    func validatePasswordForEnrollment(_ password: String) async throws(PasswordValidationError) {
        await self.judged.note(password)
    }

    func validatePasswordForPasswordChange(_ password: String) async throws(PasswordValidationError) {}
}

/// A gate that does not care whether the task that waits is cancelled.
private actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watchers: [CheckedContinuation<Void, Never>] = []

    func wait() async {
        if self.isOpen { return }
        await withCheckedContinuation { continuation in
            self.waiting.append(continuation)
            for watcher in self.watchers { watcher.resume() }
            self.watchers = []
        }
    }

    func untilSomebodyWaits() async {
        if self.waiting.isEmpty { await withCheckedContinuation { self.watchers.append($0) } }
    }

    func open() {
        self.isOpen = true
        for continuation in self.waiting { continuation.resume() }
        self.waiting = []
    }
}

/// Does not get done: with its judgement, or already with saying what its policy is.
private struct StubbornEnroller: PasswordEnroller, PasswordPolicy {
    let person: VirtualPerson
    let gate: Gate
    let givesPolicy: Bool

    func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) {
        self.person.enrollPassword(context: context, handler: handler)
    }

    func passwordPolicy() async -> any PasswordPolicy {
        if !self.givesPolicy { await self.gate.wait() }
        return self
    }

    func validatePasswordForEnrollment(_ password: String) async throws(PasswordValidationError) {
        await self.gate.wait()
    }

    func validatePasswordForPasswordChange(_ password: String) async throws(PasswordValidationError) {}
}

/// Tries once, and then gives up.
private struct OneGuess: PasswordUserVerifier {
    let person: VirtualPerson

    func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) {
        guard context.lastRecoverableError == nil else { return handler.cancel() }
        self.person.verifyPassword(context: context, handler: handler)
    }
}
