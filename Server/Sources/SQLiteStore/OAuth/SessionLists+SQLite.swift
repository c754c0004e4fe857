import Foundation
import GRDB
public import Store
public import _Primitives

extension Migration {
    /// What a person recognises a session by: the browser, and the services that it was signed in to. A grant is deleted
    /// minutes after the sign-in, so the services have a table of their own.
    static let sessionLists = Migration(name: "session lists") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_session ADD COLUMN browser BLOB;
                ALTER TABLE oauth_session ADD COLUMN address BLOB;
                CREATE TABLE oauth_session_service (
                    session TEXT NOT NULL REFERENCES oauth_session (id) ON DELETE CASCADE, client TEXT NOT NULL,
                    redirect_uri TEXT NOT NULL, used_at INTEGER NOT NULL, PRIMARY KEY (session, client)
                ) STRICT, WITHOUT ROWID;
                """)
    }
}

extension SealingPurpose {
    /// The browser of a session, bound to the session.
    static let sessionBrowser = SealingPurpose("oauth session browser")
    /// The network address of a session, bound to the session.
    static let sessionAddress = SealingPurpose("oauth session address")
}

extension SQLiteDatabase {
    public func sessions(
        account: String, at moment: Timestamp, idleSince: Timestamp, limit: Int, services: Int
    ) async throws -> [SessionListing] {
        try await self.read { [sealing] db in
            let rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT \(SessionRecord.columns) FROM oauth_session WHERE account = ? AND expires_at > ? AND used_at > ?
                        ORDER BY used_at DESC, id LIMIT ?
                        """), arguments: [account, moment.milliseconds, idleSince.milliseconds, limit])
            return try rows.map { row in
                let session = try SessionRecord(row, sealing)
                return SessionListing(session: session, services: try db.services(session: session.id, limit: services))
            }
        }
    }

    public func endSession(_ id: String, account: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.cachedStatement(sql: "DELETE FROM oauth_session WHERE id = ? AND account = ?")
                .execute(arguments: [id, account])
            guard db.changesCount > 0 else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }
}

extension SessionRecord {
    fileprivate enum Column: Int, TableColumn {
        static let table = "oauth_session"
        static let selection = Self.selected()
        static let insertion = Self.inserted()

        case id, cookieDigest, account, authenticatedAt, acr, amr, usedAt, expiresAt, browser, address, device
    }

    static let columns = Column.selection

    /// Reads a row of ``columns``.
    init(_ row: Row, _ sealing: Sealing) throws {
        let id = try row.text(Column.id)
        self.init(
            id: id, cookieDigest: try row.bytes(Column.cookieDigest), account: try row.text(Column.account),
            authenticatedAt: try row.moment(Column.authenticatedAt), acr: try row.text(Column.acr),
            amr: try row.text(Column.amr).split(separator: " ").map(String.init),
            usedAt: try row.moment(Column.usedAt), expiresAt: try row.moment(Column.expiresAt),
            browser: try row.optionalBytes(Column.browser).map {
                try sealing.openText($0, purpose: .sessionBrowser, row: id)
            },
            address: try row.optionalBytes(Column.address).map {
                try sealing.openText($0, purpose: .sessionAddress, row: id)
            },
            device: try row.optionalText(Column.device))
    }
}

extension Database {
    /// Adds a session within the present step.
    func insert(_ session: SessionRecord, _ sealing: Sealing) throws {
        let browser = try session.browser.map { try sealing.seal($0, purpose: .sessionBrowser, row: session.id).blob }
        let address = try session.address.map { try sealing.seal($0, purpose: .sessionAddress, row: session.id).blob }
        try self.insert(
            [
                SessionRecord.Column.id: session.id, .cookieDigest: session.cookieDigest.blob,
                .account: session.account, .authenticatedAt: session.authenticatedAt.milliseconds,
                .acr: session.acr, .amr: session.amr.joined(separator: " "), .usedAt: session.usedAt.milliseconds,
                .expiresAt: session.expiresAt.milliseconds, .browser: browser, .address: address,
                .device: session.device,
            ], by: SessionRecord.Column.insertion)
    }

    /// Remembers, for as long as the session lasts, where a grant signed its person in.
    func noteService(of grant: GrantRecord) throws {
        try self.cachedStatement(
            sql: """
                INSERT INTO oauth_session_service SELECT id, ?2, ?3, used_at FROM oauth_session WHERE id = ?1
                ON CONFLICT (session, client) DO UPDATE SET redirect_uri = excluded.redirect_uri,
                used_at = excluded.used_at
                """
        ).execute(arguments: [grant.session, grant.client, grant.redirectURI])
    }

    fileprivate func services(session: String, limit: Int) throws -> [SessionListing.Service] {
        try Row.fetchAll(
            self.cachedStatement(
                sql: """
                    SELECT name, redirect_uri FROM oauth_session_service JOIN oauth_client ON oauth_client.id = client
                    WHERE session = ? ORDER BY used_at DESC, client LIMIT ?
                    """), arguments: [session, limit]
        ).map { SessionListing.Service(name: try $0.text(0), redirectURI: try $0.text(1)) }
    }
}
