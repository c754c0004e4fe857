import Records
import Sealing
import _Primitives

/// The columns of the offer of an activation.
enum OfferColumn: Int, LockoutColumn {
    static let table = "pending_activation"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, accountID, state, claimDigest, pinKey, pinParameters, name, inviteID, challenge, tokenDigest, tokenUntil,
        failuresInRow, failures, lockedUntil, isPermanent, reservedRequest, reservedAt, createdAt, expiresAt, letter

    static let change = SQLText.once(
        """
        UPDATE pending_activation SET \(Self.allCases.map { "\($0.name) = ?" }.joined(separator: ", ")) WHERE id = ?
        """)
}

/// The rows of offers of activations.
struct OfferRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Adds an offer. Throws `conflict` if an offer or a device has the same identifier: the offer would become a
    /// device of that identifier. With `replacing`, an offered or revoked offer of the same identifier and account is
    /// replaced; a used offer remains a conflict.
    func insert(_ offer: OfferRecord, replacing: Bool = false, _ sealing: Sealing) throws {
        try self.db.refuse("SELECT 1 FROM device WHERE id = ?", [offer.id], "there is a device of that identifier")
        try self.db.refuse(
            """
            SELECT 1 FROM pending_activation
            WHERE id = ?1 AND (?2 = 0 OR account_id <> ?3 OR state NOT IN (?4, ?5))
            """,
            [
                offer.id, replacing, offer.accountID, OfferRecord.State.offered.rawValue,
                OfferRecord.State.revoked.rawValue,
            ], "there is an offer of that identifier")
        if replacing {
            try self.db.run("DELETE FROM pending_activation WHERE id = ?", [offer.id])
            try IdentityAnswerRows(self.db).deleteAnswers(of: GivenAnswer.offerPrefix + offer.id)
        }
        try self.db.insert(try offer.values(sealing), by: OfferColumn.insertion)
    }

    func offer(id: String, _ sealing: Sealing) throws -> OfferRecord? {
        try self.db.row(
            .composed("SELECT \(OfferColumn.selection) FROM pending_activation WHERE id = ?"), [id]
        ).map {
            try OfferRecord($0, sealing)
        }
    }

    func hasOffer(id: String) throws -> Bool {
        try self.db.isTrue("SELECT EXISTS (SELECT 1 FROM pending_activation WHERE id = ?)", [id])
    }

    /// Returns the usable offers of an account, the oldest first.
    func offers(accountID: String, at now: Timestamp, _ sealing: Sealing) throws -> [OfferRecord] {
        try self.db.rows(
            .composed(
                """
                SELECT \(OfferColumn.selection) FROM pending_activation
                WHERE \(OfferRecord.isUsable) ORDER BY created_at, id
                """), [accountID, OfferRecord.State.offered.rawValue, now.milliseconds]
        ) { try OfferRecord($0, sealing) }
    }

    /// Returns the number of usable offers of an account.
    func offerCount(accountID: String, at now: Timestamp) throws -> Int {
        try self.db.number(
            .composed("SELECT count(*) FROM pending_activation WHERE \(OfferRecord.isUsable)"),
            [accountID, OfferRecord.State.offered.rawValue, now.milliseconds]) ?? 0
    }

    /// Writes the changes of a step to an offer.
    func update(_ offer: OfferRecord, from before: OfferRecord, _ sealing: Sealing) throws {
        guard offer != before else { return }
        let row = OfferColumn.row(try offer.values(sealing))
        try self.db.run(OfferColumn.change, row + [before.id])
    }
}

extension OfferRecord {
    /// The SQL condition for a usable offer of an account. The arguments are the account, a state and a moment.
    static let isUsable = "account_id = ? AND state = ? AND is_permanent = 0 AND expires_at > ?"

    init(_ row: SQLRow, _ sealing: Sealing) throws {
        let part = RowPart<OfferColumn>(row: row, start: 0)
        let id = try part.text(.id)
        let state = try State(stored: try part.integer(.state), "an offer of an unknown state")
        self.init(
            id: id, accountID: try part.text(.accountID), claimDigest: try part.bytes(.claimDigest),
            pinKey: try part.optionalBytes(.pinKey).map {
                try sealing.open($0, purpose: .offeredPinKey, row: id)
            } ?? [],
            pinParameters: try part.text(.pinParameters),
            name: try part.optionalBytes(.name).map { try sealing.openText($0, purpose: .offeredName, row: id) },
            inviteID: try part.optionalText(.inviteID), challenge: try part.text(.challenge),
            createdAt: try part.moment(.createdAt), expiresAt: try part.moment(.expiresAt))
        self.state = state
        self.letter = try part.optionalBytes(.letter).map {
            try sealing.openText($0, purpose: .offeredLetter, row: id)
        }
        self.tokenDigest = try part.optionalBytes(.tokenDigest)
        self.tokenUntil = try part.optionalMoment(.tokenUntil)
        self.lockout = try LockoutRecord(part)
    }

    /// Returns the stored values.
    func values(
        _ sealing: Sealing
    ) throws -> [OfferColumn: (any SQLBindable)?] {
        var values = Dictionary(
            uniqueKeysWithValues: zip(
                OfferColumn.ofLockout, OfferColumn.values(of: self.lockout)))
        values[.id] = self.id
        values[.accountID] = self.accountID
        values[.state] = self.state.rawValue
        values[.claimDigest] = self.claimDigest
        values[.pinKey] = try self.keptPinKey.map {
            try sealing.seal($0, purpose: .offeredPinKey, row: self.id)
        }
        values[.pinParameters] = self.pinParameters
        values[.name] = try self.name.map { try sealing.seal($0, purpose: .offeredName, row: self.id) }
        values[.letter] = try self.keptLetter.map {
            try sealing.seal($0, purpose: .offeredLetter, row: self.id)
        }
        values[.inviteID] = self.inviteID
        values[.challenge] = self.challenge
        values[.tokenDigest] = self.tokenDigest
        values[.tokenUntil] = self.tokenUntil?.milliseconds
        values[.createdAt] = self.createdAt.milliseconds
        values[.expiresAt] = self.expiresAt.milliseconds
        return values
    }
}
