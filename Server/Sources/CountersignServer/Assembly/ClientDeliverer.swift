import Endpoints
public import Logging
import OAuthProvider
import Records
public import ServiceLifecycle
import Settings
import Synchronization
import _Primitives

/// Delivers the waiting messages to clients until the server shuts down.
///
/// A person who signs out or answers does not wait for a delivery. Any number of servers may deliver from one store.
public struct ClientDeliverer: Service {
    let deliveries: ClientDeliveries
    let outbox: any ClientOutbox
    let metrics: ServerMetrics
    let logger: Logger
    let interval: Duration
    let time: TimeSource

    /// Makes the deliverer of a server; `nil` if the server can call nobody.
    public init?(_ server: ServerAssembly, logger: Logger) {
        guard let calls = server.configuration.calls else { return nil }
        self.deliveries = ClientDeliveries(server.provider.grants, outbox: server.outbox, calls: calls) { failure in
            Self.log(failure, logger)
        }
        self.outbox = server.outbox
        self.metrics = server.configuration.metrics
        self.logger = logger
        self.interval = server.configuration.limits.oauth.deliveryInterval
        self.time = server.time
    }

    /// Delivers until the server shuts down. A delivery that the shutdown interrupts is due again when its lease is
    /// over.
    public func run() async throws {
        let waiting = LastSeen()
        let time = self.time
        self.metrics.watch(deliveries: {
            let seen = waiting.deliveries
            return (seen.count, seen.oldest.map { time.now() - $0 } ?? .zero)
        })
        await deliverFromOutbox(every: self.interval, "deliveries to clients", self.logger) {
            try await self.deliveries.takeDue()
        } deliver: { delivery in
            let result = try await self.deliveries.deliver(delivery)
            self.metrics.count(.deliveries, result.rawValue)
        } look: {
            waiting.note(try await self.outbox.waitingDeliveries())
        }
    }

    static func log(_ failure: DeliveryFailure, _ logger: Logger) {
        let (what, setting) =
            switch failure.matter {
            case .logout: ("that somebody has signed out", "--backchannel-logout-uri")
            case .answer: ("what somebody has answered", "--backchannel-client-notification-endpoint")
            }
        let metadata: Logger.Metadata = [
            "client": "\(failure.client)", "attempt": "\(failure.attempt)", "reason": "\(failure.reason)",
            "remedy":
                "The service has to answer 200 at the address that `countersign admin client show` names; `client change \(setting)` changes it.",
        ]
        if failure.isGivenUp {
            logger.error("A service was not told \(what), and is not told any more", metadata: metadata)
        } else {
            logger.notice("A service could not be told \(what); it is tried again", metadata: metadata)
        }
    }
}

/// The deliveries that waited at the last look into the outbox.
private final class LastSeen: Sendable {
    private let state = Mutex(WaitingDeliveries(count: 0, oldest: nil))

    var deliveries: WaitingDeliveries { self.state.withLock { $0 } }

    func note(_ deliveries: WaitingDeliveries) { self.state.withLock { $0 = deliveries } }
}
