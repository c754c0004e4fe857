public import Records
import Sealing
public import _Primitives

extension SQLStore: GrantListStore {
    public func lastingGrants(account: String, at moment: Timestamp, limit: Int) async throws -> [GrantListing] {
        try await self.read { [sealing] db in
            try db.rows(
                """
                SELECT 'grant' AS kind, oauth_grant.id AS id, client, name, scope, lasting_since AS since,
                    used_at, least(oauth_grant.expires_at, oauth_refresh.expires_at) AS ends_at, session,
                    oauth_authentication.id AS authentication, browser, address
                FROM oauth_authentication JOIN oauth_grant ON authentication = oauth_authentication.id
                JOIN oauth_refresh ON grant_id = oauth_grant.id
                JOIN oauth_client ON oauth_client.id = client
                WHERE account = ?1 AND oauth_grant.expires_at > ?2 AND oauth_refresh.expires_at > ?2
                UNION ALL
                SELECT 'device-secret', oauth_device_secret.id, client, name, scope, given_at,
                    oauth_device_secret.used_at, oauth_session.expires_at, session, last.id, last.browser, last.address
                FROM oauth_session JOIN oauth_device_secret ON session = oauth_session.id
                JOIN oauth_client ON oauth_client.id = client
                JOIN oauth_authentication AS last ON last.id = (
                    SELECT own.id FROM oauth_session_authentication AS part
                    JOIN oauth_authentication AS own ON own.id = part.authentication
                    WHERE part.session = oauth_session.id ORDER BY own.at DESC, own.id LIMIT 1)
                WHERE oauth_session.account = ?1 AND oauth_session.expires_at > ?2
                ORDER BY since DESC, id LIMIT ?3
                """, [account, moment.milliseconds, limit]
            ) { row in
                GrantListing(
                    kind: try GrantListing.Kind(kept: row.text("kind")), id: try row.text("id"),
                    client: try row.text("client"), clientName: try row.text("name"),
                    scope: try row.text("scope"), session: try GivingSession.ofList(row, sealing),
                    since: try row.moment("since"),
                    usedAt: try row.optionalMoment("used_at"), expiresAt: try row.moment("ends_at"))
            }
        }
    }

    public func endGrants(_ selection: GrantSelection, account: String, audit: AuditEvent) async throws -> Int {
        let step = Step("grant.end-selected", guards: [.exclusive(.account, id: account)], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let sessions = try GrantEnds(db).sessions(giving: selection, ofAccount: account)
            let ended = EndedRows(try GrantEnds(db).end(selection, ofAccount: account), event: audit)
            try SessionRows(db).endSpentSessions(sessions, at: audit.at)
            try AuditRows(db).record(ended.event, sealing)
            return ended.count
        }
    }
}

extension GivingSession {
    /// Returns the session of a list's row; `nil` for a row without a session.
    fileprivate static func ofList(_ row: SQLRow, _ sealing: Sealing) throws -> GivingSession? {
        try row.optionalText("session").map { id in
            let authentication = try row.text("authentication")
            return GivingSession(
                id: id,
                browser: try row.optionalBytes("browser").map {
                    try sealing.openText($0, purpose: .authenticationBrowser, row: authentication)
                },
                address: try row.optionalBytes("address").map {
                    try sealing.openText($0, purpose: .authenticationAddress, row: authentication)
                })
        }
    }
}
