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
            try IdentifiedRows(db).require("organisation", id: invite.organisation, "the organisation of an invitation")
            try invite.requireRole(in: try invite.place.flatMap { try ServiceRows(db).serviceProfile($0.service) })
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
            try provisional.map { try AccountRows(db).insert($0, sealing) }
            try InviteRows(db).insert(invite, sealing)
            try AuditRows(db).appendAudit(audit, sealing)
            return try MailRows(db).leaveMail(mail, sealing)
        }
    }

    public func invite(_ id: String) async throws -> InviteRecord? {
        try await self.read { [sealing] db in try InviteRows(db).invites("WHERE id = ?", [id], sealing).first }
    }

    public func invite(provisionalAccountID: String) async throws -> InviteRecord? {
        try await self.read { [sealing] db in
            try InviteRows(db).invites("WHERE provisional_account_id = ?", [provisionalAccountID], sealing).first
        }
    }

    public func invites(email: String?, before: String?, limit: Int) async throws -> [InviteRecord] {
        let code = email.map { self.sealing.emailCode($0) }
        return try await self.read { [sealing] db in
            try InviteRows(db).invites(
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
            let found = try InviteRows(db).invites("WHERE id = ?", [id], sealing).first
            let verdict = try InviteAcceptance.verdict(on: found, accountID: accountID, at: audit.at)
            try verdict.openInvite.map { invite in
                try InviteAcceptance.requireInvited(
                    hasVerifiedAddress: try AdditionalEmailRows(db).hasVerifiedEmail(
                        sealing.emailCode(invite.email), accountID: accountID))
                // The address may have become an account's after the invitation was made.
                try InviteRows(db).deleteProvisionalAccount(
                    invite.accountToDelete(acceptedBy: accountID), at: audit.at, sealing)
                try InviteRows(db).accept(invite, accountID: accountID, audit, sealing)
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
            try InviteRows(db).revokeInvites("id = ?", [id], audit, sealing)
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
            let expired = try InviteRows(db).invites(
                InviteRecord.isOver, [now.milliseconds, InviteRecord.State.open.rawValue, limit], sealing)
            for invite in expired {
                try InviteRows(db).deleteProvisionalAccount(invite.provisionalAccountID, at: now, sealing)
                try AuditRows(db).appendAudit(
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
