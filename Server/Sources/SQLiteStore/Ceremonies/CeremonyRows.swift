import Foundation
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

extension SealingPurpose {
    static let ceremonyDetail = SealingPurpose("ceremony detail", isOpenedOften: true)
    static let ceremonyProgress = SealingPurpose("ceremony progress")
}

/// The columns of a ceremony.
enum CeremonyColumn: Int, TableColumn {
    static let table = "ceremony"

    case id, kind, phase, outcome, clientID, reference, browserDigest, accountID, channel, createdAt, expiresAt,
        changedAt, continuationDigest, confirmationCode, deviceID, uafStatus, clientError, asmStatus, authenticators,
        contentHash, isConsumed, detail, methods, assurance, progress, isOpenedElsewhere

    static let selection = Self.selected()
    static let insertion = Self.inserted()
    static let count = Self.allCases.count
}

/// A column that a step may change.
private struct ChangeableColumn: Sendable {
    let column: CeremonyColumn
    /// The column's assignment in an UPDATE.
    let assignment: String
    /// Returns `true` if two records have the same value in the column. The values are compared unsealed, because
    /// sealing the same value twice gives different bytes.
    let isSame: @Sendable (CeremonyRecord, CeremonyRecord) -> Bool

    init<Value: Equatable & SendableMetatype>(
        _ column: CeremonyColumn, _ value: @escaping @Sendable (CeremonyRecord) -> Value
    ) {
        self.column = column
        self.assignment = "\(column.name) = ?"
        self.isSame = { value($0) == value($1) }
    }

    static let all = [
        Self(.phase) { $0.phase }, Self(.outcome) { $0.outcome }, Self(.reference) { $0.reference },
        Self(.accountID) { $0.accountID }, Self(.channel) { $0.channel }, Self(.expiresAt) { $0.expiresAt },
        Self(.changedAt) { $0.changedAt }, Self(.continuationDigest) { $0.continuationDigest },
        Self(.confirmationCode) { $0.confirmationCode }, Self(.deviceID) { $0.deviceID },
        Self(.uafStatus) { $0.uafStatusCode }, Self(.clientError) { $0.clientErrorCode },
        Self(.asmStatus) { $0.asmStatusCode }, Self(.authenticators) { $0.authenticators },
        Self(.contentHash) { $0.contentHash }, Self(.isConsumed) { $0.isConsumed }, Self(.methods) { $0.methods },
        Self(.assurance) { $0.assurance }, Self(.progress) { $0.progress },
        Self(.isOpenedElsewhere) { $0.isOpenedElsewhere },
    ]
}

extension CeremonyRecord {
    // Conditions on a row, written with the enumerations. The text has to equal the text of the indexes; otherwise
    // SQLite does not use the indexes.

    /// The ceremony has not ended.
    static let isOpen = "phase < \(Phase.ended.rawValue)"
    /// The ceremony has ended, and can be deleted some minutes later.
    static let hasEnded = """
        phase = \(Phase.ended.rawValue) AND (kind <> \(Kind.deregistration.rawValue) \
        OR outcome IS NOT \(Outcome.succeeded.rawValue))
        """
    /// The ceremony is a deregistration that was carried out. Its answer is kept for longer.
    static let isCarriedOutDeregistration = """
        phase = \(Phase.ended.rawValue) AND kind = \(Kind.deregistration.rawValue) \
        AND outcome = \(Outcome.succeeded.rawValue)
        """

    /// Reads a ceremony. Opens `detail`, unless the caller has it.
    init(_ row: StoredRow, _ sealing: Sealing, detail: CeremonyDetail? = nil) throws {
        let id = try row.text(CeremonyColumn.id)
        let (kind, phase) = try Self.state(
            storedKind: row.integer(CeremonyColumn.kind), phase: row.integer(CeremonyColumn.phase))
        self.init(
            id: id, kind: kind, clientID: try row.optionalText(CeremonyColumn.clientID),
            reference: try row.optionalText(CeremonyColumn.reference),
            browserDigest: try row.optionalBytes(CeremonyColumn.browserDigest),
            accountID: try row.optionalText(CeremonyColumn.accountID),
            createdAt: try row.moment(CeremonyColumn.createdAt),
            expiresAt: try row.moment(CeremonyColumn.expiresAt),
            detail: try detail
                ?? CeremonyDetail(
                    stored: try sealing.open(try row.bytes(CeremonyColumn.detail), purpose: .ceremonyDetail, row: id)))
        self.phase = phase
        self.outcome = try row.optionalInteger(CeremonyColumn.outcome).flatMap { Outcome(rawValue: $0) }
        self.channel = try row.optionalInteger(CeremonyColumn.channel).flatMap { Channel(rawValue: $0) }
        self.changedAt = try row.moment(CeremonyColumn.changedAt)
        self.continuationDigest = try row.optionalBytes(CeremonyColumn.continuationDigest)
        self.confirmationCode = try row.optionalBytes(CeremonyColumn.confirmationCode)
        self.deviceID = try row.optionalText(CeremonyColumn.deviceID)
        self.uafStatusCode = try row.optionalInteger(CeremonyColumn.uafStatus)
        self.clientErrorCode = try row.optionalInteger(CeremonyColumn.clientError)
        self.asmStatusCode = try row.optionalInteger(CeremonyColumn.asmStatus)
        self.authenticators = try row.text(CeremonyColumn.authenticators).split(separator: " ").map(String.init)
        self.contentHash = try row.optionalBytes(CeremonyColumn.contentHash)
        self.isConsumed = try row.flag(CeremonyColumn.isConsumed)
        self.isOpenedElsewhere = try row.flag(CeremonyColumn.isOpenedElsewhere)
        self.methods = try row.text(CeremonyColumn.methods).split(separator: " ").map(String.init)
        self.assurance = try row.text(CeremonyColumn.assurance)
        self.progress = try row.optionalBytes(CeremonyColumn.progress).map {
            try sealing.open($0, purpose: .ceremonyProgress, row: id)
        }
    }

    /// Returns the stored value of a column; `detail` and `progress` are passed in sealed form. `progress` is sealed only
    /// for its own column.
    fileprivate func value(
        of column: CeremonyColumn, detail: [UInt8] = [], progress: @autoclosure () throws -> [UInt8]?
    ) rethrows -> (any DatabaseValueConvertible)? {
        switch column {
        case .id: self.id
        case .kind: self.kind.rawValue
        case .phase: self.phase.rawValue
        case .outcome: self.outcome?.rawValue
        case .clientID: self.clientID
        case .reference: self.reference
        case .browserDigest: self.browserDigest?.blob
        case .accountID: self.accountID
        case .channel: self.channel?.rawValue
        case .createdAt: self.createdAt.milliseconds
        case .expiresAt: self.expiresAt.milliseconds
        case .changedAt: self.changedAt.milliseconds
        case .continuationDigest: self.continuationDigest?.blob
        case .confirmationCode: self.confirmationCode?.blob
        case .deviceID: self.deviceID
        case .uafStatus: self.uafStatusCode
        case .clientError: self.clientErrorCode
        case .asmStatus: self.asmStatusCode
        case .authenticators: self.authenticators.joined(separator: " ")
        case .contentHash: self.contentHash?.blob
        case .isConsumed: self.isConsumed
        case .isOpenedElsewhere: self.isOpenedElsewhere
        case .detail: detail.blob
        case .methods: self.methods.joined(separator: " ")
        case .assurance: self.assurance
        case .progress: try progress()?.blob
        }
    }

    fileprivate func sealedProgress(_ sealing: Sealing) throws -> [UInt8]? {
        try self.progress.map { try sealing.seal($0, purpose: .ceremonyProgress, row: self.id) }
    }
}

extension Database {
    func insert(_ ceremony: CeremonyRecord, _ sealing: Sealing) throws {
        let detail = try sealing.seal(ceremony.detail.stored, purpose: .ceremonyDetail, row: ceremony.id)
        let progress = try ceremony.sealedProgress(sealing)
        let values: [(any DatabaseValueConvertible)?] = CeremonyColumn.allCases.map {
            ceremony.value(of: $0, detail: detail, progress: progress)
        }
        try self.run(CeremonyColumn.insertion, values)
    }

    /// Writes the columns of a ceremony that a step has changed. Unchanged columns are not named, so neither the
    /// columns nor their indexes are written anew.
    func update(_ ceremony: CeremonyRecord, from before: CeremonyRecord, _ sealing: Sealing) throws {
        let changed = ChangeableColumn.all.filter { !$0.isSame(ceremony, before) }
        guard !changed.isEmpty else { return }
        var values = try changed.map {
            try ceremony.value(of: $0.column, progress: try ceremony.sealedProgress(sealing))
        }
        values.append(ceremony.id)
        let assignments = changed.map(\.assignment).joined(separator: ", ")
        try self.run("UPDATE ceremony SET \(assignments) WHERE id = ?", values)
    }

    func ceremony(_ key: CeremonyKey, _ sealing: Sealing) throws -> CeremonyRecord? {
        let column: String
        let value: DatabaseValue
        switch key {
        case .id(let id): (column, value) = ("id", id.databaseValue)
        case .reference(let reference): (column, value) = ("reference", reference.databaseValue)
        case .continuation(let digest): (column, value) = ("continuation_digest", digest.blob.databaseValue)
        }
        return try self.row("SELECT \(CeremonyColumn.selection) FROM ceremony WHERE \(column) = ?", [value]).map {
            try CeremonyRecord($0, sealing)
        }
    }

    /// Returns a token and its ceremony, whether or not their time is over; `nil` if the token does not exist. `detail`
    /// is the ceremony's detail, if it was opened before.
    func ceremony(ofToken digest: [UInt8], _ sealing: Sealing, detail: CeremonyDetail? = nil) throws -> (
        CeremonyRecord, DispatchTokenRecord
    )? {
        try self.row(
            """
            SELECT \(CeremonyColumn.selection), dispatch_token.channel AS token_channel,
                dispatch_token.expires_at AS token_expires_at
            FROM dispatch_token JOIN ceremony ON ceremony.id = ceremony_id WHERE digest = ?
            """, [digest.blob]
        ).map { row in
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
                [token.digest.blob, ceremonyID, token.channel.rawValue, token.expiresAt.milliseconds])
        }
    }

    /// Deletes tokens of the ceremony that expired before a moment.
    func deleteTokens(ceremonyID: String, expiredBefore moment: Timestamp) throws {
        try self.cachedStatement(sql: "DELETE FROM dispatch_token WHERE ceremony_id = ? AND expires_at < ?")
            .execute(arguments: [ceremonyID, moment.milliseconds])
    }

    /// Lets every unexpired token of the ceremony expire.
    func expireTokens(ceremonyID: String, at now: Timestamp) throws {
        try self.run(
            "UPDATE dispatch_token SET expires_at = min(expires_at, ?) WHERE ceremony_id = ?",
            [now.milliseconds, ceremonyID])
    }
}
