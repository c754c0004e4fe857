import OAuth
public import Records
import Settings
import Synchronization
import _Primitives

/// A failed delivery of a message to a client.
public struct DeliveryFailure: Sendable, Equatable {
    /// The client.
    public let client: String
    /// The subject of the message.
    public let matter: ClientDelivery.Content
    /// The number of the try, from 1.
    public let attempt: Int
    /// The event, in words.
    public let reason: String
    /// `true` if the delivery is not tried again.
    public let isGivenUp: Bool
}

/// The result of a delivery, for metrics. A message that is no longer needed counts as delivered. A failed delivery is
/// tried again, and a delivery that was given up is not.
public enum DeliveryResult: String, Sendable, CaseIterable {
    case delivered, failed
    case givenUp = "given-up"
}

/// A message to a client, made anew for each try.
struct ClientMessage {
    let content: OutgoingCall.Content
    /// The credential of the message.
    var authorization: String?
    /// The end of the message's usefulness.
    let end: Timestamp
    /// The statuses with which the client declines further tries.
    var refusals: Set<Int> = []
    /// The audit event of an undelivered message.
    let undelivered: AuditEvent.Kind
    /// The client's grant in the message. An undelivered grant is deleted.
    var grant: String?
    /// The reason why the message cannot be completed now, and is tried again; `nil` if the message can be sent.
    var obstacle: String?
}

/// Delivers messages to clients without a browser. Takes due deliveries out of the outbox and makes each message anew.
/// Tries until the client has confirmed the message, or the message has no use any more.
///
/// Any number of nodes can deliver from one store. A taken delivery is due again when the node's lease ends, so a
/// killed node loses nothing. For this reason a client can get a message twice, but never at the same time.
public final class ClientDeliveries: Sendable {
    private let clients: Clients
    private let grants: any RefreshStore
    private let logouts: LogoutStatements
    private let answers: BackchannelAnswers
    private let outbox: any ClientOutbox
    private let calls: any OutgoingCalls
    private let report: @Sendable (DeliveryFailure) -> Void
    private let reports: SourceBudget
    /// The number of running deliveries to each client on this node.
    private let underWay = Mutex<[ExactText: Int]>([:])

    /// Creates the deliveries to the clients of a provider.
    ///
    /// - Parameters:
    ///   - grants: Issues the tokens of answers that clients do not ask for.
    ///   - report: Receives failures: at most one a minute for each client, and every abandoned delivery.
    public init(
        _ grants: Grants, outbox: any ClientOutbox, calls: any OutgoingCalls,
        report: @escaping @Sendable (DeliveryFailure) -> Void = { _ in }
    ) {
        let tokens = grants.backchannel.tokens
        self.clients = tokens.clients
        self.grants = tokens.store
        self.logouts = LogoutStatements(clients: tokens.clients)
        self.answers = BackchannelAnswers(grant: grants.backchannel)
        self.outbox = outbox
        self.calls = calls
        self.report = report
        self.reports = SourceBudget(
            oneIn: tokens.limits.pauseOfReports, sources: tokens.limits.oauth.clients, protecting: .node)
    }

    /// Takes the deliveries that are due now. The caller delivers each with ``deliver(_:)``.
    ///
    /// A client whose share of deliveries is running waits for its turn: a client that does not answer delays no other
    /// client.
    ///
    /// Cost: one query; if a delivery is due, one store step.
    public func takeDue() async throws -> [ClientDelivery] {
        let limits = self.clients.limits.oauth
        let underWay = self.underWay.withLock { $0 }
        let free = limits.deliveriesAtOnce - underWay.values.reduce(0, +)
        guard free > 0 else { return [] }
        let now = self.clients.time.now()
        let taken = try await self.outbox.takeDeliveries(
            at: now, lease: now + limits.deliveryLease, share: limits.deliveriesAtOncePerClient, most: free,
            underWay: underWay)
        self.underWay.withLock { underWay in
            for delivery in taken { underWay[ExactText(delivery.client), default: 0] += 1 }
        }
        return taken
    }

    /// Sends a taken delivery to its client, and then removes or postpones the delivery, by the client's answer. Only
    /// the status of the answer counts, and nothing else is read.
    ///
    /// Cost: a query, the cost of the message, one call, one store step.
    public func deliver(_ delivery: ClientDelivery) async throws -> DeliveryResult {
        defer {
            self.underWay.withLock { underWay in
                let key = ExactText(delivery.client)
                let left = (underWay[key] ?? 1) - 1
                underWay[key] = left > 0 ? left : nil
            }
        }
        let client = try await self.clients.store.client(delivery.client)
        guard let client, let message = try await self.message(delivery, for: client) else {
            // The client was deleted together with its deliveries, or the message is not needed any more.
            try await self.outbox.removeDelivery(delivery, audit: nil)
            return .delivered
        }
        guard self.clients.time.now() < message.end else {
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
            try await self.logouts.message(of: session, subject: subject, for: client, since: delivery.createdAt)
        // A switched-off client gets no answer.
        case .answer where client.settings.isDisabled: nil
        case .answer(let request): try await self.answers.message(to: request, for: client)
        }
    }

    private func failed(_ delivery: ClientDelivery, _ message: ClientMessage, _ reason: String, isFinal: Bool)
        async throws -> DeliveryResult
    {
        let now = self.clients.time.now()
        let limits = self.clients.limits.oauth
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
                _ = try await self.grants.deleteGrant(grant, client: delivery.client, audit: event)
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
