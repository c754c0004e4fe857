public import Records
import Settings
import _Primitives

/// A failed delivery of a dispatcher's message.
public struct DispatchFailure: Sendable, Equatable {
    /// The name of the dispatcher.
    public let dispatcher: String
    /// The number of the try, from 1.
    public let attempt: Int
    /// The kind of the error. The error's own words stay out, because the words may contain the message.
    public let reason: String
    /// `true` if the delivery is not tried again.
    public let isGivenUp: Bool
}

/// Sends the outbox's messages to devices by their dispatchers.
private struct DeviceDeliveries: Sendable {
    let store: any CeremonyStore
    let dispatchers: Dispatchers
    let terms: OutboxTerms
    let time: TimeSource
    let reports: SourceBudget
    let report: @Sendable (DispatchFailure) -> Void

    /// Has a message delivered. A message whose ceremony has ended, or whose token was redeemed, is not needed any more.
    ///
    /// Cost: one query, one call of the dispatcher.
    func send(_ taken: OutboxMessage) async throws -> OutboxSettlement {
        let delivery = try DeviceDelivery(taken)
        let ceremony = try await self.store.ceremony(.id(delivery.ceremonyID))
        guard let ceremony, ceremony.phase == .created, self.time.now() < delivery.expiresAt else {
            return .delivered
        }
        let message = delivery.message
        guard let dispatcher = self.dispatchers.targeted(message.dispatcher) else {
            return self.failed(taken, delivery, of: ceremony, "no dispatcher has the name", isFinal: true)
        }
        do {
            try await dispatcher.deliver(DispatchMessage(target: message.target, content: message.content))
            return .delivered
        } catch {
            return self.failed(taken, delivery, of: ceremony, "\(type(of: error))", isFinal: false)
        }
    }

    private func failed(
        _ taken: OutboxMessage, _ delivery: DeviceDelivery, of ceremony: CeremonyRecord, _ reason: String,
        isFinal: Bool
    ) -> OutboxSettlement {
        let now = self.time.now()
        func failure(isGivenUp: Bool) -> DispatchFailure {
            DispatchFailure(
                dispatcher: delivery.message.dispatcher, attempt: taken.attempt, reason: reason, isGivenUp: isGivenUp)
        }
        guard !isFinal, let next = self.terms.nextTry(of: taken, at: now, before: delivery.expiresAt) else {
            self.report(failure(isGivenUp: true))
            return .givenUp(
                AuditEvent(
                    .dispatchUndelivered, at: now, accountID: ceremony.accountID, ceremonyID: ceremony.id,
                    actor: ceremony.clientID, detail: delivery.message.dispatcher))
        }
        if self.reports.spend(delivery.message.dispatcher, at: now) == nil { self.report(failure(isGivenUp: false)) }
        return .later(next)
    }
}

extension Dispatches {
    /// Returns the channel of devices in the outbox. The lane of a message is its dispatcher.
    ///
    /// - Parameter report: Receives failures: at most one a minute for each dispatcher, and every abandoned delivery.
    public func outboxEntry(report: @escaping @Sendable (DispatchFailure) -> Void = { _ in }) -> OutboxEntry {
        let limits = self.limits
        let (share, dispatchers) = (limits.deviceMessagesAtOncePerDispatcher, max(self.dispatchers.all.count, 1))
        let deliveries = DeviceDeliveries(
            store: self.store, dispatchers: self.dispatchers,
            // Each dispatcher has places of its own, however many others do not answer.
            terms: OutboxTerms(
                places: share * dispatchers, share: share, lease: limits.deviceMessageLease,
                retryPause: limits.deviceMessageRetryPause,
                longestRetryPause: limits.longestDeviceMessageRetryPause, interval: limits.deviceMessageInterval),
            time: self.time,
            reports: SourceBudget(
                oneIn: limits.pauseOfReports, sources: dispatchers, protecting: .node),
            report: report)
        return OutboxEntry(.device, deliveries.terms) { try await deliveries.send($0) }
    }
}

extension AuditEvent.Kind {
    /// A dispatcher could not deliver a message to a device before the token expired. The actor is the client, and the
    /// detail is the dispatcher.
    fileprivate static let dispatchUndelivered = Self(rawValue: "dispatch-undelivered")
}
