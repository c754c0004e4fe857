/// Asks for the notices of an account: what has happened there, and is no end to anything. The device asks for itself, where
/// the server knows its keys: nobody has to authenticate for it. Browsers and services with access are
/// ``AccountActivity``, which needs the person. Configure it and execute it once.
///
/// ```swift
/// let notices = try await client.operations.accountNotices.username("alice").execute()
/// ```
public struct AccountNotices: SingleOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?

    init(core: ClientCore) { self.core = core }

    /// Asks. Newest first; the server leaves the oldest ones out.
    public func perform() async throws(OperationError) -> [AccountNotice] {
        guard self.once.take() else { throw OperationError(.operationReused) }
        let (username, caller) = try await self.core.caller(self.authorizationProvider, named: self.username)
        do {
            return try await AccountExchange(core: self.core, recording: self.core.newRecording(), caller: caller)
                .notices(of: username)
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == AccountNotices {
    /// Whose account. Needed; an answer of the server about somebody else is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// What proves to the server who asks: from ``AuthenticationSuccess/authorizationProvider`` of an ``Authentication``. In
    /// the place of the device's own proof; needed where the server does not know the device's keys.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
