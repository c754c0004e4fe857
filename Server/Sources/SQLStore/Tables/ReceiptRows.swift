import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// A receipt with its evidence, bound to the session and the account.
    static let receipt = SealingPurpose("receipt of a transaction")
}

/// The rows of receipts of confirmed transactions.
struct ReceiptRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    private static let columns = "account_id, session, client, evidence, kept_until"

    /// Keeps a receipt within the present step. If the account has more than `rows` receipts, the oldest receipt is
    /// deleted.
    func insert(_ receipt: ReceiptRecord, rows: Int, _ sealing: Sealing) throws {
        let place = Sealing.place(ofConsent: receipt.session, account: receipt.accountID)
        try self.db.run(
            .composed("INSERT INTO receipt (\(Self.columns)) VALUES (?, ?, ?, ?, ?)"),
            [
                receipt.accountID, receipt.session, receipt.clientID,
                try sealing.seal(receipt.stored, purpose: .receipt, row: place), receipt.keptUntil.milliseconds,
            ])
        try self.db.run(
            """
            DELETE FROM receipt WHERE account_id = ?1 AND number <= (
                SELECT number FROM receipt WHERE account_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
            """, [receipt.accountID, rows])
    }

    /// Returns the receipt of a client's session, if the receipt is kept at `now`.
    func receipt(session: String, clientID: String, at now: Timestamp, _ sealing: Sealing) throws -> ReceiptRecord? {
        try self.db.row(
            .composed("SELECT \(Self.columns) FROM receipt WHERE session = ? AND client = ? AND kept_until > ?"),
            [session, clientID, now.milliseconds]
        ).map { try ReceiptRecord($0, sealing) }
    }

    /// Returns the newest receipts of an account that are kept at `now`, the newest first.
    func receipts(accountID: String, at now: Timestamp, limit: Int, _ sealing: Sealing) throws -> [ReceiptRecord] {
        try self.db.rows(
            .composed(
                """
                SELECT \(Self.columns) FROM receipt WHERE account_id = ? AND kept_until > ?
                ORDER BY number DESC LIMIT ?
                """), [accountID, now.milliseconds, limit]
        ) { try ReceiptRecord($0, sealing) }
    }

    /// Deletes expired receipts, looking at the `limit` oldest rows. Returns the number of deleted rows. Rows are in the
    /// order of their time, so no index is needed that every transaction would have to write.
    func deleteStale(at now: Timestamp, limit: Int) throws -> Int {
        try self.db.run(
            """
            DELETE FROM receipt
            WHERE number IN (SELECT number FROM receipt ORDER BY number LIMIT ?) AND kept_until <= ?
            """, [limit, now.milliseconds])
        return self.db.changesCount
    }
}

extension ReceiptRecord {
    fileprivate init(_ row: SQLRow, _ sealing: Sealing) throws {
        let (session, account) = (try row.text("session"), try row.text("account_id"))
        let stored = try sealing.open(
            try row.bytes("evidence"), purpose: .receipt, row: Sealing.place(ofConsent: session, account: account))
        try self.init(
            stored: stored, session: session, clientID: try row.text("client"), accountID: account,
            keptUntil: try row.moment("kept_until"))
    }
}

/// The rows of the public keys that sign receipts, or have signed receipts.
struct ReceiptKeyRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Adds a key as the newest. The former newest key signs until then.
    func add(_ key: ReceiptKeyRecord) throws {
        try self.db.run(
            "UPDATE receipt_key SET signs_until = ?1 WHERE signs_until IS NULL OR signs_until > ?1",
            [key.signsFrom.milliseconds])
        try self.db.run(
            "INSERT INTO receipt_key (id, public_key, signs_from) VALUES (?, ?, ?)",
            [key.id, key.publicKey, key.signsFrom.milliseconds])
    }

    /// Marks the keys of all receipts so far as seen by others since a moment. A key that was marked before keeps the
    /// earlier moment.
    func markSeen(since moment: Timestamp) throws {
        try self.db.run(
            "UPDATE receipt_key SET seen_since = ?1 WHERE seen_since IS NULL OR seen_since > ?1",
            [moment.milliseconds])
    }

    /// Returns all keys, the newest first.
    func keys() throws -> [ReceiptKeyRecord] {
        try self.db.rows(
            """
            SELECT id, public_key, signs_from, signs_until, seen_since FROM receipt_key ORDER BY signs_from DESC, id
            """
        ) { row in
            ReceiptKeyRecord(
                id: try row.text("id"), publicKey: try row.text("public_key"),
                signsFrom: try row.moment("signs_from"), signsUntil: try row.optionalMoment("signs_until"),
                seenSince: try row.optionalMoment("seen_since"))
        }
    }
}
