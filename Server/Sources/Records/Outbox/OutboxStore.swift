public import _Primitives

/// The places that a caller has for messages of a channel.
public struct OutboxShares: Sendable, Equatable {
    /// The largest number of messages that the caller takes.
    public var most: Int
    /// The largest number of messages under way in each lane, the messages that are under way already included.
    public var share: Int
    /// The lanes with another share.
    public var sharesOfLanes: [ExactText: Int]
    /// The number of messages under way already, by lane.
    public var underWay: [ExactText: Int]

    /// Makes shares of these values.
    public init(
        most: Int, share: Int, sharesOfLanes: [ExactText: Int] = [:], underWay: [ExactText: Int] = [:]
    ) {
        self.most = most
        self.share = share
        self.sharesOfLanes = sharesOfLanes
        self.underWay = underWay
    }
}

/// The amount of messages that wait.
public struct WaitingMessages: Sendable, Equatable {
    /// The number of waiting messages.
    public let count: Int
    /// The beginning of the oldest message's wait; `nil` if none waits.
    public let oldest: Timestamp?

    /// Makes an amount of these values.
    public init(count: Int, oldest: Timestamp?) {
        self.count = count
        self.oldest = oldest
    }
}

/// Keeps messages to clients, mailboxes and devices until the messages are sent, even if this process ends
/// (decision 112).
///
/// The step that causes a message leaves the message, so nothing is sent before the commit, and nothing is forgotten:
///
/// - Every step that ends a session leaves a message for each client that the session has signed in to and that wants
///   to be told. Such steps are a sign-out by the person or an operator, a lock, the end of a device or of the account,
///   or another person's sign-in in the same browser. Only two ends leave no message: the session's time runs out, or
///   its own person's next sign-in in the browser replaces the session.
/// - The step that ends a ceremony leaves a message, however the ceremony ends, if the ceremony's reference is a request
///   with a ``BackchannelRequestRecord/notification``.
/// - The steps that a letter is about leave the letter (``MailStore``).
/// - The step that creates the ceremony of a dispatch to a device leaves the dispatcher's message
///   (``CeremonyStore/createCeremony(_:tokens:message:audit:)``).
///
/// A message to a client goes with the client. A letter goes with its account and with its link. A message to a device
/// goes with the account of its ceremony.
public protocol OutboxStore: Sendable {
    /// Takes messages of a channel that are due at `moment` for the caller, who has the messages until `lease`. Then the
    /// messages are due again, whatever became of the caller.
    ///
    /// The lane whose first message has the earliest turn comes first, then the lane with the fewest messages under way,
    /// then the lane with the longest wait. Within a lane the messages come by their turn, and then the oldest first.
    ///
    /// Must be atomic: of any number of callers a single caller has a message.
    func takeMessages(to channel: OutboxChannel, at moment: Timestamp, lease: Timestamp, shares: OutboxShares)
        async throws -> [OutboxMessage]

    /// Removes a message: the message is sent, is no longer needed, or is given up, then with the audit event. A message
    /// with an audit event is removed only if no other caller has taken the message since. The code that the offer of an
    /// activation keeps for its letter is erased with the letter.
    func removeMessage(_ message: OutboxMessage, audit: AuditEvent?) async throws

    /// Makes a message wait until `moment`, if no other caller has taken the message since.
    func postponeMessage(_ message: OutboxMessage, until moment: Timestamp) async throws

    /// Returns the amount of waiting messages of a channel, with the messages under way.
    func waitingMessages(to channel: OutboxChannel) async throws -> WaitingMessages
}
