public import _Primitives

/// The kind of addressee that a message of the outbox has.
public enum OutboxChannel: String, Sendable, CaseIterable {
    /// A client's address: the end of a session, or an answer.
    case client
    /// A person's mailbox: a letter.
    case mailbox
    /// A device that a dispatcher reaches: the token of a dispatch.
    case device
}

/// A message that a node has taken out of the outbox to send it. Each channel reads the members in its own way:
/// ``ClientDelivery``, ``MailDelivery`` and ``DeviceDelivery``.
public struct OutboxMessage: Sendable, Hashable {
    /// The place of the message in the outbox.
    public let number: Int64
    /// The channel of the message.
    public let channel: OutboxChannel
    /// The messages of a lane share places: the lane is the client, the kind of recipient of a letter, or the
    /// dispatcher.
    public let lane: String
    /// The turn of the message among the due messages of its channel: the smallest number comes first.
    public let turn: Int
    /// The account whose end ends the message; `nil` for a message that outlives accounts.
    public let accountID: String?
    /// The subject of the message, a word of the channel.
    public let subject: String
    /// The identifier of the thing that the message is about; `nil` for a subject without such a thing.
    public let matter: String?
    /// A further name that the message needs: the account's name at the client, the name of a letter's link, the target
    /// of a dispatcher.
    public let name: String?
    /// The content of the message; `nil` if the content is made anew for each try.
    public let content: [UInt8]?
    /// The number of times that the message was taken, this time included.
    public let attempt: Int
    /// The beginning of the message's wait.
    public let createdAt: Timestamp
    /// The moment from which the message is no longer needed; `nil` if only the try shows the moment.
    public let expiresAt: Timestamp?

    /// Makes a message of these values.
    package init(
        number: Int64, channel: OutboxChannel, lane: String, turn: Int, accountID: String?, subject: String,
        matter: String?, name: String?, content: [UInt8]?, attempt: Int, createdAt: Timestamp, expiresAt: Timestamp?
    ) {
        self.number = number
        self.channel = channel
        self.lane = lane
        self.turn = turn
        self.accountID = accountID
        self.subject = subject
        self.matter = matter
        self.name = name
        self.content = content
        self.attempt = attempt
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// A message for a client, at an address of the client.
public struct ClientDelivery: Sendable, Equatable {
    /// The content of a delivery.
    public enum Content: Sendable, Equatable {
        /// A session of the client's has ended: the session, and the account's name at this client.
        case logout(session: String, subject: String)
        /// A person has answered the client's request, or does not answer any more: the request, by its identifier.
        case answer(request: String)
        /// A session that the client's back end dispatched has ended: the members of the ceremony that the back end's
        /// status shows, as the ceremony ended. The row of the ceremony may be gone.
        case status(CeremonyRecord)
    }

    /// The client of the delivery.
    public let client: String
    /// The content of the delivery.
    public let content: Content
    /// The beginning of the delivery's wait.
    public let createdAt: Timestamp
}

/// A dispatcher's message that a node has taken out of the outbox.
public struct DeviceDelivery: Sendable, Hashable {
    /// The message.
    public let message: DeviceMessageRecord
    /// The identifier of the ceremony whose token the message has.
    public let ceremonyID: String
    /// The moment from which nobody can redeem the token.
    public let expiresAt: Timestamp
}
