import Settings
import Synchronization
public import _Primitives

/// The times and the places of one channel of the outbox.
public struct OutboxTerms: Sendable {
    /// The messages of the channel that one node has under way at a time.
    public var places: Int
    /// The messages of each lane that one node has under way at a time.
    public var share: Int
    /// The lanes with another share.
    public var sharesOfLanes: [ExactText: Int] = [:]
    /// The time for a node to send a message after taking the message. Past the lease another node can take the message.
    public var lease: Duration
    /// The first pause after a failed try. Each further pause is twice as long.
    public var retryPause: Duration
    /// The longest pause after a failed try.
    public var longestRetryPause: Duration
    /// The interval between two searches for due messages.
    public var interval: Duration

    /// Makes terms of these values.
    public init(
        places: Int, share: Int, lease: Duration, retryPause: Duration, longestRetryPause: Duration, interval: Duration
    ) {
        self.places = places
        self.share = share
        self.lease = lease
        self.retryPause = retryPause
        self.longestRetryPause = longestRetryPause
        self.interval = interval
    }

    /// Returns the moment of the next try after a try that failed at `now`; `nil` if the message is worth nothing by
    /// then.
    public func nextTry(of message: OutboxMessage, at now: Timestamp, before end: Timestamp) -> Timestamp? {
        let next =
            now + Limits.pause(self.retryPause, doubled: message.attempt - 1, atMost: self.longestRetryPause)
        return next < end ? next : nil
    }
}

/// The decision about a message after a try.
public enum OutboxSettlement: Sendable, Equatable {
    /// The addressee has the message, or the message is no longer needed.
    case delivered
    /// The message is tried again at this moment.
    case later(Timestamp)
    /// The message is not tried again. The audit trail has the event; `nil` if the trail has enough such events.
    case givenUp(AuditEvent?)
}

/// The result of a try, for statistics. A message that is no longer needed counts as delivered. A failed message is
/// tried again, and a message that was given up is not.
public enum OutboxResult: String, Sendable, CaseIterable {
    case delivered, failed
    case givenUp = "given-up"
}

/// One channel of the outbox, as a server sends its messages: one value for each channel.
public struct OutboxEntry: Sendable {
    /// The channel.
    public let channel: OutboxChannel
    /// The times and the places.
    public let terms: OutboxTerms
    /// Runs before each search for due messages: leaves the messages of requests that wait. Does nothing by default.
    public var prepare: @Sendable () async throws -> Void = {}
    /// Tries to send a message, and decides what becomes of the message. Bounds its own time by the lease.
    public var send: @Sendable (OutboxMessage) async throws -> OutboxSettlement

    /// Makes an entry of these values.
    public init(
        _ channel: OutboxChannel, _ terms: OutboxTerms,
        send: @escaping @Sendable (OutboxMessage) async throws -> OutboxSettlement
    ) {
        self.channel = channel
        self.terms = terms
        self.send = send
    }
}

/// Sends the messages of one channel, and counts the messages that are under way on this node.
///
/// Any number of nodes can send from one store. A taken message is due again when the node's lease ends, so a killed
/// node loses nothing. For this reason an addressee can get a message twice.
public final class Outbox: Sendable {
    /// The channel, and the function that sends.
    public let entry: OutboxEntry
    private let store: any OutboxStore
    private let time: TimeSource
    private let underWay = Mutex<Set<Place>>([])

    /// The place of a message under way on this node. The number is not enough, because the store can give the number
    /// of a removed message again.
    private struct Place: Hashable {
        let number: Int64
        let createdAt: Timestamp
        let lane: ExactText

        init(of message: OutboxMessage) {
            self.number = message.number
            self.createdAt = message.createdAt
            self.lane = ExactText(message.lane)
        }
    }

    /// Makes the outbox of a channel over a store.
    public init(_ entry: OutboxEntry, store: any OutboxStore, time: TimeSource) {
        self.entry = entry
        self.store = store
        self.time = time
    }

    /// Takes the messages that are due now, at most as many as there are free places. A message has its place until
    /// ``deliver(_:)`` returns, so the caller delivers each message. A message that this node still has under way after
    /// its lease is not returned again, and gets a new lease.
    ///
    /// A lane whose share is under way waits for its turn: an addressee that does not answer delays no other lane.
    ///
    /// Cost: one query; if a message is due, one store step.
    public func takeDue() async throws -> [OutboxMessage] {
        try await self.entry.prepare()
        let terms = self.entry.terms
        let places = self.underWay.withLock { $0 }
        let free = terms.places - places.count
        guard free > 0 else { return [] }
        let now = self.time.now()
        let taken = try await self.store.takeMessages(
            to: self.entry.channel, at: now, lease: now + terms.lease,
            shares: OutboxShares(
                most: free, share: terms.share, sharesOfLanes: terms.sharesOfLanes,
                underWay: places.reduce(into: [:]) { $0[$1.lane, default: 0] += 1 }))
        return self.underWay.withLock { underWay in taken.filter { underWay.insert(Place(of: $0)).inserted } }
    }

    /// Tries to send a taken message, and then removes or postpones the message.
    ///
    /// Cost: the cost of the try, one store step.
    public func deliver(_ message: OutboxMessage) async throws -> OutboxResult {
        defer { _ = self.underWay.withLock { $0.remove(Place(of: message)) } }
        switch try await self.entry.send(message) {
        case .delivered:
            try await self.store.removeMessage(message, audit: nil)
            return .delivered
        case .later(let moment):
            try await self.store.postponeMessage(message, until: moment)
            return .failed
        case .givenUp(let event):
            try await self.store.removeMessage(message, audit: event)
            return .givenUp
        }
    }
}
