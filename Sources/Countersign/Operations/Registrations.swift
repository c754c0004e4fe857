import UAF
import UAFClient
import _Primitives

/// The settings that every registration accepts, however the registration was started.
public protocol RegistrationOperation: InteractiveOperation
where Success == RegistrationResult, Failure == OperationError {}

extension OperationBuilder where Operation: RegistrationOperation {
    /// Sets the device's name and its push address. Required for the first registration. Afterwards this device keeps
    /// its own data (``LocalData/deviceInformation``), which ``DeviceInformationChange`` changes: a further registration
    /// ignores the push address, and only a server without dispatch targets keeps the name that is given here.
    ///
    /// The registration creates the device as a target of dispatches at the account's server, with the device's own
    /// keys. If the server does not know the keys yet, for example because the registration waits for its number, the
    /// next authentication or ``DeviceInformationSync`` creates the target. A target that cannot be created ends no
    /// registration: ``DeviceInformationCheck`` finds it.
    public func deviceInformation(_ information: DeviceInformation) -> Self {
        self.changing { $0.screens.deviceInformation = information }
    }
    /// Sets whether the new key of a fingerprint or a face becomes invalid when fingers or faces are added or removed.
    /// The default is `true`.
    ///
    /// The next use of an invalid key ends with ``FidoErrorCode/keyDisappearedPermanently``. The setting applies for
    /// the key's whole life.
    public func invalidateOnNewOsBiometrics(_ invalidates: Bool) -> Self {
        self.changing { $0.screens.biometricOptions.invalidatesOnNewBiometrics = invalidates }
    }
    /// Sets whether the device's passcode may replace the finger or the face of the new key. The default is `false`.
    ///
    /// The new key is then a key of another model (``AuthenticatorDescriptor/allowsDevicePasscode``), which the server
    /// counts as a passcode. A server whose policy requires a finger or a face refuses the model with
    /// ``FidoErrorCode/noSuitableAuthenticator``. The setting has no effect together with
    /// ``invalidateOnNewOsBiometrics(_:)``, which is on by default: whoever knows the passcode could enrol another
    /// finger. The setting applies for the key's whole life.
    public func allowDevicePasscodeAsFallback(_ allows: Bool) -> Self {
        self.changing { $0.screens.biometricOptions.allowsPasscode = allows }
    }
    /// Sets the screen that asks for a new PIN. Without this screen, the person cannot choose a PIN.
    public func pinEnroller(_ enroller: any PinEnroller) -> Self { self.changing { $0.screens.pinEnroller = enroller } }
    /// Sets the screen that asks for a new password. Without this screen, the person cannot choose a password.
    public func passwordEnroller(_ enroller: any PasswordEnroller) -> Self {
        self.changing { $0.screens.passwordEnroller = enroller }
    }
}

/// A registration that was started elsewhere; the token determines the person. Configure the operation and execute it
/// once.
public struct OutOfBandRegistration: RegistrationOperation {
    private let core: ClientCore
    private let answer: ReceivedRequest
    private let recording: Recording
    private let once = OneShot()
    /// The screens, used by the SDK only.
    public var screens = Screens()
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore, answer: ReceivedRequest, recording: Recording) {
        self.core = core
        self.answer = answer
        self.recording = recording
    }

    /// Tells the server that this app cannot answer.
    func decline() async {
        await ServerExchange(core: self.core, recording: self.recording).decline(self.answer, as: .unknown)
    }

    /// Registers the person. Unless the server has accepted the key, no key is left on the device.
    ///
    /// If the server's answer is lost, no key is left either, though the server may have accepted the key. The recovery
    /// is then ``OperationError/Recovery-swift.enum/enrollAgain``, with a new link.
    public func perform() async throws(OperationError) -> RegistrationResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        return try await RegistrationRun(
            core: try self.requestOptions.configure(self.core), recording: self.recording, request: self.answer,
            screens: self.screens
        ).run()
    }
}

/// A registration that the app starts, for a person whose identity an authorization provider proves to the server.
/// Configure the operation and execute it once.
public struct Registration: RegistrationOperation, InAppOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    /// The screens, used by the SDK only.
    public var screens = Screens()
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Registers the person. Unless the server has accepted the key, no key is left on the device.
    public func perform() async throws(OperationError) -> RegistrationResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        let core = try self.requestOptions.configure(self.core)
        let recording = core.newRecording()
        let request: ReceivedRequest
        do {
            request = try await ServerExchange(core: core, recording: recording).request(
                GetUAFRequest(operation: .registration, context: ["username": .string(username)]),
                path: core.configuration.registrationRequestPath,
                by: self.authorizationProvider.map { .provider($0) } ?? .anybody)
        } catch {
            throw OperationError(translating: error)
        }
        return try await RegistrationRun(
            core: core, recording: recording, request: request, username: username, screens: self.screens
        ).run()
    }
}

extension OperationBuilder where Operation == Registration {
    /// Sets the person's user name. Required; a request of the server for another person is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Sets the provider that authenticates the person to the server.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
