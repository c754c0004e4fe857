import Logging
import ServiceLifecycle

/// Takes what is due out of an outbox, again and again, and delivers it beside each other, until the server shuts down.
/// What is under way then is due again when its lease is over.
///
/// - Parameters:
///   - what: What is delivered, for the log.
///   - take: Takes what is due now, as much of it as is delivered at a time.
func deliverFromOutbox<Delivery: Sendable>(
    every interval: Duration, _ what: String, _ logger: Logger,
    take: @escaping @Sendable () async throws -> [Delivery],
    deliver: @escaping @Sendable (Delivery) async throws -> Void
) async {
    await cancelWhenGracefulShutdown {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                do {
                    for delivery in try await take() {
                        group.addTask {
                            do { try await deliver(delivery) } catch {
                                logger.error(
                                    "Something waits for its next turn",
                                    metadata: ["outbox": "\(what)", "reason": "\(error)"])
                            }
                        }
                    }
                } catch {
                    logger.error(
                        "An outbox cannot be read", metadata: ["outbox": "\(what)", "reason": "\(error)"])
                }
                try? await Task.sleep(for: interval)
            }
        }
    }
}
