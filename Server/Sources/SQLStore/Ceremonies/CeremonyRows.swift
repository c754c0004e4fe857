import Records
import Sealing
import _Primitives

extension SQLConnection {
    func insert(_ ceremony: CeremonyRecord, _ sealing: Sealing) throws {
        let detail = try sealing.seal(ceremony.detail.stored, purpose: .ceremonyDetail, row: ceremony.id)
        let progress = try ceremony.sealedProgress(sealing)
        let values: SQLValues = CeremonyColumn.allCases.map {
            ceremony.value(of: $0, detail: detail, progress: progress)
        }
        try self.run(CeremonyColumn.insertion, values)
    }

    /// Writes the columns of a ceremony that a step has changed. Unchanged columns are not named, so neither the
    /// columns nor their indexes are written anew. An end is an answer, which the client of a request without a browser
    /// may want to be told.
    func update(_ ceremony: CeremonyRecord, from before: CeremonyRecord, _ sealing: Sealing) throws {
        let changed = ChangeableColumn.changed(from: before, to: ceremony)
        guard !changed.isEmpty else { return }
        var values = try changed.map {
            try ceremony.value(of: $0.column, progress: try ceremony.sealedProgress(sealing))
        }
        values.append(ceremony.id)
        let assignments = changed.map(\.assignment).joined(separator: ", ")
        try self.run(.composed("UPDATE ceremony SET \(assignments) WHERE id = ?"), values)
        try ceremony.endedReference(before: before).map {
            try self.deliverAnswer(ofRequest: $0, at: ceremony.changedAt)
        }
    }

    func ceremony(_ key: CeremonyKey, _ sealing: Sealing) throws -> CeremonyRecord? {
        let (column, value) = key.place
        return try self.row(.composed("SELECT \(CeremonyColumn.selection) FROM ceremony WHERE \(column) = ?"), [value])
            .map {
                try CeremonyRecord($0, sealing)
            }
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
        try self.row(Self.tokenQuery, [digest]).map { row in
            let channel = try CeremonyRecord.Channel(storedForToken: row.integer("token_channel"))
            return (
                try CeremonyRecord(row, sealing, detail: detail),
                DispatchTokenRecord(
                    digest: digest, channel: channel, expiresAt: try row.moment("token_expires_at"))
            )
        }
    }

    func insert(_ tokens: [DispatchTokenRecord], ceremonyID: String) throws {
        for token in tokens {
            try self.run(
                "INSERT INTO dispatch_token (digest, ceremony_id, channel, expires_at) VALUES (?, ?, ?, ?)",
                [token.digest, ceremonyID, token.channel.rawValue, token.expiresAt.milliseconds])
        }
    }

    /// Deletes tokens of the ceremony that expired before a moment.
    func deleteTokens(ceremonyID: String, expiredBefore moment: Timestamp) throws {
        try self.run(
            "DELETE FROM dispatch_token WHERE ceremony_id = ? AND expires_at < ?", [ceremonyID, moment.milliseconds])
    }

    /// Lets every unexpired token of the ceremony expire.
    func expireTokens(ceremonyID: String, at now: Timestamp) throws {
        try self.run(
            "UPDATE dispatch_token SET expires_at = least(expires_at, ?) WHERE ceremony_id = ?",
            [now.milliseconds, ceremonyID])
    }
}
