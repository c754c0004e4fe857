import Records
import Sealing
import _Primitives

/// A merge of accounts that a step has admitted before the step's first write.
struct AdmittedMerge {
    fileprivate let merge: InviteMerge
    fileprivate let invite: InviteRecord
    fileprivate let provisional: String
    fileprivate let accountID: String
    /// The address that the account gets; `nil` if the account has the address.
    fileprivate let address: AdditionalEmail?
}

/// The rows of invitations.
struct InviteRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Accepts the invitation that an account was made for, within the step that adds the account's first device. Does
    /// nothing if the account has no open invitation.
    func acceptInvite(byFirstDevice device: DeviceRecord, _ sealing: Sealing) throws {
        let found = try self.invites("WHERE provisional_account_id = ?", [device.accountID], sealing).first
        try InviteAcceptance.byFirstActivation(found, at: device.createdAt).map { invite in
            try self.accept(invite, accountID: device.accountID, invite.acceptance(by: device), sealing)
        }
    }

    /// Admits the merge of an invitation's provisional account into another account. Returns `nil` if the other account
    /// has accepted the invitation already. Throws ``InviteRefusal``.
    func admit(_ merge: InviteMerge, into accountID: String, _ sealing: Sealing) throws -> AdmittedMerge? {
        let found = try self.invites("WHERE id = ?", [merge.invite], sealing).first
        let verdict = try InviteAcceptance.verdict(on: found, accountID: accountID, at: merge.audit.at)
        return try verdict.openInvite.map { try self.admit(merge, of: $0, into: accountID, sealing) }
    }

    private func admit(
        _ merge: InviteMerge, of invite: InviteRecord, into accountID: String, _ sealing: Sealing
    ) throws -> AdmittedMerge {
        // The code's activation has the identifier of the invitation.
        let provisional = try merge.provisionalAccount(
            of: invite, offer: try OfferRows(self.db).offer(id: merge.invite, sealing), into: accountID)
        try merge.requireProvisional(isUnlockedWithoutDevice: try self.isUnlockedWithoutDevice(provisional))
        let emails = AdditionalEmailRows(self.db)
        let address = try merge.addedAddress(
            of: invite, isHeld: try emails.hasEmail(sealing.emailCode(invite.email), accountID: accountID),
            beside: emails.count(accountID: accountID))
        return AdmittedMerge(
            merge: merge, invite: invite, provisional: provisional, accountID: accountID, address: address)
    }

    /// Lets another account accept an invitation in place of the invitation's provisional account, within the present
    /// step. Deletes the provisional account, and adds the invited address to the other account, if it lacks the
    /// address.
    func carryOut(_ admitted: AdmittedMerge, _ sealing: Sealing) throws {
        let (merge, accountID) = (admitted.merge, admitted.accountID)
        try self.deleteProvisionalAccount(admitted.provisional, at: merge.audit.at, sealing)
        try admitted.address.map {
            try AdditionalEmailRows(self.db).add(
                $0, accountID: accountID, limit: merge.addresses, sealing, orThrow: InviteMerge.addressRefusal)
        }
        try self.accept(admitted.invite, accountID: accountID, merge.audit, sealing)
    }

    /// Revokes the open invitations that match a condition, and deletes their provisional accounts, unless an account
    /// has an active device. Returns `true` if an invitation matches. Appends no event.
    @discardableResult func revokeInvites(
        _ condition: String, _ values: SQLValues, _ audit: AuditEvent, _ sealing: Sealing
    ) throws -> Bool {
        let open = try self.invites(
            "WHERE \(condition) AND \(InviteRecord.isOpen)", values, sealing)
        for invite in open {
            try self.deleteProvisionalAccount(invite.provisionalAccountID, at: audit.at, sealing)
            try self.setState(.revoked, of: invite, acceptedBy: nil)
        }
        return !open.isEmpty
    }

    /// Gives an account the role and the membership of an invitation.
    func accept(
        _ invite: InviteRecord, accountID: String, _ audit: AuditEvent, _ sealing: Sealing
    ) throws {
        _ = try invite.organisation.map { try OrganisationRows(self.db).addMember(accountID, organisation: $0) }
        let standing = try invite.placeByStanding.flatMap {
            try ServiceRows(self.db).standing(accountID: accountID, service: $0.service)
        }
        _ = try invite.givenPlace(standing: standing).map {
            try ServiceRows(self.db).assignRole($0.role, accountID: accountID, service: $0.service)
        }
        try self.setState(.accepted, of: invite, acceptedBy: accountID)
        try AuditRows(self.db).appendAudit(audit, sealing)
    }

    private func setState(_ state: InviteRecord.State, of invite: InviteRecord, acceptedBy account: String?) throws {
        try self.db.run(
            "UPDATE invite SET state = ?, accepted_by = ? WHERE id = ?", [state.rawValue, account, invite.id])
    }

    /// Deletes an open invitation's provisional account, if any, with all data that was made for the account. Does
    /// nothing if the account has an active device.
    func deleteProvisionalAccount(_ account: String?, at now: Timestamp, _ sealing: Sealing) throws {
        let unused = try self.db.text(
            .composed("SELECT id FROM account WHERE id = ? AND \(InviteRecord.isNobodys)"), [account])
        _ = try unused.map { try AccountEnds(self.db).deleteAccount($0, at: now, keepsInvite: true, sealing) }
    }

    private func isUnlockedWithoutDevice(_ account: String) throws -> Bool {
        try self.db.isTrue(
            .composed(
                """
                SELECT EXISTS (SELECT 1 FROM account WHERE id = ? AND is_locked = 0 AND \(InviteRecord.isNobodys))
                """), [account])
    }

    func insert(_ invite: InviteRecord, _ sealing: Sealing) throws {
        try self.db.run(
            """
            INSERT INTO invite (
                id, organisation, service, role, email, email_code, provisional_account_id, state, accepted_by,
                created_at, expires_at, is_asked_for
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                invite.id, invite.organisation, invite.place?.service, invite.place?.role,
                try sealing.seal(invite.email, purpose: .invitedEmail, row: invite.id),
                sealing.emailCode(invite.email), invite.provisionalAccountID, invite.state.rawValue,
                invite.acceptedBy, invite.createdAt.milliseconds, invite.expiresAt.milliseconds,
                invite.isAskedFor,
            ])
    }

    func invites(
        _ condition: String, _ values: SQLValues, _ sealing: Sealing
    ) throws -> [InviteRecord] {
        try self.db.rows(
            .composed(
                """
                SELECT id, organisation, service, role, email, provisional_account_id, state, accepted_by,
                    created_at, expires_at, is_asked_for
                FROM invite \(condition)
                """), values
        ) { row in
            let id = try row.text("id")
            let state = try InviteRecord.State(stored: try row.text("state"), "what became of an invitation")
            var invite = InviteRecord(
                id: id, organisation: try row.optionalText("organisation"),
                place: try row.optionalText("service").map { .init(service: $0, role: try row.text("role")) },
                email: try sealing.openText(try row.bytes("email"), purpose: .invitedEmail, row: id),
                provisionalAccountID: try row.optionalText("provisional_account_id"),
                createdAt: try row.moment("created_at"), expiresAt: try row.moment("expires_at"),
                isAskedFor: try row.flag("is_asked_for"))
            invite.state = state
            invite.acceptedBy = try row.optionalText("accepted_by")
            return invite
        }
    }
}

extension InviteRecord {
    /// The SQL condition for an open invitation.
    static let isOpen = "state = '\(State.open.rawValue)'"

    /// The SQL condition for an account that nobody has enrolled at. An account with a device belongs to a person.
    static let isNobodys = """
        NOT EXISTS (SELECT 1 FROM device WHERE account_id = account.id AND is_active = 1)
        """

    /// The SQL condition for an invitation with a provisional account that nobody has enrolled at yet.
    static let hasNobodysAccount = """
        provisional_account_id IN (SELECT id FROM account WHERE \(Self.isNobodys))
        """

    /// The SQL clause for the oldest open invitations whose time is over, and whose provisional account nobody has
    /// enrolled at. The arguments are a moment, a state and a number.
    static let isOver = """
        WHERE expires_at <= ? AND state = ? AND \(Self.hasNobodysAccount) ORDER BY expires_at LIMIT ?
        """
}
