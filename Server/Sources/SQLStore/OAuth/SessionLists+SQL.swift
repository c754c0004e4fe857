public import Records
public import _Primitives

extension SQLStore {
    public func sessions(
        account: String, at moment: Timestamp, idleSince: Timestamp, limit: Int, services: Int
    ) async throws -> [SessionListing] {
        try await self.read { [sealing] db in
            let sessions = try db.rows(
                .composed(
                    """
                    SELECT \(SessionColumn.selection) FROM oauth_session WHERE account = ? AND expires_at > ? AND used_at > ?
                    ORDER BY used_at DESC, id LIMIT ?
                    """), [account, moment.milliseconds, idleSince.milliseconds, limit]
            ) { try db.session($0, sealing) }
            return try sessions.compactMap(\.self).map { session in
                SessionListing(session: session, services: try db.services(session: session.id, limit: services))
            }
        }
    }

    public func endSession(_ id: String, account: String, audit: AuditEvent) async throws -> Bool {
        let step = Step(
            "session.end-of-account", guards: [.shared(.account, id: account), .exclusive(.session, id: id)],
            isolation: .readCommitted)
        // Another account's session keeps its grants.
        return try await self.step(
            step,
            on: { db in
                try db.row("SELECT 1 FROM oauth_session WHERE id = ? AND account = ?", [id, account]).map { _ in }
            }
        ) { db, _ in
            _ = try db.endSessions(where: "id = ?", [id], at: audit.at)
            _ = try db.endGrants(where: "session = ? AND is_lasting = 1", [id])
            return audit
        }
    }
}

extension SQLStore {
    public func endSessions(account: String, audit: AuditEvent) async throws -> Int {
        let step = Step(
            "session.end-all",
            guards: [
                .exclusive(.account, id: account),
                // Another person's sign-in in the same browser ends a session without the account's lock.
                .exclusive(.session, where: "account = ?", [account]),
            ], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let lasting = try db.endLasting(account: account)
            try db.forgetKnown(ofAccount: account)
            let sessions = try db.endSessions(where: "account = ?", [account], at: audit.at)
            try db.record(EndedRows(sessions + lasting, event: audit).event, sealing)
            return sessions
        }
    }
}

extension SQLConnection {
    /// Ends everything of an account that outlasts a session: lasting grants, device secrets, and consents with the
    /// grants resting on them. Returns the number of ended items.
    func endLasting(account: String) throws -> Int {
        let grants = try self.endGrants(
            where: """
                is_lasting = 1 AND authentication IN (
                    SELECT oauth_authentication.id FROM oauth_authentication WHERE account = ?)
                """, [account])
        let secrets = try self.endDeviceSecrets(
            where: "session IN (SELECT oauth_session.id FROM oauth_session WHERE account = ?)", [account])
        return try grants + secrets + self.endConsents(where: "account = ?", [account])
    }

    /// Remembers, for as long as the session lasts, the service that the session signed its person in to. An app
    /// without a return address in the request is known by its first address. Without a session nothing is remembered.
    func noteService(_ client: String, redirectURI: String, session: String?) throws {
        try self.run(
            """
            INSERT INTO oauth_session_service (session, client, redirect_uri, used_at)
            SELECT id, ?2, coalesce(nullif(?3, ''), (
                SELECT redirect_uris ->> 0 FROM oauth_client WHERE oauth_client.id = ?2
            ), ''), used_at FROM oauth_session WHERE id = ?1
            ON CONFLICT (session, client) DO UPDATE SET redirect_uri = excluded.redirect_uri,
            used_at = excluded.used_at WHERE oauth_session_service.redirect_uri <> excluded.redirect_uri
                OR oauth_session_service.used_at <> excluded.used_at
            """, [session, client, redirectURI])
    }

    fileprivate func services(session: String, limit: Int) throws -> [SessionListing.Service] {
        try self.rows(
            """
            SELECT name, redirect_uri FROM oauth_session_service JOIN oauth_client ON oauth_client.id = client
            WHERE session = ? ORDER BY used_at DESC, client LIMIT ?
            """, [session, limit]
        ) { SessionListing.Service(name: try $0.text("name"), redirectURI: try $0.text("redirect_uri")) }
    }
}
