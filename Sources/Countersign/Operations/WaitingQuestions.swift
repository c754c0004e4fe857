/// Asks what services want the person asked, without a browser. Configure it and execute it once.
///
/// ```swift
/// let questions = try await client.operations.waitingQuestions
///     .username("alice").authorizationProvider(provider).execute()
/// if let question = questions.first {
///     let operation = try await client.operations.outOfBandOperation.payload(question.payload).execute()
///     // … as with a scanned code.
/// }
/// ```
public struct WaitingQuestions: SingleOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?

    init(core: ClientCore) { self.core = core }

    /// Asks. The newest come first; of a server that has no such list: none.
    public func perform() async throws(OperationError) -> [ServiceQuestion] {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername, let authorizationProvider else {
            throw OperationError(.missingInteraction, "a username and an authorization provider are needed")
        }
        do {
            return try await AccountExchange(
                core: self.core, recording: self.core.newRecording(), authorization: authorizationProvider
            ).questions(for: username)
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == WaitingQuestions {
    /// Whose phone this is. Needed; an answer of the server about somebody else is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// What proves to the server who asks: from ``AuthenticationSuccess/authorizationProvider`` of an ``Authentication``.
    /// Needed.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
