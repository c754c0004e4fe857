import Ceremony
import Records
import Settings
import _Primitives

/// An invitation whose PIN the person has proved, in order to merge the invitation's account into their own.
struct ProvenInvitation: Sendable, Equatable {
    /// The identifier of the invitation. The invitation's activation has the same identifier.
    let id: String
    /// The digest of the token that the proof of the PIN has earned.
    let tokenDigest: [UInt8]
}

/// Merges the account of an invitation into the account that the person already has.
///
/// The invitation's activation has the invitation's identifier. So the code is reported as consumed even after the
/// account is gone.
struct AccountMerges: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any ClientStore & InviteStore & IdentityStore & OrganisationStore & ServiceStore

    /// Returns the merge of the invitation's account into another account, for the step by which the person has
    /// authenticated.
    func plan(_ invitation: ProvenInvitation, into accountID: String, at now: Timestamp) -> InviteMerge {
        InviteMerge(
            invite: invitation.id, tokenDigest: invitation.tokenDigest, addressID: self.newIdentifier(),
            addresses: self.limits.emailsPerAccount,
            audit: AuditEvent(.accountMerged, at: now, accountID: accountID, detail: invitation.id))
    }

    /// Returns the agreement that a person signs to merge an invitation's account into their own. Throws
    /// `IdentityProblem` `mergeConflict` if the invitation is gone.
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

    /// `true` if the account of an activation's offer can be merged into another account.
    func isMergeable(_ offer: OfferRecord, at now: Timestamp) async throws -> Bool {
        guard let id = offer.inviteID, let invite = try await self.store.invite(id) else { return false }
        return invite.state == .open && now < invite.expiresAt
            && invite.provisionalAccountID?.hasSameBytes(as: offer.accountID) ?? false
    }

    /// `true` if the invitation of this identifier was accepted. Asked about an activation without an offer: its
    /// account was then merged into another account, or the offer was used long ago.
    func wasMerged(_ invitation: String) async throws -> Bool {
        try await self.store.invite(invitation)?.state == .accepted
    }
}
