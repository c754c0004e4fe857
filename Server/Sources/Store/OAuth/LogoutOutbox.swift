public import _Primitives

/// Something that a client has still to be told: a session of its has ended.
public struct LogoutDelivery: Sendable, Hashable {
    /// Its place in the outbox.
    public let number: Int64
    /// Whom it is for.
    public let client: String
    /// Where the client wants to be told, as it is registered now.
    public let address: String
    /// The session that has ended.
    public let session: String
    /// The account's name at this client.
    public let subject: String
    /// How often it was taken, this time too.
    public let attempt: Int
    /// When the session ended.
    public let createdAt: Timestamp

    /// A delivery of these values.
    public init(
        number: Int64, client: String, address: String, session: String, subject: String, attempt: Int,
        createdAt: Timestamp
    ) {
        self.number = number
        self.client = client
        self.address = address
        self.session = session
        self.subject = subject
        self.attempt = attempt
        self.createdAt = createdAt
    }
}

/// How much of what clients have to be told is not delivered.
public struct WaitingLogouts: Sendable, Equatable {
    /// How many.
    public let count: Int
    /// When the oldest session of them ended.
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
/// of. Deliveries go with their client.
public protocol LogoutOutbox: Sendable {
    /// Takes deliveries that are due at `moment` for the caller, who has them until `lease`: then they are due again,
    /// whatever became of the caller.
    ///
    /// Must be atomic: of any number of callers one has a delivery.
    ///
    /// - Parameters:
    ///   - limit: Of one client's; the oldest come first.
    ///   - busy: Clients whose deliveries stay where they are.
    func takeLogouts(at moment: Timestamp, lease: Timestamp, limit: Int, exceptOf busy: Set<ExactText>) async throws
        -> [LogoutDelivery]

    /// Removes a delivery: the client has been told, or has to be given up, with the audit event then.
    func removeLogout(_ delivery: LogoutDelivery, audit: AuditEvent?) async throws

    /// Has a delivery wait until `moment`, where nobody else has taken it since.
    func postponeLogout(_ delivery: LogoutDelivery, until moment: Timestamp) async throws

    /// How many wait, those included that are under way.
    func waitingLogouts() async throws -> WaitingLogouts
}
