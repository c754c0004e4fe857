import Ceremony
import UAFClient
import _Primitives

/// The state of keys that were sent to a server and whose receipt has not arrived: the server may have the keys, or may
/// still accept them.
struct IdentityReceipts: Sendable {
    static let path = "/identity/activation"

    let core: IdentityCore

    /// Returns the server's record of an identity.
    ///
    /// Throws the errors of ``ManagerExchange/send(_:to:by:as:)``, and ``EngineError`` `malformed` for the record of
    /// another activation.
    func record(of identity: StoredIdentity) async throws -> ManagerExchange.Answered<ActivationReceipt> {
        let answer = try await self.core.exchange(with: identity.server).send(
            "GET", [], to: Self.path, by: ManagerExchange.Prover(identity), as: ActivationReceipt.self)
        guard answer.message.activation.hasSameBytes(as: identity.activation) else {
            throw EngineError(.malformed, "the record of another activation")
        }
        return answer
    }

    /// Sends a request that the server may accept even if its answer is lost, and stores the time of sending with the
    /// identity.
    ///
    /// Throws ``StorageError`` before anything was sent, and the errors of `body`.
    func sending<Answer>(_ identity: StoredIdentity, _ body: () async throws -> Answer) async throws -> Answer {
        let start = self.core.servers.now(at: identity.server)
        let before = self.core.register.kept(identity)?.sent
        try self.core.register.change(identity) { $0.sent = start }
        do {
            return try await body()
        } catch {
            // An earlier request may still be on its way, even if this request had no effect. If the time cannot be
            // stored, the server is asked again later than necessary.
            let sent = error.leavesUnsettled ? self.core.servers.now(at: identity.server) : before
            _ = try? self.core.register.change(identity) { $0.sent = sent }
            throw error
        }
    }

    /// Returns `true` if the server may still accept the sent request, although the server has said at the time `now`
    /// that it has nothing: the proof is valid for a while, and the request may be on its way.
    func mayArrive(_ identity: StoredIdentity, at now: Timestamp) -> Bool {
        guard let sent = self.core.register.kept(identity)?.sent else { return false }
        guard sent <= now + DeviceProof.skew else {
            // The clock was wrong when the request was sent, and the proof is not valid yet. From now on the clock is
            // right.
            _ = try? self.core.register.change(identity) { $0.sent = now }
            return true
        }
        return now <= sent + DeviceProof.skew + ManagerExchange.longest
    }
}

extension Error {
    /// `true` if the sent request may be carried out all the same, now or in a moment.
    var leavesUnsettled: Bool { self is Unsettled || (self as? Refused)?.wasRepeated ?? false }
}
