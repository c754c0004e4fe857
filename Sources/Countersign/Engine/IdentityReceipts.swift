import Ceremony
import UAFClient
import _Primitives

/// Keys that have left for a server whose receipt has not come: whether it may have them, and may yet take them.
struct IdentityReceipts: Sendable {
    static let path = "/identity/activation"

    let core: IdentityCore

    /// What the server has of an identity.
    ///
    /// Throws what ``ManagerExchange/send(_:to:by:as:)`` throws, and ``EngineError`` `malformed` for another's.
    func record(of identity: StoredIdentity) async throws -> ManagerExchange.Answered<ActivationRecord> {
        let answer = try await self.core.exchange(with: identity.server).send(
            "GET", [], to: Self.path, by: ManagerExchange.Prover(identity), as: ActivationRecord.self)
        guard answer.message.activation.hasSameBytes(as: identity.activation) else {
            throw EngineError(.malformed, "the record of another activation")
        }
        return answer
    }

    /// Sends what the server may take also where its answer is lost, and keeps with the identity when that was.
    ///
    /// Throws ``StorageError``, and then nothing has left; and what `body` throws.
    func sending<Answer>(_ identity: StoredIdentity, _ body: () async throws -> Answer) async throws -> Answer {
        let start = self.core.servers.now(at: identity.server)
        let before = self.core.register.kept(identity)?.sent
        try self.core.register.change(identity) { $0.sent = start }
        do {
            return try await body()
        } catch {
            // What has left before may be on its way still, also where nothing has become of this. Where that cannot be
            // written down, the server is asked again later than it need be.
            let sent = error.leavesUnsettled ? self.core.servers.now(at: identity.server) : before
            _ = try? self.core.register.change(identity) { $0.sent = sent }
            throw error
        }
    }

    /// Whether the server may yet take what has left, where it has said at a moment of its own that it has nothing: the proof
    /// is good for a while, and the request may be on its way.
    func mayArrive(_ identity: StoredIdentity, at now: Timestamp) -> Bool {
        guard let sent = self.core.register.kept(identity)?.sent else { return false }
        guard sent <= now + DeviceProof.skew else {
            // The clock was wrong when it left, and the proof is not good yet. From now on the clock is right.
            _ = try? self.core.register.change(identity) { $0.sent = now }
            return true
        }
        return now <= sent + DeviceProof.skew + ManagerExchange.longest
    }
}

extension Error {
    /// Whether what was sent may be carried out all the same, now or in a moment.
    var leavesUnsettled: Bool { self is Unsettled || (self as? Refused)?.wasRepeated ?? false }
}
