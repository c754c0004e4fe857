import UAF
import UAFClient
import _Primitives

/// What every registration takes, however it was started.
public protocol RegistrationOperation: InteractiveOperation
where Success == RegistrationResult, Failure == OperationError {}

extension OperationBuilder where Operation: RegistrationOperation {
    /// What the device is called. Needed for the first registration; ignored as the device's name after that.
    public func deviceInformation(_ information: DeviceInformation) -> Self {
        self.changing { $0.screens.deviceInformation = information }
    }
    /// Whether the new key of a fingerprint or a face ends when fingers or faces are added or removed: true unless it is
    /// given. Its next use then ends with ``FidoErrorCode/keyDisappearedPermanently``. It holds for the key's life.
    public func invalidateOnNewOsBiometrics(_ invalidates: Bool) -> Self {
        self.changing { $0.screens.biometricOptions.invalidatesOnNewBiometrics = invalidates }
    }
    /// Asks for a new PIN. Without it a PIN cannot be chosen.
    public func pinEnroller(_ enroller: any PinEnroller) -> Self { self.changing { $0.screens.pinEnroller = enroller } }
    /// Asks for a new password. Without it a password cannot be chosen.
    public func passwordEnroller(_ enroller: any PasswordEnroller) -> Self {
        self.changing { $0.screens.passwordEnroller = enroller }
    }
}

/// A registration that was started elsewhere: the token says for whom. Configure it and execute it once.
public struct OutOfBandRegistration: RegistrationOperation {
    private let core: ClientCore
    private let answer: ReceivedRequest
    private let recording: Recording
    private let once = OneShot()
    /// The SDK's alone.
    public var screens = Screens()

    init(core: ClientCore, answer: ReceivedRequest, recording: Recording) {
        self.core = core
        self.answer = answer
        self.recording = recording
    }

    /// Tells the server that nobody in this app can answer.
    func decline() async {
        await ServerExchange(core: self.core, recording: self.recording).decline(self.answer, as: .unknown)
    }

    /// Registers. Unless the server has taken the key, none is left on the device.
    ///
    /// Where the server's answer is lost, none is left either, though the server may have taken the key: the recovery is
    /// then ``OperationError/Recovery-swift.enum/enrollAgain``, with a new link.
    public func perform() async throws(OperationError) -> RegistrationResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        return try await RegistrationRun(
            core: self.core, recording: self.recording, request: self.answer, screens: self.screens
        ).run()
    }
}

/// A registration that the app starts, for a person whom the server knows by an authorization provider. Configure it and
/// execute it once.
public struct Registration: RegistrationOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    /// The SDK's alone.
    public var screens = Screens()

    init(core: ClientCore) { self.core = core }

    /// Registers. Unless the server has taken the key, none is left on the device.
    public func perform() async throws(OperationError) -> RegistrationResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        let recording = self.core.newRecording()
        let request: ReceivedRequest
        do {
            request = try await ServerExchange(core: self.core, recording: recording).request(
                GetUAFRequest(operation: .registration, context: ["username": .string(username)]),
                path: self.core.configuration.registrationRequestPath,
                by: self.authorizationProvider.map { .provider($0) } ?? .anybody)
        } catch {
            throw OperationError(translating: error)
        }
        return try await RegistrationRun(
            core: self.core, recording: recording, request: request, username: username, screens: self.screens
        ).run()
    }
}

extension OperationBuilder where Operation == Registration {
    /// For whom. Needed; a request of the server for somebody else is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// What proves to the server who registers.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
