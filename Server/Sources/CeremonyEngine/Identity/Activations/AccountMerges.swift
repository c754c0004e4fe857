import Ceremony
import Store
import _Primitives

/// An invitation whose PIN the person has proven who takes it into their account.
struct ProvenInvitation: Sendable, Equatable {
    /// The invitation, and its activation, which has its name.
    let id: String
    /// The digest of what the proof has earned.
    let tokenDigest: [UInt8]
}

/// Takes the account of an invitation into one that its person has already.
///
/// The invitation's activation has the invitation's identifier, so that its code is told to be consumed also where its
/// account is gone.
struct AccountMerges: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any ClientStore & InviteStore & IdentityStore & OrganisationStore & ServiceStore

    /// What puts the invitation's account into another, for the step by which its person has proved themselves.
    func plan(_ invitation: ProvenInvitation, into accountID: String, at now: Timestamp) -> InviteMerge {
        InviteMerge(
            invite: invitation.id, tokenDigest: invitation.tokenDigest, addressID: self.newIdentifier(),
            addresses: self.limits.emailsPerAccount,
            audit: AuditEvent(.accountMerged, at: now, accountID: accountID, detail: invitation.id))
    }

    /// What the person signs who takes an invitation's account into theirs. Throws `IdentityProblem` `mergeConflict` where the
    /// invitation is gone.
    ///
    /// Cost: at most four queries.
    func agreement(to invitation: String) async throws -> MergeAgreement {
        guard let invite = try await self.store.invite(invitation) else { throw IdentityProblem(.mergeConflict) }
        let organisation: String? =
            if let id = invite.organisation { try await self.store.organisation(id)?.name ?? id } else { nil }
        var place: (service: String, role: String)?
        if let named = invite.place {
            place = (
                try await self.store.client(named.service)?.name ?? named.service,
                try await self.store.serviceProfile(named.service)?.role(named.role)?.name ?? named.role
            )
        }
        return try MergeAgreement(address: invite.email, organisation: organisation, place: place)
    }

    /// Whether the account of an activation's offer can go into another.
    func isMergeable(_ offer: PendingActivationRecord, at now: Timestamp) async throws -> Bool {
        guard let id = offer.inviteID, let invite = try await self.store.invite(id) else { return false }
        return invite.state == .open && now < invite.expiresAt
            && invite.provisionalAccountID?.hasSameBytes(as: offer.accountID) ?? false
    }
}

extension AccountStore {
    /// Whether there is an account that no operator has locked.
    func isUnlocked(_ account: String) async throws -> Bool {
        try await self.account(id: account).map { !$0.isLocked } ?? false
    }
}

extension AccountMerges {
    /// Whether an invitation's account has gone into another, and its activation with it.
    func wasMerged(_ invitation: String) async throws -> Bool {
        try await self.store.invite(invitation)?.state == .accepted
    }
}
