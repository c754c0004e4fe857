public import Ceremony

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An operation that waits for this device: a service has asked the person, and no device has taken the operation up.
///
/// The content appears when ``payload`` is redeemed, as with a scanned code. Reading the list agrees to nothing.
public struct PendingOutOfBandOperation: Hashable, Sendable, Identifiable {
    /// The server's identifier of the operation: the same at each reading of the list. The identifier opens nothing.
    public let id: String
    /// The account of this device whose person is asked.
    public let account: RegisteredAccount
    /// The service's name. One line, fit to be shown.
    public let service: String
    /// Scheme, host and port of the service, fit to be compared by a person.
    public let origin: String?
    /// The dispatcher by which the service sent the operation to this device; `nil` for a question without a dispatcher
    /// (OpenID Connect CIBA).
    public let dispatchChannel: String?
    /// The payload for ``OutOfBandOperation``, which asks the person. The payload works once, and is the same at each
    /// reading of the list on this device.
    public let payload: OutOfBandPayload
    /// The time at which the service asked.
    public let createdAt: Date
    /// The latest time at which the operation can be answered.
    public let expiresAt: Date
}

/// The operations that wait for this device, of all accounts and servers, as far as the servers have answered.
public struct PendingOutOfBandOperationsResult: Hashable, Sendable {
    /// The failure of one account's list.
    public struct Failure: Hashable, Sendable {
        /// The account whose list is missing or old.
        public let account: RegisteredAccount
        /// The reason. With ``OperationError/Code-swift.struct/notAuthorized`` the server does not know this device's
        /// keys: an authentication of the account tells the keys.
        public let error: OperationError
    }

    /// The operations, by accounts in the order of ``LocalData/accounts``, the newest of an account first.
    public let operations: [PendingOutOfBandOperation]
    /// The accounts whose lists could not be read, each with its reason. Empty if all servers have answered.
    public let errors: [Failure]

    /// Creates a result. Public also for an app's own tests.
    public init(operations: [PendingOutOfBandOperation], errors: [Failure]) {
        self.operations = operations
        self.errors = errors
    }
}
