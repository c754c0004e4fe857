import Records
import _Primitives

/// The rows of links and codes in letters.
struct MailedLinkRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Deletes the links that confirm an address of an account: the first address, or a further address by its
    /// identifier. The links of a further address that is gone stay.
    func spendConfirmations(of address: String?, accountID: String) throws {
        try self.db.run(
            """
            DELETE FROM mailed_link WHERE account_id = ?1 AND purpose = ?2 AND about IS NOT DISTINCT FROM ?3
            AND (?3 IS NULL OR EXISTS (SELECT 1 FROM account_email WHERE id = ?3 AND account_id = ?1))
            """, [accountID, MailedLinkRecord.Purpose.addressConfirmation.rawValue, address])
    }

    /// Returns a link that is still valid at `moment`, and was made for `purpose`; `nil` for any other link.
    func mailedLink(digest: [UInt8], purpose: MailedLinkRecord.Purpose, at moment: Timestamp) throws
        -> MailedLinkRecord?
    {
        try self.db.row(
            """
            SELECT account_id, about, expires_at FROM mailed_link
            WHERE digest = ? AND purpose = ? AND expires_at > ?
            """, [digest, purpose.rawValue, moment.milliseconds]
        ).map { row in
            MailedLinkRecord(
                digest: digest, accountID: try row.text("account_id"), purpose: purpose,
                about: try row.optionalText("about"), expiresAt: try row.moment("expires_at"))
        }
    }

    /// Deletes the links that were sent to an account's mailbox, and the mails with these links. The questions about
    /// changes stay.
    func deleteMailedLinks(ofAccount id: String) throws {
        try self.db.run(
            "DELETE FROM mailed_link WHERE account_id = ? AND purpose <> ?",
            [id, MailedLinkRecord.Purpose.changeQuestion.rawValue])
    }
}
