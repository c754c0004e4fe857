import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("Operations parity 9 to 11, 18 to 20, 56 to 58: what the operating system judges", .overEachKeyAbility)
struct SystemVerifierTests {
    private static let models: [(AuthenticatorModel, VirtualPerson.Question)] = [
        (World.face, .face), (World.passcode, .passcode),
    ]

    private func feel(_ model: AuthenticatorModel, _ reading: BiometricReading, _ world: World) {
        switch (model.factor, reading) {
        case (.devicePasscode, .cancelled): world.phone.passcode.answer(.cancelled)
        case (.devicePasscode, .lockedOut): world.phone.passcode.answer(.lockedOut)
        case (.devicePasscode, _): world.phone.passcode.answer(.match)
        case (.face, _): world.phone.camera.feel(reading)
        default: world.phone.sensor.feel(reading)
        }
    }

    private func enroll(_ name: [UInt8]?, _ model: AuthenticatorModel, _ world: World) {
        switch model.factor {
        case .devicePasscode: world.phone.passcode.enroll(name)
        case .face: world.phone.camera.enroll(name)
        default: world.phone.sensor.enroll(name)
        }
    }

    private func authenticate(_ world: World) async throws {
        _ = try await world.phone.authenticate(try await world.server.authentication())
    }

    @Test("The app is asked once, before the operating system", arguments: models)
    func once(model: AuthenticatorModel, question: VirtualPerson.Question) async throws {
        let world = try await World()
        self.feel(model, .match, world)
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[model]]))
        _ = try await world.phone.enroll(payload)
        #expect(world.phone.person.asked.map(\.question) == [.authenticator, question])
        world.phone.person.forget()
        self.feel(model, .match, world)
        try await self.authenticate(world)
        #expect(world.phone.person.asked.map(\.question).suffix(2) == [.authenticator, question])
        #expect(await world.server.accepted.last?.assertions.map(\.aaid) == [model.aaid])
    }

    @Test("A face that does not match is looked for again, and the app is not asked again")
    func noMatch() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.face])
        world.phone.camera.feel(.noMatch(hint: "too dark"), .noMatch(hint: "too near"), .match)
        try await self.authenticate(world)
        #expect(world.phone.person.asked.filter { $0.question == .face }.count == 1)
        #expect(world.phone.camera.readingCount == 4)
    }

    @Test("Giving up at the operating system and its lock end the operation, with their own codes", arguments: models)
    func endings(model: AuthenticatorModel, question: VirtualPerson.Question) async throws {
        let world = try await World()
        try await world.enroll("alice", [model])
        self.feel(model, .cancelled, world)
        #expect(await operationError { try await self.authenticate(world) } == .fido(.userCanceled))
        self.feel(model, .lockedOut, world)
        #expect(await operationError { try await self.authenticate(world) } == .fido(.userLockout))
        #expect(await world.server.clientErrorCodes == [0x03, 0x10])
        // The lock is the operating system's: the key is still there.
        self.feel(model, .match, world)
        try await self.authenticate(world)
    }

    @Test("Nobody enrolled with the operating system is told so, at a registration and later", arguments: models)
    func notEnrolled(model: AuthenticatorModel, question: VirtualPerson.Question) async throws {
        let world = try await World()
        self.enroll(nil, model, world)
        #expect(await operationError { try await world.enroll("alice", [model]) } == .fido(.userNotEnrolled))
        #expect(await world.isEmpty())
        self.enroll(Array("set".utf8), model, world)
        try await world.enroll("alice", [model])
        self.enroll(nil, model, world)
        // The standard has no code of its own for it at a signature (UAF Authenticator Commands 1.1).
        #expect(await operationError { try await self.authenticate(world) } == .fido(.authenticatorAccessDenied))
        let descriptor = await world.phone.client.localData.authenticators.first { $0.aaid == model.aaid.text }
        #expect(descriptor?.isUserEnrolled == false && descriptor?.isSupportedByHardware == true)
    }

    @Test(
        "Another enrolment takes the key away for good, and enrolling again works",
        arguments: [World.fingerprint, World.face, World.passcode])
    func changed(model: AuthenticatorModel) async throws {
        let world = try await World()
        try await world.enroll("alice", [model])
        self.enroll(Array("another".utf8), model, world)
        #expect(await operationError { try await self.authenticate(world) } == .fido(.keyDisappearedPermanently))
        try await world.enroll("alice", [model])
        self.feel(model, .match, world)
        try await self.authenticate(world)
    }

    @Test("A lock that is removed denies its key, another lock ends it, and enrolling again works")
    func lockRemoved() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.passcode])
        self.enroll(nil, World.passcode, world)
        #expect(await operationError { try await self.authenticate(world) } == .fido(.authenticatorAccessDenied))
        #expect(
            await operationError { try await world.enroll("alice", [World.passcode]) } == .fido(.userNotEnrolled))
        self.enroll(Array("another".utf8), World.passcode, world)
        #expect(await operationError { try await self.authenticate(world) } == .fido(.keyDisappearedPermanently))
        try await world.enroll("alice", [World.passcode])
        self.feel(World.passcode, .match, world)
        try await self.authenticate(world)
        #expect(await world.server.accepted.last?.assertions.map(\.aaid) == [World.passcode.aaid])
    }

    @Test(
        "A key survives other fingers or faces where the registration says so",
        arguments: [World.fingerprint, World.face])
    func survives(model: AuthenticatorModel) async throws {
        let world = try await World()
        self.feel(model, .match, world)
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[model]]))
        let operation = try await world.registration(payload)
        _ = try await world.phone.ready(operation).invalidateOnNewOsBiometrics(false).execute()
        self.enroll(Array("another".utf8), model, world)
        self.feel(model, .match, world)
        try await self.authenticate(world)
    }

    @Test(
        "The passcode replaces finger or face where the registration wants it and other fingers do not end the key",
        arguments: [World.fingerprint, World.face])
    func passcodeFallback(model: AuthenticatorModel) async throws {
        let other = AuthenticatorModel(factor: model.factor, keyStore: .file, allowsPasscode: true)
        let cases: [(allows: Bool?, invalidates: Bool?)] = [
            (nil, nil), (true, nil), (true, true), (false, false), (nil, false), (true, false),
        ]
        for (allows, invalidates) in cases {
            let world = try await World()
            self.feel(model, .match, world)
            let payload = try await world.server.registration(
                for: "alice", policy: World.policy([[model], [other]]))
            var operation = world.phone.ready(try await world.registration(payload))
            if let allows { operation = operation.allowDevicePasscodeAsFallback(allows) }
            if let invalidates { operation = operation.invalidateOnNewOsBiometrics(invalidates) }
            _ = try await operation.execute()
            let isOffered = allows == true && invalidates == false
            let offered = world.phone.person.asked.first?.authenticators.filter(\.allowsDevicePasscode).map(\.kind)
            #expect(Set(offered ?? [.pin]) == (isOffered ? [.fingerprint, .face] : []))
            self.feel(model, .match, world)
            try await self.authenticate(world)
            let sensor = model == World.face ? world.phone.camera : world.phone.sensor
            #expect(sensor.passcodeAllowed == [isOffered, isOffered])
            let expected = isOffered ? other.aaid : model.aaid
            #expect(await world.server.accepted.last?.assertions.map(\.aaid) == [expected])
            let registered = await world.phone.client.localData.authenticators.filter {
                $0.registration.isRegistered(username: "alice")
            }
            #expect(registered.map(\.allowsDevicePasscode) == [isOffered])
        }
    }

    @Test(
        "A server that wants a finger or a face gets no key that the passcode opens, and nothing stays",
        arguments: [World.fingerprint, World.face])
    func strictServer(model: AuthenticatorModel) async throws {
        let world = try await World()
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[model]]))
        let operation = world.phone.ready(try await world.registration(payload))
            .allowDevicePasscodeAsFallback(true).invalidateOnNewOsBiometrics(false)
        #expect(await operationError { _ = try await operation.execute() } == .fido(.noSuitableAuthenticator))
        #expect(await world.isEmpty())
    }

    @Test("The app's texts reach the operating system's dialog", arguments: models)
    func prompt(model: AuthenticatorModel, question: VirtualPerson.Question) async throws {
        let world = try await World()
        try await world.enroll("alice", [model])
        let prompt = SystemPrompt(reason: "Pay 12 EUR", fallbackTitle: "Use passcode", cancelTitle: "Not now")
        world.phone.person.script.prompt = prompt
        self.feel(model, .match, world)
        try await self.authenticate(world)
        let shown = model == World.face ? world.phone.camera.prompts : world.phone.passcode.prompts
        #expect(shown == [SystemPrompt(), prompt])
    }

    @Test("Giving up while the operating system looks for a face stops it")
    func cancelledWhileReading() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.face])
        let person = LateCanceller()
        let operation = try await world.operation(try await world.server.authentication())
            .authenticatorSelector(world.phone.person).biometricUserVerifier(person)
        let ended = Task { await operationError { _ = try await operation.execute() } }
        while world.phone.camera.readingCount < 2 { await Task.yield() }
        person.cancel()
        #expect(await ended.value == .fido(.userCanceled))
        world.phone.camera.feel(.match)
        try await self.authenticate(world)
    }

    @Test("Without an app's screen nothing of it can be chosen", arguments: models)
    func noScreen(model: AuthenticatorModel, question: VirtualPerson.Question) async throws {
        let world = try await World()
        try await world.enroll("alice", [model])
        let operation = try await world.operation(try await world.server.authentication())
        let error = await operationError {
            _ =
                try await operation.authenticatorSelector(world.phone.person).pinUserVerifier(world.phone.person)
                .fingerprintUserVerifier(world.phone.person).execute()
        }
        #expect(error == OperationError(.missingInteraction))
    }

    @Test(
        "In the app, each authenticator registers an account that the server knows, and nothing without a provider",
        arguments: [World.pin, World.password, World.fingerprint, World.face, World.passcode])
    func inApp(model: AuthenticatorModel) async throws {
        let world = try await World()
        world.phone.person.script.aaid = model.aaid.text
        let registration = world.phone.ready(world.phone.client.operations.registration.username("alice"))
        let refused = await operationError { _ = try await registration.execute() }
        #expect(refused?.code == .notAuthorized)
        #expect(await world.isEmpty())
        self.feel(model, .match, world)
        let authorized = world.phone.ready(world.phone.client.operations.registration.username("alice"))
            .authorizationProvider(JwtAuthorizationProvider("virtual-jwt"))
        _ = try await authorized.execute()
        #expect(await world.server.credentials.values.map(\.username) == ["alice"])
        let registered = await world.phone.client.localData.authenticators.filter {
            $0.registration.isRegistered(username: "alice")
        }
        #expect(registered.map(\.aaid) == [model.aaid.text])
    }
}

/// Lets the operating system look, and gives up later.
// Safe to share: every access to `handler` is within `lock`.
private final class LateCanceller: BiometricUserVerifier, @unchecked Sendable {
    private let lock = NSLock()
    private var handler: BiometricUserVerificationHandler?

    func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) {
        self.lock.withLock { self.handler = handler }
        handler.listenForOsCredentials()
    }

    func cancel() { self.lock.withLock { self.handler }?.cancel() }
}
