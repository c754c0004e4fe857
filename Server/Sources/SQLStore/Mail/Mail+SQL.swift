public import Records
import Sealing
public import _Primitives

extension SQLStore: MailStore {
    public func keepAsk(for username: AccountName, at moment: Timestamp, most: Int) async throws -> Bool {
        let codes = self.sealing.usernameCodes(username)
        // Asks at the same time may pass the bound by their number. The bound is against floods, and in a flood
        // serializable asks would only fail each other.
        return try await self.step(Step("mail.keep-ask", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                INSERT INTO reset_ask (exact_code, username_code, asked_at, due_at)
                SELECT ?1, ?2, ?3, ?3 WHERE (SELECT count(*) FROM reset_ask) < ?4
                """, [codes[0], codes[1], moment.milliseconds, most])
            let isKept = db.hasChangedOneRow
            try MailRows(db).countDropped(.passwordReset, unless: isKept)
            return isKept
        }
    }

    public func takeAsks(at moment: Timestamp, lease: Timestamp, limit: Int) async throws -> [ResetAsk] {
        // Two servers must not take one ask: the statement chooses the due rows before it waits for them.
        let step = Step("mail.take-asks", guards: [], isolation: .serializable)
        // Nearly always nothing is due, and a reader answers without the writer.
        return try await self.step(
            step,
            screenedBy: { db -> Screening<Void, [ResetAsk]> in
                let isDue = try db.isTrue(
                    "SELECT EXISTS (SELECT 1 FROM reset_ask WHERE due_at <= ?)", [moment.milliseconds])
                return .step(if: isDue, otherwise: [])
            }
        ) { db, _ in
            try db.rows(
                """
                UPDATE reset_ask SET due_at = ?2 WHERE number IN (
                    SELECT number FROM reset_ask WHERE due_at <= ?1 ORDER BY due_at, number LIMIT ?3)
                RETURNING number, asked_at,
                    (SELECT id FROM account
                        WHERE account.username_code IN (reset_ask.exact_code, reset_ask.username_code)) AS account_id
                """, [moment.milliseconds, lease.milliseconds, limit]
            ) { row in
                ResetAsk(
                    number: try row.integer("number"), accountID: try row.optionalText("account_id"),
                    askedAt: try row.moment("asked_at"))
            }.sorted { $0.number < $1.number }
        }
    }

    public func removeAsk(_ ask: ResetAsk) async throws {
        try await self.step(Step("mail.remove-ask", guards: [], isolation: .readCommitted)) { db in
            // SQLite gives a number again after the newest row was deleted.
            try db.run(
                "DELETE FROM reset_ask WHERE number = ? AND asked_at = ?", [ask.number, ask.askedAt.milliseconds])
        }
    }

    public func beginLink(of letter: OutboxMessage, until moment: Timestamp) async throws -> Bool {
        try await self.step(Step("mail.begin-link", guards: [], isolation: .readCommitted)) { db in
            try MessageRows(db).beginLink(of: letter, until: moment)
            return db.changesCount > 0
        }
    }

    public func takeDroppedMails() async throws -> [MailRecord.Subject: Int] {
        // Nearly always no letter was dropped, and a reader answers without the writer.
        try await self.step(
            Step("mail.take-dropped", guards: [], isolation: .readCommitted),
            screenedBy: { db -> Screening<Void, [MailRecord.Subject: Int]> in
                let isAny = try db.isTrue("SELECT EXISTS (SELECT 1 FROM dropped_mail)")
                return .step(if: isAny, otherwise: [:])
            }
        ) { db, _ in
            let dropped = try db.rows("DELETE FROM dropped_mail RETURNING subject, count", []) { row in
                (
                    try MailRecord.Subject(stored: row.text("subject"), orCorrupt: "what a mail was to say"),
                    try row.integer("count", as: Int.self)
                )
            }
            return Dictionary(uniqueKeysWithValues: dropped)
        }
    }

    public func mailedLink(digest: [UInt8], purpose: MailedLinkRecord.Purpose, at moment: Timestamp) async throws
        -> MailedLinkRecord?
    {
        try await self.read { db in try MailedLinkRows(db).mailedLink(digest: digest, purpose: purpose, at: moment) }
    }

    public func confirmAddress(byLink digest: [UInt8], values: Int, audit: AuditEvent) async throws
        -> AddressConfirmation?
    {
        try await self.step(
            Step("mail.confirm-address", guards: [.exclusive(accountOfLink: digest)], isolation: .readCommitted)
        ) { [sealing] db -> AddressConfirmation? in
            let link = try MailedLinkRows(db).mailedLink(digest: digest, purpose: .addressConfirmation, at: audit.at)
            let account = try link.flatMap { try AccountRows(db).account(id: $0.accountID, sealing) }
            let confirmation = try ConfirmedAddress(by: link, of: account).flatMap {
                try AccountRows(db).confirm($0, values: values, at: audit.at, sealing)
            }
            try AuditRows(db).appendAudit(audit, if: confirmation != nil, sealing)
            return confirmation
        }
    }

    public func deleteMailedLinks(before moment: Timestamp, limit: Int) async throws -> Int {
        try await self.step(Step("mail.sweep-links", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                DELETE FROM mailed_link WHERE digest IN (
                    SELECT digest FROM mailed_link
                    WHERE expires_at <= ?1 AND NOT EXISTS (
                        SELECT 1 FROM message WHERE message.link = mailed_link.digest AND message.expires_at > ?1)
                    LIMIT ?2)
                """, [moment.milliseconds, limit])
            return db.changesCount
        }
    }
}
