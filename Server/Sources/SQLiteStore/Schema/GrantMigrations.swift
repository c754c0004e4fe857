import GRDB
import Records
import SQLStore
import Sealing

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

    /// Adds the service and the role of an authentication. An older authentication is for no service of personalised
    /// identities, and no such service accepts it.
    static let authenticationRoles = Migration(name: "roles of authentications") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_authentication ADD COLUMN service TEXT;
                ALTER TABLE oauth_authentication ADD COLUMN role TEXT;
                """)
    }

    /// Adds the wishes of requests for the sign-in, and the word that names the level to the client. Requests that wait
    /// already have no wishes.
    static let requestWishes = Migration(name: "wishes of requests") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_request ADD COLUMN wishes BLOB;
                ALTER TABLE oauth_code ADD COLUMN acr TEXT;
                """)
    }

    /// Adds the requests by which clients ask people without a browser.
    static let backchannelRequests = Migration(name: "backchannel requests") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE oauth_backchannel_request (
                    id TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, client TEXT NOT NULL, scope TEXT NOT NULL,
                    pause INTEGER NOT NULL, ends_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, asked_at INTEGER,
                    grant_id TEXT REFERENCES oauth_grant (id) ON DELETE CASCADE
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX oauth_backchannel_request_end ON oauth_backchannel_request (expires_at);
                CREATE INDEX oauth_backchannel_request_client ON oauth_backchannel_request (client);
                CREATE INDEX oauth_backchannel_request_grant ON oauth_backchannel_request (grant_id)
                    WHERE grant_id IS NOT NULL;
                """)
    }

    /// Adds the messages to clients about ended sessions, and the clients' addresses for these messages. Existing
    /// clients have no address yet.
    static let logoutOutbox = Migration(name: "logout outbox") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN backchannel_logout_uri TEXT;
                ALTER TABLE oauth_client ADD COLUMN backchannel_logout_session_required INTEGER NOT NULL DEFAULT 0;
                CREATE TABLE oauth_logout (
                    number INTEGER PRIMARY KEY, client TEXT NOT NULL, session TEXT NOT NULL,
                    subject TEXT NOT NULL, created_at INTEGER NOT NULL, due_at INTEGER NOT NULL,
                    attempts INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX oauth_logout_client ON oauth_logout (client, due_at);
                CREATE INDEX oauth_logout_due ON oauth_logout (due_at);
                """)
    }

    /// Extends the outbox to all messages for clients. The answers of people enter the outbox by a trigger. The
    /// existing messages stay.
    static let clientOutbox = Migration(name: "client outbox") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN backchannel_mode TEXT NOT NULL DEFAULT 'poll';
                ALTER TABLE oauth_client ADD COLUMN backchannel_address TEXT;
                ALTER TABLE oauth_backchannel_request ADD COLUMN notification BLOB;
                ALTER TABLE oauth_backchannel_request ADD COLUMN details BLOB;
                CREATE TABLE oauth_delivery (
                    number INTEGER PRIMARY KEY, client TEXT NOT NULL, kind INTEGER NOT NULL, matter TEXT NOT NULL,
                    subject TEXT, created_at INTEGER NOT NULL, due_at INTEGER NOT NULL, attempts INTEGER NOT NULL
                ) STRICT;
                INSERT INTO oauth_delivery (client, kind, matter, subject, created_at, due_at, attempts)
                SELECT client, 0, session, subject, created_at, due_at, attempts
                FROM oauth_logout ORDER BY number;
                DROP TABLE oauth_logout;
                CREATE INDEX oauth_delivery_client ON oauth_delivery (client, due_at);
                CREATE INDEX oauth_delivery_due ON oauth_delivery (due_at);
                CREATE TRIGGER oauth_backchannel_answered AFTER UPDATE OF phase ON ceremony
                WHEN NEW.reference IS NOT NULL AND NEW.phase = \(CeremonyRecord.Phase.ended.rawValue)
                    AND OLD.phase <> NEW.phase
                BEGIN
                    INSERT INTO oauth_delivery (client, kind, matter, created_at, due_at, attempts)
                    SELECT client, 1, id, NEW.changed_at, NEW.changed_at, 0
                    FROM oauth_backchannel_request WHERE id = NEW.reference AND notification IS NOT NULL;
                END
                """)
    }

    /// Adds the consents of people. Existing clients belong to the operator, so people are not asked for them.
    static let consents = Migration(name: "consents") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE oauth_consent (
                    id TEXT PRIMARY KEY, account TEXT NOT NULL, client TEXT NOT NULL, content BLOB NOT NULL,
                    scope TEXT NOT NULL, claims BLOB, resources TEXT NOT NULL, granted_at INTEGER NOT NULL, UNIQUE (account, client, content)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX oauth_consent_client ON oauth_consent (client);
                ALTER TABLE oauth_grant ADD COLUMN consent TEXT REFERENCES oauth_consent (id) ON DELETE CASCADE;
                CREATE INDEX oauth_grant_consent ON oauth_grant (consent) WHERE consent IS NOT NULL;
                ALTER TABLE oauth_request ADD COLUMN session TEXT;
                ALTER TABLE oauth_client ADD COLUMN party TEXT NOT NULL DEFAULT 'first-party';
                """)
    }

    /// Adds the session in which each consent was given. The session of an existing consent is unknown.
    static let consentSessions = Migration(name: "sessions of consents") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_consent ADD COLUMN session TEXT;
                ALTER TABLE oauth_consent ADD COLUMN browser BLOB;
                ALTER TABLE oauth_consent ADD COLUMN address BLOB;
                """)
    }

    /// Adds the codes of devices that wait for their person. If the request of a device ends without a grant, the
    /// device is denied.
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

    /// Removes the trigger that denies the device of an ended request. The steps that end a request deny the device.
    static let deniedDevices = Migration(name: "devices that steps deny") { db, _ in
        try db.execute(sql: "DROP TRIGGER oauth_device_code_denied")
    }

    /// Removes the trigger that puts the answers of people into the outbox. The steps that end a ceremony do so.
    static let deliveredAnswers = Migration(name: "answers that steps deliver") { db, _ in
        try db.execute(sql: "DROP TRIGGER oauth_backchannel_answered")
    }

    /// Removes the triggers that let an authentication end with the last of its grants. The steps that delete a session
    /// or a lasting grant do so.
    static let endedAuthentications = Migration(name: "authentications that steps end") { db, _ in
        try db.execute(sql: "DROP TRIGGER oauth_authentication_left; DROP TRIGGER oauth_authentication_granted;")
    }

    /// Adds the secrets by which the apps of a device sign in through each other. A secret ends with its session, and
    /// with the consent that it rests on.
    static let deviceSecretsOfApps = Migration(name: "device secrets of apps") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE oauth_device_secret (
                    digest BLOB PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                    session TEXT NOT NULL REFERENCES oauth_session (id) ON DELETE CASCADE,
                    client TEXT NOT NULL, sharing_group TEXT NOT NULL, scope TEXT NOT NULL, is_bound INTEGER NOT NULL,
                    consent TEXT REFERENCES oauth_consent (id) ON DELETE CASCADE,
                    given_at INTEGER NOT NULL, used_at INTEGER, UNIQUE (session, client)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX oauth_device_secret_client ON oauth_device_secret (client);
                CREATE INDEX oauth_device_secret_consent ON oauth_device_secret (consent) WHERE consent IS NOT NULL;
                """)
    }

    /// Adds the data by which a person recognises a lasting grant, and the order of a client's and a person's lasting
    /// grants: if too many exist, the oldest ends. Also adds the time of an account's last lock: an authentication from
    /// before the lock is invalid after it.
    static let grantLists = Migration(name: "lists of grants") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_grant ADD COLUMN lasting_since INTEGER;
                ALTER TABLE oauth_grant ADD COLUMN lasting_number INTEGER;
                ALTER TABLE oauth_refresh ADD COLUMN used_at INTEGER;
                ALTER TABLE account ADD COLUMN locked_at INTEGER;
                UPDATE oauth_refresh SET used_at = parent_used_at;
                UPDATE oauth_grant SET lasting_since = began.at, lasting_number = began.number FROM (
                    SELECT oauth_grant.id AS id, oauth_authentication.at AS at, row_number() OVER (
                        PARTITION BY client, subject ORDER BY oauth_grant.expires_at, oauth_grant.id) AS number
                    FROM oauth_grant JOIN oauth_refresh ON oauth_refresh.grant_id = oauth_grant.id
                    JOIN oauth_authentication ON oauth_authentication.id = authentication
                ) AS began WHERE oauth_grant.id = began.id;
                CREATE UNIQUE INDEX oauth_grant_lasting_number ON oauth_grant (client, subject, lasting_number)
                    WHERE lasting_number IS NOT NULL;
                """)
    }

    /// Adds the keys that requests, codes and refresh tokens are bound to. Existing rows are bound to no key.
    static let keyBindings = Migration(name: "bindings to keys") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_request ADD COLUMN key_thumbprint TEXT;
                ALTER TABLE oauth_code ADD COLUMN key_thumbprint TEXT;
                ALTER TABLE oauth_grant ADD COLUMN key_thumbprint TEXT;
                """)
    }

    /// Adds the claims that clients have named. Existing grants are for scopes alone.
    static let grantClaims = Migration(name: "claims of grants") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_grant ADD COLUMN claims BLOB")
    }

    /// Adds requests that clients send before a browser presents them.
    static let pushedRequests = Migration(name: "pushed requests") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE oauth_pushed_request (
                    digest BLOB PRIMARY KEY, client TEXT NOT NULL, parameters BLOB NOT NULL, expires_at INTEGER NOT NULL,
                    request TEXT REFERENCES oauth_request (id) ON DELETE CASCADE
                ) STRICT;
                CREATE INDEX oauth_pushed_request_end ON oauth_pushed_request (expires_at);
                CREATE INDEX oauth_pushed_request_client ON oauth_pushed_request (client);
                CREATE INDEX oauth_pushed_request_request ON oauth_pushed_request (request)
                    WHERE request IS NOT NULL;
                """)
    }

    /// Adds grants that outlive their session, the refresh tokens that renew these grants, and revoked access tokens.
    static let refreshTokens = Migration(name: "refresh tokens") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_grant ADD COLUMN is_lasting INTEGER NOT NULL DEFAULT 0;
                CREATE INDEX oauth_grant_lasting ON oauth_grant (session) WHERE is_lasting = 1;
                CREATE TABLE oauth_refresh (
                    grant_id TEXT PRIMARY KEY REFERENCES oauth_grant (id) ON DELETE CASCADE, head BLOB NOT NULL,
                    parent BLOB, parent_used_at INTEGER, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE oauth_revoked_token (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL)
                    STRICT, WITHOUT ROWID;
                CREATE INDEX oauth_revoked_token_end ON oauth_revoked_token (expires_at);
                """)
        // An authentication without a session ends with its last grant.
        try db.execute(
            sql: """
                CREATE TRIGGER oauth_authentication_granted AFTER DELETE ON oauth_grant WHEN OLD.is_lasting = 1
                BEGIN
                    UPDATE oauth_authentication SET expires_at = coalesce(
                        (SELECT max(expires_at) FROM oauth_grant WHERE authentication = OLD.authentication), 0)
                    WHERE id = OLD.authentication AND NOT EXISTS (
                        SELECT 1 FROM oauth_session_authentication WHERE authentication = OLD.authentication);
                END
                """)
    }

    /// Makes the successor of a refresh token computable again. The token before the present one is refused for a while
    /// without consequences.
    static let refreshSteps = Migration(name: "steps of refresh tokens") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_refresh ADD COLUMN step BLOB;
                ALTER TABLE oauth_refresh ADD COLUMN grandparent BLOB;
                """)
    }

    /// Adds statements that clients have signed for one use, until the statement is too old to be used.
    static let shownOnce = Migration(name: "what counts once") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE oauth_shown (digest BLOB PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
                CREATE INDEX oauth_shown_end ON oauth_shown (expires_at);
                """)
    }

    /// Adds the data by which a person recognises a session: the browser, and the session's services. A grant is
    /// deleted minutes after the sign-in, so the services have a separate table.
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

    /// Adds the mark of sessions with a browser. An existing session counts as a browser's session, since nothing else
    /// is known.
    static let browserlessSessions = Migration(name: "sessions that no browser has") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_session ADD COLUMN has_browser INTEGER NOT NULL DEFAULT 1")
    }
}

extension SealingPurpose {
    /// The former purposes of browser and address.
    fileprivate static let sessionBrowser = SealingPurpose("oauth session browser")
    fileprivate static let sessionAddress = SealingPurpose("oauth session address")
}

extension SQLConnection {
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
