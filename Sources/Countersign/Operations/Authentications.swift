import UAF
import _Primitives

/// What every authentication takes, however it was started.
public protocol AuthenticationOperation: InteractiveOperation
where Success == AuthenticationSuccess, Failure == OperationError {}

extension OperationBuilder where Operation: AuthenticationOperation {
    /// Asks for the PIN. Without it a PIN cannot be chosen.
    public func pinUserVerifier(_ verifier: any PinUserVerifier) -> Self {
        self.changing { $0.screens.pinUserVerifier = verifier }
    }
    /// Asks for the password. Without it a password cannot be chosen.
    public func passwordUserVerifier(_ verifier: any PasswordUserVerifier) -> Self {
        self.changing { $0.screens.passwordUserVerifier = verifier }
    }
    /// Shows what is to be confirmed and asks. Without it the selectors must show it: see ``TransactionConfirmer``.
    public func transactionConfirmer(_ confirmer: any TransactionConfirmer) -> Self {
        self.changing { $0.screens.transactionConfirmer = confirmer }
    }
    /// Confirms a browser that the account has not used before. Without it such a browser's operation ends with
    /// ``OperationError/Code/missingInteraction``.
    public func requesterVerifier(_ verifier: any RequesterVerifier) -> Self {
        self.changing { $0.screens.requesterVerifier = verifier }
    }
}

/// An authentication that was started elsewhere: a sign-in, or the confirmation of a transaction. Configure it and execute
/// it once.
public struct OutOfBandAuthentication: AuthenticationOperation {
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

    /// Authenticates. Where the person gives up, the server has heard of it when this throws.
    public func perform() async throws(OperationError) -> AuthenticationSuccess {
        guard self.once.take() else { throw OperationError(.operationReused) }
        return try await AuthenticationRun(
            core: self.core, recording: self.recording, request: self.answer, screens: self.screens
        ).run()
    }
}

extension OperationBuilder where Operation == OutOfBandAuthentication {
    /// Chooses the account. Needed where several accounts can answer.
    public func accountSelector(_ selector: any AccountSelector) -> Self {
        self.changing { $0.screens.accountSelector = selector }
    }
}

/// An authentication that the app starts for a person whose name it knows. Configure it and execute it once.
public struct Authentication: AuthenticationOperation {
    private let core: ClientCore
    fileprivate var username: Username?
    private let once = OneShot()
    /// The SDK's alone.
    public var screens = Screens()

    init(core: ClientCore) { self.core = core }

    /// Authenticates. Where the person gives up, the server has heard of it when this throws.
    public func perform() async throws(OperationError) -> AuthenticationSuccess {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        guard await self.core.record(named: username) != nil else { throw OperationError(unknown: username) }
        do {
            let recording = self.core.newRecording()
            let request = try await ServerExchange(core: self.core, recording: recording).request(
                GetUAFRequest(operation: .authentication, context: ["username": .string(username)]),
                path: self.core.configuration.authenticationRequestPath)
            return try await AuthenticationRun(
                core: self.core, recording: recording, request: request, username: username, screens: self.screens
            ).run()
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == Authentication {
    /// The name of the person who authenticates. Needed.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
}
