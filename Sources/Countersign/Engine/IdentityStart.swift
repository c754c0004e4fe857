import UAFClient
import _Primitives

extension IdentityCore {
    /// How long a start waits for the servers, in all.
    private static let patience = Duration.seconds(5)

    /// Fetches keys that are too old, and brings to an end what was interrupted. Servers that do not answer hold up nobody
    /// for long.
    func getReady() async {
        let patience = Patience(clock: self.platform.clock, limit: Self.patience)
        try? await patience.compute {
            // At the same time: one that does not answer is no reason to know nothing of the others.
            await withTaskGroup(of: Void.self) { group in
                for server in self.configuration.servers {
                    group.addTask { _ = try? await self.exchange(with: server.idmIdentifier).keys() }
                }
            }
            await IdentityActivations(core: self).settleInterrupted()
        }
    }
}
