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
            try db.countDropped(.passwordReset, unless: isKept)
            return isKept
        }
    }

    public func takeAsks(at moment: Timestamp, lease: Timestamp, limit: Int) async throws -> [ResetAsk] {
        // Two servers must not take one ask: the statement chooses the due rows before it waits for them.
        let step = Step("mail.take-asks", guards: [], isolation: .serializable)
        return try await self.step(step, whereDueIn: "reset_ask", at: moment) { db in
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

    /// Takes the rows of a table that are due. Nearly always no row is due, and a reader answers without the writer.
    private func step<Taken: Sendable>(
        _ step: Step, whereDueIn table: String, at moment: Timestamp,
        _ take: @escaping @Sendable (SQLConnection) throws -> [Taken]
    ) async throws -> [Taken] {
        try await self.step(
            step,
            screenedBy: { db -> Screening<Void, [Taken]> in
                let isDue = try db.isTrue(
                    .composed("SELECT EXISTS (SELECT 1 FROM \(table) WHERE due_at <= ?)"), [moment.milliseconds])
                return .step(if: isDue, otherwise: [])
            }
        ) { db, _ in try take(db) }
    }

    public func removeAsk(_ ask: ResetAsk) async throws {
        try await self.step(Step("mail.remove-ask", guards: [], isolation: .readCommitted)) { db in
            // SQLite gives a number again after the newest row was deleted.
            try db.run(
                "DELETE FROM reset_ask WHERE number = ? AND asked_at = ?", [ask.number, ask.askedAt.milliseconds])
        }
    }

    public func beginLink(of delivery: MailDelivery, until moment: Timestamp) async throws -> Bool {
        try await self.step(Step("mail.begin-link", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                UPDATE mailed_link SET expires_at = ? WHERE digest = (
                    SELECT link FROM mail
                    WHERE number = ? AND account_id = ? AND link_name IS NOT DISTINCT FROM ? AND expires_at = ?
                        AND attempts = ?)
                """,
                [
                    moment.milliseconds, delivery.number, delivery.accountID, delivery.linkName,
                    delivery.expiresAt.milliseconds, delivery.attempt,
                ])
            return db.changesCount > 0
        }
    }

    public func takeMails(at moment: Timestamp, lease: Timestamp, limit: Int, strangers: Int) async throws
        -> [MailDelivery]
    {
        // Two servers must not take one letter, as with ``takeAsks(at:lease:limit:)``.
        let step = Step("mail.take", guards: [], isolation: .serializable)
        return try await self.step(step, whereDueIn: "mail", at: moment) { db in
            let others = try db.takeMails(MailRecord.Turn.ofOthers, at: moment, lease: lease, limit: limit)
            let room = StrangersShare(most: strangers).room(beside: others.count, limit: limit)
            return try others + db.takeMails(MailRecord.Turn.ofStrangers, at: moment, lease: lease, limit: room)
        }
    }

    public func waitingMails() async throws -> WaitingMails {
        try await self.read { db in
            try db.row("SELECT count(*) AS count, min(created_at) AS oldest FROM mail").map { row in
                WaitingMails(count: try row.integer("count"), oldest: try row.optionalMoment("oldest"))
            } ?? WaitingMails(count: 0, oldest: nil)
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

    public func removeMail(_ delivery: MailDelivery, audit: AuditEvent?) async throws {
        // A step that changes an offer writes the whole row, and would put back a code that is removed meanwhile.
        try await self.step(
            Step("mail.remove", guards: [.exclusive(.offer, id: delivery.about)], isolation: .readCommitted)
        ) { [sealing] db in
            // SQLite gives a number again after the newest mail was deleted.
            let isLetter = "number = ?1 AND account_id = ?2 AND link_name IS NOT DISTINCT FROM ?3 AND expires_at = ?4"
            let letter: SQLValues = [
                delivery.number, delivery.accountID, delivery.linkName, delivery.expiresAt.milliseconds,
            ]
            try db.run(
                .composed(
                    """
                    UPDATE pending_activation SET letter = NULL WHERE id = ?5 AND account_id = ?2
                    AND EXISTS (SELECT 1 FROM mail WHERE \(isLetter))
                    """), letter + [delivery.about])
            try db.run(.composed("DELETE FROM mail WHERE \(isLetter)"), letter)
            try db.appendAudit(audit, if: db.hasChangedRows, sealing)
        }
    }

    public func postponeMail(_ delivery: MailDelivery, until moment: Timestamp) async throws {
        try await self.step(Step("mail.postpone", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                UPDATE mail SET due_at = ?
                WHERE number = ? AND account_id = ? AND link_name IS NOT DISTINCT FROM ? AND expires_at = ?
                    AND attempts = ?
                """,
                [
                    moment.milliseconds, delivery.number, delivery.accountID, delivery.linkName,
                    delivery.expiresAt.milliseconds, delivery.attempt,
                ])
        }
    }

    public func mailedLink(digest: [UInt8], purpose: MailedLinkRecord.Purpose, at moment: Timestamp) async throws
        -> MailedLinkRecord?
    {
        try await self.read { db in try db.mailedLink(digest: digest, purpose: purpose, at: moment) }
    }

    public func confirmAddress(byLink digest: [UInt8], values: Int, audit: AuditEvent) async throws
        -> AddressConfirmation?
    {
        try await self.step(
            Step("mail.confirm-address", guards: [.exclusive(accountOfLink: digest)], isolation: .readCommitted)
        ) { [sealing] db -> AddressConfirmation? in
            let link = try db.mailedLink(digest: digest, purpose: .addressConfirmation, at: audit.at)
            let account = try link.flatMap { try db.account(id: $0.accountID, sealing) }
            let confirmation = try ConfirmedAddress(by: link, of: account).flatMap {
                try db.confirm($0, values: values, at: audit.at, sealing)
            }
            try db.appendAudit(audit, if: confirmation != nil, sealing)
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
                        SELECT 1 FROM mail WHERE mail.link = mailed_link.digest AND mail.expires_at > ?1)
                    LIMIT ?2)
                """, [moment.milliseconds, limit])
            return db.changesCount
        }
    }
}

extension StepGuard {
    /// Locks the account that a mailed link was sent to. If two steps show one link, the later step finds the link
    /// spent.
    static func exclusive(accountOfLink digest: [UInt8]) -> Self {
        .exclusive(.account, where: "id = (SELECT account_id FROM mailed_link WHERE digest = ?)", [digest])
    }
}

extension SQLConnection {
    /// Takes at most `limit` letters of some turns that are due, in their turns. A taken letter is due again at `lease`.
    fileprivate func takeMails(_ turns: ClosedRange<Int>, at moment: Timestamp, lease: Timestamp, limit: Int) throws
        -> [MailDelivery]
    {
        try self.rows(
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

    /// Confirms an address of an account, and spends the links that confirm the address. Returns `nil` if a further
    /// address is gone.
    fileprivate func confirm(
        _ confirmed: ConfirmedAddress, values: Int, at moment: Timestamp, _ sealing: Sealing
    ) throws -> AddressConfirmation? {
        switch confirmed {
        case .first(let email, let account):
            try self.setEmail(email, accountID: account, at: moment, sealing)
            try self.spendConfirmations(of: nil, accountID: account)
            return .complete
        case .further(let address, let account):
            try self.spendConfirmations(of: address, accountID: account)
            return try self.confirm(email: address, accountID: account, values: values, at: moment, sealing)
        }
    }

    /// Deletes the links that confirm an address of an account: the first address, or a further address by its
    /// identifier. The links of a further address that is gone stay.
    private func spendConfirmations(of address: String?, accountID: String) throws {
        try self.run(
            """
            DELETE FROM mailed_link WHERE account_id = ?1 AND purpose = ?2 AND about IS NOT DISTINCT FROM ?3
            AND (?3 IS NULL OR EXISTS (SELECT 1 FROM account_email WHERE id = ?3 AND account_id = ?1))
            """, [accountID, MailedLinkRecord.Purpose.addressConfirmation.rawValue, address])
    }

    /// Counts a letter that is dropped because too many letters wait, unless the letter is kept.
    fileprivate func countDropped(_ subject: MailRecord.Subject, unless isKept: Bool) throws {
        try self.run(
            """
            INSERT INTO dropped_mail (subject, count) SELECT ?, 1 WHERE ? = 0
            ON CONFLICT (subject) DO UPDATE SET count = dropped_mail.count + 1
            """, [subject.rawValue, isKept])
    }

    /// Returns a link that is still valid at `moment`, and was made for `purpose`; `nil` for any other link.
    func mailedLink(digest: [UInt8], purpose: MailedLinkRecord.Purpose, at moment: Timestamp) throws
        -> MailedLinkRecord?
    {
        try self.row(
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

    /// Puts mail into the outbox, with its link.
    func leaveMail(_ mail: MailRecord) throws {
        if let link = mail.link?.record {
            try self.run(
                """
                INSERT INTO mailed_link (digest, account_id, purpose, expires_at, about) VALUES (?, ?, ?, ?, ?)
                """,
                [
                    link.digest, link.accountID, link.purpose.rawValue, link.expiresAt.milliseconds, link.about,
                ])
        }
        try self.run(
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
        try self.number(
            """
            SELECT CASE WHEN ?2 = 1 THEN (SELECT count(*) FROM mail)
            ELSE (SELECT count(*) FROM mail WHERE turn = ?1) END
            """, [turn.rawValue, turn.rivals == .allMail]) ?? 0
    }

    /// Deletes the links that were sent to an account's mailbox, and the mails with these links. The questions about
    /// changes stay.
    func deleteMailedLinks(ofAccount id: String) throws {
        try self.run(
            "DELETE FROM mailed_link WHERE account_id = ? AND purpose <> ?",
            [id, MailedLinkRecord.Purpose.changeQuestion.rawValue])
    }
}
