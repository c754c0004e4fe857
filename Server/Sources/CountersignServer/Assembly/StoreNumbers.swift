import Endpoints
public import Logging
import OAuthProvider
import Records
public import ServiceLifecycle
import Settings
import Synchronization
import _Primitives

/// Reads from time to time, for the metrics, the numbers that only the store knows, so that a reader of the metrics waits for no query.
public struct StoreNumbers: Service {
    let outbox: any OutboxStore
    let provider: OpenIDProvider
    let metrics: ServerMetrics
    let logger: Logger
    let interval: Duration
    let time: TimeSource
    private let seen = LastNumbers()

    /// Makes the reader of a server's numbers.
    public init(_ server: ServerAssembly, logger: Logger) {
        self.outbox = server.outbox
        self.provider = server.provider
        self.metrics = server.configuration.metrics
        self.logger = logger
        self.interval = server.configuration.limits.sweepInterval
        self.time = server.time
    }

    /// Reads the numbers until the server shuts down.
    public func run() async throws {
        let (seen, provider, time) = (self.seen, self.provider, self.time)
        self.metrics.watch(
            store: { seen.value },
            signingKeys: {
                let now = time.now()
                return provider.keys.signingKeys.filter { key in
                    key.signsFrom <= now && (key.signsUntil.map { now < $0 } ?? true)
                }.map { (algorithm: $0.algorithm, age: now - $0.signsFrom) }
            })
        try? await cancelWhenGracefulShutdown {
            while true {
                do { try await self.look() } catch {
                    self.logger.error("The numbers of the store cannot be read", metadata: ["reason": "\(error)"])
                }
                try await Task.sleep(for: self.interval)
            }
        }
    }

    /// Reads the numbers once.
    ///
    /// Cost: four queries, which read every waiting message and every session.
    func look() async throws {
        let now = self.time.now()
        var messages: [OutboxChannel: (count: Int, age: Duration)] = [:]
        for channel in OutboxChannel.allCases {
            let waiting = try await self.outbox.waitingMessages(to: channel)
            messages[channel] = (waiting.count, waiting.oldest.map { now - $0 } ?? .zero)
        }
        self.seen.note(StoreCounts(messages: messages, sessions: try await self.provider.sessions.count()))
    }
}

/// The numbers of the last look, for the metrics.
private final class LastNumbers: Sendable {
    private let state = Mutex(StoreCounts())

    var value: StoreCounts { self.state.withLock { $0 } }

    func note(_ seen: StoreCounts) { self.state.withLock { $0 = seen } }
}
