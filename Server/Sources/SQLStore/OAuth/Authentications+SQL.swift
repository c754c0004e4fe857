import GRDB
import Records
import Sealing
import _Primitives

extension Migration {
    /// Splits the former single record into an authentication, the sessions and grants that rest on the authentication,
    /// and the codes of a grant.
    ///
    /// ```
    /// oauth_authentication <── oauth_session_authentication ──> oauth_session
    ///          ^                                                     ^
    ///          └──────────────── oauth_grant ── (session) ───────────┘
    ///                                 ^
    ///                             oauth_code
    /// ```
    ///
    /// People stay signed in, and a code under way still gives its tokens.
    static let authentications = Migration(name: "authentications") { db, sealing in
        try db.execute(
            sql: """
                CREATE TABLE oauth_authentication (
                    id TEXT PRIMARY KEY, account TEXT NOT NULL, method TEXT NOT NULL, at INTEGER NOT NULL,
                    acr TEXT NOT NULL, amr TEXT NOT NULL, browser BLOB, address BLOB, device TEXT,
                    expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX oauth_authentication_account ON oauth_authentication (account);
                CREATE INDEX oauth_authentication_device ON oauth_authentication (device) WHERE device IS NOT NULL;
                CREATE INDEX oauth_authentication_end ON oauth_authentication (expires_at);
                CREATE TABLE oauth_session_authentication (
                    session TEXT NOT NULL REFERENCES oauth_session (id) ON DELETE CASCADE,
                    authentication TEXT NOT NULL REFERENCES oauth_authentication (id) ON DELETE CASCADE,
                    PRIMARY KEY (session, authentication)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX oauth_session_authentication_authentication
                    ON oauth_session_authentication (authentication);
                INSERT INTO oauth_authentication
                    (id, account, method, at, acr, amr, browser, address, device, expires_at)
                    SELECT id, account, 'phone', authenticated_at, acr, amr, NULL, NULL, device, expires_at
                    FROM oauth_session;
                INSERT INTO oauth_session_authentication (session, authentication) SELECT id, id FROM oauth_session;
                """)
        try SQLConnection(db).movePlaces(sealing)
        try db.execute(
            sql: """
                DROP INDEX oauth_session_device;
                ALTER TABLE oauth_session DROP COLUMN authenticated_at;
                ALTER TABLE oauth_session DROP COLUMN acr;
                ALTER TABLE oauth_session DROP COLUMN amr;
                ALTER TABLE oauth_session DROP COLUMN browser;
                ALTER TABLE oauth_session DROP COLUMN address;
                ALTER TABLE oauth_session DROP COLUMN device;
                ALTER TABLE oauth_grant RENAME TO former_grant;
                CREATE TABLE oauth_grant (
                    id TEXT PRIMARY KEY, client TEXT NOT NULL, subject TEXT NOT NULL,
                    authentication TEXT NOT NULL REFERENCES oauth_authentication (id) ON DELETE CASCADE,
                    session TEXT, scope TEXT NOT NULL, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE oauth_code (
                    digest BLOB PRIMARY KEY, grant_id TEXT NOT NULL REFERENCES oauth_grant (id) ON DELETE CASCADE,
                    redirect_uri TEXT NOT NULL, nonce TEXT, challenge BLOB, expires_at INTEGER NOT NULL,
                    taken_at INTEGER
                ) STRICT, WITHOUT ROWID;
                INSERT INTO oauth_grant (id, client, subject, authentication, session, scope, expires_at)
                    SELECT id, client, subject, session, session, scope, expires_at FROM former_grant
                    WHERE revoked = 0 AND session IN (SELECT id FROM oauth_session);
                INSERT INTO oauth_code (digest, grant_id, redirect_uri, nonce, challenge, expires_at, taken_at)
                    SELECT code_digest, id, redirect_uri, nonce, nullif(code_challenge, x''), code_expires_at, taken_at
                    FROM former_grant WHERE id IN (SELECT id FROM oauth_grant);
                DROP TABLE former_grant;
                CREATE INDEX oauth_grant_authentication ON oauth_grant (authentication);
                CREATE INDEX oauth_grant_end ON oauth_grant (expires_at);
                CREATE INDEX oauth_code_grant ON oauth_code (grant_id);
                """)
        // An authentication without a session ends with its last grant. The deletion of a session reaches this trigger
        // through the session's rows of oauth_session_authentication.
        try db.execute(
            sql: """
                CREATE TRIGGER oauth_authentication_left AFTER DELETE ON oauth_session_authentication
                BEGIN
                    UPDATE oauth_authentication SET expires_at = coalesce(
                        (SELECT max(expires_at) FROM oauth_grant WHERE authentication = OLD.authentication), 0)
                    WHERE id = OLD.authentication AND NOT EXISTS (
                        SELECT 1 FROM oauth_session_authentication WHERE authentication = OLD.authentication);
                END
                """)
    }
}

extension Migration {
    /// Adds the service and the role of an authentication. An older authentication is for no service of personalised
    /// identities, and no such service accepts it.
    static let authenticationRoles = Migration(name: "roles of authentications") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_authentication ADD COLUMN service TEXT;
                ALTER TABLE oauth_authentication ADD COLUMN role TEXT;
                """)
    }
}

extension SealingPurpose {
    /// The browser of an authentication, bound to the authentication.
    static let authenticationBrowser = SealingPurpose("oauth authentication browser")
    /// The network address of an authentication, bound to the authentication.
    static let authenticationAddress = SealingPurpose("oauth authentication address")
    /// The former purposes of browser and address.
    fileprivate static let sessionBrowser = SealingPurpose("oauth session browser")
    fileprivate static let sessionAddress = SealingPurpose("oauth session address")
}

private enum AuthenticationColumn: Int, TableColumn {
    static let table = "oauth_authentication"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, account, method, at, acr, amr, browser, address, device, expiresAt, service, role
}

extension SQLConnection {
    /// Keeps an authentication until `end`, within the present step.
    func insert(_ authentication: AuthenticationRecord, until end: Timestamp, _ sealing: Sealing) throws {
        let id = authentication.id
        let browser = try authentication.browser.map {
            try sealing.seal($0, purpose: .authenticationBrowser, row: id)
        }
        let address = try authentication.address.map {
            try sealing.seal($0, purpose: .authenticationAddress, row: id)
        }
        try self.insert(
            [
                AuthenticationColumn.id: id, .account: authentication.account, .method: authentication.method,
                .at: authentication.at.milliseconds, .acr: authentication.acr,
                .amr: authentication.amr.joined(separator: " "), .browser: browser, .address: address,
                .device: authentication.device, .expiresAt: end.milliseconds,
                .service: authentication.role?.service, .role: authentication.role?.role,
            ], by: AuthenticationColumn.insertion)
    }

    /// Keeps an authentication until `end` at least, because one of its grants continues until then.
    func keepAuthentication(_ id: String, until end: Timestamp) throws {
        try self.run(
            "UPDATE oauth_authentication SET expires_at = ?2 WHERE id = ?1 AND expires_at < ?2", [id, end.milliseconds])
    }

    private static let authenticationQuery = SQLText.once(
        """
        SELECT \(AuthenticationColumn.selection), coalesce((
            SELECT is_locked FROM account WHERE account.id = oauth_authentication.account
        ), 1) AS account_is_locked FROM oauth_authentication WHERE id = ?
        """)

    /// Returns the authentication of that identifier, and `true` if its account is locked.
    func standingAuthentication(_ id: String, _ sealing: Sealing) throws
        -> (authentication: AuthenticationRecord, isAccountLocked: Bool)?
    {
        try self.row(Self.authenticationQuery, [id]).map {
            (try AuthenticationRecord($0, sealing), try $0.flag("account_is_locked"))
        }
    }

    private static let heldAuthenticationsQuery = SQLText.once(
        """
        SELECT \(AuthenticationColumn.selection) FROM oauth_authentication
        JOIN oauth_session_authentication ON authentication = oauth_authentication.id
        WHERE session = ? ORDER BY at DESC, oauth_authentication.id
        """)

    /// Returns the authentications of a session, the last first.
    func authentications(ofSession session: String, _ sealing: Sealing) throws -> [AuthenticationRecord] {
        try self.rows(Self.heldAuthenticationsQuery, [session]) { try AuthenticationRecord($0, sealing) }
    }

    /// Deletes the authentications of a holder, with all sessions and grants resting on the authentications. For a
    /// whole account also deletes its unfinished sign-ins, its mailed links and the browsers that it is known by.
    func deleteAuthentications(of holder: AuthenticationHolder, at moment: Timestamp) throws {
        switch holder {
        case .account(let id):
            try self.deleteAuthentications(where: "oauth_authentication.account = ?", [id], at: moment)
            // These rows are about to become authentications.
            try self.run("DELETE FROM password_sign_in WHERE account_id = ?", [id])
            try self.run("DELETE FROM upstream_arrival WHERE account_id = ?", [id])
            try self.deleteMailedLinks(ofAccount: id)
            try self.forgetKnown(ofAccount: id)
        case .device(let id):
            try self.deleteAuthentications(where: "oauth_authentication.device = ?", [id], at: moment)
        case .method(let method):
            try self.deleteAuthentications(where: "oauth_authentication.method = ?", [method], at: moment)
        case .accountByMethod(let id, let method):
            try self.deleteAuthentications(
                where: "oauth_authentication.account = ? AND oauth_authentication.method = ?", [id, method], at: moment)
        case .accountBeside(let id, let session):
            try self.deleteAuthentications(
                where: """
                    oauth_authentication.account = ? AND oauth_authentication.id NOT IN (
                        SELECT kept.authentication FROM oauth_session_authentication AS kept WHERE kept.session = ?)
                    """, [id, session ?? ""], at: moment)
        }
    }

    /// Deletes the authentications chosen by a condition, with all sessions and grants resting on the authentications.
    private func deleteAuthentications(where condition: String, _ values: [String], at moment: Timestamp) throws {
        _ = try self.endSessions(
            where: """
                id IN (
                    SELECT session FROM oauth_session_authentication
                    JOIN oauth_authentication ON oauth_authentication.id = authentication WHERE \(condition))
                """, values, at: moment)
        _ = try self.endGrants(
            where: "authentication IN (SELECT oauth_authentication.id FROM oauth_authentication WHERE \(condition))",
            values)
        try self.run(.composed("DELETE FROM oauth_authentication WHERE \(condition)"), values)
    }

    /// Copies browsers and addresses from the sessions to their authentications, which have the sessions' identifiers.
    fileprivate func movePlaces(_ sealing: Sealing) throws {
        // Values that cannot be opened are left out: a description for people, needed for some hours, must not stop a
        // start.
        func moved(_ sealed: [UInt8]?, _ old: SealingPurpose, _ new: SealingPurpose, _ id: String) throws -> [UInt8]? {
            let text = sealed.flatMap { try? sealing.openText($0, purpose: old, row: id) }
            return try text.map { try sealing.seal($0, purpose: new, row: id) }
        }
        let sessions = try self.rows("SELECT id, browser, address FROM oauth_session") { row in
            let id = try row.text("id")
            return (
                id: id,
                browser: try moved(row.optionalBytes("browser"), .sessionBrowser, .authenticationBrowser, id),
                address: try moved(row.optionalBytes("address"), .sessionAddress, .authenticationAddress, id)
            )
        }
        for (id, browser, address) in sessions {
            try self.run(
                "UPDATE oauth_authentication SET browser = ?, address = ? WHERE id = ?", [browser, address, id])
        }
    }
}

/// The holder whose authentications end.
enum AuthenticationHolder {
    case account(String)
    case device(String)
    /// Everybody who was authenticated by the method.
    case method(String)
    /// An account's authentications by one method.
    case accountByMethod(String, String)
    /// An account's authentications outside this session.
    case accountBeside(String, session: String?)
}

extension RoleAtService {
    /// Returns the role of a row of the table's columns; `nil` if the row has no service and no role.
    fileprivate static func ofAuthentication(_ row: SQLRow) throws -> RoleAtService? {
        try row.optionalText(AuthenticationColumn.service).flatMap { service in
            try row.optionalText(AuthenticationColumn.role).map { RoleAtService(service: service, role: $0) }
        }
    }
}

extension AuthenticationRecord {
    /// Reads a row of the table's columns.
    fileprivate init(_ row: SQLRow, _ sealing: Sealing) throws {
        let id = try row.text(AuthenticationColumn.id)
        self.init(
            id: id, account: try row.text(AuthenticationColumn.account),
            method: try row.text(AuthenticationColumn.method), at: try row.moment(AuthenticationColumn.at),
            acr: try row.text(AuthenticationColumn.acr),
            amr: try row.text(AuthenticationColumn.amr).split(separator: " ").map(String.init),
            browser: try row.optionalBytes(AuthenticationColumn.browser).map {
                try sealing.openText($0, purpose: .authenticationBrowser, row: id)
            },
            address: try row.optionalBytes(AuthenticationColumn.address).map {
                try sealing.openText($0, purpose: .authenticationAddress, row: id)
            }, device: try row.optionalText(AuthenticationColumn.device),
            role: try RoleAtService.ofAuthentication(row))
    }
}
