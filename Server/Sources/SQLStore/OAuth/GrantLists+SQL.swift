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
            let sessions = try db.sessions(giving: selection, ofAccount: account)
            let ended = EndedRows(try db.end(selection, ofAccount: account), event: audit)
            try db.endSpentSessions(sessions, at: audit.at)
            try db.record(ended.event, sealing)
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

extension SQLConnection {
    /// Ends the selected grants and device secrets of an account. Returns the number of ended grants and secrets.
    fileprivate func end(_ selection: GrantSelection, ofAccount account: String) throws -> Int {
        switch selection {
        case .grant(let id):
            let grants = try self.endGrants(where: "\(Self.isGrantOfAccount) AND id = ?2", [account, id])
            // Ending a device secret alone does not end the grants that apps have got by the secret.
            try self.run(
                .composed("DELETE FROM oauth_device_secret WHERE \(Self.isSecretOfAccount) AND id = ?2"), [account, id])
            return grants + self.changesCount
        case .client(let client):
            return try self.endGrants(where: "\(Self.isGrantOfAccount) AND client = ?2", [account, client])
                + self.endDeviceSecrets(where: "\(Self.isSecretOfAccount) AND client = ?2", [account, client])
        case .all:
            return try self.endGrants(where: Self.isGrantOfAccount, [account])
                + self.endDeviceSecrets(where: Self.isSecretOfAccount, [account])
        }
    }

    /// Returns the sessions of an account that no browser has and in which the selected grants and device secrets were
    /// given.
    fileprivate func sessions(giving selection: GrantSelection, ofAccount account: String) throws -> [String] {
        let isSelected = "(id = ?2 OR ?2 IS NULL) AND (client = ?3 OR ?3 IS NULL)"
        return try self.texts(
            .composed(
                """
                SELECT oauth_session.id FROM oauth_session WHERE account = ?1 AND has_browser = 0 AND (
                    oauth_session.id IN (
                        SELECT session FROM oauth_grant WHERE \(Self.isGrantOfAccount) AND \(isSelected))
                    OR oauth_session.id IN (
                        SELECT session FROM oauth_device_secret WHERE \(Self.isSecretOfAccount) AND \(isSelected)))
                """), [account, selection.grantID, selection.clientID])
    }

    /// A condition on `oauth_grant`: the grant is of the account `?1`.
    private static let isGrantOfAccount = """
        authentication IN (SELECT oauth_authentication.id FROM oauth_authentication WHERE account = ?1)
        """

    /// A condition on `oauth_device_secret`: the secret is of the account `?1`.
    private static let isSecretOfAccount = """
        session IN (SELECT oauth_session.id FROM oauth_session WHERE account = ?1)
        """

    /// Begins a family within the present step: makes its grant last as the family says, and ends the oldest grants if
    /// too many exist. Throws ``StoreError/Code/notFound`` if the grant would end with them.
    func letLast(
        _ grant: RefreshFamilyStart.Grant, by start: RefreshFamilyStart, at moment: Timestamp, _ sealing: Sealing
    ) throws {
        try self.run(
            """
            UPDATE oauth_grant SET expires_at = ?1, key_thumbprint = ?2, lasting_since = ?3, lasting_number = (
                SELECT coalesce(max(other.lasting_number), 0) + 1 FROM oauth_grant AS other
                WHERE other.client = oauth_grant.client AND other.subject = oauth_grant.subject
                    AND other.lasting_number IS NOT NULL)
            WHERE id = ?4
            """, [start.end.milliseconds, start.keyThumbprint, moment.milliseconds, start.grant])
        try self.keepAuthentication(grant.authentication, until: start.end)
        let numbers = try self.lastingNumbers(client: grant.client, subject: grant.subject)
        try self.endDisplaced(by: start, client: grant.client, subject: grant.subject, numbers, sealing)
        try self.insertFamily(start)
    }

    /// Returns the first and the last number of a client's and a person's lasting grants. Cost: two look-ups in the
    /// index.
    func lastingNumbers(client: String, subject: String) throws -> LastingGrantNumbers {
        // Each subquery alone is a look-up. A single SELECT of both values would read all rows between them.
        try self.row(
            """
            SELECT coalesce((SELECT min(lasting_number) FROM oauth_grant
                    WHERE client = ?1 AND subject = ?2 AND lasting_number IS NOT NULL), 0) AS oldest,
                coalesce((SELECT max(lasting_number) FROM oauth_grant
                    WHERE client = ?1 AND subject = ?2 AND lasting_number IS NOT NULL), 0) AS newest
            """, [client, subject]
        ).map { LastingGrantNumbers(oldest: try $0.integer("oldest"), newest: try $0.integer("newest")) }
            ?? LastingGrantNumbers.none
    }

    /// Ends the oldest lasting grants of a client and a person, if too many exist. Throws
    /// ``StoreError/Code/notFound`` if the grant of the beginning family came of an oldest grant, and so ends as well.
    ///
    /// The first and the last number show that the grants are few enough: the limit of the query is 0 then, and the
    /// query looks at no grant. Only if too many could exist, the grants are counted, in the index alone and up to the
    /// number of grants that may stay.
    func endDisplaced(
        by start: RefreshFamilyStart, client: String, subject: String, _ numbers: LastingGrantNumbers,
        _ sealing: Sealing
    ) throws {
        let displaced = try self.rows(
            """
            SELECT oauth_grant.id AS id, account FROM oauth_grant
            JOIN oauth_authentication ON oauth_authentication.id = authentication
            WHERE oauth_grant.id IN (
                SELECT own.id FROM oauth_grant AS own
                WHERE own.client = ? AND own.subject = ? AND own.lasting_number IS NOT NULL
                ORDER BY own.lasting_number DESC LIMIT ? OFFSET ?)
            ORDER BY lasting_number DESC
            """, [client, subject, numbers.surplus(over: start.most), start.most]
        ) { (id: try $0.text("id"), account: try $0.text("account")) }
        for (id, account) in displaced {
            _ = try self.endGrants(where: "id = ?", [id])
            var event = start.displaced
            (event.accountID, event.detail) = (account, id)
            try self.appendAudit(event, sealing)
            try GrantRequirement.room.check(self.exists("oauth_grant", id: start.grant))
        }
    }
}
