import Ceremony
import Store
import _Primitives

/// Takes the account of an invitation into one that its person has already.
///
/// The invitation's activation has the invitation's identifier, so that its code is told to be consumed also where its
/// account is gone.
struct AccountMerges: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any InviteStore & IdentityStore

    /// What puts the invitation's account into another, for the step by which its person has proved themselves.
    func plan(_ invitation: String, into accountID: String, at now: Timestamp) -> InviteMerge {
        InviteMerge(
            invite: invitation, addressID: self.newIdentifier(), addresses: self.limits.emailsPerAccount,
            audit: AuditEvent(.accountMerged, at: now, accountID: accountID, detail: invitation))
    }

    /// Whether the account of an activation's offer can go into another.
    func isMergeable(_ offer: PendingActivationRecord, at now: Timestamp) async throws -> Bool {
        guard let id = offer.inviteID, let invite = try await self.store.invite(id) else { return false }
        return invite.state == .open && now < invite.expiresAt
            && invite.provisionalAccountID?.hasSameBytes(as: offer.accountID) ?? false
    }
}

extension AccountMerges {
    /// Whether an invitation's account has gone into another, and its activation with it.
    func wasMerged(_ invitation: String) async throws -> Bool {
        try await self.store.invite(invitation)?.state == .accepted
    }
}
