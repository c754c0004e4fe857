package import _Primitives

/// The verdict on an invitation that an account accepts.
package enum InviteAcceptance: Sendable, Equatable {
    /// The invitation is open. The step goes on with the invitation.
    case open(InviteRecord)
    /// The account has accepted the invitation before. The step changes nothing.
    case accepted

    /// The open invitation; `nil` if the step changes nothing.
    package var openInvite: InviteRecord? {
        guard case .open(let invite) = self else { return nil }
        return invite
    }

    /// Judges the invitation that a step found, before the step reads anything else.
    ///
    /// Throws ``InviteRefusal``: `unknown` for no invitation, `consumed` for an invitation that another account has
    /// accepted or that was revoked, and `expired`.
    package static func verdict(
        on found: InviteRecord?, accountID: String, at now: Timestamp
    ) throws(InviteRefusal) -> Self {
        guard let invite = found else { throw .unknown }
        switch invite.state {
        case .accepted where invite.acceptedBy?.hasSameBytes(as: accountID) == true: return .accepted
        case .accepted, .revoked: throw .consumed
        case .open where invite.expiresAt <= now: throw .expired
        case .open: return .open(invite)
        }
    }

    /// Returns the invitation that the first activation of its provisional account accepts. Returns `nil` for an
    /// invitation that is not open at `now`: the account is enrolled all the same.
    package static func byFirstActivation(_ found: InviteRecord?, at now: Timestamp) -> InviteRecord? {
        guard let invite = found, invite.state == .open, now < invite.expiresAt else { return nil }
        return invite
    }

    /// Throws `notInvited` for an account that does not have the invited address, or has the address unverified.
    package static func requireInvited(hasVerifiedAddress: Bool) throws(InviteRefusal) {
        guard hasVerifiedAddress else { throw .notInvited }
    }
}

extension InviteRecord {
    /// Returns the provisional account that is deleted when an account with the invited address accepts the
    /// invitation. Returns `nil` if the invitation has no provisional account, or if the accepting account is the
    /// provisional account.
    package func accountToDelete(acceptedBy accountID: String) -> String? {
        guard let provisional = self.provisionalAccountID, !provisional.hasSameBytes(as: accountID) else { return nil }
        return provisional
    }

    /// Returns the event of the acceptance by the first activation of the provisional account. The event names the
    /// accepted invitation, whichever code the device was enrolled by.
    package func acceptance(by device: DeviceRecord) -> AuditEvent {
        AuditEvent(.inviteAccepted, at: device.createdAt, accountID: device.accountID, detail: self.id)
    }

    /// The place whose service decides by a person's standing whether the invitation gives its role; `nil` for an
    /// invitation of an operator, which gives its role in any case.
    package var placeByStanding: Place? { self.isAskedFor ? self.place : nil }

    /// Returns the role that the accepting account gets; `nil` for no role.
    ///
    /// For an invitation on the person's own request, two things take precedence: roles set by an operator, and the
    /// service's present rules for newcomers.
    ///
    /// - Parameter standing: The account's standing at the service of ``placeByStanding``.
    package func givenPlace(standing: ServiceStanding?) -> Place? {
        guard let place = self.placeByStanding else { return self.place }
        guard let standing, !standing.isKnown, standing.profile.takesNewcomer(inRole: place.role) else { return nil }
        return place
    }

    /// Throws `notFound` for an invitation to a role that its service does not have.
    ///
    /// - Parameter profile: The profile of the role's service; `nil` if the client is no service.
    package func requireRole(in profile: ServiceProfile?) throws(StoreError) {
        guard let place = self.place, profile?.role(place.role) == nil else { return }
        throw StoreError(.notFound, "the role of an invitation")
    }
}

extension InviteMerge {
    /// Returns the provisional account that the merge deletes.
    ///
    /// Throws `notMergeable` for a code that was used, revoked or made anew since its PIN was proved, for a proof whose
    /// time is over at the moment of the merge, for an invitation without a provisional account, and for a merge of the
    /// provisional account into itself.
    ///
    /// - Parameter offer: The offer behind the invitation's code; `nil` if the offer is gone.
    package func provisionalAccount(
        of invite: InviteRecord, offer: OfferRecord?, into accountID: String
    ) throws(InviteRefusal) -> String {
        guard let offer, offer.state == .offered, constantTimeEqual(offer.tokenDigest ?? [], self.tokenDigest),
            !self.tokenDigest.isEmpty, let until = offer.tokenUntil, self.audit.at < until
        else { throw .notMergeable }
        guard let provisional = invite.accountToDelete(acceptedBy: accountID) else { throw .notMergeable }
        return provisional
    }

    /// Throws `notMergeable` for a provisional account that is locked, or that belongs to a person already.
    package func requireProvisional(isUnlockedWithoutDevice: Bool) throws(InviteRefusal) {
        guard isUnlockedWithoutDevice else { throw .notMergeable }
    }

    /// Returns the invited address, which the accepting account gets; `nil` if the account has the address already.
    /// Throws ``addressRefusal`` if the account has no room for the address.
    ///
    /// - Parameter count: The number of further addresses of the account.
    package func addedAddress(
        of invite: InviteRecord, isHeld: Bool, beside count: Int
    ) throws(InviteRefusal) -> AdditionalEmail? {
        guard !isHeld else { return nil }
        guard count < self.addresses else { throw Self.addressRefusal }
        return AdditionalEmail(id: self.addressID, address: invite.email, createdAt: self.audit.at)
    }

    /// The refusal for an account that has neither the invited address nor room for the address. The address is part of
    /// the merge, so such an account gets nothing of the invitation.
    package static let addressRefusal = InviteRefusal.notMergeable
}
