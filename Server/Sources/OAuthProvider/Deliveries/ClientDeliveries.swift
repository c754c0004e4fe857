import OAuth
public import Records
import Settings
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

/// Sends the outbox's messages to clients without a browser. Makes each message anew for each try, and has the message
/// tried until the client has confirmed the message, or the message has no use any more.
public final class ClientDeliveries: Sendable {
    private let clients: Clients
    private let grants: any RefreshStore
    private let logouts: LogoutStatements
    private let answers: BackchannelAnswers
    private let statuses: StatusStatements
    private let calls: any OutgoingCalls
    private let terms: OutboxTerms
    private let report: @Sendable (DeliveryFailure) -> Void
    private let reports: SourceBudget
    /// Reports of abandoned statements about sessions, by client.
    private let lossReports: SourceBudget
    /// Audit entries of abandoned statements about sessions, by client.
    private let lossEntries: SourceBudget

    /// Creates the deliveries to the clients of a provider.
    ///
    /// - Parameters:
    ///   - grants: Issues the tokens of answers that clients do not ask for.
    ///   - statuses: Makes the status documents of ended sessions.
    ///   - report: Receives failures: at most one a minute for each client, and every abandoned delivery. Of abandoned
    ///     statements about sessions also at most one a minute for each client.
    public init(
        _ grants: Grants, calls: any OutgoingCalls, statuses: @escaping SessionStatuses,
        report: @escaping @Sendable (DeliveryFailure) -> Void = { _ in }
    ) {
        let tokens = grants.backchannel.tokens
        let limits = tokens.limits.oauth
        self.clients = tokens.clients
        self.grants = tokens.store
        self.logouts = LogoutStatements(clients: tokens.clients)
        self.answers = BackchannelAnswers(grant: grants.backchannel)
        self.statuses = StatusStatements(clients: tokens.clients, statuses: statuses)
        self.calls = calls
        self.terms = OutboxTerms(
            places: limits.deliveriesAtOnce, share: limits.deliveriesAtOncePerClient, lease: limits.deliveryLease,
            retryPause: limits.deliveryRetryPause, longestRetryPause: limits.longestDeliveryRetryPause,
            interval: limits.deliveryInterval)
        self.report = report
        self.reports = SourceBudget(
            oneIn: tokens.limits.pauseOfReports, sources: limits.clients, protecting: .node)
        self.lossReports = SourceBudget(
            oneIn: tokens.limits.pauseOfReports, sources: limits.clients, protecting: .node)
        self.lossEntries = SourceBudget(
            burst: 1, perSecond: 1 / Double(Limits.Fixed.undeliveredPause.components.seconds), sources: limits.clients,
            protecting: .node)
    }

    /// The channel of clients in the outbox. The lane of a message is the client.
    public var entry: OutboxEntry { OutboxEntry(.client, self.terms) { try await self.send($0) } }

    /// Sends a message to its client, and decides by the client's answer. Only the status of the answer counts, and
    /// nothing else is read. A message without an address for its kind is not needed any more, and a message that the
    /// store has ended to make room is given up.
    ///
    /// Cost: a query, the cost of the message, one call.
    private func send(_ taken: OutboxMessage) async throws -> OutboxSettlement {
        let delivery = try ClientDelivery(taken)
        let client = try await self.clients.store.client(delivery.client)
        guard let client, let address = delivery.content.address(at: client),
            let message = try await self.message(delivery, for: client)
        else { return .delivered }
        func failed(_ reason: String, isFinal: Bool) async throws -> OutboxSettlement {
            try await self.failed(taken, delivery, message, reason, isFinal: isFinal)
        }
        guard taken.expiresAt == nil else {
            return try await failed("too many statements wait for the client", isFinal: true)
        }
        guard self.clients.time.now() < message.end else { return try await failed("it is too late", isFinal: true) }
        if let obstacle = message.obstacle { return try await failed(obstacle, isFinal: false) }
        do {
            let answer = try await self.calls.send(
                OutgoingCall(to: address, message.content, authorization: message.authorization, longestAnswer: nil))
            guard !(200..<300).contains(answer.status) else { return .delivered }
            return try await failed(
                "it answers \(answer.status)", isFinal: message.refusals.contains(answer.status))
        } catch let error as OutgoingCallError {
            return try await failed(error.reason, isFinal: false)
        }
    }

    private func message(_ delivery: ClientDelivery, for client: ClientRecord) async throws -> ClientMessage? {
        switch delivery.content {
        case .logout(let session, let subject):
            try await self.logouts.message(of: session, subject: subject, for: client, since: delivery.createdAt)
        // A switched-off client gets no answer.
        case .answer where client.settings.isDisabled, .status where client.settings.isDisabled: nil
        case .answer(let request): try await self.answers.message(to: request, for: client)
        case .status(let session): try await self.statuses.message(of: session, for: client)
        }
    }

    private func failed(
        _ taken: OutboxMessage, _ delivery: ClientDelivery, _ message: ClientMessage, _ reason: String, isFinal: Bool
    ) async throws -> OutboxSettlement {
        let now = self.clients.time.now()
        func failure(isGivenUp: Bool) -> DeliveryFailure {
            DeliveryFailure(
                client: delivery.client, matter: delivery.content, attempt: taken.attempt, reason: reason,
                isGivenUp: isGivenUp)
        }
        guard !isFinal, let next = self.terms.nextTry(of: taken, at: now, before: message.end) else {
            if let grant = message.grant {
                let event = AuditEvent(.grantRevoked, at: now, actor: delivery.client, detail: grant)
                _ = try await self.grants.deleteGrant(grant, client: delivery.client, audit: event)
            }
            // A client dispatches any number of sessions, and the entries of the trail stay for ever.
            let isOfMany = delivery.content.isOfDispatch
            if !isOfMany || self.lossReports.spend(delivery.client, at: now) == nil {
                self.report(failure(isGivenUp: true))
            }
            guard !isOfMany || self.lossEntries.spend(delivery.client, at: now) == nil else { return .givenUp(nil) }
            return .givenUp(AuditEvent(message.undelivered, at: now, actor: delivery.client))
        }
        if self.reports.spend(delivery.client, at: now) == nil { self.report(failure(isGivenUp: false)) }
        return .later(next)
    }
}

extension ClientDelivery.Content {
    /// `true` for a message about a session that the client has dispatched.
    fileprivate var isOfDispatch: Bool {
        if case .status = self { true } else { false }
    }

    /// Returns the address that a client has for such messages; `nil` if the client does not want to be told.
    fileprivate func address(at client: ClientRecord) -> String? {
        switch self {
        case .logout: client.settings.logout?.text
        case .answer: client.settings.answers.address
        case .status: client.settings.statusAddress
        }
    }
}
