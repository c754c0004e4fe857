import Records
import Sealing
import _Primitives

/// The rows of ceremonies, and of the keys that ceremonies have deleted.
struct CeremonyRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    private func insert(_ ceremony: CeremonyRecord, _ sealing: Sealing) throws {
        let detail = try sealing.seal(ceremony.detail.stored, purpose: .ceremonyDetail, row: ceremony.id)
        let progress = try ceremony.sealedProgress(sealing)
        let values: SQLValues = CeremonyColumn.allCases.map {
            ceremony.value(of: $0, detail: detail, progress: progress)
        }
        try self.db.run(CeremonyColumn.insertion, values)
    }

    /// Writes the columns of a ceremony that a step has changed. Unchanged columns are not named, so neither the
    /// columns nor their indexes are written anew. An end is an answer, which the client of a request without a browser
    /// may want to be told, and so may the back end of a dispatch.
    func update(_ ceremony: CeremonyRecord, from before: CeremonyRecord, _ sealing: Sealing) throws {
        let changed = ChangeableColumn.changed(from: before, to: ceremony)
        guard !changed.isEmpty else { return }
        var values = try changed.map {
            try ceremony.value(of: $0.column, progress: try ceremony.sealedProgress(sealing))
        }
        values.append(ceremony.id)
        let assignments = changed.map(\.assignment).joined(separator: ", ")
        try self.db.run(.composed("UPDATE ceremony SET \(assignments) WHERE id = ?"), values)
        try ceremony.endedReference(before: before).map {
            try EndedCeremonies(self.db).deliverAnswer(ofRequest: $0, at: ceremony.changedAt)
        }
        try ceremony.clientOfEnd(before: before).map {
            try EndedCeremonies(self.db).deliverEnd(of: ceremony, to: $0, sealing)
        }
    }

    func ceremony(_ key: CeremonyKey, _ sealing: Sealing) throws -> CeremonyRecord? {
        let (column, value) = key.place
        return try self.db.row(
            .composed("SELECT \(CeremonyColumn.selection) FROM ceremony WHERE \(column) = ?"), [value]
        ).map { try CeremonyRecord($0, sealing) }
    }

    private static let tokenQuery = SQLText.once(
        """
        SELECT \(CeremonyColumn.selection), dispatch_token.channel AS token_channel,
            dispatch_token.expires_at AS token_expires_at
        FROM dispatch_token JOIN ceremony ON ceremony.id = ceremony_id WHERE digest = ?
        """)

    /// Returns a token and its ceremony, whether or not their time is over; `nil` if the token does not exist. `detail`
    /// is the ceremony's detail, if it was opened before.
    func ceremony(ofToken digest: [UInt8], _ sealing: Sealing, detail: CeremonyDetail? = nil) throws -> (
        CeremonyRecord, DispatchTokenRecord
    )? {
        try self.db.row(Self.tokenQuery, [digest]).map { row in
            let token = DispatchTokenRecord(
                digest: digest, channel: try .init(stored: row.integer("token_channel")),
                expiresAt: try row.moment("token_expires_at"))
            return (try CeremonyRecord(row, sealing, detail: detail), token)
        }
    }

    /// Adds a ceremony and its tokens, and ends the earlier ceremony of the same reference. Throws `conflict` if
    /// another browser began the earlier ceremony.
    func begin(_ ceremony: CeremonyRecord, tokens: [DispatchTokenRecord], _ sealing: Sealing) throws {
        let earlier = try ceremony.reference.flatMap { try self.ceremony(.reference($0), sealing) }
        try earlier.map { try self.end($0, supersededBy: ceremony, sealing) }
        try self.insert(ceremony, sealing)
        try DispatchTokenRows(self.db).insert(tokens, ceremonyID: ceremony.id)
    }

    private func end(_ earlier: CeremonyRecord, supersededBy later: CeremonyRecord, _ sealing: Sealing) throws {
        try self.update(try earlier.superseded(by: later), from: earlier, sealing)
        try DispatchTokenRows(self.db).expireTokens(ceremonyID: earlier.id, at: later.createdAt)
    }

    /// Deletes at most `limit` ceremonies that meet a condition and last changed before a moment. Returns the number of
    /// deleted ceremonies.
    func deleteCeremonies(
        where condition: String, changedBefore moment: Timestamp, limit: Int
    ) throws -> Int {
        try self.db.run(
            .composed(
                """
                DELETE FROM ceremony WHERE number IN
                (SELECT number FROM ceremony WHERE \(condition) AND changed_at < ? ORDER BY changed_at LIMIT ?)
                """), [moment.milliseconds, limit])
        return self.db.changesCount
    }

    func offeredCeremony(ofToken digest: [UInt8], _ sealing: Sealing) throws -> OfferedCeremony? {
        try self.ceremony(ofToken: digest, sealing).map { ceremony, token in
            OfferedCeremony(
                ceremony: ceremony, token: token, deregistered: try self.deregistered(by: ceremony))
        }
    }

    /// Returns the data for the answer to a token that was just redeemed.
    func redeemed(_ ceremony: CeremonyRecord, _ sealing: Sealing) throws -> RedeemedCeremony {
        RedeemedCeremony(
            ceremony: ceremony,
            account: try ceremony.describedAccountID.flatMap { try AccountRows(self.db).account(id: $0, sealing) },
            credentials: try ceremony.accountIDOfKeys.map {
                try CredentialRows(self.db).credentials(accountID: $0, sealing).filter(\.isActive)
            } ?? [], deregistered: try self.deregistered(by: ceremony))
    }

    /// Returns the keys that a deregistration has deleted; none for every other kind.
    private func deregistered(by ceremony: CeremonyRecord) throws -> [CredentialSelection.Name] {
        try ceremony.deregistrationID.map { try self.deregistered(ceremonyID: $0) } ?? []
    }

    /// Keeps the names of the keys that a ceremony has deleted, in their order.
    func note(deregistered names: [CredentialSelection.Name], ceremonyID: String) throws {
        for name in names {
            try self.db.run(
                "INSERT INTO deregistered_key (ceremony_id, aaid, key_id) VALUES (?, ?, ?)",
                [ceremonyID, name.aaid, name.keyID])
        }
    }

    /// Returns the stored keys for an answer to a challenge; `nil` if the challenge was answered before.
    func unansweredKeys(
        _ keys: [(aaid: String, keyID: [UInt8])], challenge digest: [UInt8], _ sealing: Sealing
    ) throws -> [StoredCredential?]? {
        try self.db.row("SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM answered_challenge WHERE digest = ?)", [digest]).map {
            _ in try keys.map { try CredentialRows(self.db).storedCredential(aaid: $0.aaid, keyID: $0.keyID, sealing) }
        }
    }

    /// Keeps an answered challenge with its judgement. Returns `false` if the challenge was answered before.
    func keep(_ challenge: AnsweredChallenge) throws -> Bool {
        try self.db.changes(
            """
            INSERT INTO answered_challenge (digest, expires_at, answer_code, uaf_status) VALUES (?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """,
            [
                challenge.digest, challenge.expiresAt.milliseconds, challenge.answer?.code,
                challenge.answer?.statusCode,
            ])
    }

    /// Returns the judged answer of a challenge without a row; `nil` if nothing of an answer is kept.
    func judgedAnswer(challenge digest: [UInt8]) throws -> JudgedAnswer? {
        try self.db.row(
            "SELECT answer_code, uaf_status FROM answered_challenge WHERE digest = ? AND answer_code IS NOT NULL",
            [digest]
        ).map { JudgedAnswer(code: try $0.bytes("answer_code"), statusCode: try $0.integer("uaf_status")) }
    }

    /// Returns the keys that a ceremony has deleted, the newest first.
    func deregistered(ceremonyID: String) throws -> [CredentialSelection.Name] {
        try self.db.rows(
            "SELECT aaid, key_id FROM deregistered_key WHERE ceremony_id = ? ORDER BY number DESC", [ceremonyID]
        ) { CredentialSelection.Name(aaid: try $0.text("aaid"), keyID: try $0.bytes("key_id")) }
    }
}
