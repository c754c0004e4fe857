import Foundation
import GRDB
public import Store
public import _Primitives

extension Migration {
    /// Devices that wait for their person. Whatever ends the request that waits for one, and gives no grant, is a no.
    static let deviceCodes = Migration(name: "device codes") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE oauth_device_code (
                    digest BLOB PRIMARY KEY, user_code BLOB NOT NULL UNIQUE, shown_code BLOB NOT NULL,
                    client TEXT NOT NULL, scope TEXT NOT NULL, pause INTEGER NOT NULL, ends_at INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL, asked_at INTEGER, is_denied INTEGER NOT NULL DEFAULT 0, request TEXT,
                    grant_id TEXT REFERENCES oauth_grant (id) ON DELETE CASCADE, taken_at INTEGER
                ) STRICT;
                CREATE INDEX oauth_device_code_end ON oauth_device_code (expires_at);
                CREATE INDEX oauth_device_code_client ON oauth_device_code (client);
                CREATE UNIQUE INDEX oauth_device_code_request ON oauth_device_code (request) WHERE request IS NOT NULL;
                CREATE INDEX oauth_device_code_grant ON oauth_device_code (grant_id) WHERE grant_id IS NOT NULL;
                CREATE TRIGGER oauth_device_code_denied AFTER DELETE ON oauth_request
                BEGIN
                    UPDATE oauth_device_code SET is_denied = 1, request = NULL WHERE request = OLD.id;
                END
                """)
    }
}

extension SealingPurpose {
    /// What a person types for a device: it is found by its HMAC.
    static let deviceUserCode = SealingPurpose("oauth device user code")
    /// The same to be shown, bound to the device's own code.
    static let shownDeviceUserCode = SealingPurpose("oauth device user code shown")
}

private enum DeviceCodeColumn: Int, TableColumn {
    static let table = "oauth_device_code"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case digest, userCode, shownCode, client, scope, pause, endsAt, expiresAt, askedAt, isDenied, request, grantID
    case takenAt
}

extension SQLiteDatabase: DeviceCodeStore {
    public func addDeviceCode(_ code: DeviceCodeRecord, keptUntil end: Timestamp) async throws {
        let found = self.sealing.code(code.userCode.letters, purpose: .deviceUserCode)
        let shown = try self.sealing.seal(
            code.userCode.letters, purpose: .shownDeviceUserCode, row: Base64URL.encode(code.digest))
        try await self.step { db in
            let isTaken = try Bool.fetchOne(
                db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM oauth_device_code WHERE user_code = ?)"),
                arguments: [found.blob])
            guard isTaken != true else { throw StoreError(.conflict, "the person's code is another device's") }
            try db.insert(
                [
                    DeviceCodeColumn.digest: code.digest.blob, .userCode: found.blob, .shownCode: shown.blob,
                    .client: code.client, .scope: code.scope, .pause: code.interval.milliseconds,
                    .endsAt: code.expiresAt.milliseconds, .expiresAt: end.milliseconds, .isDenied: false,
                ], by: DeviceCodeColumn.insertion)
        }
    }

    public func deviceCode(userCode: TypedCode) async throws -> DeviceCodeRecord? {
        let found = self.sealing.code(userCode.letters, purpose: .deviceUserCode)
        return try await self.read { [sealing] db in
            try Row.fetchOne(
                db.cachedStatement(
                    sql: "SELECT \(DeviceCodeColumn.selection) FROM oauth_device_code WHERE user_code = ?"),
                arguments: [found.blob]
            ).map { try DeviceCodeRecord($0, sealing) }
        }
    }

    public func deviceCode(request: String) async throws -> DeviceCodeRecord? {
        try await self.read { [sealing] db in
            try Row.fetchOne(
                db.cachedStatement(
                    sql: "SELECT \(DeviceCodeColumn.selection) FROM oauth_device_code WHERE request = ?"),
                arguments: [request]
            ).map { try DeviceCodeRecord($0, sealing) }
        }
    }

    public func begin(_ request: AuthorizationRequestRecord, userCode: TypedCode) async throws -> String? {
        let found = self.sealing.code(userCode.letters, purpose: .deviceUserCode)
        return try await self.step { [sealing] db in
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT oauth_request.id, oauth_request.browser_digest FROM oauth_device_code
                        LEFT JOIN oauth_request ON oauth_request.id = request
                        WHERE user_code = ? AND is_denied = 0 AND grant_id IS NULL
                        """), arguments: [found.blob])
            guard let row else { return nil }
            if let waiting = try row.optionalText("id") {
                return try constantTimeEqual(row.bytes("browser_digest"), request.browserDigest) ? waiting : nil
            }
            try db.insert(request, sealing)
            try db.cachedStatement(sql: "UPDATE oauth_device_code SET request = ? WHERE user_code = ?")
                .execute(arguments: [request.id, found.blob])
            return request.id
        }
    }

    public func confirm(_ confirmed: ConfirmedDevice, audit: AuditEvent) async throws {
        try await self.step { [sealing] db in
            let digest = try Data.fetchOne(
                db.cachedStatement(sql: "SELECT digest FROM oauth_device_code WHERE request = ?"),
                arguments: [confirmed.request])
            guard let digest else { throw StoreError(.notFound, "no device waits for the request") }
            // First, so that the end of the request is no denial.
            try db.cachedStatement(sql: "UPDATE oauth_device_code SET request = NULL WHERE digest = ?")
                .execute(arguments: [digest])
            try db.end(request: confirmed.request, by: confirmed.session)
            try db.begin(confirmed.session, until: confirmed.grant.expiresAt, sealing)
            try db.insert(confirmed.grant, redirectURI: confirmed.redirectURI, sealing)
            try db.cachedStatement(sql: "UPDATE oauth_device_code SET grant_id = ? WHERE digest = ?")
                .execute(arguments: [confirmed.grant.id, digest])
            try db.appendAudit(audit, sealing)
        }
    }

    public func answer(_ question: DeviceQuestion, at moment: Timestamp) async throws -> DeviceAnswer {
        // A client can send what it has invented: readers look it up, and what there is nothing to write of ends there.
        try await self.step(screenedBy: { db -> Screening<Void, DeviceAnswer> in
            try db.askedDeviceCode(question) == nil ? .answered(.unknown) : .step(())
        }) { [sealing] db, _ in
            guard let row = try db.askedDeviceCode(question) else { return .unknown }
            let grant = try row.optionalText(DeviceCodeColumn.grantID)
            if let grant, try row.optionalMoment(DeviceCodeColumn.takenAt) != nil {
                var replay = question.replay
                replay.accountID = try db.standingGrant(grant, at: moment, sealing)?.authentication.account
                // With the grant its code is gone, too: whoever goes on adds nothing to the trail.
                try db.deleteGrant(grant)
                try db.appendAudit(replay, sealing)
                return .replayed
            }
            guard try moment < row.moment(DeviceCodeColumn.endsAt) else { return .expired }
            guard try !row.flag(DeviceCodeColumn.isDenied) else { return .denied }
            let pause = Duration.milliseconds(try row.integer(DeviceCodeColumn.pause, as: Int64.self))
            let last = try row.optionalMoment(DeviceCodeColumn.askedAt)
            if let last, moment < last + pause - question.tolerance {
                try db.noteAsked(question, at: moment, pause: pause + question.slowdown)
                return .tooSoon
            }
            try db.noteAsked(question, at: moment, pause: pause)
            guard let grant else { return .pending }
            guard let standing = try db.standingGrant(grant, at: moment, sealing) else { return .unknown }
            try db.cachedStatement(sql: "UPDATE oauth_device_code SET taken_at = ? WHERE digest = ?")
                .execute(arguments: [moment.milliseconds, question.digest.blob])
            return .taken(standing)
        }
    }
}

extension Database {
    /// The row of a code, where it is the client's who asks.
    fileprivate func askedDeviceCode(_ question: DeviceQuestion) throws -> Row? {
        try Row.fetchOne(
            self.cachedStatement(
                sql: "SELECT \(DeviceCodeColumn.selection) FROM oauth_device_code WHERE digest = ? AND client = ?"),
            arguments: [question.digest.blob, question.client])
    }

    fileprivate func noteAsked(_ question: DeviceQuestion, at moment: Timestamp, pause: Duration) throws {
        try self.cachedStatement(sql: "UPDATE oauth_device_code SET asked_at = ?, pause = ? WHERE digest = ?")
            .execute(arguments: [moment.milliseconds, pause.milliseconds, question.digest.blob])
    }
}

extension DeviceCodeRecord {
    /// Reads a row of the table's columns.
    fileprivate init(_ row: Row, _ sealing: Sealing) throws {
        let digest = try row.bytes(DeviceCodeColumn.digest)
        let letters = try sealing.openText(
            row.bytes(DeviceCodeColumn.shownCode), purpose: .shownDeviceUserCode, row: Base64URL.encode(digest))
        guard let userCode = TypedCode(typed: letters, letters: letters.count) else {
            throw StoreError(.corrupt, "the code that a person types for a device")
        }
        self.init(
            digest: digest, userCode: userCode, client: try row.text(DeviceCodeColumn.client),
            scope: try row.text(DeviceCodeColumn.scope),
            interval: .milliseconds(try row.integer(DeviceCodeColumn.pause, as: Int64.self)),
            expiresAt: try row.moment(DeviceCodeColumn.endsAt))
    }
}
