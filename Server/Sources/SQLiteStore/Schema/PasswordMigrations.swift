import GRDB

extension Migration {
    /// Adds the daily counts of all password attempts, and the browsers and networks from which people have signed in
    /// by password.
    static let knownBrowsers = Migration(name: "known browsers") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE password_attempt_day (
                    holder TEXT NOT NULL, day INTEGER NOT NULL,
                    account_id TEXT REFERENCES account (id) ON DELETE CASCADE, count INTEGER NOT NULL,
                    PRIMARY KEY (holder, day)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX password_attempt_day_account ON password_attempt_day (account_id)
                    WHERE account_id IS NOT NULL;
                CREATE INDEX password_attempt_day_time ON password_attempt_day (day);
                CREATE TABLE known_browser (
                    digest BLOB PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    wrong INTEGER NOT NULL, used_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX known_browser_account ON known_browser (account_id);
                CREATE TABLE known_network (
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, network BLOB NOT NULL,
                    used_at INTEGER NOT NULL, PRIMARY KEY (account_id, network)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// Adds passwords of accounts, their second factors, and sign-ins by password.
    static let passwords = Migration(name: "passwords") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE password (
                    account_id TEXT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
                    hash BLOB NOT NULL, set_at INTEGER NOT NULL, is_one_time INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE totp (
                    account_id TEXT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
                    secret BLOB NOT NULL, algorithm TEXT NOT NULL, digits INTEGER NOT NULL,
                    period_seconds INTEGER NOT NULL, set_at INTEGER NOT NULL, last_step INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE recovery_code (
                    account_id TEXT NOT NULL REFERENCES totp (account_id) ON DELETE CASCADE, code BLOB NOT NULL,
                    PRIMARY KEY (account_id, code)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE password_attempt (
                    holder TEXT PRIMARY KEY, account_id TEXT REFERENCES account (id) ON DELETE CASCADE,
                    count INTEGER NOT NULL, at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX password_attempt_account ON password_attempt (account_id) WHERE account_id IS NOT NULL;
                CREATE INDEX password_attempt_time ON password_attempt (at);
                CREATE TABLE password_sign_in (
                    request TEXT PRIMARY KEY REFERENCES oauth_request (id) ON DELETE CASCADE,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    second_factor TEXT, needs_second_factor INTEGER NOT NULL, needs_new_password INTEGER NOT NULL,
                    finished_at INTEGER, browser BLOB, address BLOB
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX password_sign_in_account ON password_sign_in (account_id);
                """)
    }

    /// Adds the sign-in methods of clients. Existing clients let people sign in by phone.
    static let signInMethods = Migration(name: "ways to sign in to a client") { db, _ in
        try db.execute(
            sql: "ALTER TABLE oauth_client ADD COLUMN sign_in_methods TEXT NOT NULL DEFAULT '[\"phone\"]'")
    }
}
