import GRDB
import Sealing

extension Migration {
    /// Clients, authorization requests, grants, sessions, subjects and signing keys.
    static let openID = Migration(name: "openid") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE oauth_client (
                    id TEXT PRIMARY KEY, name TEXT NOT NULL, redirect_uris TEXT NOT NULL,
                    post_logout_redirect_uris TEXT NOT NULL, secret_digest BLOB NOT NULL, created_at INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE oauth_request (
                    id TEXT PRIMARY KEY, browser_digest BLOB NOT NULL, client TEXT NOT NULL, redirect_uri TEXT NOT NULL,
                    scope TEXT NOT NULL, state TEXT, nonce TEXT, code_challenge BLOB NOT NULL,
                    expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX oauth_request_end ON oauth_request (expires_at);
                CREATE TABLE oauth_session (
                    id TEXT PRIMARY KEY, cookie_digest BLOB NOT NULL UNIQUE, account TEXT NOT NULL,
                    authenticated_at INTEGER NOT NULL, acr TEXT NOT NULL, amr TEXT NOT NULL, used_at INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX oauth_session_account ON oauth_session (account);
                CREATE INDEX oauth_session_end ON oauth_session (expires_at);
                CREATE INDEX oauth_session_use ON oauth_session (used_at);
                CREATE TABLE oauth_grant (
                    id TEXT PRIMARY KEY, code_digest BLOB NOT NULL UNIQUE, client TEXT NOT NULL, session TEXT NOT NULL,
                    account TEXT NOT NULL, subject TEXT NOT NULL, redirect_uri TEXT NOT NULL, scope TEXT NOT NULL,
                    nonce TEXT, code_challenge BLOB NOT NULL, authenticated_at INTEGER NOT NULL, acr TEXT NOT NULL,
                    amr TEXT NOT NULL, code_expires_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
                    taken_at INTEGER, revoked INTEGER NOT NULL DEFAULT 0
                ) STRICT;
                CREATE INDEX oauth_grant_end ON oauth_grant (expires_at);
                CREATE TABLE oauth_subject (
                    client TEXT NOT NULL, subject TEXT NOT NULL, account TEXT NOT NULL, PRIMARY KEY (client, subject)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE oauth_secret (id INTEGER PRIMARY KEY CHECK (id = 1), sealed BLOB NOT NULL) STRICT;
                CREATE TABLE oauth_key (
                    id TEXT PRIMARY KEY, sealed BLOB NOT NULL, created_at INTEGER NOT NULL, retired_at INTEGER
                ) STRICT;
                """)
    }

    /// Adds the permission of clients to have people's keys deleted. No existing client has this permission.
    static let clientPermissions = Migration(name: "client-permissions") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN may_deregister INTEGER NOT NULL DEFAULT 0")
    }

    /// Adds a client's former secret, and the time until which the former secret is accepted too.
    static let clientSecrets = Migration(name: "former secrets of clients") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN former_secret_digest BLOB;
                ALTER TABLE oauth_client ADD COLUMN former_secret_until INTEGER;
                """)
    }

    /// Adds the kinds of clients. Existing clients exchange codes, and share a secret with the server.
    static let clientKinds = Migration(name: "kinds of clients") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN grant_types TEXT NOT NULL DEFAULT '["authorization_code"]';
                ALTER TABLE oauth_client ADD COLUMN authentication_method TEXT NOT NULL DEFAULT 'client_secret_basic';
                ALTER TABLE oauth_client ADD COLUMN key_set TEXT;
                """)
    }

    /// Adds the addresses at which clients keep their keys. Existing clients have given their keys, or have none.
    static let clientKeyAddresses = Migration(name: "addresses of clients' keys") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN key_set_address TEXT")
    }

    /// Adds the audience that a client's assertions have to name. The assertions of existing clients name the issuer.
    static let assertionAudiences = Migration(name: "audiences of clients' assertions") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN assertion_audience TEXT NOT NULL DEFAULT 'issuer'")
    }

    /// Adds the members of a registration that an earlier client has not named.
    static let registeredRules = Migration(name: "rules that clients register") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN sector_identifier_uri TEXT;
                ALTER TABLE oauth_client ADD COLUMN requires_pushed_requests INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE oauth_client ADD COLUMN default_max_age INTEGER;
                """)
    }

    /// Adds the address at which people find a service. The address of an existing client is unknown.
    static let clientHomes = Migration(name: "homes of clients") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN client_uri TEXT")
    }

    /// Adds the settings that ordinary OpenID libraries need. Existing clients keep their behaviour: they verify ES256,
    /// and send a challenge. An empty challenge stands for no challenge.
    static let relyingParties = Migration(name: "relying-parties") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_key ADD COLUMN algorithm TEXT NOT NULL DEFAULT 'ES256';
                ALTER TABLE oauth_client ADD COLUMN id_token_algorithm TEXT NOT NULL DEFAULT 'ES256';
                ALTER TABLE oauth_client ADD COLUMN code_binding TEXT NOT NULL DEFAULT 'required';
                ALTER TABLE oauth_request ADD COLUMN expected_subject TEXT;
                ALTER TABLE account ADD COLUMN email BLOB;
                ALTER TABLE account ADD COLUMN email_verified INTEGER NOT NULL DEFAULT 0;
                """)
    }
}

extension SealingPurpose {
    /// A private signing key, bound to its name.
    static let signingKey = SealingPurpose("oauth signing key")
    /// The secret of the pairwise subjects.
    static let subjectSecret = SealingPurpose("oauth subject secret")
}
