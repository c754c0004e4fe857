import GRDB

extension Migration {
    static let administration = Migration(name: "administration") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE administrator (
                    id TEXT PRIMARY KEY, token_digest BLOB NOT NULL UNIQUE, created_at INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE administrator_link (
                    id INTEGER PRIMARY KEY, digest BLOB NOT NULL, expires_at INTEGER NOT NULL
                ) STRICT;
                """)
    }

    static let audit = Migration(name: "audit") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE audit (
                    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL, account_id TEXT,
                    ceremony_id TEXT, actor TEXT, detail TEXT, code BLOB NOT NULL
                ) STRICT;
                CREATE TABLE notice (
                    id TEXT PRIMARY KEY, account_id TEXT NOT NULL, kind INTEGER NOT NULL, at INTEGER NOT NULL,
                    subject BLOB NOT NULL
                ) STRICT;
                CREATE INDEX notice_by_account ON notice (account_id, at);
                """)
    }

    /// Adds the address from which a person signed in. Older entries have none.
    static let auditAddresses = Migration(name: "addresses in the audit trail") { db, _ in
        try db.execute(sql: "ALTER TABLE audit ADD COLUMN address BLOB")
    }

    static let noticeRetention = Migration(name: "notice-retention") { db, _ in
        try db.execute(sql: "CREATE INDEX notice_by_time ON notice (at)")
    }
}
