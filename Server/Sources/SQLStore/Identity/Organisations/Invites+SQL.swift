public import Records
import Sealing
public import _Primitives

extension SQLStore: InviteStore {
    public func addInvite(
        _ invite: InviteRecord, provisional: AccountRecord?, within bounds: InviteBounds,
        leaving mail: (MailRecord, most: Int)?,
        audit: AuditEvent
    ) async throws -> Bool {
        // The bounds on open invitations, and on the invitations of an address, rest on numbers of rows.
        try await self.step(
            Step(
                "invite.add",
                guards: [
                    .shared(.organisation, id: invite.organisation), .shared(.service, id: invite.place?.service),
                ], isolation: .serializable)
        ) { [sealing] db in
            try db.require("organisation", id: invite.organisation, "the organisation of an invitation")
            try invite.requireRole(in: try invite.place.flatMap { try db.serviceProfile($0.service) })
            let open =
                try db.number(
                    "SELECT count(*) FROM invite WHERE state = ? AND expires_at > ?",
                    [InviteRecord.State.open.rawValue, invite.createdAt.milliseconds]) ?? 0
            try IdentityBound.openInvites.requireRoom(open, most: bounds.open)
            let sent =
                try db.number(
                    "SELECT count(*) FROM invite WHERE email_code = ? AND created_at > ?",
                    [sealing.emailCode(invite.email), bounds.ofAddress?.since.milliseconds]) ?? 0
            try IdentityBound.invitesOfAddress.requireRoom(sent, most: bounds.ofAddress?.most)
            try provisional.map { try db.insert($0, sealing) }
            try db.insert(invite, sealing)
            try db.appendAudit(audit, sealing)
            return try db.leaveMail(mail)
        }
    }

    public func invite(_ id: String) async throws -> InviteRecord? {
        try await self.read { [sealing] db in try db.invites("WHERE id = ?", [id], sealing).first }
    }

    public func invite(provisionalAccountID: String) async throws -> InviteRecord? {
        try await self.read { [sealing] db in
            try db.invites("WHERE provisional_account_id = ?", [provisionalAccountID], sealing).first
        }
    }

    public func invites(email: String?, before: String?, limit: Int) async throws -> [InviteRecord] {
        let code = email.map { self.sealing.emailCode($0) }
        return try await self.read { [sealing] db in
            try db.invites(
                """
                WHERE (email_code = ?1 OR ?1 IS NULL)
                AND (number < (SELECT number FROM invite WHERE id = ?2) OR ?2 IS NULL) ORDER BY number DESC LIMIT ?3
                """, [code, before, limit], sealing)
        }
    }

    public func acceptInvite(_ id: String, accountID: String, audit: AuditEvent) async throws {
        // The acceptance deletes the provisional account, unless a person enrols there at the same moment.
        try await self.step(
            Step(
                "invite.accept",
                guards: [
                    .exclusive(.account, id: accountID), .exclusive(accountsOfInvites: "id = ?", [id]),
                    .shared(.service, where: "id = (SELECT service FROM invite WHERE id = ?)", [id]),
                    .exclusive(.invite, id: id),
                ], isolation: .readCommitted)
        ) { [sealing] db in
            let found = try db.invites("WHERE id = ?", [id], sealing).first
            let verdict = try InviteAcceptance.verdict(on: found, accountID: accountID, at: audit.at)
            try verdict.openInvite.map { invite in
                try InviteAcceptance.requireInvited(
                    hasVerifiedAddress: try db.hasVerifiedEmail(sealing.emailCode(invite.email), accountID: accountID))
                // The address may have become an account's after the invitation was made.
                try db.deleteProvisionalAccount(invite.accountToDelete(acceptedBy: accountID), at: audit.at)
                try db.accept(invite, accountID: accountID, audit, sealing)
            }
        }
    }

    public func revokeInvite(_ id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step(
                "invite.revoke",
                guards: [.exclusive(accountsOfInvites: "id = ?", [id]), .exclusive(.invite, id: id)],
                isolation: .readCommitted),
            noting: audit
        ) { [sealing] db in
            try db.revokeInvites("id = ?", [id], audit, sealing)
        }
    }

    public func prolongInvite(_ id: String, until: Timestamp, audit: AuditEvent) async throws -> Bool {
        // The sweep does not delete the account of an invitation that is prolonged at the same moment.
        try await self.step(
            Step("invite.prolong", guards: [.exclusive(accountsOfInvites: "id = ?", [id])], isolation: .readCommitted),
            noting: audit
        ) { db in
            try db.changes(
                """
                UPDATE invite SET expires_at = ?1
                WHERE id = ?2 AND state = ?3 AND expires_at > ?4 AND expires_at <= ?1
                """, [until.milliseconds, id, InviteRecord.State.open.rawValue, audit.at.milliseconds])
        }
    }

    public func deleteStaleInvites(endedBefore: Timestamp, now: Timestamp, limit: Int) async throws -> Int {
        // A person who enrols at a provisional account at the same moment keeps the account.
        let step = Step(
            "invite.sweep",
            guards: [
                .exclusive(
                    .account,
                    where: .composed("id IN (SELECT provisional_account_id FROM invite \(InviteRecord.isOver))"),
                    [now.milliseconds, InviteRecord.State.open.rawValue, limit])
            ], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let expired = try db.invites(
                InviteRecord.isOver, [now.milliseconds, InviteRecord.State.open.rawValue, limit], sealing)
            for invite in expired {
                try db.deleteProvisionalAccount(invite.provisionalAccountID, at: now)
                try db.appendAudit(
                    AuditEvent(.inviteExpired, at: now, accountID: invite.provisionalAccountID, detail: invite.id),
                    sealing)
            }
            try db.run(
                .composed(
                    """
                    DELETE FROM invite WHERE number IN (SELECT number FROM invite WHERE expires_at < ?1
                        AND (state <> ?2 OR NOT coalesce(\(InviteRecord.hasNobodysAccount), FALSE))
                        ORDER BY expires_at LIMIT ?3)
                    """), [endedBefore.milliseconds, InviteRecord.State.open.rawValue, limit])
            return expired.count + db.changesCount
        }
    }
}

extension InviteRecord {
    /// The SQL condition for an open invitation.
    fileprivate static let isOpen = "state = '\(State.open.rawValue)'"

    /// The SQL condition for an account that nobody has enrolled at. An account with a device belongs to a person.
    fileprivate static let isNobodys = """
        NOT EXISTS (SELECT 1 FROM device WHERE account_id = account.id AND is_active = 1)
        """

    /// The SQL condition for an invitation with a provisional account that nobody has enrolled at yet.
    fileprivate static let hasNobodysAccount = """
        provisional_account_id IN (SELECT id FROM account WHERE \(Self.isNobodys))
        """

    /// The SQL clause for the oldest open invitations whose time is over, and whose provisional account nobody has
    /// enrolled at. The arguments are a moment, a state and a number.
    fileprivate static let isOver = """
        WHERE expires_at <= ? AND state = ? AND \(Self.hasNobodysAccount) ORDER BY expires_at LIMIT ?
        """
}

extension StepGuard {
    /// Locks the open invitations that match a condition.
    static func exclusive(invites condition: String, _ values: SQLValues) -> Self {
        .exclusive(.invite, where: .composed("\(condition) AND \(InviteRecord.isOpen)"), values)
    }

    /// Locks the accounts that were made for the open invitations that match a condition. Nobody enrols there
    /// meanwhile.
    static func exclusive(accountsOfInvites condition: String, _ values: SQLValues) -> Self {
        .exclusive(
            .account,
            where: .composed(
                """
                id IN (
                    SELECT provisional_account_id FROM invite WHERE \(condition) AND \(InviteRecord.isOpen))
                """), values)
    }
}

extension SQLConnection {
    /// Accepts the invitation that an account was made for, within the step that adds the account's first device. Does
    /// nothing if the account has no open invitation.
    func acceptInvite(byFirstDevice device: DeviceRecord, _ sealing: Sealing) throws {
        let found = try self.invites("WHERE provisional_account_id = ?", [device.accountID], sealing).first
        try InviteAcceptance.byFirstActivation(found, at: device.createdAt).map { invite in
            try self.accept(invite, accountID: device.accountID, invite.acceptance(by: device), sealing)
        }
    }

    /// Lets another account accept an invitation in place of the invitation's provisional account, within the present
    /// step. Deletes the provisional account, and adds the invited address to the other account, if it lacks the
    /// address. Does nothing if the other account has accepted the invitation already.
    ///
    /// Throws ``InviteRefusal``: the whole step is undone then.
    func merge(_ merge: InviteMerge, into accountID: String, _ sealing: Sealing) throws {
        let found = try self.invites("WHERE id = ?", [merge.invite], sealing).first
        let verdict = try InviteAcceptance.verdict(on: found, accountID: accountID, at: merge.audit.at)
        try verdict.openInvite.map { try self.merge(merge, of: $0, into: accountID, sealing) }
    }

    private func merge(
        _ merge: InviteMerge, of invite: InviteRecord, into accountID: String, _ sealing: Sealing
    ) throws {
        let now = merge.audit.at
        // The code's activation has the identifier of the invitation.
        let provisional = try merge.provisionalAccount(
            of: invite, offer: try self.offer(id: merge.invite, sealing), into: accountID)
        try merge.requireProvisional(isUnlockedWithoutDevice: try self.isUnlockedWithoutDevice(provisional))
        try self.deleteProvisionalAccount(provisional, at: now)
        let email = AdditionalEmail(id: merge.addressID, address: invite.email, createdAt: now)
        try merge.requireAddress(
            isHeld: try self.hasEmail(sealing.emailCode(invite.email), accountID: accountID)
                || self.add(email, accountID: accountID, limit: merge.addresses, sealing))
        try self.accept(invite, accountID: accountID, merge.audit, sealing)
    }

    /// Returns `true` if an account has an address, by the address's code, verified or not.
    private func hasEmail(_ code: [UInt8], accountID: String) throws -> Bool {
        try self.isTrue(
            """
            SELECT EXISTS (SELECT 1 FROM account WHERE id = ?1 AND email_code = ?2)
                OR EXISTS (SELECT 1 FROM account_email WHERE account_id = ?1 AND address_code = ?2)
            """, [accountID, code])
    }

    /// Revokes the open invitations that match a condition, and deletes their provisional accounts, unless an account
    /// has an active device. Returns `true` if an invitation matches. Appends no event.
    @discardableResult func revokeInvites(
        _ condition: String, _ values: SQLValues, _ audit: AuditEvent, _ sealing: Sealing
    ) throws -> Bool {
        let open = try self.invites(
            "WHERE \(condition) AND \(InviteRecord.isOpen)", values, sealing)
        for invite in open {
            try self.deleteProvisionalAccount(invite.provisionalAccountID, at: audit.at)
            try self.setState(.revoked, of: invite, acceptedBy: nil)
        }
        return !open.isEmpty
    }

    /// Gives an account the role and the membership of an invitation.
    fileprivate func accept(
        _ invite: InviteRecord, accountID: String, _ audit: AuditEvent, _ sealing: Sealing
    ) throws {
        _ = try invite.organisation.map { try self.addMember(accountID, organisation: $0) }
        let standing = try invite.placeByStanding.flatMap {
            try self.standing(accountID: accountID, service: $0.service)
        }
        _ = try invite.givenPlace(standing: standing).map {
            try self.assignRole($0.role, accountID: accountID, service: $0.service)
        }
        try self.setState(.accepted, of: invite, acceptedBy: accountID)
        try self.appendAudit(audit, sealing)
    }

    private func setState(_ state: InviteRecord.State, of invite: InviteRecord, acceptedBy account: String?) throws {
        try self.run("UPDATE invite SET state = ?, accepted_by = ? WHERE id = ?", [state.rawValue, account, invite.id])
    }

    /// Deletes an open invitation's provisional account, if any, with all data that was made for the account. Does
    /// nothing if the account has an active device.
    fileprivate func deleteProvisionalAccount(_ account: String?, at now: Timestamp) throws {
        let unused = try self.text(
            .composed("SELECT id FROM account WHERE id = ? AND \(InviteRecord.isNobodys)"), [account])
        _ = try unused.map { try self.deleteAccount($0, at: now, keepsInvite: true) }
    }

    private func isUnlockedWithoutDevice(_ account: String) throws -> Bool {
        try self.isTrue(
            .composed(
                """
                SELECT EXISTS (SELECT 1 FROM account WHERE id = ? AND is_locked = 0 AND \(InviteRecord.isNobodys))
                """), [account])
    }

    fileprivate func insert(_ invite: InviteRecord, _ sealing: Sealing) throws {
        try self.run(
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

    fileprivate func invites(
        _ condition: String, _ values: SQLValues, _ sealing: Sealing
    ) throws -> [InviteRecord] {
        try self.rows(
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
