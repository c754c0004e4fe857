import AdminAPI
import Endpoints
public import Logging
import Records
public import ServiceLifecycle
import Settings
import _Primitives

extension AuditEvent.Kind {
    /// All values have left the former key-encryption keys. The detail is the name of the key under which all values
    /// now lie.
    static let resealed = Self(rawValue: "key-encryption-key-replaced")
}

/// Seals the values under former key-encryption keys anew under the newest key, and tells the operator once the former
/// keys are no longer needed.
public struct Resealer: Service {
    let store: any SealingKeyStore
    let resealing: Resealing
    let limits: Limits
    let metrics: ServerMetrics
    let logger: Logger
    let time: TimeSource

    /// Makes the resealer of a server.
    public init(_ server: ServerAssembly, logger: Logger) {
        self.store = server.keyStore
        self.resealing = server.resealing
        self.limits = server.configuration.limits
        self.metrics = server.configuration.metrics
        self.logger = logger
        self.time = server.time
    }

    /// Seals all values anew, and tries again if the store fails. Afterwards waits until the server shuts down.
    public func run() async throws {
        self.metrics.watch(.resealedValues) { self.resealing.progress.resealed }
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await self.reseal()
                    return
                } catch is CancellationError {
                    return
                } catch {
                    self.logger.error(
                        "Values cannot be sealed under the new key-encryption key; it is tried again",
                        metadata: ["reason": "\(error)"])
                    try? await Task.sleep(for: self.limits.sweepInterval)
                }
            }
        }
        try? await gracefulShutdown()
    }

    /// Seals all values anew, once.
    func reseal() async throws {
        let keys = try await self.store.sealingKeys()
        guard let newest = keys.first, keys.count > 1 else { return }
        let former = keys.dropFirst().joined(separator: ", ")
        self.logger.notice(
            "Stored values are sealed anew under another key-encryption key",
            metadata: ["newest": "\(newest)", "former": "\(former)", "remedy": "Leave both in the key file."])
        let (logger, pause, resealing, time) = (self.logger, self.limits.pauseOfReports, self.resealing, self.time)
        let resealed = try await self.store.reseal(
            audit: { AuditEvent(.resealed, at: time.now(), detail: newest) },
            told: { resealed in
                guard resealing.note(resealed, at: time.now(), pause: pause) else { return }
                logger.notice(
                    "Stored values are being sealed anew",
                    metadata: ["examined": "\(resealed.examined)", "resealed": "\(resealed.resealed)"])
            })
        guard resealed.unreadable == 0 else {
            self.logger.error(
                """
                Stored values that open under no key stay as they are, and the former keys with them: somebody has changed \
                the values
                """,
                metadata: [
                    "count": "\(resealed.unreadable)",
                    "columns": "\(resealed.unreadableColumns.joined(separator: ", "))",
                    "former": "\(former)",
                    "remedy":
                        "Restore a backup, or delete what has them (an account, a client), and start anew: countersign audit verify.",
                ])
            return
        }
        self.logger.notice(
            "Nothing is sealed under former key-encryption keys any more",
            metadata: [
                "resealed": "\(resealed.resealed)", "former": "\(former)",
                "remedy":
                    "countersign db forget-keys takes them out of the key file. Keep them with the backups of before.",
            ])
    }
}
