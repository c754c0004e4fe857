import Foundation
import GRDB
import Store
import _Primitives

extension Migration {
    /// Rows are in the order of their creation, because a ceremony's life is short: what is open lies close together,
    /// and steps that share a commit share pages.
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
    /// What an answer of a moment ago proved was not kept before: it counts as the least.
    static let assurance = Migration(name: "assurance of ceremonies") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE ceremony ADD COLUMN methods TEXT NOT NULL DEFAULT 'swk';
                ALTER TABLE ceremony ADD COLUMN assurance TEXT NOT NULL DEFAULT 'urn:countersign:acr:one-factor';
                """)
    }
}

extension SealingPurpose {
    static let ceremonyDetail = SealingPurpose("ceremony detail")
}

extension CeremonyRecord {
    static let columns = """
        ceremony.id, kind, phase, outcome, client_id, reference, browser_digest, account_id, ceremony.channel,
        created_at, ceremony.expires_at, changed_at, continuation_digest, confirmation_code, device_id, uaf_status,
        client_error, asm_status, authenticators, content_hash, is_consumed, detail, methods, assurance
        """

    init(_ row: Row, _ sealing: Sealing) throws {
        let id = try row.text(0)
        guard let kind = Kind(rawValue: try row.integer(1)), let phase = Phase(rawValue: try row.integer(2)) else {
            throw StoreError(.corrupt, "a ceremony of an unknown kind or phase")
        }
        self.init(
            id: id, kind: kind, clientID: try row.optionalText(4), reference: try row.optionalText(5),
            browserDigest: try row.optionalBytes(6), accountID: try row.optionalText(7), createdAt: try row.moment(9),
            expiresAt: try row.moment(10),
            detail: try CeremonyDetail(
                stored: try sealing.open(try row.bytes(21), purpose: .ceremonyDetail, row: id)))
        self.phase = phase
        self.outcome = try row.optionalInteger(3).flatMap { Outcome(rawValue: $0) }
        self.channel = try row.optionalInteger(8).flatMap { Channel(rawValue: $0) }
        self.changedAt = try row.moment(11)
        self.continuationDigest = try row.optionalBytes(12)
        self.confirmationCode = try row.optionalBytes(13)
        self.deviceID = try row.optionalText(14)
        self.uafStatusCode = try row.optionalInteger(15)
        self.clientErrorCode = try row.optionalInteger(16)
        self.asmStatusCode = try row.optionalInteger(17)
        self.authenticators = try row.text(18).split(separator: " ").map(String.init)
        self.contentHash = try row.optionalBytes(19)
        self.isConsumed = try row.integer(20, as: Int.self) == 1
        self.methods = try row.text(22).split(separator: " ").map(String.init)
        self.assurance = try row.text(23)
    }
}

extension CeremonyDetail {
    /// As it is sealed: a JSON object of the members that are there.
    var stored: [UInt8] {
        var object = JSONObject()
        object["service"] = self.service.map { .string($0) }
        object["origin"] = self.origin.map { .string($0) }
        object["address"] = self.address.map { .string($0) }
        object["browser"] = self.browser.map { .string($0) }
        object["browserId"] = self.browserID.map { .string($0) }
        object["contentType"] = self.contentType.map { .string($0) }
        object["content"] = self.content.map { .string(Base64URL.encode($0)) }
        object["deregistration"] = self.deregistration.map { .string($0) }
        object["policy"] = self.policy.map { .string($0) }
        return JSON.object(object).serialized
    }

    init(stored bytes: [UInt8]) throws {
        guard case .object(let object)? = try? JSON(parsing: bytes) else {
            throw StoreError(.corrupt, "a ceremony's detail is no object")
        }
        self.init(
            service: try object.string("service"), origin: try object.string("origin"),
            address: try object.string("address"), browser: try object.string("browser"),
            browserID: try object.string("browserId"), contentType: try object.string("contentType"),
            content: try object.string("content").flatMap { Base64URL.decode($0) },
            deregistration: try object.string("deregistration"), policy: try object.string("policy"))
    }
}

extension Database {
    func insert(_ ceremony: CeremonyRecord, _ sealing: Sealing) throws {
        let detail = try sealing.seal(ceremony.detail.stored, purpose: .ceremonyDetail, row: ceremony.id)
        try self.cachedStatement(
            sql: """
                INSERT INTO ceremony VALUES
                (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            ceremony.id, ceremony.kind.rawValue, ceremony.phase.rawValue, ceremony.outcome?.rawValue,
            ceremony.clientID, ceremony.reference, ceremony.browserDigest?.blob, ceremony.accountID,
            ceremony.channel?.rawValue, ceremony.createdAt.milliseconds, ceremony.expiresAt.milliseconds,
            ceremony.changedAt.milliseconds, ceremony.continuationDigest?.blob, ceremony.confirmationCode?.blob,
            ceremony.deviceID, ceremony.uafStatusCode, ceremony.clientErrorCode, ceremony.asmStatusCode,
            ceremony.authenticators.joined(separator: " "), ceremony.contentHash?.blob, ceremony.isConsumed,
            detail.blob, ceremony.methods.joined(separator: " "), ceremony.assurance,
        ])
    }

    /// Writes what a step may change of a ceremony.
    func update(_ ceremony: CeremonyRecord) throws {
        try self.cachedStatement(
            sql: """
                UPDATE ceremony SET phase = ?, outcome = ?, reference = ?, account_id = ?, channel = ?, expires_at = ?,
                changed_at = ?, continuation_digest = ?, confirmation_code = ?, device_id = ?, uaf_status = ?,
                client_error = ?, asm_status = ?, authenticators = ?, content_hash = ?, is_consumed = ?,
                methods = ?, assurance = ? WHERE id = ?
                """
        ).execute(arguments: [
            ceremony.phase.rawValue, ceremony.outcome?.rawValue, ceremony.reference, ceremony.accountID,
            ceremony.channel?.rawValue, ceremony.expiresAt.milliseconds, ceremony.changedAt.milliseconds,
            ceremony.continuationDigest?.blob, ceremony.confirmationCode?.blob, ceremony.deviceID,
            ceremony.uafStatusCode, ceremony.clientErrorCode, ceremony.asmStatusCode,
            ceremony.authenticators.joined(separator: " "), ceremony.contentHash?.blob, ceremony.isConsumed,
            ceremony.methods.joined(separator: " "), ceremony.assurance, ceremony.id,
        ])
    }

    func ceremony(_ key: CeremonyKey, _ sealing: Sealing) throws -> CeremonyRecord? {
        let column: String
        let value: DatabaseValue
        switch key {
        case .id(let id): (column, value) = ("id", id.databaseValue)
        case .reference(let reference): (column, value) = ("reference", reference.databaseValue)
        case .continuation(let digest): (column, value) = ("continuation_digest", digest.blob.databaseValue)
        }
        return try Row.fetchOne(
            self.cachedStatement(sql: "SELECT \(CeremonyRecord.columns) FROM ceremony WHERE \(column) = ?"),
            arguments: [value]
        ).map { try CeremonyRecord($0, sealing) }
    }

    /// The ceremony of a token, and the token.
    func ceremony(ofToken digest: [UInt8], _ sealing: Sealing) throws -> (CeremonyRecord, DispatchTokenRecord)? {
        try Row.fetchOne(
            self.cachedStatement(
                sql: """
                    SELECT \(CeremonyRecord.columns), dispatch_token.channel, dispatch_token.expires_at
                    FROM dispatch_token JOIN ceremony ON ceremony.id = ceremony_id WHERE digest = ?
                    """), arguments: [digest.blob]
        ).map { row in
            guard let channel = CeremonyRecord.Channel(rawValue: try row.integer(24)) else {
                throw StoreError(.corrupt, "a token of an unknown channel")
            }
            return (
                try CeremonyRecord(row, sealing),
                DispatchTokenRecord(digest: digest, channel: channel, expiresAt: try row.moment(25))
            )
        }
    }

    func insert(_ tokens: [DispatchTokenRecord], ceremonyID: String) throws {
        let statement = try self.cachedStatement(sql: "INSERT INTO dispatch_token VALUES (?, ?, ?, ?)")
        for token in tokens {
            try statement.execute(arguments: [
                token.digest.blob, ceremonyID, token.channel.rawValue, token.expiresAt.milliseconds,
            ])
        }
    }

    /// Deletes tokens of the ceremony that expired before a moment.
    func deleteTokens(ceremonyID: String, expiredBefore moment: Timestamp) throws {
        try self.cachedStatement(sql: "DELETE FROM dispatch_token WHERE ceremony_id = ? AND expires_at < ?")
            .execute(arguments: [ceremonyID, moment.milliseconds])
    }

    /// Lets every token of the ceremony expire that has not yet.
    func expireTokens(ceremonyID: String, at now: Timestamp) throws {
        try self.cachedStatement(sql: "UPDATE dispatch_token SET expires_at = min(expires_at, ?) WHERE ceremony_id = ?")
            .execute(arguments: [now.milliseconds, ceremonyID])
    }
}
