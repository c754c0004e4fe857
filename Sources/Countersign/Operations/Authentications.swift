import UAF
import _Primitives

/// An authentication that was started elsewhere: a sign-in, or the confirmation of a transaction. Configure it and execute
/// it once.
public struct OutOfBandAuthentication: Sendable {
    private let core: ClientCore
    private let answer: ReturnUAFRequest
    private let recording: Recording
    private let once = OneShot()
    private var parts = AuthenticationParts()
    private var onSuccess: (@Sendable (AuthenticationResult) -> Void)?
    private var onError: (@Sendable (OperationError) -> Void)?

    init(core: ClientCore, answer: ReturnUAFRequest, recording: Recording) {
        self.core = core
        self.answer = answer
        self.recording = recording
    }

    /// Chooses the account. Needed where several accounts can answer.
    public func accountSelector(_ selector: any AccountSelector) -> Self {
        self.with { $0.parts.accountSelector = selector }
    }
    /// Chooses the authenticator. Needed.
    public func authenticatorSelector(_ selector: any AuthenticatorSelector) -> Self {
        self.with { $0.parts.authenticatorSelector = selector }
    }
    /// Confirms a browser that the account has not used before.
    public func requesterVerifier(_ verifier: any RequesterVerifier) -> Self {
        self.with { $0.parts.requesterVerifier = verifier }
    }
    /// Asks for the PIN. Without it a PIN cannot be chosen.
    public func pinUserVerifier(_ verifier: any PinUserVerifier) -> Self {
        self.with { $0.parts.pinUserVerifier = verifier }
    }
    /// Asks for a finger. Without it a fingerprint cannot be chosen.
    public func fingerprintUserVerifier(_ verifier: any FingerprintUserVerifier) -> Self {
        self.with { $0.parts.fingerprintUserVerifier = verifier }
    }
    /// Called with the result, for `execute()` without `await`.
    public func onSuccess(_ body: @escaping @Sendable (AuthenticationResult) -> Void) -> Self {
        self.with { $0.onSuccess = body }
    }
    /// Called with the error, for `execute()` without `await`.
    public func onError(_ body: @escaping @Sendable (OperationError) -> Void) -> Self {
        self.with { $0.onError = body }
    }

    /// Authenticates. Throws ``OperationError``; where the person gives up, the server has heard of it then.
    public func execute() async throws -> AuthenticationResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        return try await AuthenticationRun(
            core: self.core, recording: self.recording, request: self.answer, parts: self.parts
        ).run()
    }

    /// Authenticates and calls `onSuccess` or `onError`, once.
    public func execute() {
        Task {
            do {
                let result = try await self.execute() as AuthenticationResult
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

/// An authentication that the app starts for a person whose name it knows. Configure it and execute it once.
public struct Authentication: Sendable {
    private let core: ClientCore
    private let once = OneShot()
    private var username: Username?
    private var parts = AuthenticationParts()
    private var onSuccess: (@Sendable (AuthenticationResult) -> Void)?
    private var onError: (@Sendable (AuthenticationError) -> Void)?

    init(core: ClientCore) { self.core = core }

    /// Who authenticates. Needed.
    public func username(_ username: Username) -> Self { self.with { $0.username = username } }
    /// Chooses the authenticator. Needed.
    public func authenticatorSelector(_ selector: any AuthenticatorSelector) -> Self {
        self.with { $0.parts.authenticatorSelector = selector }
    }
    /// Asks for the PIN. Without it a PIN cannot be chosen.
    public func pinUserVerifier(_ verifier: any PinUserVerifier) -> Self {
        self.with { $0.parts.pinUserVerifier = verifier }
    }
    /// Asks for a finger. Without it a fingerprint cannot be chosen.
    public func fingerprintUserVerifier(_ verifier: any FingerprintUserVerifier) -> Self {
        self.with { $0.parts.fingerprintUserVerifier = verifier }
    }
    /// Called with the result, for `execute()` without `await`.
    public func onSuccess(_ body: @escaping @Sendable (AuthenticationResult) -> Void) -> Self {
        self.with { $0.onSuccess = body }
    }
    /// Called with the error, for `execute()` without `await`.
    public func onError(_ body: @escaping @Sendable (AuthenticationError) -> Void) -> Self {
        self.with { $0.onError = body }
    }

    /// Authenticates. Throws ``AuthenticationError``; where the person gives up, the server has heard of it then.
    public func execute() async throws -> AuthenticationResult {
        guard self.once.take() else { throw AuthenticationError(.operationReused) }
        guard let username else { throw AuthenticationError(.missingInteraction, "no username") }
        do {
            let recording = self.core.newRecording()
            let request = try await ServerExchange(core: self.core, recording: recording).request(
                GetUAFRequest(operation: .authentication, context: ["username": .string(username)]),
                path: self.core.configuration.authenticationRequestPath)
            return try await AuthenticationRun(
                core: self.core, recording: recording, request: request, username: username, parts: self.parts
            ).run()
        } catch {
            throw AuthenticationError(OperationError(translating: error))
        }
    }

    /// Authenticates and calls `onSuccess` or `onError`, once.
    public func execute() {
        Task {
            do {
                let result = try await self.execute() as AuthenticationResult
                self.onSuccess?(result)
            } catch {
                self.onError?(
                    error as? AuthenticationError ?? AuthenticationError(OperationError(translating: error)))
            }
        }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
