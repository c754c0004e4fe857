import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// A consent, bound to the session and the account.
    static let identityConsent = SealingPurpose("identity consent")
}

/// The rows of consents to identity sessions.
struct IdentityConsentRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Keeps a consent within the present step: one row. If the account has too many rows, the oldest row is deleted.
    func insert(_ kept: KeptConsent, _ sealing: Sealing) throws {
        let consent = kept.record
        let place = Sealing.place(ofConsent: consent.session, account: consent.accountID)
        try self.db.run(
            "INSERT INTO identity_consent (account_id, session, evidence, kept_until) VALUES (?, ?, ?, ?)",
            [
                consent.accountID, consent.session,
                try sealing.seal(consent.evidence, purpose: .identityConsent, row: place), kept.until.milliseconds,
            ])
        try self.db.run(
            """
            DELETE FROM identity_consent WHERE account_id = ?1 AND number <= (
                SELECT number FROM identity_consent WHERE account_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
            """, [consent.accountID, kept.rows])
    }

    /// Deletes expired consents, looking at the `limit` oldest rows. Returns the number of deleted rows. Rows are in
    /// the order of their time, so no index is needed that every sign-in would have to write.
    func deleteStaleConsents(now: Timestamp, limit: Int) throws -> Int {
        try self.db.run(
            """
            DELETE FROM identity_consent
            WHERE number IN (SELECT number FROM identity_consent ORDER BY number LIMIT ?) AND kept_until < ?
            """, [limit, now.milliseconds])
        return self.db.changesCount
    }
}

extension Sealing {
    /// Returns the place of a consent, to which the consent is bound: session and account. Neither contains a space.
    static func place(ofConsent session: String, account: String) -> String { "\(session) \(account)" }
}

extension IdentityConsentRecord {
    init(_ row: SQLRow, _ sealing: Sealing) throws {
        let (session, account) = (try row.text("session"), try row.text("account_id"))
        let evidence = try sealing.open(
            try row.bytes("evidence"), purpose: .identityConsent,
            row: Sealing.place(ofConsent: session, account: account))
        try self.init(session: session, accountID: account, evidence: evidence)
    }
}
