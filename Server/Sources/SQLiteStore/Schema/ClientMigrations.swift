import GRDB

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

    /// Adds the rules for a client's requests. Existing clients keep their rules.
    static let clientProfiles = Migration(name: "profiles of clients") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN security_profile TEXT NOT NULL DEFAULT 'usual';
                ALTER TABLE oauth_client ADD COLUMN requires_signed_requests INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE oauth_client ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
                """)
    }

    /// Adds the detailed consents of people. No existing client asks for details, and no details were granted.
    static let authorizationDetails = Migration(name: "authorization details") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN detail_types TEXT NOT NULL DEFAULT '[]';
                ALTER TABLE oauth_grant ADD COLUMN details BLOB;
                """)
    }

    /// Adds the names in clients' certificates. Existing clients authenticate in other ways.
    static let clientCertificates = Migration(name: "certificates of clients") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN certificate_name TEXT")
    }

    /// Adds the permission to sign people in without a browser. Existing clients do not have this permission.
    static let directSignIn = Migration(name: "direct sign-in") { db, _ in
        try db.execute(
            sql: "ALTER TABLE oauth_client ADD COLUMN signs_in_directly INTEGER NOT NULL DEFAULT 0")
    }

    /// Adds the mark of clients that are switched off. No existing client is switched off.
    static let disabledClients = Migration(name: "clients that are switched off") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN is_disabled INTEGER NOT NULL DEFAULT 0")
    }

    /// Adds the registration of clients by themselves. An operator has registered all existing clients.
    static let clientRegistrations = Migration(name: "registrations of clients") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN registration_digest BLOB;
                ALTER TABLE oauth_client ADD COLUMN registered_by TEXT;
                CREATE TABLE oauth_initial_token (
                    id TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, created_at INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL, uses_left INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// Adds the app sign-in service. No existing client, grant or key belongs to the service.
    static let signInService = Migration(name: "app sign-in service") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN sign_in_service TEXT;
                CREATE INDEX oauth_client_sign_in_service ON oauth_client (id) WHERE sign_in_service IS NOT NULL;
                ALTER TABLE oauth_grant ADD COLUMN device_secret BLOB;
                ALTER TABLE oauth_grant ADD COLUMN origin TEXT;
                CREATE INDEX oauth_grant_device_secret ON oauth_grant (device_secret) WHERE device_secret IS NOT NULL;
                CREATE INDEX oauth_grant_origin ON oauth_grant (origin) WHERE origin IS NOT NULL;
                ALTER TABLE oauth_key ADD COLUMN face TEXT NOT NULL DEFAULT 'openid';
                """)
    }

    /// Removes two indexes of grants. Such grants are found by their authentication, and each index is one more page to
    /// write for a session.
    static let fewerGrantIndexes = Migration(name: "fewer indexes of grants") { db, _ in
        try db.execute(sql: "DROP INDEX oauth_grant_device_secret; DROP INDEX oauth_grant_origin;")
    }

    /// Adds the resources that clients may have tokens for or own, and the resources of requests and grants. Existing
    /// rows are for this server alone.
    static let resources = Migration(name: "resources") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN token_settings TEXT NOT NULL DEFAULT '{}';
                CREATE INDEX oauth_client_tokens ON oauth_client (token_settings) WHERE token_settings <> '{}';
                ALTER TABLE oauth_request ADD COLUMN resources TEXT NOT NULL DEFAULT '';
                ALTER TABLE oauth_grant ADD COLUMN resources TEXT NOT NULL DEFAULT '';
                """)
    }

    /// Adds the address at which a client's back end is told how dispatched sessions end. No existing client is told.
    static let statusAddresses = Migration(name: "addresses for ends of sessions") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN status_uri TEXT;
                CREATE INDEX oauth_client_status_uri ON oauth_client (id) WHERE status_uri IS NOT NULL;
                """)
    }
}
