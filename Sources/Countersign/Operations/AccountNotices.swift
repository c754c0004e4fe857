/// An operation that fetches the notices of an account. Notices report events, and end nothing.
///
/// If the server knows the device's keys, the device authenticates the request itself, and the person need not
/// authenticate. The list of browsers and services with access is ``AccountActivity``, which needs the person.
/// Configure the operation and execute it once.
///
/// ```swift
/// let notices = try await client.operations.accountNotices.username("alice").execute()
/// ```
public struct AccountNotices: SingleOperation, InAppOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Fetches the notices, newest first; the server leaves out the oldest notices.
    public func perform() async throws(OperationError) -> [AccountNotice] {
        guard self.once.take() else { throw OperationError(.operationReused) }
        let core = try self.requestOptions.configure(self.core)
        return try await core.list(of: self.username, by: self.authorizationProvider) { exchange, username in
            try await exchange.notices(of: username)
        }
    }
}

extension OperationBuilder where Operation == AccountNotices {
    /// Sets the account's user name. Required; an answer of the server about another person is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Sets the provider that authenticates the request to the server: ``AuthenticationSuccess/authorizationProvider``
    /// of an ``Authentication``. The provider replaces the device's own authentication, and is required if the server
    /// does not know the device's keys.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
