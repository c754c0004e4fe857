public import _Primitives

/// A message for a client, at an address of the client.
public struct ClientDelivery: Sendable, Hashable {
    /// The content of a delivery.
    public enum Content: Sendable, Hashable {
        /// A session of the client's has ended: the session, and the account's name at this client.
        case logout(session: String, subject: String)
        /// A person has answered the client's request, or does not answer any more: the request, by its identifier.
        case answer(request: String)
    }

    /// The place of the delivery in the outbox.
    public let number: Int64
    /// The client of the delivery.
    public let client: String
    /// The client's address for the messages, as registered now.
    public let address: String
    /// The content of the delivery.
    public let content: Content
    /// The number of times that the delivery was taken, this time included.
    public let attempt: Int
    /// The beginning of the delivery's wait.
    public let createdAt: Timestamp

    /// Makes a delivery of these values.
    public init(
        number: Int64, client: String, address: String, content: Content, attempt: Int, createdAt: Timestamp
    ) {
        self.number = number
        self.client = client
        self.address = address
        self.content = content
        self.attempt = attempt
        self.createdAt = createdAt
    }
}

/// The amount of undelivered messages to clients.
public struct WaitingDeliveries: Sendable, Equatable {
    /// The number of waiting deliveries.
    public let count: Int
    /// The beginning of the oldest delivery's wait; `nil` if none waits.
    public let oldest: Timestamp?

    /// Makes an amount of these values.
    public init(count: Int, oldest: Timestamp?) {
        self.count = count
        self.oldest = oldest
    }
}

/// Keeps messages to clients until the clients have been told, even if this process ends.
///
/// Every step that ends a session fills the outbox, such as a sign-out by the person or an operator, a lock, the end of
/// a device or of the account, or another person's sign-in in the same browser. The same step leaves a delivery for
/// each client that the session has signed in to and that wants to be told. Only two ends leave no delivery: the
/// session's time runs out, or its own person's next sign-in in the browser replaces it.
///
/// The step that ends a ceremony leaves a delivery too, however the ceremony ends, if the ceremony's reference is a
/// request with a ``BackchannelRequestRecord/notification``.
///
/// Deliveries go with their client.
public protocol ClientOutbox: Sendable {
    /// Takes deliveries due at `moment` for the caller until `lease`. Then the deliveries are due again, whatever
    /// became of the caller. Deliveries to a client that has no address for them any more are deleted.
    ///
    /// Must be atomic: of any number of callers a single caller has a delivery.
    ///
    /// - Parameters:
    ///   - share: The largest number of deliveries to the same client, the deliveries under way included; the oldest
    ///     come first.
    ///   - most: The largest number in all. The client with the fewest deliveries under way comes first, then the
    ///     client with the longest wait.
    ///   - underWay: The number of deliveries under way already, by client.
    func takeDeliveries(
        at moment: Timestamp, lease: Timestamp, share: Int, most: Int, underWay: [ExactText: Int]
    ) async throws -> [ClientDelivery]

    /// Removes a delivery: the client has been told, or the delivery is given up, then with the audit event.
    func removeDelivery(_ delivery: ClientDelivery, audit: AuditEvent?) async throws

    /// Makes a delivery wait until `moment`, if no other caller has taken the delivery since.
    func postponeDelivery(_ delivery: ClientDelivery, until moment: Timestamp) async throws

    /// Returns the amount of waiting deliveries, with the deliveries under way.
    func waitingDeliveries() async throws -> WaitingDeliveries
}
