import Foundation
import GRDB
public import Store
public import _Primitives

extension SQLiteDatabase: AuthorizationStore {
    public func addRequest(_ request: AuthorizationRequestRecord) async throws {
        try await self.step { db in
            try db.insert(
                [
                    RequestColumn.id: request.id, .browserDigest: request.browserDigest.blob,
                    .client: request.client, .redirectURI: request.redirectURI, .scope: request.scope,
                    .state: request.state, .nonce: request.nonce,
                    .codeChallenge: (request.codeChallenge ?? []).blob,
                    .expiresAt: request.expiresAt.milliseconds, .expectedSubject: request.expectedSubject,
                ], by: RequestColumn.insertion)
        }
    }

    public func request(_ id: String) async throws -> AuthorizationRequestRecord? {
        try await self.read { db in
            try Row.fetchOne(
                db.cachedStatement(sql: "SELECT \(RequestColumn.selection) FROM oauth_request WHERE id = ?"),
                arguments: [id]
            ).map { row in
                AuthorizationRequestRecord(
                    id: try row.text(RequestColumn.id), browserDigest: try row.bytes(RequestColumn.browserDigest),
                    client: try row.text(RequestColumn.client), redirectURI: try row.text(RequestColumn.redirectURI),
                    scope: try row.text(RequestColumn.scope), state: try row.optionalText(RequestColumn.state),
                    nonce: try row.optionalText(RequestColumn.nonce),
                    codeChallenge: try Self.challenge(row, RequestColumn.codeChallenge),
                    expectedSubject: try row.optionalText(RequestColumn.expectedSubject),
                    expiresAt: try row.moment(RequestColumn.expiresAt))
            }
        }
    }

    public func removeRequest(_ id: String) async throws -> Bool {
        try await self.step { db in try Self.removeRequest(id, db) }
    }

    public func complete(
        request: String, session: SessionRecord, replacing cookieDigest: [UInt8]?, grant: GrantRecord
    ) async throws {
        try await self.step { [sealing] db in
            guard try Self.removeRequest(request, db) else {
                throw StoreError(.notFound, "the authorization request is gone")
            }
            guard try db.isActiveDevice(session.device) else { throw StoreError(.notFound, "the device is gone") }
            guard try !db.isLockedAccount(session.account) else { throw StoreError(.notFound, "the account is locked") }
            if let cookieDigest {
                try db.cachedStatement(sql: "DELETE FROM oauth_session WHERE cookie_digest = ?")
                    .execute(arguments: [cookieDigest.blob])
            }
            try db.insert(session, sealing)
            try Self.add(grant, db)
        }
    }

    public func addGrant(_ grant: GrantRecord, usedAt moment: Timestamp, audit: AuditEvent) async throws {
        try await self.step { [sealing] db in
            try db.cachedStatement(sql: "UPDATE oauth_session SET used_at = max(used_at, ?) WHERE id = ?")
                .execute(arguments: [moment.milliseconds, grant.session])
            guard db.changesCount > 0 else { throw StoreError(.notFound, "the session has ended") }
            try Self.add(grant, db)
            try db.appendAudit(audit, sealing)
        }
    }

    public func takeCode(digest: [UInt8], at moment: Timestamp, replay: AuditEvent) async throws -> CodeTaking {
        // A client can send what it has invented, and what it has sent before: readers look it up, and what there is
        // nothing to write of ends there.
        try await self.step(screenedBy: { db -> Screening<Void, CodeTaking> in
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT revoked FROM oauth_grant JOIN oauth_session ON oauth_session.id = session
                        WHERE code_digest = ?1 AND oauth_session.expires_at > ?2
                        """), arguments: [digest.blob, moment.milliseconds])
            guard let row else { return .answered(.unknown) }
            // Nothing but a replay revokes a grant.
            return try row.integer(0) == 0 ? .step(()) : .answered(.replayed)
        }) { [sealing] db, _ in
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT \(GrantColumn.selection) FROM oauth_grant JOIN oauth_session ON oauth_session.id = session
                        WHERE code_digest = ?1 AND oauth_session.expires_at > ?2
                        """), arguments: [digest.blob, moment.milliseconds])
            guard let row else { return .unknown }
            let grant = try Self.grant(row)
            guard try row.optionalMoment(GrantColumn.takenAt) == nil else {
                try db.cachedStatement(sql: "UPDATE oauth_grant SET revoked = 1 WHERE id = ? AND revoked = 0")
                    .execute(arguments: [grant.id])
                // The first replay is in the trail, which is kept for ever; whoever goes on adds nothing to it.
                guard db.changesCount == 1 else { return .replayed }
                var replay = replay
                replay.accountID = grant.account
                try db.appendAudit(replay, sealing)
                return .replayed
            }
            try db.cachedStatement(sql: "UPDATE oauth_grant SET taken_at = ? WHERE id = ?")
                .execute(arguments: [moment.milliseconds, grant.id])
            return .taken(grant)
        }
    }

    public func account(grant: String, at moment: Timestamp) async throws -> String? {
        try await self.read { db in
            try String.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT oauth_grant.account FROM oauth_grant JOIN oauth_session ON oauth_session.id = session
                        WHERE oauth_grant.id = ?1 AND revoked = 0 AND taken_at IS NOT NULL
                        AND oauth_grant.expires_at > ?2 AND oauth_session.expires_at > ?2
                        """), arguments: [grant, moment.milliseconds])
        }
    }

    public func account(subject: String, client: String) async throws -> String? {
        try await self.read { db in
            try String.fetchOne(
                db.cachedStatement(sql: "SELECT account FROM oauth_subject WHERE client = ? AND subject = ?"),
                arguments: [client, subject])
        }
    }

    public func sweepAuthorizations(at moment: Timestamp, idleSince: Timestamp, limit: Int) async throws -> Int {
        try await self.step { db in
            var count = 0
            for table in ["oauth_request", "oauth_grant", "oauth_session"] {
                let key = "id IN (SELECT id FROM \(table) WHERE expires_at <= ? LIMIT ?)"
                try db.cachedStatement(sql: "DELETE FROM \(table) WHERE \(key)")
                    .execute(arguments: [moment.milliseconds, limit])
                count += db.changesCount
            }
            let idle = "id IN (SELECT id FROM oauth_session WHERE used_at <= ? LIMIT ?)"
            try db.cachedStatement(sql: "DELETE FROM oauth_session WHERE \(idle)")
                .execute(arguments: [idleSince.milliseconds, limit])
            return count + db.changesCount
        }
    }

    // MARK: Within a step

    private static func removeRequest(_ id: String, _ db: Database) throws -> Bool {
        try db.cachedStatement(sql: "DELETE FROM oauth_request WHERE id = ?").execute(arguments: [id])
        return db.changesCount > 0
    }

    private static func add(_ grant: GrantRecord, _ db: Database) throws {
        try db.insert(
            [
                GrantColumn.id: grant.id, .codeDigest: grant.codeDigest.blob, .client: grant.client,
                .session: grant.session, .account: grant.account, .subject: grant.subject,
                .redirectURI: grant.redirectURI, .scope: grant.scope, .nonce: grant.nonce,
                .codeChallenge: (grant.codeChallenge ?? []).blob,
                .authenticatedAt: grant.authenticatedAt.milliseconds, .acr: grant.acr,
                .amr: grant.amr.joined(separator: " "), .codeExpiresAt: grant.codeExpiresAt.milliseconds,
                .expiresAt: grant.expiresAt.milliseconds,
            ], by: GrantColumn.insertion)
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO oauth_subject VALUES (?, ?, ?)")
            .execute(arguments: [grant.client, grant.subject, grant.account])
        try db.noteService(of: grant)
    }

    private static func challenge(_ row: Row, _ column: some TableColumn) throws -> [UInt8]? {
        let bytes = try row.bytes(column)
        return bytes.isEmpty ? nil : bytes
    }

    private static func grant(_ row: Row) throws -> GrantRecord {
        GrantRecord(
            id: try row.text(GrantColumn.id), codeDigest: try row.bytes(GrantColumn.codeDigest),
            client: try row.text(GrantColumn.client), session: try row.text(GrantColumn.session),
            account: try row.text(GrantColumn.account), subject: try row.text(GrantColumn.subject),
            redirectURI: try row.text(GrantColumn.redirectURI), scope: try row.text(GrantColumn.scope),
            nonce: try row.optionalText(GrantColumn.nonce),
            codeChallenge: try Self.challenge(row, GrantColumn.codeChallenge),
            authenticatedAt: try row.moment(GrantColumn.authenticatedAt), acr: try row.text(GrantColumn.acr),
            amr: try row.text(GrantColumn.amr).split(separator: " ").map(String.init),
            codeExpiresAt: try row.moment(GrantColumn.codeExpiresAt),
            expiresAt: try row.moment(GrantColumn.expiresAt))
    }
}

private enum RequestColumn: Int, TableColumn {
    static let table = "oauth_request"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, browserDigest, client, redirectURI, scope, state, nonce, codeChallenge, expiresAt, expectedSubject
}

private enum GrantColumn: Int, TableColumn {
    static let table = "oauth_grant"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, codeDigest, client, session, account, subject, redirectURI, scope, nonce, codeChallenge, authenticatedAt,
        acr, amr, codeExpiresAt, expiresAt, takenAt
}
