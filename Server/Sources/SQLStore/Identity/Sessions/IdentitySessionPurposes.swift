import GRDB
import Sealing

extension Migration {
    /// Adds sessions of personalised identities, activations and their offers, and the server's keys for them. No
    /// existing device is an activation.
    ///
    /// Answers are in the order of their creation: answers of one commit share pages, and each answer is deleted after
    /// minutes.
    static let identitySessions = Migration(name: "sessions and activations of identities") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE ceremony ADD COLUMN progress BLOB;
                CREATE TABLE activation (
                    device_id TEXT PRIMARY KEY REFERENCES device (id) ON DELETE CASCADE, signing_key BLOB NOT NULL,
                    encryption_key BLOB NOT NULL, pin_version INTEGER, failures_in_row INTEGER NOT NULL,
                    failures TEXT NOT NULL, locked_until INTEGER, is_permanent INTEGER NOT NULL,
                    reserved_request BLOB, reserved_at INTEGER, last_used_at INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE pending_activation (
                    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    state INTEGER NOT NULL, claim_digest BLOB NOT NULL, pin_key BLOB, pin_parameters TEXT NOT NULL,
                    name BLOB, invite_id TEXT, challenge TEXT NOT NULL, token_digest BLOB, token_until INTEGER,
                    failures_in_row INTEGER NOT NULL, failures TEXT NOT NULL, locked_until INTEGER,
                    is_permanent INTEGER NOT NULL, reserved_request BLOB, reserved_at INTEGER,
                    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX pending_activation_by_account ON pending_activation (account_id);
                CREATE INDEX pending_activation_stale ON pending_activation (expires_at);
                CREATE TABLE identity_answer (
                    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT, request_hash BLOB NOT NULL,
                    answer BLOB NOT NULL, kept_until INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX identity_answer_stale ON identity_answer (kept_until);
                CREATE TABLE identity_root (id INTEGER PRIMARY KEY CHECK (id = 1), sealed BLOB NOT NULL) STRICT;
                CREATE TABLE identity_sealing_key (
                    id TEXT PRIMARY KEY, sealed BLOB NOT NULL, created_at INTEGER NOT NULL, erased_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// Adds an index for the sweep: activations whose last attempt was never settled. The index is empty, except for
    /// moments.
    static let forsakenAttempts = Migration(name: "attempts that nobody settles") { db, _ in
        try db.execute(
            sql: """
                CREATE INDEX activation_forsaken ON activation (reserved_at)
                WHERE is_permanent = 1 AND reserved_at IS NOT NULL;
                """)
    }
}

extension SealingPurpose {
    static let activationSigningKey = SealingPurpose("activation signing key", isOpenedOften: true)
    static let activationEncryptionKey = SealingPurpose("activation encryption key", isOpenedOften: true)
    static let offeredPinKey = SealingPurpose("offered activation pin key")
    static let offeredName = SealingPurpose("offered activation name")
    static let offeredLetter = SealingPurpose("offered activation letter")
    static let identityAnswer = SealingPurpose("identity answer")
    static let identityRoot = SealingPurpose("identity root")
    static let identitySealingKey = SealingPurpose("identity sealing key")
}
