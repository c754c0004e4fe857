public import Records
import Sealing
import Settings
public import _Primitives

extension SQLStore: SessionStore {
    public func sessionCount(at moment: Timestamp, idleSince: Timestamp) async throws -> Int {
        try await self.read { db in
            try db.number(
                "SELECT count(*) FROM oauth_session WHERE expires_at > ? AND used_at > ?",
                [moment.milliseconds, idleSince.milliseconds]) ?? 0
        }
    }

    private static let cookieQuery = SQLText.once(
        "SELECT \(SessionColumn.selection) FROM oauth_session WHERE cookie_digest = ?")

    public func session(cookieDigest: [UInt8]) async throws -> SessionRecord? {
        try await self.read { [sealing] db in
            let row = try db.row(Self.cookieQuery, [cookieDigest])
            return try row.flatMap { try db.session($0, sealing) }
        }
    }

    public func endSession(_ id: String, audit: AuditEvent) async throws -> Bool {
        let step = Step(
            "session.end", guards: [.shared(.account, where: .accountOfSession, [id]), .exclusive(.session, id: id)],
            isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let ended = EndedRows(try db.endSessions(where: "id = ?", [id], at: audit.at), event: audit)
            try db.record(ended.event, sealing)
            return ended.isAny
        }
    }
}

enum SessionColumn: Int, TableColumn {
    static let table = "oauth_session"
    static let selection = Self.selected()
    fileprivate static let insertion = Self.inserted()

    case id, cookieDigest, account, usedAt, expiresAt, hasBrowser
}

extension SQLConnection {
    /// Returns the session of a row, with its authentications; `nil` if no authentication is left.
    func session(_ row: SQLRow, _ sealing: Sealing) throws -> SessionRecord? {
        let id = try row.text(SessionColumn.id)
        return SessionRecord(
            id: id, cookieDigest: try row.bytes(SessionColumn.cookieDigest),
            remaining: try self.authentications(ofSession: id, sealing), usedAt: try row.moment(SessionColumn.usedAt),
            expiresAt: try row.moment(SessionColumn.expiresAt),
            hasBrowser: try row.flag(SessionColumn.hasBrowser))
    }

    private static let sessionQuery = SQLText.once(
        "SELECT \(SessionColumn.selection) FROM oauth_session WHERE id = ?")

    /// Returns the session of that identifier, expired or not; `nil` if no authentication of the session is left.
    func session(id: String, _ sealing: Sealing) throws -> SessionRecord? {
        try self.row(Self.sessionQuery, [id]).flatMap { try self.session($0, sealing) }
    }

    /// Ends those of the sessions that no browser has and in which nothing stands any more: no grant, and no device
    /// secret by which apps get grants.
    func endSpentSessions(_ ids: [String], at moment: Timestamp) throws {
        for id in ids {
            // The grants of a session rest on an authentication of the session.
            _ = try self.endSessions(
                where: """
                    id = ? AND has_browser = 0 AND NOT EXISTS (
                        SELECT 1 FROM oauth_session_authentication AS held
                        JOIN oauth_grant ON oauth_grant.authentication = held.authentication
                        WHERE held.session = oauth_session.id)
                    AND NOT EXISTS (SELECT 1 FROM oauth_device_secret WHERE session = oauth_session.id)
                    """, [id], at: moment)
        }
    }

    /// Adds a session within the present step. Its authentications exist already.
    func insert(_ session: SessionRecord) throws {
        try self.insert(
            [
                SessionColumn.id: session.id, .cookieDigest: session.cookieDigest, .account: session.account,
                .usedAt: session.usedAt.milliseconds, .expiresAt: session.expiresAt.milliseconds,
                .hasBrowser: session.hasBrowser,
            ], by: SessionColumn.insertion)
        for authentication in session.authentications {
            try self.run(
                "INSERT INTO oauth_session_authentication (session, authentication) VALUES (?, ?)",
                [session.id, authentication.id])
        }
    }

    /// Adds the last authentication of an existing session to the session, and continues the session under its new
    /// cookie. The oldest authentications beyond ``Limits/Fixed/authenticationsPerSession`` leave the session. Throws
    /// ``StoreError/Code/notFound`` if the session has ended, or has a cookie other than the cookie of the digest. No
    /// session has the cookie `nil`.
    func stepUp(_ session: SessionRecord, from cookieDigest: [UInt8]?) throws {
        try self.run(
            """
            UPDATE oauth_session SET cookie_digest = ?, used_at = greatest(used_at, ?)
            WHERE id = ? AND cookie_digest = ?
            """, [session.cookieDigest, session.usedAt.milliseconds, session.id, cookieDigest])
        try AuthorizationRequirement.session.check(self.changesCount > 0)
        try self.run(
            "INSERT INTO oauth_session_authentication (session, authentication) VALUES (?, ?)",
            [session.id, session.authentication.id])
        try self.run(
            """
            DELETE FROM oauth_session_authentication WHERE session = ?1 AND authentication NOT IN (
                SELECT authentication FROM oauth_session_authentication
                JOIN oauth_authentication ON oauth_authentication.id = authentication
                WHERE session = ?1 ORDER BY at DESC, oauth_authentication.id LIMIT ?2)
            """, [session.id, Limits.Fixed.authenticationsPerSession])
    }
}
