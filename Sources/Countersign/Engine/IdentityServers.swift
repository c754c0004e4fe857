import Ceremony
import JOSE
import UAFClient
import _Primitives

/// What this device knows of the servers that may manage identities: the root keys that the app has named, the keys
/// that were fetched before, and the time by their clocks.
struct IdentityServers: Sendable {
    /// How much later than the device's clock says a key set may have been made.
    private static let clockTolerance = Duration.seconds(3600)

    /// The root keys, by the servers' identifiers.
    private let roots: [ExactText: JWKSet]
    private let register: IdentityRegister
    private let clock: any DeviceClock
    let failures = KeyFailures()

    init(roots: [ExactText: JWKSet], register: IdentityRegister, clock: any DeviceClock) {
        self.roots = roots
        self.register = register
        self.clock = clock
    }

    /// The root keys of a server. Throws ``EngineError`` `foreignHost` for one that is not configured.
    func roots(of server: String) throws -> JWKSet {
        guard let roots = self.roots[ExactText(server)] else { throw EngineError(.foreignHost, "not configured") }
        return roots
    }

    /// The time by a server's clock, as far as this device knows it.
    func now(at server: String) -> Timestamp {
        self.clock.now() + (self.register.server(server)?.clockOffset ?? .zero)
    }

    /// The keys of a server that were fetched before, as long as they are good. Throws ``StorageError`` never: what cannot
    /// be verified any more is as if it were not there.
    func keptKeys(of server: String) throws -> ManagerKeySet? {
        let roots = try self.roots(of: server)
        guard let kept = self.register.server(server) else { return nil }
        guard let (set, isOffsetWrong) = try? self.verified(kept.keySet, of: server, roots: roots) else { return nil }
        // Where it cannot be written down it is found out again.
        if isOffsetWrong { try? self.register.keep(clockOffset: .zero, of: server) }
        return set
    }

    /// A key set by the server's clock, as far as it is known: the first time that is the device's own. A device whose clock
    /// was wrong, and was set right since, goes by an offset that is wrong now; then the device's own clock counts, where the
    /// set fits it at both ends.
    ///
    /// Throws as `ManagerKeySet.init(verifying:server:roots:at:)` does.
    func verified(_ keySet: String, of server: String, roots: JWKSet) throws(IdentityMessageError)
        -> (ManagerKeySet, isOffsetWrong: Bool)
    {
        do throws(IdentityMessageError) {
            return (
                try ManagerKeySet(verifying: keySet, server: server, roots: roots, at: self.now(at: server)), false
            )
        } catch {
            let now = self.clock.now()
            guard error.code == .expired,
                let set = try? ManagerKeySet(verifying: keySet, server: server, roots: roots, at: now),
                set.issuedAt < now + Self.clockTolerance
            else { throw error }
            return (set, true)
        }
    }
}
