import Logging
import ServiceLifecycle

/// Takes what is due out of an outbox and delivers it beside each other, until the server shuts down: at each interval, and
/// as soon as a delivery is over, so that what waits goes as fast as it is taken at its end. What is under way at the
/// shutdown is due again when its lease is over.
///
/// - Parameters:
///   - what: What is delivered, for the log.
///   - take: Takes what is due now, as much of it as there are places for.
///   - look: Is called once for each interval, before anything is taken.
func deliverFromOutbox<Delivery: Sendable>(
    every interval: Duration, _ what: String, _ logger: Logger,
    take: @escaping @Sendable () async throws -> [Delivery],
    deliver: @escaping @Sendable (Delivery) async throws -> Void,
    look: @escaping @Sendable () async throws -> Void = {}
) async {
    // However many reasons there are to look by then: one look is enough for all of them.
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
