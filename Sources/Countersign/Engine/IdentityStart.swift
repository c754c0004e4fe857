import UAFClient
import _Primitives

extension IdentityCore {
    /// The total time that a start waits for the servers.
    private static let patience = Duration.seconds(5)

    /// Fetches keys that are too old, and completes interrupted operations. Servers that do not answer delay the start
    /// only briefly.
    func getReady() async {
        let patience = Patience(clock: self.platform.clock, limit: Self.patience)
        try? await patience.compute {
            // The servers are asked at the same time: a server without an answer must not prevent the others.
            await withTaskGroup(of: Void.self) { group in
                for server in self.configuration.servers {
                    group.addTask { _ = try? await self.exchange(with: server.idmIdentifier).keys() }
                }
            }
            await IdentityActivations(core: self).settleInterrupted()
        }
    }
}
