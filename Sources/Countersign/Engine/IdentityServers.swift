import Ceremony
import JOSE
import UAFClient
import _Primitives

/// The device's knowledge of the servers that may manage identities: the root keys that the app has configured, the
/// keys that were fetched before, and the time by the servers' clocks.
struct IdentityServers: Sendable {
    /// The maximum time by which a key set may have been made later than the device's clock says.
    private static let clockTolerance = Duration.seconds(3600)

    /// The root keys by the servers' identifiers.
    private let roots: [ExactText: JWKSet]
    private let register: IdentityRegister
    private let clock: any DeviceClock
    let failures = KeyFailures()

    init(roots: [ExactText: JWKSet], register: IdentityRegister, clock: any DeviceClock) {
        self.roots = roots
        self.register = register
        self.clock = clock
    }

    /// Returns the root keys of a server. Throws ``EngineError`` `foreignHost` for a server that is not configured.
    func roots(of server: String) throws -> JWKSet {
        guard let roots = self.roots[ExactText(server)] else { throw EngineError(.foreignHost, "not configured") }
        return roots
    }

    /// Returns the time by a server's clock, as far as this device knows the clock.
    func now(at server: String) -> Timestamp {
        self.clock.now() + (self.register.server(server)?.clockOffset ?? .zero)
    }

    /// Returns the keys of a server that were fetched before, as long as they are valid. The function never throws
    /// ``StorageError``: keys that can no longer be verified count as missing.
    func keptKeys(of server: String) throws -> ManagerKeySet? {
        let roots = try self.roots(of: server)
        guard let kept = self.register.server(server) else { return nil }
        guard let (set, isOffsetWrong) = try? self.verified(kept.keySet, of: server, roots: roots) else { return nil }
        // If the corrected offset cannot be stored, the next call detects the error again.
        if isOffsetWrong { try? self.register.keep(clockOffset: .zero, of: server) }
        return set
    }

    /// Verifies a key set by the server's clock, as far as the clock is known. The first time, the device's own clock
    /// is used.
    ///
    /// If the device's clock was wrong and was set right since, the stored offset is wrong now. In this case the
    /// device's own clock counts, if the key set fits that clock at both ends.
    ///
    /// Throws the errors of `ManagerKeySet.init(verifying:server:roots:at:)`.
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
