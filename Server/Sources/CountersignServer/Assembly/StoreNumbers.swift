import Accounts
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
    let mails: any MailDeliveries.Outbox
    let provider: OpenIDProvider
    let metrics: ServerMetrics
    let logger: Logger
    let interval: Duration
    let time: TimeSource
    private let seen = LastNumbers()

    /// Makes the reader of a server's numbers.
    public init(_ server: ServerAssembly, logger: Logger) {
        self.mails = server.mails
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
    /// Cost: two queries, which read every waiting letter and every session.
    func look() async throws {
        let now = self.time.now()
        let mails = try await self.mails.waitingMails()
        let sessions = try await self.provider.sessions.count()
        self.seen.note(
            StoreCounts(mails: mails.count, mailAge: mails.oldest.map { now - $0 } ?? .zero, sessions: sessions))
    }
}

/// The numbers of the last look, for the metrics.
private final class LastNumbers: Sendable {
    private let state = Mutex(StoreCounts())

    var value: StoreCounts { self.state.withLock { $0 } }

    func note(_ seen: StoreCounts) { self.state.withLock { $0 = seen } }
}
