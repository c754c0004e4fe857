import Endpoints
public import Logging
public import Records
public import ServiceLifecycle
import _Primitives

/// Sends the messages of the outbox until the server shuts down (decision 112).
///
/// Nobody waits for a message to be sent: a person who signs out or answers, a person who requests a letter, or a back
/// end that dispatches. Any number of servers may send from one store. The channels run side by side, so a channel whose
/// messages are not taken holds up no other channel.
public struct OutboxService: Service {
    private let outboxes: [Outbox]
    private let metrics: ServerMetrics
    private let logger: Logger

    /// Makes the service of a server, for all channels or for some.
    public init(_ server: ServerAssembly, _ channels: [OutboxChannel] = OutboxChannel.allCases, logger: Logger) {
        self.outboxes = server.outboxes(logger: logger).filter { channels.contains($0.entry.channel) }
        self.metrics = server.configuration.metrics
        self.logger = logger
    }

    /// Sends until the server shuts down. A message that the shutdown interrupts is due again when its lease is over.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                for outbox in self.outboxes { group.addTask { await self.send(from: outbox) } }
            }
        }
    }

    /// Takes due messages and sends the messages side by side.
    ///
    /// The loop looks at each interval, and as soon as a message has left its place. So the outbox empties as fast as the
    /// addressees take the messages.
    private func send(from outbox: Outbox) async {
        let (channel, interval) = (outbox.entry.channel.rawValue, outbox.entry.terms.interval)
        let (metrics, logger) = (self.metrics, self.logger)
        // One look is enough for all reasons to look that have come up by then.
        let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask {
                while !Task.isCancelled {
                    waking.yield()
                    try? await Task.sleep(for: interval)
                }
                waking.finish()
            }
            for await _ in wakes {
                do {
                    for message in try await outbox.takeDue() {
                        group.addTask {
                            do {
                                let result = try await outbox.deliver(message)
                                metrics.count(.messages, channel, result.rawValue)
                            } catch {
                                logger.error(
                                    "A message waits for its next turn",
                                    metadata: ["outbox": "\(channel)", "reason": "\(error)"])
                            }
                            waking.yield()
                        }
                    }
                } catch {
                    logger.error(
                        "An outbox cannot be read", metadata: ["outbox": "\(channel)", "reason": "\(error)"])
                }
            }
        }
    }
}
