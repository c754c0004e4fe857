import Records
import Sealing
import _Primitives

/// The rows of letters that wait.
struct MailRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Counts a letter that is dropped because too many letters wait, unless the letter is kept.
    func countDropped(_ subject: MailRecord.Subject, unless isKept: Bool) throws {
        try self.db.run(
            """
            INSERT INTO dropped_mail (subject, count) SELECT ?, 1 WHERE ? = 0
            ON CONFLICT (subject) DO UPDATE SET count = dropped_mail.count + 1
            """, [subject.rawValue, isKept])
    }

    /// Puts mail into the outbox, with its link.
    func leaveMail(_ mail: MailRecord, _ sealing: Sealing) throws {
        if let link = mail.link?.record {
            try self.db.run(
                """
                INSERT INTO mailed_link (digest, account_id, purpose, expires_at, about) VALUES (?, ?, ?, ?, ?)
                """,
                [
                    link.digest, link.accountID, link.purpose.rawValue, link.expiresAt.milliseconds, link.about,
                ])
        }
        try MessageRows(self.db).insert(OutboxDraft(mail), sealing)
    }

    /// Puts mail into the outbox if fewer than `most` mails wait; otherwise counts the mail as dropped. Returns `true`
    /// if the mail is in the outbox.
    func leaveMail(_ mail: (MailRecord, most: Int)?, _ sealing: Sealing) throws -> Bool {
        guard let (letter, most) = mail else { return false }
        let hasRoom = letter.hasRoom(beside: try self.waitingMails(as: letter.turn), most: most)
        try self.countDropped(letter.subject, unless: hasRoom)
        if hasRoom { try self.leaveMail(letter, sealing) }
        return hasRoom
    }

    /// Returns the number of waiting mails that count for mail of a turn: only strangers' mail for strangers, and all
    /// mail for the others.
    private func waitingMails(as turn: MailRecord.Turn) throws -> Int {
        // Either count has its own query, so that each reads an index alone.
        try self.db.number(
            """
            SELECT CASE WHEN ?3 = 1 THEN (SELECT count(*) FROM message WHERE channel = ?1)
            ELSE (SELECT count(*) FROM message WHERE channel = ?1 AND lane = ?2) END
            """, [OutboxChannel.mailbox.rawValue, turn.lane, turn.rivals == .allMail]) ?? 0
    }
}
