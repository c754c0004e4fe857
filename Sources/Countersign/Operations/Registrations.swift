import UAF
import _Primitives

/// A registration that was started elsewhere: the token says for whom. Configure it and execute it once.
public struct OutOfBandRegistration: Sendable {
    private let core: ClientCore
    private let answer: ReturnUAFRequest
    private let recording: Recording
    private let once = OneShot()
    private var parts = RegistrationParts()
    private var onSuccess: (@Sendable (RegistrationResult) -> Void)?
    private var onError: (@Sendable (OperationError) -> Void)?

    init(core: ClientCore, answer: ReturnUAFRequest, recording: Recording) {
        self.core = core
        self.answer = answer
        self.recording = recording
    }

    /// What the device is called. Needed for the first registration; ignored as the device's name after that.
    public func deviceInformation(_ information: DeviceInformation) -> Self {
        self.with { $0.parts.deviceInformation = information }
    }
    /// Chooses the authenticator. Needed.
    public func authenticatorSelector(_ selector: any AuthenticatorSelector) -> Self {
        self.with { $0.parts.authenticatorSelector = selector }
    }
    /// Asks for a new PIN. Without it a PIN cannot be chosen.
    public func pinEnroller(_ enroller: any PinEnroller) -> Self { self.with { $0.parts.pinEnroller = enroller } }
    /// Asks for a finger. Without it a fingerprint cannot be chosen.
    public func fingerprintUserVerifier(_ verifier: any FingerprintUserVerifier) -> Self {
        self.with { $0.parts.fingerprintUserVerifier = verifier }
    }
    /// Called with the result, for `execute()` without `await`.
    public func onSuccess(_ body: @escaping @Sendable (RegistrationResult) -> Void) -> Self {
        self.with { $0.onSuccess = body }
    }
    /// Called with the error, for `execute()` without `await`.
    public func onError(_ body: @escaping @Sendable (OperationError) -> Void) -> Self {
        self.with { $0.onError = body }
    }

    /// Registers. Throws ``OperationError``; unless the server has taken the key, none is left on the device.
    public func execute() async throws -> RegistrationResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        return try await RegistrationRun(
            core: self.core, recording: self.recording, request: self.answer, parts: self.parts
        ).run()
    }

    /// Registers and calls `onSuccess` or `onError`, once.
    public func execute() {
        Task {
            do {
                let result = try await self.execute() as RegistrationResult
                self.onSuccess?(result)
            } catch {
                self.onError?(OperationError(translating: error))
            }
        }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

/// A registration that the app starts, for a person whom the server knows by an authorization provider. Configure it and
/// execute it once.
public struct Registration: Sendable {
    private let core: ClientCore
    private let once = OneShot()
    private var username: Username?
    private var authorizationProvider: (any AuthorizationProvider)?
    private var parts = RegistrationParts()
    private var onSuccess: (@Sendable (RegistrationResult) -> Void)?
    private var onError: (@Sendable (OperationError) -> Void)?

    init(core: ClientCore) { self.core = core }

    /// For whom. Needed; a request of the server for somebody else is refused.
    public func username(_ username: Username) -> Self { self.with { $0.username = username } }
    /// What proves to the server who registers.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.with { $0.authorizationProvider = provider }
    }
    /// What the device is called. Needed for the first registration; ignored as the device's name after that.
    public func deviceInformation(_ information: DeviceInformation) -> Self {
        self.with { $0.parts.deviceInformation = information }
    }
    /// Chooses the authenticator. Needed.
    public func authenticatorSelector(_ selector: any AuthenticatorSelector) -> Self {
        self.with { $0.parts.authenticatorSelector = selector }
    }
    /// Asks for a new PIN. Without it a PIN cannot be chosen.
    public func pinEnroller(_ enroller: any PinEnroller) -> Self { self.with { $0.parts.pinEnroller = enroller } }
    /// Asks for a finger. Without it a fingerprint cannot be chosen.
    public func fingerprintUserVerifier(_ verifier: any FingerprintUserVerifier) -> Self {
        self.with { $0.parts.fingerprintUserVerifier = verifier }
    }
    /// Called with the result, for `execute()` without `await`.
    public func onSuccess(_ body: @escaping @Sendable (RegistrationResult) -> Void) -> Self {
        self.with { $0.onSuccess = body }
    }
    /// Called with the error, for `execute()` without `await`.
    public func onError(_ body: @escaping @Sendable (OperationError) -> Void) -> Self {
        self.with { $0.onError = body }
    }

    /// Registers. Throws ``OperationError``; unless the server has taken the key, none is left on the device.
    public func execute() async throws -> RegistrationResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username else { throw OperationError(.missingInteraction, "no username") }
        let recording = self.core.newRecording()
        let request: ReturnUAFRequest
        do {
            request = try await ServerExchange(core: self.core, recording: recording).request(
                GetUAFRequest(operation: .registration, context: ["username": .string(username)]),
                path: self.core.configuration.registrationRequestPath, authorization: self.authorizationProvider)
            let message = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
            guard message.username == username else {
                throw OperationError.fido(.protocolError, "the server's request is for somebody else")
            }
        } catch {
            throw OperationError(translating: error)
        }
        return try await RegistrationRun(
            core: self.core, recording: recording, request: request, parts: self.parts
        ).run()
    }

    /// Registers and calls `onSuccess` or `onError`, once.
    public func execute() {
        Task {
            do {
                let result = try await self.execute() as RegistrationResult
                self.onSuccess?(result)
            } catch {
                self.onError?(OperationError(translating: error))
            }
        }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
