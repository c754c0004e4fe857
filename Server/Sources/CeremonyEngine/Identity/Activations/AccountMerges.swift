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

    /// Puts the invitation's account into another. Says whether it is done, now or before for the same account.
    func merge(_ invitation: String, into accountID: String, at now: Timestamp) async throws -> Bool {
        guard let invite = try await self.store.invite(invitation) else { return false }
        let outcome: InviteOutcome
        do {
            outcome = try await self.store.mergeInvite(
                invitation, into: accountID,
                address: AdditionalEmail(id: self.newIdentifier(), address: invite.email, createdAt: now),
                emails: self.limits.emailsPerAccount,
                audit: AuditEvent(.accountMerged, at: now, accountID: accountID, detail: invitation))
        } catch let error as StoreError where error.code == .conflict {
            // The account has as many addresses as it can have.
            return false
        }
        switch outcome {
        case .accepted: return true
        case .refused: return false
        }
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
