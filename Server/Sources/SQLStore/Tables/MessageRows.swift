import Records
import Sealing
import Settings
import _Primitives

extension SealingPurpose {
    static let messageContent = SealingPurpose("content of a message")
}

/// The rows of messages that wait for clients, mailboxes and devices.
struct MessageRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// The condition that finds a message by the eight values of ``identity(of:)``. The number is not enough: SQLite
    /// gives a number again after the newest row was deleted.
    private static let isMessage = """
        number = ?1 AND channel = ?2 AND lane = ?3 AND subject = ?4 AND matter IS NOT DISTINCT FROM ?5
        AND name IS NOT DISTINCT FROM ?6 AND account_id IS NOT DISTINCT FROM ?7 AND created_at = ?8
        """

    private static func identity(of message: OutboxMessage) -> SQLValues {
        [
            message.number, message.channel.rawValue, message.lane, message.subject, message.matter, message.name,
            message.accountID, message.createdAt.milliseconds,
        ]
    }

    /// Returns the message of a dispatcher before it has its place in the outbox, with the turn of its client. Throws
    /// `notFound` if the account of the ceremony does not exist any more.
    func draft(_ message: DeviceMessageRecord, of ceremony: CeremonyRecord) throws -> OutboxDraft {
        try IdentifiedRows(self.db).require("account", id: ceremony.accountID, "the account of a dispatch")
        let first: Int? = try self.db.row(
            "SELECT min(turn) AS turn FROM message WHERE channel = ? AND lane = ? AND due_at <= ?",
            [OutboxChannel.device.rawValue, message.dispatcher, ceremony.createdAt.milliseconds]
        ).flatMap { try $0.optionalInteger("turn", as: Int.self) }
        let last: Int? = try self.db.row(
            """
            SELECT turn FROM message JOIN ceremony ON ceremony.id = matter
            WHERE message.channel = ? AND lane = ? AND client_id IS NOT DISTINCT FROM ? ORDER BY turn DESC LIMIT 1
            """, [OutboxChannel.device.rawValue, message.dispatcher, ceremony.clientID]
        ).map { try $0.integer("turn", as: Int.self) }
        return OutboxDraft(message, of: ceremony, turn: OutboxDraft.turn(first: first, lastOfClient: last))
    }

    /// Puts a message into the outbox.
    func insert(_ draft: OutboxDraft, _ sealing: Sealing) throws {
        let content = try draft.content.map {
            try sealing.seal($0, purpose: .messageContent, row: draft.matter ?? "")
        }
        try self.db.run(
            """
            INSERT INTO message (
                channel, lane, turn, account_id, subject, matter, name, link, content, created_at, expires_at, due_at,
                attempts)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10, 0)
            """,
            [
                draft.channel.rawValue, draft.lane, draft.turn, draft.accountID, draft.subject, draft.matter,
                draft.name, draft.link, content, draft.createdAt.milliseconds, draft.expiresAt?.milliseconds,
            ])
    }

    /// The oldest message with the subject of a lane, if at least ?4 such messages wait.
    private static let oldestOfMany = """
        number = (
            SELECT min(number) FROM message WHERE channel = ?1 AND lane = ?2 AND subject = ?3
            GROUP BY lane HAVING count(*) >= ?4)
        """

    private static let displacement = SQLText.once("DELETE FROM message WHERE \(MessageRows.oldestOfMany)")

    private static let surrender = SQLText.once(
        "UPDATE message SET expires_at = ?5, due_at = created_at WHERE \(MessageRows.oldestOfMany)")

    /// Puts a statement about an ended session into the outbox. If the client has ``Limits/Fixed/waitingStatements``
    /// statements then, the oldest statement is over, and the next node that takes the statement gives it up. If that
    /// has not happened by the time of a further statement, the oldest statement is deleted.
    func leave(statement draft: OutboxDraft, _ sealing: Sealing) throws {
        let values: SQLValues = [
            draft.channel.rawValue, draft.lane, draft.subject, Limits.Fixed.waitingStatements,
        ]
        try self.db.run(Self.displacement, values)
        try self.insert(draft, sealing)
        try self.db.run(Self.surrender, values + [draft.createdAt.milliseconds])
    }

    /// Returns the lanes of a channel with due messages, the lane with the longest wait first.
    ///
    /// The statement groups by an expression, so that the database reads the due messages by the index of `due_at`. By
    /// the lane alone the database would read all waiting messages of the channel, in the order of the lanes.
    func lanes(to channel: OutboxChannel, at moment: Timestamp) throws -> [OutboxLane] {
        try self.db.rows(
            """
            SELECT lane || '' AS lane_name, min(turn) AS turn FROM message WHERE channel = ? AND due_at <= ?
            GROUP BY lane_name ORDER BY min(due_at), lane_name
            """, [channel.rawValue, moment.milliseconds]
        ) { row in OutboxLane(name: try row.text("lane_name"), turn: try row.integer("turn")) }
    }

    /// Takes at most `limit` due messages of a lane until the lease ends, in their turns. Content that cannot be opened
    /// is `nil`, so that the message alone fails, and the other messages are taken.
    func take(
        from lane: String, to channel: OutboxChannel, at moment: Timestamp, lease: Timestamp, limit: Int,
        _ sealing: Sealing
    ) throws -> [OutboxMessage] {
        try self.db.rows(
            """
            UPDATE message SET due_at = ?4, attempts = attempts + 1 WHERE number IN (
                SELECT number FROM message WHERE channel = ?1 AND lane = ?2 AND due_at <= ?3
                ORDER BY turn, due_at, number LIMIT ?5)
            RETURNING number, turn, account_id, subject, matter, name, content, attempts, created_at, expires_at
            """, [channel.rawValue, lane, moment.milliseconds, lease.milliseconds, limit]
        ) { row in
            let matter = try row.optionalText("matter")
            return OutboxMessage(
                number: try row.integer("number"), channel: channel, lane: lane, turn: try row.integer("turn"),
                accountID: try row.optionalText("account_id"), subject: try row.text("subject"), matter: matter,
                name: try row.optionalText("name"),
                content: try row.optionalBytes("content").flatMap {
                    try? sealing.open($0, purpose: .messageContent, row: matter ?? "")
                },
                attempt: try row.integer("attempts"), createdAt: try row.moment("created_at"),
                expiresAt: try row.optionalMoment("expires_at"))
        }.sorted { ($0.turn, $0.number) < ($1.turn, $1.number) }
    }

    private static let erasure = SQLText.once(
        """
        UPDATE pending_activation SET letter = NULL WHERE id = ?9 AND account_id = ?7
        AND EXISTS (
            SELECT 1 FROM message WHERE \(MessageRows.isMessage) AND attempts = coalesce(?10, attempts))
        """)

    private static let deletion = SQLText.once(
        "DELETE FROM message WHERE \(MessageRows.isMessage) AND attempts = coalesce(?9, attempts)")

    /// Deletes a message, and the code that an offer of an activation keeps for the message.
    ///
    /// - Parameter attempt: The number of times that the message was taken, if the message may not have been taken
    ///   since; `nil` for any number.
    func remove(_ message: OutboxMessage, takenOnly attempt: Int?) throws {
        let identity = Self.identity(of: message)
        try self.db.run(Self.erasure, identity + [message.offerID, attempt])
        try self.db.run(Self.deletion, identity + [attempt])
    }

    private static let postponement = SQLText.once(
        "UPDATE message SET due_at = ?9 WHERE \(MessageRows.isMessage) AND attempts = ?10")

    /// Makes a message wait, if nobody has taken the message since.
    func postpone(_ message: OutboxMessage, until moment: Timestamp) throws {
        try self.db.run(
            Self.postponement, Self.identity(of: message) + [moment.milliseconds, message.attempt])
    }

    private static let beginning = SQLText.once(
        """
        UPDATE mailed_link SET expires_at = ?9 WHERE digest = (
            SELECT link FROM message WHERE \(MessageRows.isMessage) AND attempts = ?10)
        """)

    /// Lets the link of a letter end at `moment`, if nobody has taken the letter since.
    func beginLink(of letter: OutboxMessage, until moment: Timestamp) throws {
        try self.db.run(Self.beginning, Self.identity(of: letter) + [moment.milliseconds, letter.attempt])
    }

    /// Returns the amount of waiting messages of a channel.
    func waiting(to channel: OutboxChannel) throws -> WaitingMessages {
        try self.db.row(
            "SELECT count(*) AS count, min(created_at) AS oldest FROM message WHERE channel = ?", [channel.rawValue]
        ).map { row in
            WaitingMessages(count: try row.integer("count"), oldest: try row.optionalMoment("oldest"))
        } ?? WaitingMessages(count: 0, oldest: nil)
    }

    /// Deletes at most `limit` messages to devices that expired before a moment. Returns the number of deleted messages.
    func deleteDeviceMessages(expiredBefore moment: Timestamp, limit: Int) throws -> Int {
        try self.db.run(
            """
            DELETE FROM message WHERE number IN
            (SELECT number FROM message WHERE channel = ? AND expires_at < ? LIMIT ?)
            """, [OutboxChannel.device.rawValue, moment.milliseconds, limit])
        return self.db.changesCount
    }

    /// Deletes the messages to a client.
    func deleteMessages(toClient id: String) throws {
        try self.db.run(
            "DELETE FROM message WHERE channel = ? AND lane = ?", [OutboxChannel.client.rawValue, id])
    }
}
