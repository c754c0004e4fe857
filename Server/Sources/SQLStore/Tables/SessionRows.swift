import Records
import Sealing
import Settings
import _Primitives

enum SessionColumn: Int, TableColumn {
    static let table = "oauth_session"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, cookieDigest, account, usedAt, expiresAt, hasBrowser
}

/// A person who may sign in: a step admits the person before the step's first write.
struct AdmittedPerson {
    fileprivate let account: String
    /// The language that the account gets; `nil` if the account keeps its language.
    fileprivate let language: String?

    fileprivate init(account: String, language: String?) {
        self.account = account
        self.language = language
    }
}

/// The rows of sessions, and of the services that a session has signed in to.
struct SessionRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the session of a row, with its authentications; `nil` if no authentication is left.
    func session(_ row: SQLRow, _ sealing: Sealing) throws -> SessionRecord? {
        let id = try row.text(SessionColumn.id)
        return SessionRecord(
            id: id, cookieDigest: try row.bytes(SessionColumn.cookieDigest),
            remaining: try AuthenticationRows(self.db).authentications(ofSession: id, sealing),
            usedAt: try row.moment(SessionColumn.usedAt),
            expiresAt: try row.moment(SessionColumn.expiresAt),
            hasBrowser: try row.flag(SessionColumn.hasBrowser))
    }

    private static let sessionQuery = SQLText.once(
        "SELECT \(SessionColumn.selection) FROM oauth_session WHERE id = ?")

    /// Returns the session of that identifier, expired or not; `nil` if no authentication of the session is left.
    func session(id: String, _ sealing: Sealing) throws -> SessionRecord? {
        try self.db.row(Self.sessionQuery, [id]).flatMap { try self.session($0, sealing) }
    }

    /// Adds a session within the present step. Its authentications exist already.
    func insert(_ session: SessionRecord) throws {
        try self.db.insert(
            [
                SessionColumn.id: session.id, .cookieDigest: session.cookieDigest, .account: session.account,
                .usedAt: session.usedAt.milliseconds, .expiresAt: session.expiresAt.milliseconds,
                .hasBrowser: session.hasBrowser,
            ], by: SessionColumn.insertion)
        for authentication in session.authentications {
            try self.db.run(
                "INSERT INTO oauth_session_authentication (session, authentication) VALUES (?, ?)",
                [session.id, authentication.id])
        }
    }

    /// Keeps a new session with its authentications, which stay until `end` at least.
    func begin(_ session: SessionRecord, until end: Timestamp, _ sealing: Sealing) throws {
        for authentication in session.authentications {
            try AuthenticationRows(self.db).insert(
                authentication, until: session.authenticationsEnd(atLeast: end), sealing)
        }
        try self.insert(session)
    }

    /// Keeps the last authentication of an existing session until `end`, adds the authentication to the session, and
    /// continues the session under its new cookie. The oldest authentications beyond
    /// ``Limits/Fixed/authenticationsPerSession`` leave the session. Throws ``StoreError/Code/notFound`` with the first
    /// write if the session has ended, or has a cookie other than the cookie of the digest. No session has the cookie
    /// `nil`.
    func stepUp(
        _ session: SessionRecord, from cookieDigest: [UInt8]?, until end: Timestamp, _ sealing: Sealing
    ) throws {
        try self.db.changeOneRow(
            """
            UPDATE oauth_session SET cookie_digest = ?, used_at = greatest(used_at, ?)
            WHERE id = ? AND cookie_digest = ?
            """, [session.cookieDigest, session.usedAt.milliseconds, session.id, cookieDigest],
            orThrow: AuthorizationRequirement.session.refusal)
        try AuthenticationRows(self.db).insert(session.authentication, until: end, sealing)
        try self.db.run(
            "INSERT INTO oauth_session_authentication (session, authentication) VALUES (?, ?)",
            [session.id, session.authentication.id])
        let left = try self.db.texts(
            """
            DELETE FROM oauth_session_authentication WHERE session = ?1 AND authentication NOT IN (
                SELECT authentication FROM oauth_session_authentication
                JOIN oauth_authentication ON oauth_authentication.id = authentication
                WHERE session = ?1 ORDER BY at DESC, oauth_authentication.id LIMIT ?2)
            RETURNING authentication
            """, [session.id, Limits.Fixed.authenticationsPerSession])
        try AuthenticationRows(self.db).endWithGrants(left)
    }

    /// Admits the person of a session. `language` is the language that the sign-in tells.
    ///
    /// Throws ``StoreError/Code/notFound`` if the person may not sign in any more: the device is gone or inactive, or
    /// the account is gone, is locked, or was locked since the authentication.
    func admit(_ session: SessionRecord, language: String? = nil) throws -> AdmittedPerson {
        try AuthorizationRequirement.device.check(DeviceRows(self.db).isActiveDevice(session.authentication.device))
        let former = try AuthorizationRequirement.account.found(
            self.db.row(
                """
                SELECT language FROM account
                WHERE id = ? AND is_locked = 0 AND (locked_at IS NULL OR locked_at < ?)
                """, [session.account, session.authentication.at.milliseconds])
        ).optionalText("language")
        return AdmittedPerson(
            account: session.account, language: AccountRecord.languageToWrite(language, former: former))
    }

    /// Keeps the language that the sign-in of a person has told. An account keeps its language nearly always, and
    /// nothing is written then.
    func keepLanguage(of person: AdmittedPerson) throws {
        try person.language.map {
            try self.db.run("UPDATE account SET language = ? WHERE id = ?", [$0, person.account])
        }
    }

    /// Ends the session chosen by a condition on `oauth_session`, because a browser's new session replaces the old
    /// session. The session of another person ends, and clients are told. The same person's session goes on under
    /// another name, and no client is told. A condition on `nil` chooses no session, as NULL equals nothing.
    func replace(_ condition: String, _ value: (any SQLBindable)?, by session: SessionRecord) throws {
        _ = try self.endSessions(
            where: "\(condition) AND account <> ?", [value, session.account], at: session.usedAt)
        _ = try self.deleteSessions(where: condition, [value])
    }

    /// Notes that a session was used. Throws ``StoreError/Code/notFound`` if the session has ended.
    func useSession(_ id: String?, at moment: Timestamp) throws {
        try self.db.changeOneRow(
            "UPDATE oauth_session SET used_at = greatest(used_at, ?) WHERE id = ?", [moment.milliseconds, id],
            orThrow: AuthorizationRequirement.session.refusal)
    }

    /// Ends the sessions chosen by a condition on `oauth_session`. Leaves a message for each client of these sessions
    /// that wants to be notified. Returns the number of sessions.
    ///
    /// Every end of a session goes through this function, except for two ends that nobody causes: the session has run
    /// out, or its own person has signed in anew in its browser.
    func endSessions(where condition: String, _ arguments: SQLValues, at moment: Timestamp) throws -> Int {
        let ended = try self.db.texts(
            .composed("SELECT oauth_session.id FROM oauth_session WHERE \(condition)"), arguments)
        for id in ended {
            try self.db.run(
                """
                INSERT INTO message (channel, lane, turn, subject, matter, name, created_at, due_at, attempts)
                SELECT ?3, service.client, 0, ?4, oauth_session.id, oauth_subject.subject, ?2, ?2, 0
                FROM oauth_session_service AS service
                JOIN oauth_session ON oauth_session.id = service.session
                JOIN oauth_client ON oauth_client.id = service.client AND backchannel_logout_uri IS NOT NULL
                JOIN oauth_subject ON oauth_subject.account = oauth_session.account
                    AND oauth_subject.client = service.client
                WHERE service.session = ?1
                """,
                [
                    id, moment.milliseconds, OutboxChannel.client.rawValue, ClientDelivery.Kind.logout.rawValue,
                ])
            try self.delete(id)
        }
        return ended.count
    }

    /// Deletes the sessions chosen by a condition on `oauth_session`, without a message to their clients. Returns the
    /// number of sessions.
    func deleteSessions(where condition: String, _ values: SQLValues) throws -> Int {
        let ids = try self.db.texts(
            .composed("SELECT oauth_session.id FROM oauth_session WHERE \(condition)"), values)
        for id in ids { try self.delete(id) }
        return ids.count
    }

    /// Deletes a session. Its authentications stay for as long as another session or a grant stands on them.
    ///
    /// Every deletion of a session goes through this function, except for a restore, which deletes all authentications
    /// as well.
    private func delete(_ id: String) throws {
        let held = try self.db.texts(
            "DELETE FROM oauth_session_authentication WHERE session = ? RETURNING authentication", [id])
        try self.db.run("DELETE FROM oauth_session WHERE id = ?", [id])
        try AuthenticationRows(self.db).endWithGrants(held)
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

    /// Remembers, for as long as the session lasts, the service that the session signed its person in to. An app
    /// without a return address in the request is known by its first address. Without a session nothing is remembered.
    func noteService(_ client: String, redirectURI: String, session: String?) throws {
        try self.db.run(
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

    func services(session: String, limit: Int) throws -> [SessionListing.Service] {
        try self.db.rows(
            """
            SELECT name, redirect_uri FROM oauth_session_service JOIN oauth_client ON oauth_client.id = client
            WHERE session = ? ORDER BY used_at DESC, client LIMIT ?
            """, [session, limit]
        ) { SessionListing.Service(name: try $0.text("name"), redirectURI: try $0.text("redirect_uri")) }
    }
}
