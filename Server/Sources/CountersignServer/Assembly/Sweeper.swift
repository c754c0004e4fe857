import Accounts
import CeremonyEngine
import Endpoints
public import Logging
import OAuthProvider
public import ServiceLifecycle
import Settings

/// From time to time ends and deletes expired things, writes refused sign-ins into the audit trail, and rotates the
/// keys that are due. Any number of servers may do so over one store.
public struct Sweeper: Service {
    let ceremonies: CeremonyEngine
    let provider: OpenIDProvider
    let passwords: PasswordAccounts
    let identities: IdentityDirectory
    let metrics: ServerMetrics
    let logger: Logger
    let interval: Duration

    /// Makes the sweeper of a server.
    public init(_ server: ServerAssembly, logger: Logger) {
        self.ceremonies = server.ceremonies
        self.provider = server.provider
        self.passwords = server.passwords
        self.identities = server.identities
        self.metrics = server.configuration.metrics
        self.logger = logger
        self.interval = server.configuration.limits.sweepInterval
    }

    /// Sweeps until the server shuts down.
    public func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: self.interval)
                do {
                    try await self.ceremonies.sweep.run()
                    try await self.provider.sweep()
                    try await self.passwords.sweep()
                    try await self.passwords.writeRefusals()
                    try await self.identities.sweep()
                    try await self.provider.keys.refresh()
                    try await self.ceremonies.identities.keys.follow()
                    try await self.rotateKeys()
                } catch {
                    self.logger.error("Sweeping failed", metadata: ["reason": "\(error)"])
                }
            }
        }
        do { try await self.passwords.writeRefusals(all: true) } catch {
            self.logger.error("What was refused lately is not in the trail", metadata: ["reason": "\(error)"])
        }
    }

    private func rotateKeys() async throws {
        let names = try await self.provider.keys.rotateDue()
        guard !names.isEmpty else { return }
        self.metrics.count(.signingKeysRotated, by: names.count)
        self.logger.notice(
            "New signing keys were published, which sign when clients have had the time to read them",
            metadata: ["keys": "\(names.joined(separator: ", "))"])
    }
}
