import GRDB
import Records
import Sealing
import _Primitives

extension Migration {
    /// Adds ceremonies. Rows are in the order of their creation, because a ceremony's life is short: open ceremonies
    /// lie close together, and steps that share a commit share pages.
    static let ceremonies = Migration(name: "ceremonies") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE ceremony (
                    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind INTEGER NOT NULL,
                    phase INTEGER NOT NULL, outcome INTEGER, client_id TEXT, reference TEXT, browser_digest BLOB,
                    account_id TEXT, channel INTEGER, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
                    changed_at INTEGER NOT NULL, continuation_digest BLOB, confirmation_code BLOB, device_id TEXT,
                    uaf_status INTEGER, client_error INTEGER, asm_status INTEGER, authenticators TEXT NOT NULL,
                    content_hash BLOB, is_consumed INTEGER NOT NULL, detail BLOB NOT NULL
                ) STRICT;
                CREATE UNIQUE INDEX ceremony_by_reference ON ceremony (reference) WHERE reference IS NOT NULL;
                CREATE UNIQUE INDEX ceremony_by_continuation ON ceremony (continuation_digest)
                WHERE continuation_digest IS NOT NULL;
                CREATE INDEX ceremony_overdue ON ceremony (expires_at) WHERE phase < 4;
                CREATE INDEX ceremony_stale ON ceremony (changed_at) WHERE phase = 4;
                CREATE INDEX ceremony_by_account ON ceremony (account_id) WHERE account_id IS NOT NULL;
                CREATE TABLE dispatch_token (
                    digest BLOB PRIMARY KEY, ceremony_id TEXT NOT NULL REFERENCES ceremony (id) ON DELETE CASCADE,
                    channel INTEGER NOT NULL, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX dispatch_token_by_ceremony ON dispatch_token (ceremony_id);
                CREATE TABLE answered_challenge (
                    digest BLOB PRIMARY KEY, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX answered_challenge_stale ON answered_challenge (expires_at);
                """)
    }
}

extension Migration {
    /// Adds the methods and the assurance of ceremonies. An answer from before the migration counts as the least,
    /// because its proofs were not kept.
    static let assurance = Migration(name: "assurance of ceremonies") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE ceremony ADD COLUMN methods TEXT NOT NULL DEFAULT 'swk';
                ALTER TABLE ceremony ADD COLUMN assurance TEXT NOT NULL DEFAULT 'urn:countersign:acr:one-factor';
                """)
    }
}

extension Migration {
    /// Replaces one index by two for the sweep, which comes every few seconds.
    static let staleCeremonies = Migration(name: "ended ceremonies by how long they are kept") { db, _ in
        try db.execute(
            sql: """
                DROP INDEX ceremony_stale;
                CREATE INDEX ceremony_stale ON ceremony (changed_at)
                WHERE phase = 4 AND (kind <> 4 OR outcome IS NOT 1);
                CREATE INDEX ceremony_deregistered ON ceremony (changed_at)
                WHERE phase = 4 AND kind = 4 AND outcome = 1;
                """)
    }
}

extension Migration {
    static let openedElsewhere = Migration(name: "whether a continuation was opened in another browser") { db, _ in
        try db.execute(
            sql: "ALTER TABLE ceremony ADD COLUMN is_opened_elsewhere INTEGER NOT NULL DEFAULT 0")
    }
}

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
    /// columns nor their indexes are written anew.
    func update(_ ceremony: CeremonyRecord, from before: CeremonyRecord, _ sealing: Sealing) throws {
        let changed = ChangeableColumn.changed(from: before, to: ceremony)
        guard !changed.isEmpty else { return }
        var values = try changed.map {
            try ceremony.value(of: $0.column, progress: try ceremony.sealedProgress(sealing))
        }
        values.append(ceremony.id)
        let assignments = changed.map(\.assignment).joined(separator: ", ")
        try self.run(.composed("UPDATE ceremony SET \(assignments) WHERE id = ?"), values)
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
            "UPDATE dispatch_token SET expires_at = min(expires_at, ?) WHERE ceremony_id = ?",
            [now.milliseconds, ceremonyID])
    }
}
