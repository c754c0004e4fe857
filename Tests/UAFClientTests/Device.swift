import CountersignTestKit
import Crypto
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

/// A person as the authenticators see them: PINs and readiness for the sensor, from a list.
actor TestPerson: UserInteraction {
    private(set) var newPin = "135790"
    private(set) var pins: [String]
    private(set) var statuses: [AuthenticatorProtectionStatus] = []
    private(set) var refusals: [SecretRefusal?] = []
    private(set) var hints: [String?] = []
    private(set) var passcodeQuestions = 0
    private(set) var pictures: [[UInt8]] = []
    private var pictureFailure: UserVerificationError?
    private var failure: UserVerificationError?
    private var beforePin: (@Sendable () async -> Void)?
    private var whileAsked: (@Sendable () -> Void)?

    init(pins: [String] = ["135790"], failing failure: UserVerificationError? = nil) {
        self.pins = pins
        self.failure = failure
    }

    /// The person sees pictures, or there is no screen for them.
    func seesPictures(failing failure: UserVerificationError?) { self.pictureFailure = failure }

    func show(picture: [UInt8], _ model: AuthenticatorModel) async throws {
        self.pictures.append(picture)
        if let pictureFailure { throw pictureFailure }
    }

    /// Does something while the person is about to type.
    func beforePin(_ body: @escaping @Sendable () async -> Void) { self.beforePin = body }

    /// Does something while the operating system's dialog waits for a finger, a face or the passcode.
    func whileAsked(_ body: @escaping @Sendable () -> Void) { self.whileAsked = body }

    func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes {
        if let failure { throw failure }
        return SecretBytes(utf8: self.newPin)
    }

    func verifySecret(_ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?)
        async throws -> SecretBytes
    {
        self.statuses.append(status)
        self.refusals.append(lastError)
        if let failure { throw failure }
        await self.beforePin?()
        guard !self.pins.isEmpty else { throw UserVerificationError.cancelled }
        return SecretBytes(utf8: self.pins.removeFirst())
    }

    func verifyBiometric(
        _ model: AuthenticatorModel, hint: String?,
        read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws -> BiometricReading {
        self.hints.append(hint)
        if let failure { throw failure }
        self.whileAsked?()
        return try await read(SystemPrompt())
    }

    func verifyDevicePasscode(
        _ model: AuthenticatorModel, ask: @escaping @Sendable (SystemPrompt) async throws -> DevicePasscodeReading
    ) async throws -> DevicePasscodeReading {
        self.passcodeQuestions += 1
        if let failure { throw failure }
        self.whileAsked?()
        return try await ask(SystemPrompt())
    }
}

/// A device with the module alone, and what a test needs to look at its answers.
struct Device: Sendable {
    static let facet = "linux:program:test"
    static let pin = AuthenticatorModel(factor: .pin, keyStore: .file)
    static let password = AuthenticatorModel(factor: .password, keyStore: .file)
    static let fingerprint = AuthenticatorModel(factor: .fingerprint, keyStore: .file)
    static let face = AuthenticatorModel(factor: .face, keyStore: .file)
    static let passcode = AuthenticatorModel(factor: .devicePasscode, keyStore: .file)
    static let possession = AuthenticatorModel(factor: .devicePossession, keyStore: .file)

    /// The models with keys in a file.
    static let models = AuthenticatorModel.allCases.filter { $0.keyStore == .file }

    static let hardening = PinHardening(rounds: 2, blockSize: 1, parallelism: 1)

    let storage: InMemoryStorage
    let clock: FakeClock
    let sensor: ScriptedSensor?
    let camera: ScriptedSensor?
    let systemPasscode: ScriptedPasscode?
    let keys: (any DeviceKeys)?
    let platform: DevicePlatform
    let module: AuthenticatorModule

    init(
        storage: InMemoryStorage = InMemoryStorage(), clock: FakeClock = FakeClock(),
        sensor: ScriptedSensor? = ScriptedSensor(), camera: ScriptedSensor? = ScriptedSensor(),
        systemPasscode: ScriptedPasscode? = ScriptedPasscode(), keys: (any DeviceKeys)? = nil,
        facet: String = Self.facet, maximumKeys: Int = 256,
        persona: String = "", displays: [DisplayPNGCharacteristics] = []
    ) throws {
        self.storage = storage
        self.clock = clock
        self.sensor = sensor
        self.camera = camera
        self.systemPasscode = systemPasscode
        self.keys = keys
        self.platform = DevicePlatform(
            storage: storage, keys: keys, fingerprintSensor: sensor, faceSensor: camera,
            devicePasscode: systemPasscode, clock: clock)
        self.module = try AuthenticatorModule(
            platform: self.platform,
            configuration: AuthenticatorModule.Configuration(
                callerID: try FacetID(facet), pinHardening: Self.hardening, maximumKeys: maximumKeys,
                personaID: persona, pictureDisplays: displays))
    }

    /// The same device after its process was killed.
    func reopened() throws -> Device {
        try Device(
            storage: InMemoryStorage(self.storage.snapshot), clock: self.clock, sensor: self.sensor,
            camera: self.camera, systemPasscode: self.systemPasscode, keys: self.keys)
    }

    /// What reads faces, or else what reads fingers.
    func sensor(of model: AuthenticatorModel) throws -> ScriptedSensor {
        try #require(model == Self.face ? self.camera : self.sensor)
    }

    /// The operating system recognises its owner, the next time that it is asked for this model.
    func recognise(_ model: AuthenticatorModel) {
        switch model.factor {
        case .fingerprint: self.sensor?.feel(.match)
        case .face: self.camera?.feel(.match)
        case .devicePasscode: self.systemPasscode?.answer(.match)
        case .pin, .password, .devicePossession: break
        }
    }

    @discardableResult
    func register(
        _ model: AuthenticatorModel, appID: String = Self.facet, username: String = "alice",
        challenge: String = "challenge", options: BiometricOptions = BiometricOptions(),
        person: TestPerson = TestPerson()
    ) async throws -> RegisteredKey {
        self.recognise(model)
        return try await self.module.register(
            model, appID: appID, username: username, finalChallenge: challenge, attestationType: .basicSurrogate,
            options: options, verification: person)
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
