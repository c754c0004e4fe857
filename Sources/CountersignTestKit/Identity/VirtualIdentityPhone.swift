public import Countersign
public import UAFClient
public import _Primitives

/// A phone for identities without a screen: the real SDK over a storage in memory and a clock that a test moves.
public struct VirtualIdentityPhone: Sendable {
    /// The SDK.
    public let sdk: CountersignSDK
    /// The phone's storage.
    public let storage: InMemoryStorage
    /// The phone's clock.
    public let clock: FakeClock
    /// The phone's fingerprint sensor.
    public let sensor: ScriptedSensor
    /// The server in the app's configuration.
    public let server: VirtualIdentityServer

    /// Switches a phone on.
    ///
    /// With the storage of another phone, the result is the other phone after a restart of its app. Throws
    /// ``CountersignError``.
    public init(
        server: VirtualIdentityServer, sdk: CountersignSDK = CountersignSDK(),
        storage: InMemoryStorage = InMemoryStorage(),
        clock: FakeClock? = nil, sensor: ScriptedSensor = ScriptedSensor(), keys: (any DeviceKeys)? = nil,
        devicePasscode: (any DevicePasscode)? = nil, random: RandomSource = .system,
        configuration change: @Sendable (inout IdentityConfiguration) -> Void = { _ in }
    ) async throws {
        self.server = server
        self.sdk = sdk
        self.storage = storage
        self.clock = clock ?? server.clock
        self.sensor = sensor
        var configuration = IdentityConfiguration(servers: [server.trusted])
        configuration.facetID = "linux:program:test"
        change(&configuration)
        try await sdk.initialize(
            configuration,
            platform: DevicePlatform(
                storage: storage, keys: keys, fingerprintSensor: sensor, devicePasscode: devicePasscode,
                clock: self.clock, random: random),
            transport: server)
    }

    /// Returns the same phone after a restart of its app, with the present contents of its storage.
    public func restarted() async throws -> VirtualIdentityPhone {
        try await VirtualIdentityPhone(
            server: self.server, storage: InMemoryStorage(self.storage.snapshot), clock: self.clock, sensor: self.sensor
        )
    }

    /// Opens an activation's code with a PIN. Throws ``CountersignError``.
    public func open(_ code: String, pin: String) async throws -> PersonalizationResponse {
        let data = try self.sdk.common.parseProcessInitializationData(code).personalizationData
        return try await self.sdk.personalizer.decryptPersonalizationInitializationData(data: data, pin: pin)
    }

    /// Personalises the app with a PIN and, if `withFinger` is set, a finger. Throws ``CountersignError``, and
    /// ``WrongCode`` if the app is personalised already.
    @discardableResult
    public func personalize(pin: String = "824193", withFinger: Bool = false) async throws -> PersonalizedIdentity {
        let code = try await self.server.activationCode(pin: pin)
        guard case .newPersonalization(let personalization) = try await self.open(code, pin: pin) else {
            throw WrongCode()
        }
        if withFinger {
            self.sensor.feel(.match)
            personalization.setFactor(try await self.sdk.biometrics.factorForEnrolment())
        }
        return try await self.sdk.personalizer.finishPersonalization(request: personalization)
    }

    /// Returns the data that an authentication's code contains. Throws ``CountersignError``.
    public func authenticationData(_ code: String) throws -> AuthenticationInitializationData {
        try self.sdk.common.parseProcessInitializationData(code).authenticationData
    }

    /// Starts and prepares an authentication, for a service without attributes. Throws ``CountersignError``, and
    /// ``WrongCode`` if the server reports errors of attributes.
    public func prepare(_ data: AuthenticationInitializationData) async throws -> AuthenticationUserInformation {
        let request = try await self.sdk.authenticator.startAuthentication(data: data)
        guard
            case .success(let info) = try await self.sdk.authenticator.prepareAuthenticationUserInformation(
                request: request)
        else { throw WrongCode() }
        return info
    }

    /// Authenticates with the device and a PIN. Throws ``CountersignError``.
    public func authenticate(_ data: AuthenticationInitializationData, pin: String = "824193") async throws
        -> AuthenticationResult
    {
        let info = try await self.prepare(data)
        // The SDK signs only after the text was read.
        _ = info.transactionText
        try info.sign(factor: DeviceFactor())
        try info.sign(factor: PinFactor(pin))
        return try await self.sdk.authenticator.finishAuthentication(userInfo: info)
    }
}

/// The error for a code that begins another process than the test expects, or for a preparation with errors.
public struct WrongCode: Error {
    /// Creates the error.
    public init() {}
}
