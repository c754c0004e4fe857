public import Logging
import OAuthProvider
public import ServiceLifecycle
import Store
import Synchronization
import _Primitives

extension ServerAssembly {
    /// The service that tells clients that sessions have ended; `nil` where nobody can be called.
    public func logoutDeliverer(logger: Logger) -> LogoutDeliverer? {
        guard let calls = self.configuration.calls else { return nil }
        let metrics = self.configuration.metrics
        let deliveries = LogoutDeliveries(provider: self.provider, outbox: self.outbox, calls: calls) { failure in
            LogoutDeliverer.log(failure, logger)
        }
        return LogoutDeliverer(
            deliveries: deliveries, outbox: self.outbox, metrics: metrics, logger: logger,
            interval: self.configuration.limits.oauth.logoutInterval, time: self.time)
    }
}

/// Looks whether clients have to be told that sessions have ended, and tells them, until the server shuts down. Nobody who
/// signs out waits for it. Any number of servers may do so over one store.
public struct LogoutDeliverer: Service {
    let deliveries: LogoutDeliveries
    let outbox: any LogoutOutbox
    let metrics: ServerMetrics
    let logger: Logger
    let interval: Duration
    let time: TimeSource

    /// Delivers until the server shuts down. What is under way then is due again when its lease is over.
    public func run() async throws {
        let waiting = LastSeen()
        let time = self.time
        self.metrics.watch(logouts: {
            let seen = waiting.logouts
            return (seen.count, seen.oldest.map { time.now() - $0 } ?? .zero)
        })
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    do {
                        for delivery in try await self.deliveries.takeDue() {
                            group.addTask { await self.deliver(delivery) }
                        }
                        waiting.note(try await self.outbox.waitingLogouts())
                    } catch {
                        self.logger.error("The outbox of logouts cannot be read", metadata: ["reason": "\(error)"])
                    }
                    try? await Task.sleep(for: self.interval)
                }
            }
        }
    }

    private func deliver(_ delivery: LogoutDelivery) async {
        do {
            self.metrics.told(try await self.deliveries.deliver(delivery))
        } catch {
            self.logger.error("A logout waits for its next turn", metadata: ["reason": "\(error)"])
        }
    }

    static func log(_ failure: LogoutFailure, _ logger: Logger) {
        let metadata: Logger.Metadata = [
            "client": "\(failure.client)", "attempt": "\(failure.attempt)", "reason": "\(failure.reason)",
            "remedy":
                "The service has to answer 200 at the address that `countersign admin client show` names; `client change --backchannel-logout-uri` changes it.",
        ]
        if failure.isGivenUp {
            logger.error(
                "A service was not told that somebody has signed out, and is not told any more", metadata: metadata)
        } else {
            logger.notice(
                "A service could not be told that somebody has signed out; it is tried again", metadata: metadata)
        }
    }
}

/// What waited when the outbox was last looked at.
private final class LastSeen: Sendable {
    private let state = Mutex(WaitingLogouts(count: 0, oldest: nil))

    var logouts: WaitingLogouts { self.state.withLock { $0 } }

    func note(_ logouts: WaitingLogouts) { self.state.withLock { $0 = logouts } }
}
