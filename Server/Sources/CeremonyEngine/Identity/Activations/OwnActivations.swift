import Ceremony
import Records
import _Primitives

/// The requests of an activation about itself.
public struct OwnActivations: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore
    let envelope: IdentityEnvelope

    /// `GET /identity/activation`: returns the server's record of the activation.
    public func record(_ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            if let inactivity = proven.activation.inactivity(at: proven.at) { throw inactivity }
            let receipt = proven.activation.receipt(try await self.store.credentials(of: proven.activation))
            return try self.envelope.keys.sign(.message(receipt.json), to: proven.request, at: proven.at)
        }
    }

    /// `DELETE /identity/activation`: ends the activation, with its device and keys. A repeated request finds the
    /// activation unknown.
    public func remove(_ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.reply(to: call) { proven in
            let device = proven.activation.device
            let isRemoved = try await self.store.revokeActivation(
                id: device.id,
                audit: AuditEvent(.activationRevoked, at: proven.at, accountID: device.accountID, detail: device.id),
                notice: NoticeRecord(
                    id: self.newIdentifier(), accountID: device.accountID, kind: .authenticatorsRemoved, at: proven.at,
                    subject: device.name),
                ending: self.environment.endOfSessions(at: proven.at))
            guard isRemoved else { throw IdentityProblem(.activationUnknown) }
            return try self.envelope.keys.sign(
                .message(NothingMore().json), to: proven.request, at: proven.at)
        }
    }
}
