import Records
import Sealing
import _Primitives

/// The rows of letters that wait.
struct MailRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Takes at most `limit` letters of some turns that are due, in their turns. A taken letter is due again at `lease`.
    func takeMails(_ turns: ClosedRange<Int>, at moment: Timestamp, lease: Timestamp, limit: Int) throws
        -> [MailDelivery]
    {
        try self.db.rows(
            """
            UPDATE mail SET due_at = ?2, attempts = attempts + 1 WHERE number IN (
                SELECT number FROM mail WHERE due_at <= ?1 AND turn BETWEEN ?4 AND ?5
                ORDER BY turn, due_at, number LIMIT ?3)
            RETURNING number, account_id, subject, turn, link_name, about, attempts, expires_at
            """, [moment.milliseconds, lease.milliseconds, limit, turns.lowerBound, turns.upperBound]
        ) { row in
            MailDelivery(
                number: try row.integer("number"), accountID: try row.text("account_id"),
                subject: try MailRecord.Subject(stored: row.text("subject"), orCorrupt: "what a mail says"),
                turn: try MailRecord.Turn(stored: row.integer("turn")), linkName: try row.optionalText("link_name"),
                about: try row.optionalText("about"),
                attempt: try row.integer("attempts"), expiresAt: try row.moment("expires_at"))
        }.sorted { ($0.turn.rawValue, $0.number) < ($1.turn.rawValue, $1.number) }
    }

    /// Counts a letter that is dropped because too many letters wait, unless the letter is kept.
    func countDropped(_ subject: MailRecord.Subject, unless isKept: Bool) throws {
        try self.db.run(
            """
            INSERT INTO dropped_mail (subject, count) SELECT ?, 1 WHERE ? = 0
            ON CONFLICT (subject) DO UPDATE SET count = dropped_mail.count + 1
            """, [subject.rawValue, isKept])
    }

    /// Puts mail into the outbox, with its link.
    func leaveMail(_ mail: MailRecord) throws {
        if let link = mail.link?.record {
            try self.db.run(
                """
                INSERT INTO mailed_link (digest, account_id, purpose, expires_at, about) VALUES (?, ?, ?, ?, ?)
                """,
                [
                    link.digest, link.accountID, link.purpose.rawValue, link.expiresAt.milliseconds, link.about,
                ])
        }
        try self.db.run(
            """
            INSERT INTO mail (
                account_id, subject, turn, link, link_name, about, created_at, expires_at, due_at, attempts)
            VALUES (?1, ?2, ?8, ?3, ?4, ?7, ?5, ?6, ?5, 0)
            """,
            [
                mail.accountID, mail.subject.rawValue, mail.link?.record.digest, mail.link?.name,
                mail.createdAt.milliseconds, mail.expiresAt.milliseconds, mail.about, mail.turn.rawValue,
            ])
    }

    /// Puts mail into the outbox if fewer than `most` mails wait; otherwise counts the mail as dropped. Returns `true`
    /// if the mail is in the outbox.
    func leaveMail(_ mail: (MailRecord, most: Int)?) throws -> Bool {
        guard let (letter, most) = mail else { return false }
        let hasRoom = letter.hasRoom(beside: try self.waitingMails(as: letter.turn), most: most)
        try self.countDropped(letter.subject, unless: hasRoom)
        if hasRoom { try self.leaveMail(letter) }
        return hasRoom
    }

    /// Returns the number of waiting mails that count for mail of a turn: only strangers' mail for strangers, and all
    /// mail for the others.
    private func waitingMails(as turn: MailRecord.Turn) throws -> Int {
        // Either count has its own query: the count of a whole table reads no row.
        try self.db.number(
            """
            SELECT CASE WHEN ?2 = 1 THEN (SELECT count(*) FROM mail)
            ELSE (SELECT count(*) FROM mail WHERE turn = ?1) END
            """, [turn.rawValue, turn.rivals == .allMail]) ?? 0
    }
}
