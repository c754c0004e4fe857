import GRDB

extension Migration {
    /// Adds ceremonies. Rows are in the order of their creation, because a ceremony's life is short: open ceremonies
    /// lie close together, and steps that share a commit share pages.
    static let ceremonies = Migration(name: "ceremonies") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE ceremony (
                    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind INTEGER NOT NULL,
                    phase INTEGER NOT NULL, outcome INTEGER, client_id TEXT, reference TEXT, browser_digest BLOB,
                    account_id TEXT, channel INTEGER, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
                    changed_at INTEGER NOT NULL, continuation_digest BLOB, confirmation_code BLOB, device_id TEXT,
                    uaf_status INTEGER, client_error INTEGER, asm_status INTEGER, authenticators TEXT NOT NULL,
                    content_hash BLOB, is_consumed INTEGER NOT NULL, detail BLOB NOT NULL
                ) STRICT;
                CREATE UNIQUE INDEX ceremony_by_reference ON ceremony (reference) WHERE reference IS NOT NULL;
                CREATE UNIQUE INDEX ceremony_by_continuation ON ceremony (continuation_digest)
                WHERE continuation_digest IS NOT NULL;
                CREATE INDEX ceremony_overdue ON ceremony (expires_at) WHERE phase < 4;
                CREATE INDEX ceremony_stale ON ceremony (changed_at) WHERE phase = 4;
                CREATE INDEX ceremony_by_account ON ceremony (account_id) WHERE account_id IS NOT NULL;
                CREATE TABLE dispatch_token (
                    digest BLOB PRIMARY KEY, ceremony_id TEXT NOT NULL REFERENCES ceremony (id) ON DELETE CASCADE,
                    channel INTEGER NOT NULL, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX dispatch_token_by_ceremony ON dispatch_token (ceremony_id);
                CREATE TABLE answered_challenge (
                    digest BLOB PRIMARY KEY, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX answered_challenge_stale ON answered_challenge (expires_at);
                """)
    }

    /// Adds the methods and the assurance of ceremonies. An answer from before the migration counts as the least,
    /// because its proofs were not kept.
    static let assurance = Migration(name: "assurance of ceremonies") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE ceremony ADD COLUMN methods TEXT NOT NULL DEFAULT 'swk';
                ALTER TABLE ceremony ADD COLUMN assurance TEXT NOT NULL DEFAULT 'urn:countersign:acr:one-factor';
                """)
    }

    /// Replaces one index by two for the sweep, which comes every few seconds.
    static let staleCeremonies = Migration(name: "ended ceremonies by how long they are kept") { db, _ in
        try db.execute(
            sql: """
                DROP INDEX ceremony_stale;
                CREATE INDEX ceremony_stale ON ceremony (changed_at)
                WHERE phase = 4 AND (kind <> 4 OR outcome IS NOT 1);
                CREATE INDEX ceremony_deregistered ON ceremony (changed_at)
                WHERE phase = 4 AND kind = 4 AND outcome = 1;
                """)
    }

    static let openedElsewhere = Migration(name: "whether a continuation was opened in another browser") { db, _ in
        try db.execute(
            sql: "ALTER TABLE ceremony ADD COLUMN is_opened_elsewhere INTEGER NOT NULL DEFAULT 0")
    }

    /// Adds the device that a ceremony was dispatched to. An open ceremony of a former version ends within a minute, and
    /// stays in no device's list.
    static let ceremonyTargets = Migration(name: "the devices that ceremonies were dispatched to") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE ceremony ADD COLUMN target_device TEXT;
                ALTER TABLE ceremony ADD COLUMN target_dispatcher TEXT;
                """)
    }

    /// Adds signed denials, and the clients that rest for a person after the person has disowned a request.
    static let denials = Migration(name: "denials") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE ceremony ADD COLUMN denial INTEGER;
                CREATE TABLE asking_rest (
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, requester TEXT NOT NULL,
                    length INTEGER NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (account_id, requester)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX asking_rest_end ON asking_rest (until);
                """)
    }

    /// Adds the attempts at numbers, and the setting of a client that shows numbers. No existing client does.
    static let matchedNumbers = Migration(name: "matched numbers") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE number_attempt (
                    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX number_attempt_account ON number_attempt (account_id, at);
                CREATE INDEX number_attempt_time ON number_attempt (at);
                ALTER TABLE oauth_client ADD COLUMN matches_numbers INTEGER NOT NULL DEFAULT 0;
                """)
    }

    /// Adds the receipts of confirmed transactions, and the public keys that sign receipts. Transactions confirmed before
    /// have no receipt.
    static let receipts = Migration(name: "receipts of transactions") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE receipt (
                    number INTEGER PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    session TEXT NOT NULL UNIQUE, client TEXT NOT NULL, evidence BLOB NOT NULL,
                    kept_until INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX receipt_account ON receipt (account_id, number);
                CREATE TABLE receipt_key (
                    id TEXT PRIMARY KEY, public_key TEXT NOT NULL, signs_from INTEGER NOT NULL, signs_until INTEGER,
                    seen_since INTEGER
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// Adds the messages to people's devices and the budgets used up. Messages sent before do not count.
    static let pushCounts = Migration(name: "counted pushes") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE push (
                    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    requester TEXT NOT NULL, at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX push_account ON push (account_id, at);
                CREATE INDEX push_time ON push (at);
                CREATE TABLE used_push_budget (
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, requester TEXT NOT NULL,
                    budget TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (account_id, requester, budget)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX used_push_budget_time ON used_push_budget (at);
                """)
    }

    /// Adds the codes of judged answers. An answer from before the migration is refused when it is sent again.
    static let judgedAnswers = Migration(name: "judged answers") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE ceremony ADD COLUMN answer_code BLOB;
                ALTER TABLE ceremony ADD COLUMN is_number_wrong INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE answered_challenge ADD COLUMN answer_code BLOB;
                ALTER TABLE answered_challenge ADD COLUMN uaf_status INTEGER;
                """)
    }
}
