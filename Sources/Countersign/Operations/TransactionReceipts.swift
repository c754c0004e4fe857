/// An operation that fetches the receipts of an account: what its person has confirmed, under the server's signature.
///
/// If the server knows the device's keys, the device authenticates the request itself, and the person need not
/// authenticate. Configure the operation and execute it once.
///
/// ```swift
/// let receipts = try await client.operations.transactionReceipts.username("alice").execute()
/// ```
public struct TransactionReceipts: SingleOperation, InAppOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var authorizationProvider: (any AuthorizationProvider)?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Fetches the receipts, newest first; the server leaves out the oldest receipts. A server of an earlier version has
    /// no receipts: the list is empty.
    ///
    /// Throws the FIDO error `protocolError` for an answer about another person, and for a text that is no receipt or
    /// whose evidence belongs to another receipt.
    public func perform() async throws(OperationError) -> [TransactionReceipt] {
        guard self.once.take() else { throw OperationError(.operationReused) }
        let core = try self.requestOptions.configure(self.core)
        return try await core.list(of: self.username, by: self.authorizationProvider) { exchange, username in
            try await exchange.receipts(of: username)
        }
    }
}

extension OperationBuilder where Operation == TransactionReceipts {
    /// Sets the account's user name. Required; an answer of the server about another person is refused.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Sets the provider that authenticates the request to the server: ``AuthenticationSuccess/authorizationProvider``
    /// of an ``Authentication``. The provider replaces the device's own authentication, and is required if the server
    /// does not know the device's keys.
    public func authorizationProvider(_ provider: any AuthorizationProvider) -> Self {
        self.changing { $0.authorizationProvider = provider }
    }
}
