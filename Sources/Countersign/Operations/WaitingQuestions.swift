/// An operation that fetches the questions that services ask the person without a browser. Configure the operation and
/// execute it once.
///
/// ```swift
/// let questions = try await client.operations.waitingQuestions
///     .username("alice").execute()
/// if let question = questions.first {
///     let operation = try await client.operations.outOfBandOperation.payload(question.payload).execute()
///     // … as with a scanned code.
/// }
/// ```
///
/// The device authenticates the request itself, and the person is asked nothing. The server learns the device's own
/// keys at the enrolment or with an authentication. A server that does not know the keys requires an authorization
/// provider.
public struct WaitingQuestions: SingleOperation, InAppOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Fetches the questions, newest first. Returns an empty list for a server without such questions.
    public func perform() async throws(OperationError) -> [ServiceQuestion] {
        guard self.once.take() else { throw OperationError(.operationReused) }
        let core = try self.requestOptions.configure(self.core)
        return try await core.list(of: self.username, by: self.authorizationProvider) { exchange, username in
            try await exchange.questions(for: username)
        }
    }
}

extension OperationBuilder where Operation == WaitingQuestions {
    /// Sets the user name of the phone's owner. Required; an answer of the server about another person is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Sets the provider that authenticates the request to the server: ``AuthenticationSuccess/authorizationProvider``
    /// of an ``Authentication``. The provider replaces the device's own authentication, and is required if the server
    /// does not know the device's keys.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
