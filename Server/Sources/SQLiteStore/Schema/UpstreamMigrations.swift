import GRDB

extension Migration {
    /// Adds other providers for sign-ins, the links of accounts to identities at these providers, and the trips of
    /// browsers to a provider and back.
    static let upstreamProviders = Migration(name: "other providers") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE upstream_provider (
                    id TEXT PRIMARY KEY, title TEXT NOT NULL, kind TEXT NOT NULL, issuer TEXT NOT NULL,
                    authorization_endpoint TEXT, token_endpoint TEXT, userinfo_endpoint TEXT, client_id TEXT NOT NULL,
                    authentication TEXT NOT NULL, secret BLOB, scopes TEXT NOT NULL, levels TEXT NOT NULL,
                    usual_level TEXT NOT NULL, newcomers TEXT NOT NULL, email_domains TEXT NOT NULL,
                    subject_claim TEXT NOT NULL, created_at INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE upstream_link (
                    id TEXT PRIMARY KEY, provider TEXT NOT NULL REFERENCES upstream_provider (id) ON DELETE CASCADE,
                    issuer TEXT NOT NULL, subject_code BLOB NOT NULL, subject BLOB NOT NULL,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, created_at INTEGER NOT NULL,
                    UNIQUE (provider, issuer, subject_code)
                ) STRICT;
                CREATE INDEX upstream_link_account ON upstream_link (account_id);
                CREATE TABLE upstream_trip (
                    place TEXT PRIMARY KEY, request TEXT NOT NULL REFERENCES oauth_request (id) ON DELETE CASCADE,
                    provider TEXT NOT NULL REFERENCES upstream_provider (id) ON DELETE CASCADE,
                    state_digest BLOB UNIQUE, verifier BLOB NOT NULL, nonce BLOB NOT NULL, is_second INTEGER NOT NULL,
                    begun_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, UNIQUE (request, provider)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX upstream_trip_provider ON upstream_trip (provider);
                CREATE TABLE upstream_arrival (
                    place TEXT PRIMARY KEY, request TEXT NOT NULL REFERENCES oauth_request (id) ON DELETE CASCADE,
                    provider TEXT NOT NULL REFERENCES upstream_provider (id) ON DELETE CASCADE,
                    issuer TEXT NOT NULL, subject BLOB NOT NULL, at INTEGER NOT NULL, acr TEXT NOT NULL,
                    amr TEXT NOT NULL, browser BLOB, address BLOB,
                    account_id TEXT REFERENCES account (id) ON DELETE CASCADE, finished_at INTEGER NOT NULL,
                    is_wanted INTEGER NOT NULL, UNIQUE (request, provider)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX upstream_arrival_provider ON upstream_arrival (provider);
                CREATE INDEX upstream_arrival_account ON upstream_arrival (account_id) WHERE account_id IS NOT NULL;
                """)
    }

    /// Adds the levels that are requested from other providers for the level words of app sign-in clients. Nothing is
    /// requested from existing providers.
    static let upstreamLevels = Migration(name: "levels of other providers") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE upstream_provider ADD COLUMN level_requests TEXT NOT NULL DEFAULT '[]';
                ALTER TABLE upstream_provider ADD COLUMN level_claim TEXT NOT NULL DEFAULT 'acr';
                ALTER TABLE upstream_provider ADD COLUMN level_hint TEXT;
                """)
    }

    /// Adds the mark of providers at which people are signed out as well. No existing provider has the mark.
    static let upstreamSignOuts = Migration(name: "signing out at other providers") { db, _ in
        try db.execute(sql: "ALTER TABLE upstream_provider ADD COLUMN signs_out INTEGER NOT NULL DEFAULT 0")
    }

    /// Adds the finished sign-ins of all methods. The former tables keep the sign-ins that are not finished, and the
    /// identities that wait to be connected. Finished sign-ins from before end, and their people begin anew: a browser
    /// completes such a sign-in within a minute.
    static let finishedSignIns = Migration(name: "finished sign-ins of all methods") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE finished_sign_in (
                    place TEXT PRIMARY KEY, request TEXT NOT NULL REFERENCES oauth_request (id) ON DELETE CASCADE,
                    method TEXT NOT NULL, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    at INTEGER NOT NULL, acr TEXT NOT NULL, amr TEXT NOT NULL, browser BLOB, address BLOB,
                    finished_at INTEGER NOT NULL, UNIQUE (request, method)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX finished_sign_in_account ON finished_sign_in (account_id);
                DELETE FROM password_sign_in WHERE finished_at IS NOT NULL;
                ALTER TABLE password_sign_in DROP COLUMN finished_at;
                DELETE FROM upstream_arrival WHERE account_id IS NOT NULL;
                DROP INDEX upstream_arrival_account;
                ALTER TABLE upstream_arrival DROP COLUMN account_id;
                ALTER TABLE upstream_arrival DROP COLUMN at;
                ALTER TABLE upstream_arrival DROP COLUMN acr;
                ALTER TABLE upstream_arrival DROP COLUMN amr;
                ALTER TABLE upstream_arrival DROP COLUMN browser;
                ALTER TABLE upstream_arrival DROP COLUMN address;
                ALTER TABLE upstream_arrival RENAME COLUMN finished_at TO arrived_at;
                """)
    }
}
