public import Ceremony
public import Countersign
public import UAF
public import UAFClient

/// A phone without a screen: the real SDK over a storage in memory, a clock that a test moves, and a person with a
/// script.
public struct VirtualPhone: Sendable {
    /// The SDK.
    public let client: MobileAuthenticationClient
    /// The person who holds the phone.
    public let person: VirtualPerson
    /// The phone's storage.
    public let storage: InMemoryStorage
    /// The phone's clock.
    public let clock: FakeClock
    /// The phone's fingerprint sensor.
    public let sensor: ScriptedSensor
    /// The phone's face recognition.
    public let camera: ScriptedSensor
    /// The phone's own passcode.
    public let passcode: ScriptedPasscode
    /// The phone's key store; `nil` for keys in the storage.
    public let keys: (any DeviceKeys)?

    /// Switches a phone on. With the storage of another phone, the result is the other phone after a restart of its
    /// app.
    ///
    /// An attempt at a PIN costs nearly nothing here. The SDK's events go to `traceRecorder`. Throws
    /// ``InitializationError``.
    public init(
        configuration: ClientConfiguration, transport: any Transport, storage: InMemoryStorage = InMemoryStorage(),
        clock: FakeClock = FakeClock(), sensor: ScriptedSensor = ScriptedSensor(),
        camera: ScriptedSensor = ScriptedSensor(), passcode: ScriptedPasscode = ScriptedPasscode(),
        keys: (any DeviceKeys)? = nil, appAttestor: (any AppAttestor)? = nil, person: VirtualPerson = VirtualPerson(),
        pictureDisplays: [PictureDisplay] = [], traceRecorder: TraceRecorder? = nil
    ) async throws {
        self.storage = storage
        self.clock = clock
        self.sensor = sensor
        self.camera = camera
        self.passcode = passcode
        self.keys = keys
        self.person = person
        var initializer = MobileAuthenticationClientInitializer()
            .configuration(configuration)
            .platform(
                DevicePlatform(
                    storage: storage, keys: keys, fingerprintSensor: sensor, faceSensor: camera,
                    devicePasscode: passcode, appAttestor: appAttestor, clock: clock)
            )
            .transport(transport)
            .pinHardening(PinHardening(rounds: 2, blockSize: 1, parallelism: 1))
            .pictureDisplays(pictureDisplays)
        if let traceRecorder { initializer = initializer.traceRecorder(traceRecorder) }
        self.client = try await initializer.execute()
    }

    /// Redeems a payload, as after scanning it. Throws ``OperationError``.
    public func redeem(_ payload: OutOfBandPayload) async throws -> OutOfBandOperation.Redeemed {
        try await self.client.operations.outOfBandOperation.payload(payload).execute()
    }

    /// Redeems a payload and enrols. Throws as the SDK does; `missingInteraction` if the payload is not a registration.
    public func enroll(_ payload: OutOfBandPayload, deviceName: String = "Virtual phone") async throws
        -> RegistrationResult
    {
        guard case .registration(let operation) = try await self.redeem(payload) else {
            throw OperationError(.missingInteraction, "not a registration")
        }
        return try await self.ready(operation, deviceName: deviceName).execute()
    }

    /// Redeems a payload and authenticates. Throws as the SDK does; `missingInteraction` if the payload is not an
    /// authentication.
    public func authenticate(_ payload: OutOfBandPayload) async throws -> AuthenticationSuccess {
        guard case .authentication(let operation) = try await self.redeem(payload) else {
            throw OperationError(.missingInteraction, "not an authentication")
        }
        return try await self.ready(operation).execute()
    }

    /// Authenticates in the app, by name. Throws as the SDK does.
    public func authenticate(username: Username) async throws -> AuthenticationSuccess {
        try await self.ready(self.client.operations.authentication.username(username)).execute()
    }

    /// Redeems the payload in a QR code and carries out its operation.
    public func scan(_ code: String) async throws {
        let payload = try OutOfBandPayload(scanned: code)
        switch try await self.redeem(payload) {
        case .registration(let operation): _ = try await self.ready(operation).execute()
        case .authentication(let operation): _ = try await self.ready(operation).execute()
        case .deregistration: break
        }
    }

    /// Returns the operation with all of the person's answers.
    public func ready<Operation: RegistrationOperation>(
        _ operation: Operation, deviceName: String = "Virtual phone"
    ) -> Operation {
        self.answered(operation).deviceInformation(DeviceInformation(name: deviceName)).pinEnroller(self.person)
            .passwordEnroller(self.person)
    }

    /// Returns the operation with all of the person's answers.
    public func ready<Operation: AuthenticationOperation>(_ operation: Operation) -> Operation {
        self.answered(operation).pinUserVerifier(self.person).passwordUserVerifier(self.person)
            .requesterVerifier(self.person).numberMatcher(self.person)
    }

    /// Returns the operation with all of the person's answers.
    public func ready(_ operation: OutOfBandAuthentication) -> OutOfBandAuthentication {
        self.answered(operation).pinUserVerifier(self.person).passwordUserVerifier(self.person)
            .requesterVerifier(self.person).numberMatcher(self.person).accountSelector(self.person)
    }

    private func answered<Operation: InteractiveOperation>(_ operation: Operation) -> Operation {
        operation.authenticatorSelector(self.person).fingerprintUserVerifier(self.person)
            .biometricUserVerifier(self.person).devicePasscodeUserVerifier(self.person)
    }
}
