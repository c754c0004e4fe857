import OAuth
public import Store
import Synchronization
import _Primitives

/// What became of telling a client something, where it came to nothing.
public struct DeliveryFailure: Sendable, Equatable {
    /// The client.
    public let client: String
    /// What it was about.
    public let matter: ClientDelivery.Content
    /// How often it was tried.
    public let attempt: Int
    /// What happened, in words.
    public let reason: String
    /// Whether it is not tried again.
    public let isGivenUp: Bool
}

/// What became of a delivery, for those who count.
public enum DeliveryResult: String, Sendable, CaseIterable {
    case delivered, failed
    case givenUp = "given-up"
}

/// What a client is told: made anew for each time that it is tried.
struct ClientMessage {
    let content: OutgoingCall.Content
    /// The credential that it comes with.
    var authorization: String?
    /// From then on it is of no use.
    let end: Timestamp
    /// The statuses by which the client says that it is of no use to come again.
    var refusals: Set<Int> = []
    /// What the trail says where the client was not told.
    let undelivered: AuditEvent.Kind
    /// What the client is given with it, and nobody has where it was not told.
    var grant: String?
    /// Why it cannot be made whole now, and is tried again; `nil` where it can be sent.
    var obstacle: String?
}

/// Tells clients, without a browser, what they have to be told: takes what is due out of the outbox, makes each message anew,
/// and tries until the client has said that it understood, or the message is of no use any more.
///
/// Any number of nodes can do so over one store. What a node has taken is due again when its lease is over, so that one that
/// was killed loses nothing; a client can be told twice for that reason, and never at once.
public final class ClientDeliveries: Sendable {
    let provider: OpenIDProvider
    private let outbox: any ClientOutbox
    private let calls: any OutgoingCalls
    private let report: @Sendable (DeliveryFailure) -> Void
    private let reports: SourceBudget
    /// How many of each client are under way here.
    private let underWay = Mutex<[ExactText: Int]>([:])

    /// Deliveries to a provider's clients.
    ///
    /// - Parameter report: Is told what failed: of a client once a minute at most, and of each that is given up.
    public init(
        provider: OpenIDProvider, outbox: any ClientOutbox, calls: any OutgoingCalls,
        report: @escaping @Sendable (DeliveryFailure) -> Void = { _ in }
    ) {
        self.provider = provider
        self.outbox = outbox
        self.calls = calls
        self.report = report
        self.reports = SourceBudget(oneIn: provider.limits.pauseOfReports, sources: provider.limits.oauth.clients)
    }

    /// Takes what is due now. Whoever takes a delivery delivers it, with ``deliver(_:)``.
    ///
    /// A client of which its share is under way waits for its turn: one that does not answer keeps nobody else waiting.
    ///
    /// Cost: one query; where something is due, one store step.
    public func takeDue() async throws -> [ClientDelivery] {
        let limits = self.provider.limits.oauth
        let underWay = self.underWay.withLock { $0 }
        let free = limits.deliveriesAtOnce - underWay.values.reduce(0, +)
        guard free > 0 else { return [] }
        let now = self.provider.time.now()
        let taken = try await self.outbox.takeDeliveries(
            at: now, lease: now + limits.deliveryLease, share: limits.deliveriesAtOncePerClient, most: free,
            underWay: underWay)
        self.underWay.withLock { underWay in
            for delivery in taken { underWay[ExactText(delivery.client), default: 0] += 1 }
        }
        return taken
    }

    /// Tells a client what was taken, and removes it or has it wait, by what the client answers. Of the answer its status
    /// counts, and nothing else is read.
    ///
    /// Cost: a query, what the message costs, one call, one store step.
    public func deliver(_ delivery: ClientDelivery) async throws -> DeliveryResult {
        defer {
            self.underWay.withLock { underWay in
                let key = ExactText(delivery.client)
                let left = (underWay[key] ?? 1) - 1
                underWay[key] = left > 0 ? left : nil
            }
        }
        let client = try await self.provider.store.client(delivery.client)
        guard let client, let message = try await self.message(delivery, for: client) else {
            // The client has gone, and the rest of its deliveries with it; or there is nothing to be told any more.
            try await self.outbox.removeDelivery(delivery, audit: nil)
            return .delivered
        }
        guard self.provider.time.now() < message.end else {
            return try await self.failed(delivery, message, "it is too late", isFinal: true)
        }
        if let obstacle = message.obstacle {
            return try await self.failed(delivery, message, obstacle, isFinal: false)
        }
        do {
            let answer = try await self.calls.send(
                OutgoingCall(
                    to: delivery.address, message.content, authorization: message.authorization, longestAnswer: nil))
            guard !(200..<300).contains(answer.status) else {
                try await self.outbox.removeDelivery(delivery, audit: nil)
                return .delivered
            }
            return try await self.failed(
                delivery, message, "it answers \(answer.status)",
                isFinal: message.refusals.contains(answer.status))
        } catch let error as OutgoingCallError {
            return try await self.failed(delivery, message, error.reason, isFinal: false)
        }
    }

    private func message(_ delivery: ClientDelivery, for client: ClientRecord) async throws -> ClientMessage? {
        switch delivery.content {
        case .logout(let session, let subject):
            try await self.logout(of: session, subject: subject, for: client, since: delivery.createdAt)
        // One that is switched off gets nothing.
        case .answer where client.settings.isDisabled: nil
        case .answer(let request): try await self.answer(to: request, for: client)
        }
    }

    private func failed(_ delivery: ClientDelivery, _ message: ClientMessage, _ reason: String, isFinal: Bool)
        async throws -> DeliveryResult
    {
        let now = self.provider.time.now()
        let limits = self.provider.limits.oauth
        let next =
            now
            + Limits.pause(
                limits.deliveryRetryPause, doubled: delivery.attempt - 1, atMost: limits.longestDeliveryRetryPause)
        func failure(isGivenUp: Bool) -> DeliveryFailure {
            DeliveryFailure(
                client: delivery.client, matter: delivery.content, attempt: delivery.attempt, reason: reason,
                isGivenUp: isGivenUp)
        }
        guard !isFinal, next < message.end else {
            if let grant = message.grant {
                let event = AuditEvent(.grantRevoked, at: now, actor: delivery.client, detail: grant)
                _ = try await self.provider.store.deleteGrant(grant, client: delivery.client, audit: event)
            }
            try await self.outbox.removeDelivery(
                delivery, audit: AuditEvent(message.undelivered, at: now, actor: delivery.client))
            self.report(failure(isGivenUp: true))
            return .givenUp
        }
        try await self.outbox.postponeDelivery(delivery, until: next)
        if self.reports.spend(delivery.client, at: now) == nil { self.report(failure(isGivenUp: false)) }
        return .failed
    }
}
