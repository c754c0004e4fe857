import UAF
import _Primitives

/// The settings that every authentication accepts, however the authentication was started.
public protocol AuthenticationOperation: InteractiveOperation
where Success == AuthenticationSuccess, Failure == OperationError {}

extension OperationBuilder where Operation: AuthenticationOperation {
    /// Sets the screen that asks for the PIN. Without this screen, the person cannot choose a PIN.
    public func pinUserVerifier(_ verifier: any PinUserVerifier) -> Self {
        self.changing { $0.screens.pinUserVerifier = verifier }
    }
    /// Sets the screen that asks for the password. Without this screen, the person cannot choose a password.
    public func passwordUserVerifier(_ verifier: any PasswordUserVerifier) -> Self {
        self.changing { $0.screens.passwordUserVerifier = verifier }
    }
    /// Sets the screen that shows the content and asks for confirmation. Without this screen, the selectors must show
    /// the content: see ``TransactionConfirmer``.
    public func transactionConfirmer(_ confirmer: any TransactionConfirmer) -> Self {
        self.changing { $0.screens.transactionConfirmer = confirmer }
    }
    /// Sets the screen that confirms a browser which the account has not used before. Without this screen, an operation
    /// of such a browser ends with ``OperationError/Code/missingInteraction``.
    public func requesterVerifier(_ verifier: any RequesterVerifier) -> Self {
        self.changing { $0.screens.requesterVerifier = verifier }
    }
    /// Sets the screen that asks for the number that is shown where the person began. Without this screen, an operation
    /// whose server asks for a number ends with ``OperationError/Code/missingInteraction``.
    public func numberMatcher(_ matcher: any NumberMatcher) -> Self {
        self.changing { $0.screens.numberMatcher = matcher }
    }
    /// Sets the policy by which the signed answer is repeated; the server's reply to the answer has the
    /// ``AuthenticationSuccess/authorizationProvider``. The default is a constant policy with
    /// ``ClientConfiguration/authenticationMaxRetries`` and ``ClientConfiguration/authenticationRetryInterval``.
    ///
    /// The answer is sent again, as the same bytes, if it was certainly not sent (``TransportError/isUnsent``). After any
    /// other failure the server may have judged the answer. If the server knows this device's own keys, the answer is sent
    /// again with a proof of the device: the server gives the same judgement, and a token or a continuation once more. In
    /// every other case, with a session, and if no retry brings the judgement, the operation ends with
    /// ``OperationError/Recovery-swift.enum/checkOutcome``.
    public func retryPolicyObtainingAuthorizationProvider(_ policy: RetryPolicy) -> Self {
        self.changing { $0.requestOptions.answerRetryPolicy = policy }
    }
}

/// An authentication that was started elsewhere: a sign-in, or the confirmation of a transaction. Configure the
/// operation and execute it once.
public struct OutOfBandAuthentication: AuthenticationOperation {
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

    /// The operation that denies this request in place of executing the authentication. The requests of the denial have
    /// the settings of this operation.
    public var denial: Denial {
        var denial = Denial(core: self.core, .request(self.answer, self.recording))
        denial.requestOptions = self.requestOptions
        return denial
    }

    /// Tells the server that this app cannot answer.
    func decline() async {
        await ServerExchange(core: self.core, recording: self.recording).decline(self.answer, as: .unknown)
    }

    /// Authenticates the person. If the person gives up, the server has been told before this function throws.
    public func perform() async throws(OperationError) -> AuthenticationSuccess {
        guard self.once.take() else { throw OperationError(.operationReused) }
        return try await AuthenticationRun(
            core: try self.requestOptions.configure(self.core), recording: self.recording, request: self.answer,
            screens: self.screens
        ).run()
    }
}

extension OperationBuilder where Operation == OutOfBandAuthentication {
    /// Sets the screen that chooses the account. Required if several accounts can answer.
    public func accountSelector(_ selector: any AccountSelector) -> Self {
        self.changing { $0.screens.accountSelector = selector }
    }
}

/// An authentication that the app starts for a person with a known name. Configure the operation and execute it once.
public struct Authentication: AuthenticationOperation, InAppOperation {
    private let core: ClientCore
    fileprivate var username: Username?
    fileprivate var sessionProvider: (any SessionProvider)?
    private let once = OneShot()
    /// The screens, used by the SDK only.
    public var screens = Screens()
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Authenticates the person. If the person gives up, the server has been told before this function throws.
    ///
    /// With a session, each error has the session (``OperationError/sessionProvider``).
    public func perform() async throws(OperationError) -> AuthenticationSuccess {
        do throws(OperationError) {
            return try await self.authenticate()
        } catch {
            throw self.sessionProvider.map { error.ended(in: $0) } ?? error
        }
    }

    private func authenticate() async throws(OperationError) -> AuthenticationSuccess {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        let core = try self.requestOptions.configure(self.core)
        guard await core.record(named: username) != nil else { throw OperationError(unknown: username) }
        do {
            let recording = core.newRecording()
            let request = try await self.request(
                for: username, ServerExchange(core: core, recording: recording),
                path: core.configuration.authenticationRequestPath)
            return try await AuthenticationRun(
                core: core, recording: recording, request: request, username: username,
                session: self.sessionProvider, screens: self.screens
            ).run()
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension Authentication {
    /// Fetches the request, bound to the session if there is one. A session that has ended, and a session of another
    /// account, end the operation here with `notAuthorized`: the person is asked nothing.
    private func request(for username: Username, _ exchange: ServerExchange, path: String) async throws
        -> ReceivedRequest
    {
        var context: JSONObject = ["username": .string(username)]
        guard let session = self.sessionProvider else {
            return try await exchange.request(GetUAFRequest(operation: .authentication, context: context), path: path)
        }
        context["session"] = .string(session.form.rawValue)
        do {
            return try await exchange.request(
                GetUAFRequest(operation: .authentication, context: context), path: path,
                by: .provider(session.authorizationProvider))
        } catch let error as EngineError where [.unauthorized, .forbidden].contains(error.status) {
            let reason = "the session has ended, or is another account's"
            throw OperationError(.notAuthorized, serverStatusCode: error.status?.rawValue, reason)
        }
    }
}

extension OperationBuilder where Operation == Authentication {
    /// Sets the name of the person who authenticates. Required.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Binds the authentication to a session of the person. By default there is no session.
    ///
    /// The server asks only the account of the session, and raises the session: its last authentication is then this
    /// one, if this one is at least as sure. The session goes on under a new cookie or a new token
    /// (``AuthenticationSuccess/sessionProvider``); the former cookie is worth nothing any more. A session that has ended,
    /// and a session of another account, end the operation with ``OperationError/Code-swift.struct/notAuthorized``
    /// before the person is asked. An error has the session, with which the app can go on
    /// (``OperationError/sessionProvider``).
    public func sessionProvider(_ session: any SessionProvider) -> Self {
        self.changing { $0.sessionProvider = session }
    }
}
