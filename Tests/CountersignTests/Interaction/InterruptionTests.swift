import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("Operations parity 6, 42, 43: cancellation, time limits, and exactly one end", .overEachKeyAbility)
struct InterruptionTests {
    private static let requester = ReturnUAFRequest.Requester(service: "Bank", browserID: "browser")

    /// An authentication that asks every question, with a screen for each.
    private func authenticate(_ world: World, _ payload: OutOfBandPayload) async throws {
        let operation = world.phone.ready(try await world.operation(payload))
        _ = try await operation.transactionConfirmer(world.phone.person).execute() as AuthenticationSuccess
    }

    private func payload(_ world: World) async throws -> OutOfBandPayload {
        try await world.server.authentication(transaction: [text("Pay 5")], requester: Self.requester)
    }

    /// A phone with two accounts, so that every question is asked.
    private func world(_ model: AuthenticatorModel = World.pin) async throws -> World {
        let world = try await World()
        try await world.enroll("alice", [model])
        try await world.enroll("bob", [model])
        return world
    }

    private static let questions: [(VirtualPerson.Question, AuthenticatorModel)] = [
        (.account, World.pin), (.authenticator, World.pin), (.requester, World.pin), (.transaction, World.pin),
        (.pin, World.pin),
        (.password, World.password), (.finger, World.fingerprint), (.face, World.face), (.passcode, World.passcode),
    ]

    @Test("Giving up at any question ends with userCanceled, no further question, and a report", arguments: questions)
    func cancelled(question: VirtualPerson.Question, model: AuthenticatorModel) async throws {
        let world = try await self.world(model)
        world.phone.person.script.reactions[question] = .cancels
        let payload = try await self.payload(world)
        #expect(await operationError { try await self.authenticate(world, payload) } == .fido(.userCanceled))
        #expect(world.phone.person.asked.last?.question == question)
        #expect(await world.server.clientErrorCodes == [3])
        #expect(await world.server.accepted.isEmpty)
    }

    @Test("No answer for 240 seconds ends with userNotResponsive at that time, and a report", arguments: questions)
    func timeLimit(question: VirtualPerson.Question, model: AuthenticatorModel) async throws {
        let world = try await self.world(model)
        world.phone.person.script.reactions[question] = .ignores
        let payload = try await self.payload(world)
        let operation = Task { await operationError { try await self.authenticate(world, payload) } }
        await self.until(question, world)
        let sleeping = world.phone.clock.sleepingCount
        world.phone.clock.advance(by: .milliseconds(239_999))
        #expect(world.phone.clock.sleepingCount == sleeping && sleeping > 0, "a limit has passed already")
        world.phone.clock.advance(by: .milliseconds(1))
        #expect(await operation.value == .fido(.userNotResponsive))
        #expect(await world.server.clientErrorCodes == [0x0E])
    }

    @Test("The time limit is configurable, and holds for each question anew")
    func ownLimit() async throws {
        let world = try await World { $0.userInteractionTimeout = .seconds(10) }
        world.phone.person.script.reactions[.newPin] = .ignores
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        let operation = Task { await operationError { _ = try await world.phone.enroll(payload) } }
        await self.until(.newPin, world)
        let sleeping = world.phone.clock.sleepingCount
        world.phone.clock.advance(by: .milliseconds(9999))
        #expect(world.phone.clock.sleepingCount == sleeping && sleeping > 0, "a limit has passed already")
        world.phone.clock.advance(by: .milliseconds(1))
        #expect(await operation.value == .fido(.userNotResponsive))
        #expect(await world.isEmpty())
    }

    @Test("Cancelling the task at any question is userCanceled, and the server still hears of it", arguments: questions)
    func cancelledTask(question: VirtualPerson.Question, model: AuthenticatorModel) async throws {
        let world = try await self.world(model)
        world.phone.person.script.reactions[question] = .ignores
        let payload = try await self.payload(world)
        let operation = Task { await operationError { try await self.authenticate(world, payload) } }
        await self.until(question, world)
        operation.cancel()
        #expect(await operation.value == .fido(.userCanceled))
        #expect(await world.server.clientErrorCodes == [3])
        #expect(await world.server.accepted.isEmpty)
    }

    /// The operations that ask the server first, by their names.
    private static let requests: [String: @Sendable (Operations, OutOfBandPayload) async throws -> Void] = [
        "outOfBandOperation": { operations, payload in
            _ = try await operations.outOfBandOperation.payload(payload).execute()
        },
        "registration": { operations, _ in
            _ = try await operations.registration.username("alice").authorizationProvider(Self.provider).execute()
        },
        "authentication": { operations, _ in _ = try await operations.authentication.username("alice").execute() },
        "deregistration": { operations, _ in
            try await operations.deregistration.username("alice").authorizationProvider(Self.provider).execute()
        },
        "accountActivity": { operations, _ in
            _ = try await operations.accountActivity.username("alice").authorizationProvider(Self.provider).execute()
        },
        "accountNotices": { operations, _ in
            _ = try await operations.accountNotices.username("alice").authorizationProvider(Self.provider).execute()
        },
        "transactionReceipts": { operations, _ in
            _ = try await operations.transactionReceipts.username("alice").authorizationProvider(Self.provider)
                .execute()
        },
        "waitingQuestions": { operations, _ in
            _ = try await operations.waitingQuestions.username("alice").authorizationProvider(Self.provider).execute()
        },
        "sessionRevocation": { operations, _ in
            try await operations.sessionRevocation.sessionID("s1").authorizationProvider(Self.provider).execute()
        },
        "grantRevocation": { operations, _ in
            try await operations.grantRevocation.grantID("g1").authorizationProvider(Self.provider).execute()
        },
    ]
    private static let provider = JwtAuthorizationProvider("virtual-jwt")

    @Test("Cancelling the task while the server is asked is userCanceled too", arguments: requests.keys.sorted())
    func cancelledRequest(name: String) async throws {
        let world = try await self.world()
        let payload = try await world.server.authentication(username: "alice")
        let clock = world.phone.clock
        await world.server.intercept { _ in
            try await clock.sleep(for: .seconds(3600))
            return nil
        }
        let execute = try #require(Self.requests[name])
        let operations = world.phone.client.operations
        let ended = Task { await operationError { try await execute(operations, payload) } }
        await clock.untilSleeping()
        ended.cancel()
        #expect(await ended.value == .fido(.userCanceled))
        #expect(await world.server.accepted.isEmpty)
        #expect(await world.phone.client.localData.accounts.count == 2)
    }

    @Test("Giving up while the sensor reads stops the reading")
    func cancelledWhileReading() async throws {
        let world = try await self.world(World.fingerprint)
        let person = LateCanceller()
        let operation = try await world.operation(try await world.server.authentication(username: "alice"))
            .authenticatorSelector(world.phone.person).fingerprintUserVerifier(person)
        let before = world.phone.sensor.readingCount
        let ended = Task { await operationError { _ = try await operation.execute() } }
        while world.phone.sensor.readingCount == before { await Task.yield() }
        person.cancel()
        #expect(await ended.value == .fido(.userCanceled))
        // The sensor is free again: a finger now belongs to the next operation.
        world.phone.sensor.feel(.match)
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "alice"))
    }

    @Test("A task that is cancelled before it begins asks nothing")
    func cancelledBefore() async throws {
        let world = try await self.world()
        let operation = world.phone.ready(try await world.operation(try await world.server.authentication()))
        let ended = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await operationError { _ = try await operation.execute() }
        }
        #expect(await ended.value == .fido(.userCanceled))
        #expect(world.phone.person.asked.isEmpty)
    }

    @Test("Wrong PINs until the lock end with userLockout; a new enrolment after deleting works")
    func lockOut() async throws {
        let world = try await self.world()
        world.phone.person.script.pins = ["000000"]
        func attempt() async throws -> OperationError? {
            let payload = try await world.server.authentication(username: "alice")
            world.phone.person.script.reactions = [:]
            return await operationError { _ = try await world.phone.authenticate(payload) }
        }
        // Three wrong ones in one operation, then a cool-down that the person waits out in the next ones.
        let first = Task { try await attempt() }
        while try await world.phone.client.localData.pinProtectionStatus(username: "alice")
            != .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 60)
        {
            await Task.yield()
        }
        world.phone.person.script.reactions[.pin] = .cancels
        #expect(try await first.value == .fido(.userCanceled))
        for seconds in [60, 180] {
            world.phone.clock.advance(by: .seconds(seconds))
            world.phone.person.script.reactions = [:]
            let payload = try await world.server.authentication(username: "alice")
            let before = world.phone.person.asked.count
            let ended = Task { await operationError { _ = try await world.phone.authenticate(payload) } }
            if seconds == 60 {
                while world.phone.person.asked.count < before + 4 { await Task.yield() }
                world.phone.person.script.reactions[.pin] = .cancels
                #expect(await ended.value == .fido(.userCanceled))
            } else {
                #expect(await ended.value == .fido(.userLockout))
            }
        }
        let data = world.phone.client.localData
        #expect(try await data.pinProtectionStatus(username: "alice") == .lockedOut)
        #expect(try await data.pinProtectionStatus(username: "bob") == .unlocked)
        #expect(await world.server.clientErrorCodes.last == 0x10)
        #expect(await world.server.asmStatusCodes.last == 0x10)
        try await data.deleteAuthenticator(username: "alice")
        world.phone.person.script = VirtualPerson.Script()
        try await world.enroll("alice")
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "alice"))
    }

    @Test("Signatures of one key reach the server in the order of their counters, however many run at once")
    func orderedCounters() async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<24 {
                group.addTask { _ = try await world.phone.authenticate(try await world.server.authentication()) }
            }
            try await group.waitForAll()
        }
        let counters = await world.server.accepted.flatMap { $0.assertions.map(\.signCounter) }
        #expect(counters == Array(1...24))
    }

    @Test("Exactly one end, over random answers, repetitions, failures and times", arguments: 0..<60)
    func exactlyOneEnd(seed: UInt64) async throws {
        var chance = Chance(seed: seed)
        let models = [World.pin, World.fingerprint, World.password, World.face, World.passcode]
        let world = try await self.world(models[chance.number(below: models.count)])
        let payload = try await world.server.authentication(requester: Self.requester)
        let ready = try await world.operation(payload)
        if chance.isTrue(1, in: 4) {
            let status = [200, 401, 500, 302][chance.number(below: 4)]
            await world.server.intercept { request in
                request.body.count > 400 ? TransportResponse(status: status, headers: [], body: []) : nil
            }
        }
        let person = RestlessPerson(seed: seed)
        let ends = Ends()
        ready.accountSelector(person).authenticatorSelector(person).requesterVerifier(person).pinUserVerifier(person)
            .passwordUserVerifier(person).fingerprintUserVerifier(person).biometricUserVerifier(person)
            .devicePasscodeUserVerifier(person).onSuccess { _ in ends.note("success") }
            .onError { error in ends.note("\(error.code)") }.execute()
        // Fingers and time come until the end does, whatever it is.
        var rounds = 0
        while ends.all.isEmpty {
            rounds += 1
            for _ in 0..<20 { await Task.yield() }
            if rounds.isMultiple(of: 3) {
                let reading: BiometricReading = chance.isTrue(1, in: 2) ? .match : .noMatch(hint: "again")
                world.phone.sensor.feel(reading)
                world.phone.camera.feel(reading)
                world.phone.passcode.answer(.match)
            }
            if rounds.isMultiple(of: 50) { world.phone.clock.advance(by: .seconds(240)) }
        }
        let asked = person.count
        for _ in 0..<200 { await Task.yield() }
        world.phone.clock.advance(by: .seconds(1000))
        for _ in 0..<200 { await Task.yield() }
        #expect(ends.all.count == 1)
        #expect(person.count == asked)
    }

    /// Waits until the question has been asked and its time limit runs.
    private func until(_ question: VirtualPerson.Question, _ world: World) async {
        while world.phone.person.asked.last?.question != question { await Task.yield() }
        await world.phone.clock.untilSleeping()
    }
}

/// A reproducible chance.
struct Chance {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func number(below limit: Int) -> Int {
        self.state ^= self.state << 13
        self.state ^= self.state >> 7
        self.state ^= self.state << 17
        return Int(self.state >> 33) % limit
    }

    mutating func isTrue(_ count: Int, in total: Int) -> Bool { self.number(below: total) < count }
}

/// The ends that were told.
// Safe to share: every access to `names` is within `lock`.
private final class Ends: @unchecked Sendable {
    private let lock = NSLock()
    private var names: [String] = []
    var all: [String] { self.lock.withLock { self.names } }
    func note(_ name: String) { self.lock.withLock { self.names.append(name) } }
}

/// Lets the sensor read, and gives up later.
// Safe to share: every access to `handler` is within `lock`.
private final class LateCanceller: FingerprintUserVerifier, @unchecked Sendable {
    private let lock = NSLock()
    private var handler: FingerprintUserVerificationHandler?

    func verifyFingerprint(
        context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler
    ) {
        self.lock.withLock { self.handler = handler }
        handler.listenForOsCredentials()
    }

    func cancel() { self.lock.withLock { self.handler }?.cancel() }
}

/// Answers everything several times and in several ways, at once and later, or not at all.
// Safe to share: every access to the state is within `lock`.
private final class RestlessPerson: @unchecked Sendable {
    private let lock = NSLock()
    private var chance: Chance
    private var questions = 0

    init(seed: UInt64) { self.chance = Chance(seed: seed &+ 1000) }

    var count: Int { self.lock.withLock { self.questions } }

    func act(_ ways: [@Sendable () -> Void]) {
        let plan = self.lock.withLock { () -> [(way: Int, delay: Int)] in
            self.questions += 1
            return (0..<self.chance.number(below: 5)).map { _ in
                (self.chance.number(below: ways.count), self.chance.number(below: 30))
            }
        }
        for step in plan {
            let way = ways[step.way]
            if step.delay < 5 {
                way()
            } else {
                Task {
                    for _ in 0..<step.delay { await Task.yield() }
                    way()
                }
            }
        }
    }
}

extension RestlessPerson: PasswordUserVerifier, BiometricUserVerifier, DevicePasscodeUserVerifier {
    func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) {
        self.act([
            { handler.verifyPassword("lantern street 9") }, { handler.verifyPassword("lantern street 9") },
            { handler.verifyPassword("another password") }, { handler.cancel() },
        ])
    }

    func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) {
        self.act([
            { handler.listenForOsCredentials() }, { handler.listenForOsCredentials() }, { handler.cancel() },
        ])
    }

    func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
    ) {
        self.act([
            { handler.listenForOsCredentials() }, { handler.listenForOsCredentials() }, { handler.cancel() },
        ])
    }
}

extension RestlessPerson: AccountSelector, AuthenticatorSelector, RequesterVerifier, PinUserVerifier,
    FingerprintUserVerifier
{
    func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) {
        self.act([
            { handler.username("alice") }, { handler.username("bob") }, { handler.username("alice") },
            { handler.username("mallory") }, { handler.cancel() },
        ])
    }

    func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) {
        let aaid = context.authenticators[0].aaid
        self.act([{ handler.aaid(aaid) }, { handler.aaid(aaid) }, { handler.aaid("?") }, { handler.cancel() }])
    }

    func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler) {
        self.act([{ handler.approve() }, { handler.approve() }, { handler.cancel() }])
    }

    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) {
        self.act([
            { handler.verifyPin("135790") }, { handler.verifyPin("135790") }, { handler.verifyPin("000000") },
            { handler.cancel() },
        ])
    }

    func verifyFingerprint(
        context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler
    ) {
        self.act([
            { handler.listenForOsCredentials() }, { handler.listenForOsCredentials() }, { handler.cancel() },
        ])
    }
}
