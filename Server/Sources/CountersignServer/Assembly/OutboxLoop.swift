import Logging
import ServiceLifecycle

/// Takes due items out of an outbox and delivers the items side by side, until the server shuts down.
///
/// The loop looks at each interval, and as soon as a delivery is over. So the outbox empties as fast as the receiver
/// takes the items. An item that the shutdown interrupts is due again when its lease is over.
///
/// - Parameters:
///   - what: The kind of item, for the log.
///   - take: Takes the items that are due now, as many as there are free places.
///   - look: Is called once for each interval, before the loop takes anything.
func deliverFromOutbox<Delivery: Sendable>(
    every interval: Duration, _ what: String, _ logger: Logger,
    take: @escaping @Sendable () async throws -> [Delivery],
    deliver: @escaping @Sendable (Delivery) async throws -> Void,
    look: @escaping @Sendable () async throws -> Void = {}
) async {
    // One look is enough for all reasons to look that have come up by then.
    let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    await cancelWhenGracefulShutdown {
        await withDiscardingTaskGroup { group in
            group.addTask {
                while !Task.isCancelled {
                    do { try await look() } catch { cannotRead(error) }
                    waking.yield()
                    try? await Task.sleep(for: interval)
                }
                waking.finish()
            }
            for await _ in wakes {
                do {
                    for delivery in try await take() {
                        group.addTask {
                            do { try await deliver(delivery) } catch {
                                logger.error(
                                    "Something waits for its next turn",
                                    metadata: ["outbox": "\(what)", "reason": "\(error)"])
                            }
                            waking.yield()
                        }
                    }
                } catch { cannotRead(error) }
            }
        }
    }

    @Sendable func cannotRead(_ error: any Error) {
        logger.error("An outbox cannot be read", metadata: ["outbox": "\(what)", "reason": "\(error)"])
    }
}
