/// Asks what services want the person asked, without a browser. Configure it and execute it once.
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
/// The device asks for itself, and the person is asked nothing. A server that does not know the device's own keys, which it
/// learns at the enrolment or with an authentication, has to be shown an authorization provider.
public struct WaitingQuestions: SingleOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?

    init(core: ClientCore) { self.core = core }

    /// Asks. The newest come first; of a server that has no such list: none.
    public func perform() async throws(OperationError) -> [ServiceQuestion] {
        guard self.once.take() else { throw OperationError(.operationReused) }
        let (username, caller) = try await self.core.caller(self.authorizationProvider, named: self.username)
        do {
            return try await AccountExchange(core: self.core, recording: self.core.newRecording(), caller: caller)
                .questions(for: username)
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == WaitingQuestions {
    /// Whose phone this is. Needed; an answer of the server about somebody else is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// What proves to the server who asks: from ``AuthenticationSuccess/authorizationProvider`` of an ``Authentication``. In
    /// the place of the device's own proof; needed where the server does not know the device's keys.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
