public import Records
import Settings
import _Primitives

/// A failed delivery of a dispatcher's message.
public struct DispatchFailure: Sendable, Equatable {
    /// The name of the dispatcher.
    public let dispatcher: String
    /// The number of the try, from 1.
    public let attempt: Int
    /// The reason of a ``DeliveryError``, or the kind of another error. The words of another error stay out, because the
    /// words may contain the message.
    public let reason: String
    /// `true` if the delivery is not tried again.
    public let isGivenUp: Bool
}

/// Sends the outbox's messages to devices by their dispatchers.
private struct DeviceDeliveries: Sendable {
    /// A call of a dispatcher did not end within the lease.
    struct CallWithoutEnd: Error {}

    let store: any AccountStore & CeremonyStore & DispatchTargetStore
    let dispatchers: Dispatchers
    let terms: OutboxTerms
    let time: TimeSource
    let sleep: @Sendable (Duration) async throws -> Void
    /// Reports of failed tries, by dispatcher.
    let reports: SourceBudget
    /// Reports of abandoned deliveries, by dispatcher.
    let lossReports: SourceBudget
    /// Audit entries of abandoned deliveries, by client and dispatcher.
    let lossEntries: SourceBudget
    let report: @Sendable (DispatchFailure) -> Void

    /// Has a message delivered. A message is not needed any more if its ceremony has ended, if its token was redeemed,
    /// or if its account is gone or locked.
    /// A message to a device is not needed any more if the device may not authenticate, or has another dispatcher.
    ///
    /// Cost: two queries, a third one for a device, one call of the dispatcher.
    func send(_ taken: OutboxMessage) async throws -> OutboxSettlement {
        let delivery = try DeviceDelivery(taken)
        let ceremony = try await self.store.ceremony(.id(delivery.ceremonyID))
        guard let ceremony, ceremony.isUnredeemed, let accountID = ceremony.accountID,
            let account = try await self.store.account(id: accountID), !account.isLocked
        else { return .delivered }
        let message = delivery.message
        guard self.time.now() < delivery.expiresAt else {
            return self.failed(taken, delivery, of: ceremony, "the token has expired", isFinal: true)
        }
        guard let dispatcher = self.dispatchers.delivering(message.dispatcher) else {
            return self.failed(taken, delivery, of: ceremony, "no dispatcher has the name", isFinal: true)
        }
        // A device may be revoked, or may choose another dispatcher, while its message waits.
        guard try await self.isReachable(message.target, by: dispatcher) else { return .delivered }
        do {
            try await self.withinLease {
                try await dispatcher.deliver(DispatchMessage(target: message.target, content: message.content))
            }
            return .delivered
        } catch let error as DeliveryError {
            return self.failed(
                taken, delivery, of: ceremony, error.reason, isFinal: error.nextTry == .never,
                notBefore: error.nextTry.moment)
        } catch {
            return self.failed(taken, delivery, of: ceremony, "\(type(of: error))", isFinal: false)
        }
    }

    /// Returns `true` if a dispatcher may send to a target. A dispatcher of its own targets decides by itself.
    private func isReachable(_ target: String, by dispatcher: any DeliveringDispatcher) async throws -> Bool {
        guard dispatcher is any DeviceDispatcher else { return true }
        return try await self.store.dispatchTarget(deviceID: target)?.dispatcher?.hasSameBytes(as: dispatcher.name)
            ?? false
    }

    /// Waits for the end of a call, at most for the lease. A call without an end is cancelled and left behind: the code
    /// of the call is not the server's, and may ignore the cancellation. A task group would wait for the call.
    private func withinLease(_ call: @escaping @Sendable () async throws -> Void) async throws {
        let (ends, end) = AsyncStream.makeStream(of: Result<Void, any Error>.self, bufferingPolicy: .bufferingOldest(1))
        let work = Task {
            do {
                try await call()
                end.yield(.success(()))
            } catch { end.yield(.failure(error)) }
        }
        let timer = Task {
            try await self.sleep(self.terms.lease)
            end.yield(.failure(CallWithoutEnd()))
        }
        defer {
            work.cancel()
            timer.cancel()
        }
        for await result in ends { return try result.get() }
        // The stream ends without a result if the task of the caller is cancelled.
        throw CancellationError()
    }

    private func failed(
        _ taken: OutboxMessage, _ delivery: DeviceDelivery, of ceremony: CeremonyRecord, _ reason: String,
        isFinal: Bool, notBefore: Timestamp? = nil
    ) -> OutboxSettlement {
        let now = self.time.now()
        func failure(isGivenUp: Bool) -> DispatchFailure {
            DispatchFailure(
                dispatcher: delivery.message.dispatcher, attempt: taken.attempt, reason: reason, isGivenUp: isGivenUp)
        }
        let usual = isFinal ? nil : self.terms.nextTry(of: taken, at: now, before: delivery.expiresAt)
        guard let next = usual.map({ max($0, notBefore ?? $0) }), next < delivery.expiresAt else {
            let dispatcher = delivery.message.dispatcher
            if self.lossReports.spend(dispatcher, at: now) == nil { self.report(failure(isGivenUp: true)) }
            guard self.lossEntries.spend(ceremony.clientID ?? "", of: dispatcher, at: now) == nil else {
                return .givenUp(nil)
            }
            return .givenUp(
                AuditEvent(
                    .dispatchUndelivered, at: now, accountID: ceremony.accountID, ceremonyID: ceremony.id,
                    actor: ceremony.clientID, detail: dispatcher))
        }
        if self.reports.spend(delivery.message.dispatcher, at: now) == nil { self.report(failure(isGivenUp: false)) }
        return .later(next)
    }
}

extension Dispatches {
    /// Returns the channel of devices in the outbox. The lane of a message is its dispatcher.
    ///
    /// - Parameters:
    ///   - sleep: Ends after a time. The lease of a call is counted by this function.
    ///   - report: Receives failures: at most one failed try and one abandoned delivery a minute for each dispatcher.
    public func outboxEntry(
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        report: @escaping @Sendable (DispatchFailure) -> Void = { _ in }
    ) -> OutboxEntry {
        let limits = self.limits
        let (share, dispatchers) = (limits.deviceMessagesAtOncePerDispatcher, max(self.dispatchers.all.count, 1))
        let deliveries = DeviceDeliveries(
            store: self.store, dispatchers: self.dispatchers,
            // Each dispatcher has places of its own, however many others do not answer.
            terms: OutboxTerms(
                places: share * dispatchers, share: share, lease: limits.deviceMessageLease,
                retryPause: limits.deviceMessageRetryPause,
                longestRetryPause: limits.longestDeviceMessageRetryPause, interval: limits.deviceMessageInterval),
            time: self.time, sleep: sleep,
            reports: SourceBudget(oneIn: limits.pauseOfReports, sources: dispatchers, protecting: .node),
            lossReports: SourceBudget(oneIn: limits.pauseOfReports, sources: dispatchers, protecting: .node),
            lossEntries: SourceBudget(
                burst: 1, perSecond: 1 / Double(Limits.Fixed.undeliveredPause.components.seconds),
                sources: limits.oauth.clients, groups: dispatchers, protecting: .node),
            report: report)
        return OutboxEntry(.device, deliveries.terms) { try await deliveries.send($0) }
    }
}

extension DeliveryError.NextTry {
    /// The moment of the next try, if the dispatcher knows the moment.
    fileprivate var moment: Timestamp? {
        if case .notBefore(let moment) = self { moment } else { nil }
    }
}

extension CeremonyRecord {
    /// `true` if no phone has redeemed the token, and nobody has ended the ceremony before its time was over.
    fileprivate var isUnredeemed: Bool {
        self.phase == .created || self.outcome == .expired && self.channel == nil
    }
}

extension AuditEvent.Kind {
    /// A dispatcher could not deliver a message to a device before the token expired. The actor is the client, and the
    /// detail is the dispatcher. The trail has at most one such event an hour for each client and dispatcher.
    fileprivate static let dispatchUndelivered = Self(rawValue: "dispatch-undelivered")
}
