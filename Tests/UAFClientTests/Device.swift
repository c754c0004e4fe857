import CountersignTestKit
import Crypto
import Foundation
import UAF
import UAFClient
import _Primitives

/// A person as the authenticators see them: PINs and readiness for the sensor, from a list.
actor TestPerson: UserInteraction {
    private(set) var newPin = "135790"
    private(set) var pins: [String]
    private(set) var statuses: [PinAuthenticatorProtectionStatus] = []
    private(set) var refusals: [PinRefusal?] = []
    private(set) var hints: [String?] = []
    private var failure: UserVerificationError?
    private var beforePin: (@Sendable () async -> Void)?

    init(pins: [String] = ["135790"], failing failure: UserVerificationError? = nil) {
        self.pins = pins
        self.failure = failure
    }

    /// Does something while the person is about to type.
    func beforePin(_ body: @escaping @Sendable () async -> Void) { self.beforePin = body }

    func enrollPin(_ aaid: AAID) async throws -> SecretBytes {
        if let failure { throw failure }
        return SecretBytes(utf8: self.newPin)
    }

    func verifyPin(_ aaid: AAID, status: PinAuthenticatorProtectionStatus, lastError: PinRefusal?) async throws
        -> SecretBytes
    {
        self.statuses.append(status)
        self.refusals.append(lastError)
        if let failure { throw failure }
        await self.beforePin?()
        guard !self.pins.isEmpty else { throw UserVerificationError.cancelled }
        return SecretBytes(utf8: self.pins.removeFirst())
    }

    func verifyFingerprint(
        _ aaid: AAID, hint: String?, read: @escaping @Sendable () async throws -> FingerprintReading
    ) async throws -> FingerprintReading {
        self.hints.append(hint)
        if let failure { throw failure }
        return try await read()
    }
}

/// A device with the module alone, and what a test needs to look at its answers.
struct Device: Sendable {
    static let facet = "linux:program:test"
    static let pin = AuthenticatorModel(factor: .pin, keyStore: .file)
    static let fingerprint = AuthenticatorModel(factor: .fingerprint, keyStore: .file)
    static let possession = AuthenticatorModel(factor: .devicePossession, keyStore: .file)

    let storage: InMemoryStorage
    let clock: FakeClock
    let sensor: ScriptedFingerprintSensor?
    let module: AuthenticatorModule

    init(
        storage: InMemoryStorage = InMemoryStorage(), clock: FakeClock = FakeClock(),
        sensor: ScriptedFingerprintSensor? = ScriptedFingerprintSensor(), facet: String = Self.facet,
        maximumKeys: Int = 256
    ) throws {
        self.storage = storage
        self.clock = clock
        self.sensor = sensor
        self.module = try AuthenticatorModule(
            platform: Platform(storage: storage, fingerprintSensor: sensor, clock: clock),
            configuration: AuthenticatorModule.Configuration(
                callerID: try FacetID(facet), pinHardening: PinHardening(rounds: 2, blockSize: 1, parallelism: 1),
                maximumKeys: maximumKeys))
    }

    /// The same device after its process was killed.
    func reopened() throws -> Device {
        try Device(storage: InMemoryStorage(self.storage.snapshot), clock: self.clock, sensor: self.sensor)
    }

    @discardableResult
    func register(
        _ model: AuthenticatorModel, appID: String = Self.facet, username: String = "alice",
        person: TestPerson = TestPerson()
    ) async throws -> RegisteredKey {
        if model == Self.fingerprint { self.sensor?.feel(.match) }
        return try await self.module.register(
            model, appID: appID, username: username, finalChallenge: "challenge", attestationType: .basicSurrogate,
            verification: person)
    }

    func sign(
        _ name: KeyName, appID: String = Self.facet, transaction: Transaction? = nil, person: TestPerson = TestPerson()
    ) async throws -> SignedData {
        let assertion = try await self.module.authenticate(
            name, appID: appID, finalChallenge: "challenge", transaction: transaction, verification: person)
        return try AuthenticationAssertion(parsing: assertion.bytes).signedData
    }
}

extension RegisteredKey {
    /// What the assertion says.
    func read() throws -> RegistrationAssertion { try RegistrationAssertion(parsing: self.assertion.bytes) }
}

/// How an operation ended.
func failure(_ body: () async throws -> Void) async -> OperationFailure? {
    do {
        try await body()
        return nil
    } catch {
        return error as? OperationFailure
    }
}
