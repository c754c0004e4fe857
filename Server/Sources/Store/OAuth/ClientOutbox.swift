public import _Primitives

/// Something that a client has still to be told, at an address of its own.
public struct ClientDelivery: Sendable, Hashable {
    /// What it is about.
    public enum Content: Sendable, Hashable {
        /// A session of the client's has ended: the session, and the account's name at this client.
        case logout(session: String, subject: String)
        /// A person has answered whom the client has had asked, or does not answer any more: the request, by its identifier.
        case answer(request: String)
    }

    /// Its place in the outbox.
    public let number: Int64
    /// Whom it is for.
    public let client: String
    /// Where the client wants to be told, as it is registered now.
    public let address: String
    /// What it is about.
    public let content: Content
    /// How often it was taken, this time too.
    public let attempt: Int
    /// Since when there is something to be told.
    public let createdAt: Timestamp

    /// A delivery of these values.
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

/// How much of what clients have to be told is not delivered.
public struct WaitingDeliveries: Sendable, Equatable {
    /// How many.
    public let count: Int
    /// Since when the oldest of them waits.
    public let oldest: Timestamp?

    /// So many, since then.
    public init(count: Int, oldest: Timestamp?) {
        self.count = count
        self.oldest = oldest
    }
}

/// Keeps what clients have to be told until they have been told, whatever becomes of this process.
///
/// The steps that end a session fill it: whoever signs out or is signed out, by the person, an operator, a lock, the end of
/// a device or of the account, leaves a delivery for each client that the session has signed in to and that wants to be
/// told, in the same step. A session that runs out leaves none, nor one that its own person's next sign-in takes the place
/// of.
///
/// So does the step that ends a ceremony, however it ends, whose reference is a request with a
/// ``BackchannelRequestRecord/notification``.
///
/// Deliveries go with their client.
public protocol ClientOutbox: Sendable {
    /// Takes deliveries that are due at `moment` for the caller, who has them until `lease`: then they are due again,
    /// whatever became of the caller.
    ///
    /// Must be atomic: of any number of callers one has a delivery.
    ///
    /// - Parameters:
    ///   - share: How many of one client's, those among them that are under way; the oldest come first.
    ///   - most: How many in all. The client of which the fewest are under way comes first, then the one that has waited the
    ///     longest.
    ///   - underWay: How many of each client's are under way already.
    func takeDeliveries(
        at moment: Timestamp, lease: Timestamp, share: Int, most: Int, underWay: [ExactText: Int]
    ) async throws -> [ClientDelivery]

    /// Removes a delivery: the client has been told, or has to be given up, with the audit event then.
    func removeDelivery(_ delivery: ClientDelivery, audit: AuditEvent?) async throws

    /// Has a delivery wait until `moment`, where nobody else has taken it since.
    func postponeDelivery(_ delivery: ClientDelivery, until moment: Timestamp) async throws

    /// How many wait, those included that are under way.
    func waitingDeliveries() async throws -> WaitingDeliveries
}
