import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

/// One of the two operations, so that each test runs for both.
enum ChangedSecret: CaseIterable {
    case pin, password

    var question: VirtualPerson.Question { self == .pin ? .pinChange : .passwordChange }
    var model: AuthenticatorModel { self == .pin ? World.pin : World.password }
    var present: String { self == .pin ? "135790" : "lantern street 9" }
    var next: String { self == .pin ? "864209" : "harbour bridge 4" }
    var wrong: String { self == .pin ? "000000" : "another password" }
    var wrongError: String { self == .pin ? "invalidPin" : "invalidPassword" }
    var equalError: String { self == .pin ? "oldPinEqualsNewPin" : "oldPasswordEqualsNewPassword" }
    var locked: OperationError { OperationError(self == .pin ? .pinLocked : .passwordLocked) }
    var notEnrolled: OperationError { OperationError(self == .pin ? .pinNotEnrolled : .passwordNotEnrolled) }

    /// Has the person type those old secrets, also in authentications.
    func type(_ old: [String], _ world: World) {
        self == .pin ? (world.phone.person.script.pins = old) : (world.phone.person.script.passwords = old)
    }

    func choose(_ new: [String], _ world: World) {
        self == .pin
            ? (world.phone.person.script.changedPins = new) : (world.phone.person.script.changedPasswords = new)
    }

    /// Changes the secret as an app does.
    func change(_ world: World, of username: Username = "alice") async throws {
        let (operations, person) = (world.phone.client.operations, world.phone.person)
        switch self {
        case .pin: try await operations.pinChange.username(username).pinChanger(person).execute()
        case .password: try await operations.passwordChange.username(username).passwordChanger(person).execute()
        }
    }

    /// The same in the form with callbacks.
    func start(_ world: World, _ end: @escaping @Sendable (OperationError?) -> Void) -> OperationHandle {
        let (operations, person) = (world.phone.client.operations, world.phone.person)
        return switch self {
        case .pin:
            operations.pinChange.onSuccess { end(nil) }.onError { end($0) }.username("alice").pinChanger(person)
                .execute()
        case .password:
            operations.passwordChange.onSuccess { end(nil) }.onError { end($0) }.username("alice")
                .passwordChanger(person).execute()
        }
    }

    func status(_ world: World) async throws -> AuthenticatorProtectionStatus? {
        let data = world.phone.client.localData
        return switch self {
        case .pin: try await data.pinProtectionStatus(username: "alice")
        case .password: try await data.passwordProtectionStatus(username: "alice")
        }
    }
}

@Suite("Operations parity 46, 47, 49: the change of a PIN and of a password", .overEachKeyAbility)
struct SecretChangeOperationTests {
    /// A phone that is enrolled with the secret.
    private func world(_ secret: ChangedSecret) async throws -> World {
        let world = try await World()
        try await world.enroll("alice", [secret.model])
        return world
    }

    /// Fails every request from now on.
    private func cut(_ world: World) async {
        await world.server.intercept { _ in throw TransportError(.unreachable, "no network") }
    }

    private func authenticate(_ world: World, _ secret: ChangedSecret, _ typed: [String]) async throws -> [String?] {
        await world.server.stopIntercepting()
        secret.type(typed, world)
        world.phone.person.forget()
        _ = try await world.phone.authenticate(try await world.server.authentication())
        return world.phone.person.asked.filter { [.pin, .password].contains($0.question) }.map(\.lastError)
    }

    @Test(
        "Without a network the secret is changed, nothing is sent, and only the new one signs",
        arguments: ChangedSecret.allCases)
    func success(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        await self.cut(world)
        let before = await world.server.requests.count
        try await secret.change(world)
        #expect(await world.server.requests.count == before)
        #expect(world.phone.person.asked.map(\.question) == [secret.question])
        #expect(world.phone.person.asked[0].status == .unlocked && world.phone.person.asked[0].lastError == nil)
        // The app is started again: the change is on disk.
        let again = try await world.restarted()
        #expect(
            try await self.authenticate(again, secret, [secret.present, secret.next]) == [nil, secret.wrongError])
    }

    @Test(
        "A wrong old one is asked for again with the tries that are left, and the right one changes and resets",
        arguments: ChangedSecret.allCases)
    func oldWrong(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        secret.type([secret.wrong, secret.present], world)
        try await secret.change(world)
        let asked = world.phone.person.asked
        #expect(asked.map(\.lastError) == [nil, secret.wrongError])
        #expect(
            asked.map(\.status) == [
                .unlocked, .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0),
            ])
        #expect(try await secret.status(world) == .unlocked)
        #expect(try await self.authenticate(world, secret, [secret.next]) == [nil])
    }

    @Test(
        "A new one that is the old one is asked for again, and costs no try, right or wrong",
        arguments: ChangedSecret.allCases)
    func equal(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        secret.type([secret.present, secret.wrong, secret.present], world)
        secret.choose([secret.present, secret.wrong, secret.next], world)
        try await secret.change(world)
        #expect(world.phone.person.asked.map(\.lastError) == [nil, secret.equalError, secret.equalError])
        #expect(world.phone.person.asked.allSatisfy { $0.status == .unlocked })
        #expect(try await self.authenticate(world, secret, [secret.next]) == [nil])
    }

    @Test("A new PIN that does not meet the policy is asked for again, and costs no try")
    func formatWrong() async throws {
        let world = try await self.world(.pin)
        world.phone.person.script.pins = ["000000", "000000", "000000", "135790"]
        world.phone.person.script.changedPins = ["86420", "8642091", "86420x", "864209"]
        try await ChangedSecret.pin.change(world)
        let asked = world.phone.person.asked
        #expect(asked.map(\.lastError) == [nil] + Array(repeating: "invalidPinFormat", count: 3))
        #expect(asked.allSatisfy { $0.status == .unlocked })
        #expect(try await self.authenticate(world, .pin, ["864209"]) == [nil])
    }

    @Test("The changer's own policy holds for the new PIN, not for the old one")
    func ownPolicy() async throws {
        let world = try await self.world(.pin)
        world.phone.person.script.changedPins = ["864209", "8642"]
        let changer = ShortPinChanger(person: world.phone.person)
        try await world.phone.client.operations.pinChange.username("alice").pinChanger(changer).execute()
        #expect(world.phone.person.asked.map(\.lastError) == [nil, "invalidPinFormat"])
        #expect(try await self.authenticate(world, .pin, ["8642"]) == [nil])
    }

    @Test("Each question after a refused new one has the state of that moment", arguments: ChangedSecret.allCases)
    func presentState(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        let (person, clock) = (world.phone.person, world.phone.clock)
        // Three wrong ones begin a cool-down. The fourth answer comes 20 seconds later, and its new one is the old one.
        secret.type([secret.wrong, secret.wrong, secret.wrong, secret.next], world)
        let screen = WatchedScreen(person: person) { number in
            if number == 4 { clock.advance(by: .seconds(20)) }
            if number == 5 { person.script.reactions[secret.question] = .cancels }
        }
        let operations = world.phone.client.operations
        let error = await operationError {
            switch secret {
            case .pin: try await operations.pinChange.username("alice").pinChanger(screen).execute()
            case .password: try await operations.passwordChange.username("alice").passwordChanger(screen).execute()
            }
        }
        #expect(error == .fido(.userCanceled))
        #expect(person.asked.count == 5 && person.asked.last?.lastError == secret.equalError)
        #expect(
            person.asked.suffix(2).map(\.status) == [
                .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 60),
                .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 40),
            ])
    }

    @Test(
        "Wrong old ones count with the wrong ones of authentications, up to the lock, which has a code of its own",
        arguments: ChangedSecret.allCases)
    func locked(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        let person = world.phone.person
        secret.type([secret.wrong], world)
        let guess = OneGuess(person: person)
        let operation = try await world.operation(try await world.server.authentication())
        let given = await operationError {
            _ = try await world.phone.ready(operation).pinUserVerifier(guess).passwordUserVerifier(guess).execute()
        }
        #expect(given == .fido(.userCanceled))
        person.forget()
        // The clock stands still: the person gives up in the cool-down.
        #expect(await operationError { try await secret.change(world) } == .fido(.userCanceled))
        #expect(
            person.asked.map(\.lastError) == [nil, secret.wrongError, secret.wrongError, "coolingDown", "coolingDown"])
        #expect(person.asked[0].status == .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0))
        // The answers in the cool-down were not counted.
        #expect(try await secret.status(world) == .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 60))
        for (seconds, end) in [(60, OperationError.fido(.userCanceled)), (180, secret.locked)] {
            world.phone.clock.advance(by: .seconds(seconds))
            #expect(await operationError { try await secret.change(world) } == end)
        }
        #expect(try await secret.status(world) == .lockedOut)
        // The right one does not help any more, and nobody is asked for it.
        person.forget()
        secret.type([secret.present], world)
        let error = await operationError { try await secret.change(world) }
        #expect(error == secret.locked && error?.recovery == .replaceLockedKey)
        #expect(person.asked.isEmpty)
    }

    @Test(
        "Not enrolled is another error than locked, and than an account that is not there; nobody is asked",
        arguments: ChangedSecret.allCases)
    func notEnrolled(secret: ChangedSecret) async throws {
        let world = try await self.world(secret == .pin ? .password : .pin)
        let error = await operationError { try await secret.change(world) }
        #expect(error == secret.notEnrolled && error != secret.locked && error?.recovery == .nothing)
        let stranger = await operationError { try await secret.change(world, of: "bob") }
        #expect(stranger == OperationError(.unknownUsername) && stranger?.recovery == .nothing)
        let nobody = await operationError { try await secret.change(world, of: "") }
        #expect(nobody == OperationError(.missingInteraction))
        #expect(world.phone.person.asked.isEmpty)
    }

    @Test("The account's other secret, and another account's, stay as they were")
    func others() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.pin])
        try await world.enroll("alice", [World.password])
        try await world.enroll("bob", [World.pin])
        try await ChangedSecret.pin.change(world)
        world.phone.person.script.kind = .password
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "alice"))
        world.phone.person.script.kind = .pin
        world.phone.person.forget()
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "bob"))
        #expect(world.phone.person.asked.filter { $0.question == .pin }.map(\.lastError) == [nil])
    }

    @Test("However a keyboard writes the name and the password, they are the same")
    func spellings() async throws {
        let world = try await World()
        world.phone.person.script.newPasswords = ["Stra\u{DF}e caf\u{E9}"]
        try await world.enroll("ren\u{E9}", [World.password])
        world.phone.person.script.passwords = ["Stra\u{DF}e cafe\u{301}"]
        world.phone.person.script.changedPasswords = ["Stra\u{DF}e\u{A0}caf\u{E9}", "harbour cafe\u{301}"]
        try await ChangedSecret.password.change(world, of: "rene\u{301}")
        #expect(world.phone.person.asked.map(\.lastError) == [nil, "oldPasswordEqualsNewPassword"])
        world.phone.person.script.passwords = ["harbour caf\u{E9}"]
        world.phone.person.forget()
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(world.phone.person.asked.filter { $0.question == .password }.map(\.lastError) == [nil])
    }

    @Test("A renamed app is told its former name, and asks nobody", arguments: ChangedSecret.allCases)
    func renamed(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        var configuration = world.phone.client.configuration
        configuration.facetID = "linux:program:renamed"
        let phone = try await VirtualPhone(
            configuration: configuration, transport: world.server,
            storage: InMemoryStorage(world.phone.storage.snapshot), clock: world.phone.clock, keys: world.phone.keys)
        let error = await operationError {
            switch secret {
            case .pin: try await phone.client.operations.pinChange.username("alice").pinChanger(phone.person).execute()
            case .password:
                try await phone.client.operations.passwordChange.username("alice").passwordChanger(phone.person)
                    .execute()
            }
        }
        #expect(error?.code == .appRenamed && error?.formerFacetID == "linux:program:test")
        #expect(phone.person.asked.isEmpty)
    }

    @Test("A full disk is a typed error, and the old one still holds", arguments: ChangedSecret.allCases)
    func fullDisk(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        let storage = world.phone.storage
        storage.interruptAfterWrite { _ in storage.refuseWrites(true) }
        #expect(await operationError { try await secret.change(world) } == OperationError(.storageError))
        storage.interruptAfterWrite(nil)
        storage.refuseWrites(false)
        #expect(try await self.authenticate(world, secret, [secret.present]) == [nil])
    }
}

@Suite("Operations parity 42, 46, 49, 92: both forms of a change, and its one end", .overEachKeyAbility)
struct SecretChangeEndTests {
    private func world(_ secret: ChangedSecret) async throws -> World {
        let world = try await World()
        try await world.enroll("alice", [secret.model])
        return world
    }

    private func isUnchanged(_ world: World, _ secret: ChangedSecret) async throws -> Bool {
        world.phone.person.script = VirtualPerson.Script()
        world.phone.person.forget()
        _ = try await world.phone.authenticate(try await world.server.authentication())
        return world.phone.person.asked.allSatisfy { $0.lastError == nil }
    }

    /// Waits until the person is asked and the time limit runs.
    private func untilAsked(_ world: World, _ secret: ChangedSecret) async {
        while world.phone.person.asked.last?.question != secret.question { await Task.yield() }
        await world.phone.clock.untilSleeping()
    }

    @Test("Giving up is userCanceled, and tells no server", arguments: ChangedSecret.allCases)
    func cancelled(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        world.phone.person.script.reactions[secret.question] = .cancels
        let before = await world.server.requests.count
        let error = await operationError { try await secret.change(world) }
        #expect(error == .fido(.userCanceled) && error?.recovery == .nothing)
        #expect(world.phone.person.asked.count == 1)
        #expect(await world.server.requests.count == before)
        #expect(try await self.isUnchanged(world, secret))
    }

    @Test("Cancelling the task is userCanceled", arguments: ChangedSecret.allCases)
    func cancelledTask(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        world.phone.person.script.reactions[secret.question] = .ignores
        let ended = Task { await operationError { try await secret.change(world) } }
        await self.untilAsked(world, secret)
        ended.cancel()
        #expect(await ended.value == .fido(.userCanceled))
        #expect(try await self.isUnchanged(world, secret))
    }

    @Test("No answer for 240 seconds is userNotResponsive", arguments: ChangedSecret.allCases)
    func timeLimit(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        world.phone.person.script.reactions[secret.question] = .ignores
        let ended = Task { await operationError { try await secret.change(world) } }
        await self.untilAsked(world, secret)
        world.phone.clock.advance(by: .milliseconds(239_999))
        #expect(world.phone.clock.sleepingCount > 0, "a limit has passed already")
        world.phone.clock.advance(by: .milliseconds(1))
        #expect(await ended.value == .fido(.userNotResponsive))
        #expect(try await self.isUnchanged(world, secret))
    }

    @Test(
        "With callbacks there is one end: success, an error, or the handle's cancel",
        arguments: ChangedSecret.allCases)
    func callbacks(secret: ChangedSecret) async throws {
        let world = try await self.world(secret)
        let (ends, told) = AsyncStream<OperationError?>.makeStream()
        var all = ends.makeAsyncIterator()
        world.phone.person.script.reactions[secret.question] = .ignores
        let handle = secret.start(world) { told.yield($0) }
        await self.untilAsked(world, secret)
        handle.cancel()
        let given = await all.next()
        #expect(given == .some(.fido(.userCanceled)))
        world.phone.person.script = VirtualPerson.Script()
        _ = secret.start(world) { told.yield($0) }
        let success = await all.next()
        #expect(success == .some(nil))
        // Neither operation tells a second end.
        for _ in 0..<200 { await Task.yield() }
        told.finish()
        let further = await all.next()
        #expect(further == nil)
    }

    @Test("What was executed once is used, in either form; without a name or a screen it is a mistake")
    func mistakes() async throws {
        let world = try await self.world(.pin)
        let (operations, person) = (world.phone.client.operations, world.phone.person)
        let pin = operations.pinChange.username("alice").pinChanger(person)
        try await pin.execute()
        await #expect(throws: PinChangeError(.operationReused)) { try await pin.execute() }
        let password = operations.passwordChange.username("alice").passwordChanger(person)
        await #expect(throws: PasswordChangeError(.passwordNotEnrolled)) { try await password.execute() }
        await #expect(throws: PasswordChangeError(.operationReused)) { try await password.execute() }
        let (ends, told) = AsyncStream<OperationError>.makeStream()
        pin.onError { told.yield($0) }.execute()
        var all = ends.makeAsyncIterator()
        let end = await all.next()
        #expect(end == OperationError(.operationReused))
        for operation in [operations.pinChange.username("alice"), operations.pinChange.pinChanger(person)] {
            await #expect(throws: OperationError(.missingInteraction)) { try await operation.execute() }
        }
        for operation in [
            operations.passwordChange.username("alice"), operations.passwordChange.passwordChanger(person),
        ] {
            await #expect(throws: OperationError(.missingInteraction)) { try await operation.execute() }
        }
    }
}

@Suite("Operations parity 48: the policy of a changed password", .overEachKeyAbility)
struct PasswordPolicyTests {
    private struct Changer: PasswordChanger {
        let person: VirtualPerson
        let policy: any PasswordPolicy

        func changePassword(context: PasswordChangeContext, handler: PasswordChangeHandler) {
            self.person.changePassword(context: context, handler: handler)
        }

        func passwordPolicy() -> any PasswordPolicy { self.policy }
    }

    private struct Enroller: PasswordEnroller {
        let person: VirtualPerson
        let policy: any PasswordPolicy

        func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) {
            self.person.enrollPassword(context: context, handler: handler)
        }

        func passwordPolicy() -> any PasswordPolicy { self.policy }
    }

    /// Refuses one password for a change, and no password for an enrolment, after some time.
    private struct Leaked: PasswordPolicy {
        let clock: FakeClock
        let judged: AsyncStream<String>.Continuation

        func validatePasswordForEnrollment(_ password: String) async throws(PasswordValidationError) {
            self.judged.yield("enrolment")
            try? await self.clock.sleep(for: .seconds(5))
        }

        func validatePasswordForPasswordChange(_ password: String) async throws(PasswordValidationError) {
            self.judged.yield(password)
            try? await self.clock.sleep(for: .seconds(5))
            guard password != "leaked password" else { throw PasswordValidationError("That one was leaked.") }
        }
    }

    private func world() async throws -> World {
        let world = try await World()
        try await world.enroll("alice", [World.password])
        return world
    }

    private func change(_ world: World, _ policy: any PasswordPolicy) async throws {
        try await world.phone.client.operations.passwordChange.username("alice")
            .passwordChanger(Changer(person: world.phone.person, policy: policy)).execute()
    }

    @Test("The app's validator for changes judges the new password, as long as it likes, and its words are shown")
    func ownPolicy() async throws {
        let world = try await self.world()
        world.phone.person.script.changedPasswords = ["leaked password", "short"]
        world.phone.person.script.passwords = ["another password", "lantern street 9"]
        let (judged, judge) = AsyncStream<String>.makeStream()
        let policy = Leaked(clock: world.phone.clock, judged: judge)
        let ended = Task { try await self.change(world, policy) }
        var all = judged.makeAsyncIterator()
        for password in ["leaked password", "short"] {
            let next = await all.next()
            #expect(next == password)
            // The question's own time limit sleeps too.
            await world.phone.clock.untilSleeping(2)
            world.phone.clock.advance(by: .seconds(5))
        }
        try await ended.value
        let asked = world.phone.person.asked
        #expect(asked.count == 2 && asked[1].lastError?.contains("was leaked") == true)
        // The old password of the refused answer was wrong, and was not checked.
        #expect(asked[1].status == .unlocked)
    }

    @Test("A validator that calls nothing back ends the operation at the time limit, and the old password holds")
    func silentPolicy() async throws {
        let world = try await self.world()
        let (judged, judge) = AsyncStream<String>.makeStream()
        let policy = PasswordPolicyWithCallbacks(
            forEnrollment: { _, _ in }, forPasswordChange: { password, _ in judge.yield(password) })
        let ended = Task { await operationError { try await self.change(world, policy) } }
        for await _ in judged { break }
        await world.phone.clock.untilSleeping()
        world.phone.clock.advance(by: .seconds(240))
        #expect(await ended.value == .fido(.userNotResponsive))
        world.phone.person.forget()
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(world.phone.person.asked.last?.lastError == nil)
    }

    @Test("The default policy asks for eight characters or more")
    func defaultPolicy() async throws {
        let world = try await self.world()
        world.phone.person.script.changedPasswords = ["7 chars", "harbour bridge 4"]
        try await ChangedSecret.password.change(world)
        let asked = world.phone.person.asked
        #expect(asked.count == 2 && asked[1].lastError?.contains("8 to 128 characters") == true)
    }

    @Test("A new password without a bound is refused before the app's policy sees it; an old one is a wrong one")
    func boundless() async throws {
        let world = try await self.world()
        let (judged, judge) = AsyncStream<String>.makeStream()
        let endless = String(repeating: "x", count: 1025)
        world.phone.person.script.changedPasswords = [endless, "harbour bridge 4"]
        world.phone.person.script.passwords = ["lantern street 9", endless, "lantern street 9"]
        try await self.change(
            world,
            PasswordPolicyWithCallbacks(
                forEnrollment: { _, _ in },
                forPasswordChange: { password, handler in
                    judge.yield(password)
                    try? handler.accept()
                }))
        judge.finish()
        let asked = world.phone.person.asked
        #expect(asked.count == 3 && asked[1].lastError?.contains("too long, or has too many marks") == true)
        #expect(asked[2].lastError == "invalidPassword")
        #expect(asked[2].status == .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0))
        let seen = await judged.reduce(into: [String]()) { $0.append($1) }
        #expect(seen == ["harbour bridge 4", "harbour bridge 4"])
    }

    @Test("Of two callbacks the first one counts, and the second one is a typed error, at an enrolment and at a change")
    func secondCallback() async throws {
        let world = try await World()
        let (second, tell) = AsyncStream<OperationError?>.makeStream()
        @Sendable func end(_ call: () throws(OperationError) -> Void) {
            do throws(OperationError) {
                try call()
                tell.yield(nil)
            } catch {
                tell.yield(error)
            }
        }
        @Sendable func judge(_ password: String, _ handler: PasswordValidationHandler) {
            let refusal = PasswordValidationError("That one was leaked.")
            if password == "leaked password" {
                end { () throws(OperationError) in try handler.refuse(refusal) }
                end { () throws(OperationError) in try handler.accept() }
            } else {
                end { () throws(OperationError) in try handler.accept() }
                end { () throws(OperationError) in try handler.refuse(refusal) }
            }
        }
        let policy = PasswordPolicyWithCallbacks(forEnrollment: judge, forPasswordChange: judge)
        let person = world.phone.person
        person.script.newPasswords = ["leaked password", "lantern street 9"]
        person.script.changedPasswords = ["leaked password", "harbour bridge 4"]
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.password]]))
        let registration = world.phone.ready(try await world.registration(payload))
        _ = try await registration.passwordEnroller(Enroller(person: person, policy: policy)).execute()
        try await self.change(world, policy)
        for question in [VirtualPerson.Question.newPassword, .passwordChange] {
            let asked = person.asked.filter { $0.question == question }
            #expect(asked.count == 2 && asked[1].lastError?.contains("was leaked") == true, "\(question)")
        }
        tell.finish()
        let told = await second.reduce(into: [OperationError?]()) { $0.append($1) }
        let pair = [nil, OperationError(.operationReused)]
        #expect(told == pair + pair + pair + pair)
        person.script.passwords = ["harbour bridge 4"]
        person.forget()
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(person.asked.last?.lastError == nil)
    }

    @Test("A judgement that nobody waits for any more accepts nothing")
    func cancelledJudgement() async throws {
        let policy = PasswordPolicyWithCallbacks(forEnrollment: { _, _ in }, forPasswordChange: { _, _ in })
        let judged = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await #expect(throws: PasswordValidationError(.passwordNotJudged)) {
                try await policy.validatePasswordForPasswordChange("harbour bridge 4")
            }
        }
        await judged.value
    }
}

/// Takes four digits.
private struct ShortPinChanger: PinChanger {
    let person: VirtualPerson

    func changePin(context: PinChangeContext, handler: PinChangeHandler) {
        self.person.changePin(context: context, handler: handler)
    }

    func pinPolicy() -> PinPolicy { PinPolicy(minLength: 4, maxLength: 4) }
}

/// Tells the test the number of each question before the person sees the question.
private struct WatchedScreen: PinChanger, PasswordChanger {
    let person: VirtualPerson
    let watch: @Sendable (_ number: Int) -> Void

    func changePin(context: PinChangeContext, handler: PinChangeHandler) {
        self.watch(self.person.asked.count + 1)
        self.person.changePin(context: context, handler: handler)
    }

    func changePassword(context: PasswordChangeContext, handler: PasswordChangeHandler) {
        self.watch(self.person.asked.count + 1)
        self.person.changePassword(context: context, handler: handler)
    }
}

/// Tries once, and then gives up.
private struct OneGuess: PinUserVerifier, PasswordUserVerifier {
    let person: VirtualPerson

    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) {
        guard context.lastRecoverableError == nil else { return handler.cancel() }
        self.person.verifyPin(context: context, handler: handler)
    }

    func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) {
        guard context.lastRecoverableError == nil else { return handler.cancel() }
        self.person.verifyPassword(context: context, handler: handler)
    }
}
