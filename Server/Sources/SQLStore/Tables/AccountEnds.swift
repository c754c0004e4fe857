import Records
import Sealing
import _Primitives

/// Everything that ends with an account, or with the lock of an account.
struct AccountEnds {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Deletes an account with its dependent rows; `false` if the account does not exist. An invitation that the
    /// account has accepted is personal data, and is always deleted too. The invitation for which the account was made
    /// provisionally is deleted as well.
    ///
    /// - Parameter keepsInvite: `true` to keep the invitation of a provisional account: the account goes when the
    ///   invitation expires, is revoked, or is accepted by another account, and the invitation stays as a record.
    func deleteAccount(
        _ id: String, at now: Timestamp, keepsInvite: Bool = false, _ sealing: Sealing
    ) throws -> Bool {
        // The answers are deleted through the devices and offers, which go with the account.
        try IdentityAnswerRows(self.db).deleteAnswers(ofAccount: id)
        try self.db.run("DELETE FROM account WHERE id = ?", [id])
        return try self.carryOut(.deletion(keepsInvite: keepsInvite), ofAccount: id, at: now, sealing)
    }

    /// Ends everything that ends with an account's fate, if the latest statement has changed the account's row. Returns
    /// `false` otherwise: the account does not exist.
    private func carryOut(
        _ fate: AccountFate, ofAccount id: String, at now: Timestamp, _ sealing: Sealing
    ) throws -> Bool {
        guard self.db.hasChangedOneRow else { return false }
        for trace in fate.ends { try self.end(trace, ofAccount: id, at: now, sealing) }
        return true
    }

    private func end(
        _ trace: AccountFate.Trace, ofAccount id: String, at now: Timestamp, _ sealing: Sealing
    ) throws {
        switch trace {
        case .authentications: try AuthenticationEnds(self.db).deleteAuthentications(of: .account(id), at: now)
        case .ceremonies:
            try EndedCeremonies(self.db).deliverEnds(as: .cancelled, where: "account_id = ?", [id], at: now, sealing)
            try self.db.run("DELETE FROM ceremony WHERE account_id = ?", [id])
        case .notices: try self.db.run("DELETE FROM notice WHERE account_id = ?", [id])
        case .subjects: try self.db.run("DELETE FROM oauth_subject WHERE account = ?", [id])
        case .consents: try self.db.run("DELETE FROM oauth_consent WHERE account = ?", [id])
        case .acceptedInvitation: try self.db.run("DELETE FROM invite WHERE accepted_by = ?", [id])
        case .provisionalInvitation: try self.db.run("DELETE FROM invite WHERE provisional_account_id = ?", [id])
        }
    }

    /// Ends everything of an account that outlasts a session: lasting grants, device secrets, and consents with the
    /// grants resting on them. Returns the number of ended items.
    func endLasting(account: String) throws -> Int {
        let grants = try GrantEnds(self.db).endGrants(
            where: """
                is_lasting = 1 AND authentication IN (
                    SELECT oauth_authentication.id FROM oauth_authentication WHERE account = ?)
                """, [account])
        let secrets = try GrantEnds(self.db).endDeviceSecrets(
            where: "session IN (SELECT oauth_session.id FROM oauth_session WHERE account = ?)", [account])
        return try grants + secrets + ConsentRows(self.db).endConsents(where: "account = ?", [account])
    }

    /// Locks or unlocks an account, and ends everything that ends with it; `false` if the account does not exist.
    func setAccountLocked(
        _ isLocked: Bool, id: String, at moment: Timestamp, _ sealing: Sealing
    ) throws -> Bool {
        try self.db.run(
            """
            UPDATE account SET is_locked = ?1,
                locked_at = CASE WHEN CAST(?1 AS BIGINT) = 1 THEN ?2 ELSE locked_at END WHERE id = ?3
            """,
            [isLocked, moment.milliseconds, id])
        return try self.carryOut(.lock(isLocked), ofAccount: id, at: moment, sealing)
    }
}
