import GRDB
import Records
import SQLStore
import Sealing

extension Migration {
    /// Adds changes of accounts, and tables for the rows that rest because a change was disowned. A resting row moves
    /// to a separate table, so that no reader of the first table can find the row.
    static let accountChanges = Migration(name: "changes of accounts") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE account_change (
                    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    addition BLOB NOT NULL, words BLOB NOT NULL, made_at INTEGER NOT NULL, state TEXT NOT NULL,
                    decided_at INTEGER NOT NULL, rests_first_email INTEGER NOT NULL DEFAULT 0
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX account_change_account ON account_change (account_id, decided_at);
                CREATE INDEX account_change_time ON account_change (decided_at);
                CREATE TABLE rested_activation (
                    device_id TEXT PRIMARY KEY REFERENCES device (id) ON DELETE CASCADE,
                    change_id TEXT NOT NULL REFERENCES account_change (id) ON DELETE CASCADE
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX rested_activation_change ON rested_activation (change_id);
                CREATE TABLE rested_upstream_link (
                    id TEXT PRIMARY KEY, provider TEXT NOT NULL REFERENCES upstream_provider (id) ON DELETE CASCADE,
                    issuer TEXT NOT NULL, subject_code BLOB NOT NULL, subject BLOB NOT NULL,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, created_at INTEGER NOT NULL,
                    change_id TEXT NOT NULL REFERENCES account_change (id) ON DELETE CASCADE
                ) STRICT;
                CREATE INDEX rested_upstream_link_change ON rested_upstream_link (change_id);
                CREATE INDEX rested_upstream_link_provider ON rested_upstream_link (provider);
                CREATE TABLE rested_account_email (
                    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    address BLOB NOT NULL, address_code BLOB NOT NULL, is_verified INTEGER NOT NULL,
                    created_at INTEGER NOT NULL,
                    change_id TEXT NOT NULL REFERENCES account_change (id) ON DELETE CASCADE
                ) STRICT;
                CREATE INDEX rested_account_email_change ON rested_account_email (change_id);
                CREATE TABLE rested_personal_value (
                    id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    attribute TEXT NOT NULL, alias BLOB NOT NULL, value BLOB NOT NULL, is_primary INTEGER NOT NULL,
                    is_verified INTEGER NOT NULL, source TEXT NOT NULL, created_at INTEGER NOT NULL,
                    change_id TEXT NOT NULL REFERENCES account_change (id) ON DELETE CASCADE
                ) STRICT;
                CREATE INDEX rested_personal_value_change ON rested_personal_value (change_id);
                CREATE TABLE rested_password (
                    account_id TEXT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
                    hash BLOB NOT NULL, set_at INTEGER NOT NULL, is_one_time INTEGER NOT NULL,
                    change_id TEXT NOT NULL REFERENCES account_change (id) ON DELETE CASCADE
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX rested_password_change ON rested_password (change_id);
                CREATE TABLE rested_totp (
                    account_id TEXT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
                    secret BLOB NOT NULL, algorithm TEXT NOT NULL, digits INTEGER NOT NULL,
                    period_seconds INTEGER NOT NULL, set_at INTEGER NOT NULL, last_step INTEGER,
                    change_id TEXT NOT NULL REFERENCES account_change (id) ON DELETE CASCADE
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX rested_totp_change ON rested_totp (change_id);
                CREATE TABLE rested_recovery_code (
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, code BLOB NOT NULL,
                    change_id TEXT NOT NULL REFERENCES account_change (id) ON DELETE CASCADE,
                    PRIMARY KEY (account_id, code)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX rested_recovery_code_change ON rested_recovery_code (change_id);
                """)
    }

    /// Notes of a change that adds an address if the account's person had confirmed the address before the change.
    static let knownAddresses = Migration(name: "changes with known addresses") { db, _ in
        try db.execute(sql: "ALTER TABLE account_change ADD COLUMN address_was_known INTEGER NOT NULL DEFAULT 0")
    }

    /// Stores user names in their single canonical spelling. Before, a name was found by its canonical spelling and
    /// kept as it had been written.
    static let composedNames = Migration(name: "user names in their one spelling") { db, sealing in
        for (id, name) in try SQLConnection(db).keptNames(sealing).compactMap(\.recomposed) {
            try db.execute(
                sql: "UPDATE account SET username = ? WHERE id = ?",
                arguments: [try sealing.seal(name, purpose: .username, row: id).blob, id])
        }
    }

    /// Finds user names by one key in place of their bytes. Names that differ only in the case of A to Z or in white
    /// space at their ends now mean one account. If several accounts already have such names, these accounts keep
    /// answering to their exact bytes.
    static let nameKeys = Migration(name: "user names by one key") { db, sealing in
        try db.execute(sql: "ALTER TABLE reset_ask ADD COLUMN exact_code BLOB NOT NULL DEFAULT X''")
        let accounts = try SQLConnection(db).keptNames(sealing).map { (id: $0.id, name: $0.name) }
        for (id, name, spelling) in AccountNameSpelling.assigned(to: accounts) {
            try db.execute(
                sql: "UPDATE account SET username_code = ? WHERE id = ?",
                arguments: [sealing.usernameCode(name, spelling).blob, id])
        }
    }

    /// Keeps, for an account that answers to its exact bytes alone, the code of all spellings of its name. No other
    /// account gets a name with this code: a name in the exact bytes would then mean two accounts.
    static let collidingNames = Migration(name: "colliding user names") { db, sealing in
        try db.execute(
            sql: """
                ALTER TABLE account ADD COLUMN colliding_code BLOB;
                CREATE INDEX account_colliding_code ON account (colliding_code) WHERE colliding_code IS NOT NULL;
                """)
        for kept in try SQLConnection(db).keptNames(sealing).filter({ sealing.exactUsernameCode($0.name) == $0.code }) {
            try db.execute(
                sql: "UPDATE account SET colliding_code = ? WHERE id = ?",
                arguments: [sealing.usernameCode(kept.name).blob, kept.id])
        }
    }

    static let accounts = Migration(name: "accounts") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE account (
                    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, username_code BLOB NOT NULL UNIQUE,
                    username BLOB NOT NULL, display_name BLOB, is_locked INTEGER NOT NULL, created_at INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE device (
                    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    name BLOB NOT NULL, is_active INTEGER NOT NULL, created_at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX device_by_account ON device (account_id);
                CREATE TABLE credential (
                    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                    device_id TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    aaid TEXT NOT NULL, key_id BLOB NOT NULL, public_key BLOB NOT NULL, key_format INTEGER NOT NULL,
                    algorithm INTEGER NOT NULL, counter INTEGER NOT NULL, registration_counter INTEGER NOT NULL,
                    authenticator_version INTEGER NOT NULL, is_active INTEGER NOT NULL, created_at INTEGER NOT NULL,
                    last_used_at INTEGER, UNIQUE (aaid, key_id)
                ) STRICT;
                CREATE INDEX credential_by_account ON credential (account_id);
                CREATE INDEX credential_by_device ON credential (device_id);
                """)
    }

    /// Adds the attestations of keys. Older keys have none, because the server did not keep their attestations.
    static let attestations = Migration(name: "attestations of keys") { db, _ in
        try db.execute(sql: "ALTER TABLE credential ADD COLUMN attestation BLOB")
    }

    /// Adds the picture displays of keys. Older keys show no pictures, because the server did not keep the displays
    /// that their authenticators reported.
    static let pictureDisplays = Migration(name: "pictures that authenticators show") { db, _ in
        try db.execute(sql: "ALTER TABLE credential ADD COLUMN picture_displays BLOB")
    }

    /// Adds the secrets of devices. Older devices have no secret, so nobody can prove to be such a device.
    static let enrolmentSecrets = Migration(name: "secrets of devices, and what replaces what") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE device ADD COLUMN secret_code BLOB;
                CREATE TABLE replaced_credential (
                    successor_id TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
                    credential_id TEXT NOT NULL REFERENCES credential (id) ON DELETE CASCADE,
                    PRIMARY KEY (successor_id, credential_id)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX replaced_credential_by_credential ON replaced_credential (credential_id);
                """)
    }

    /// Binds public keys to their accounts. Before, a public key was sealed to its row alone: the key still opened
    /// after somebody had assigned the row to another account.
    static let boundKeys = Migration(name: "public keys bound to their accounts") { db, sealing in
        let keys = try SQLConnection(db).rows(
            "SELECT id, public_key, account_id, device_id, aaid, key_id FROM credential"
        ) { row in
            let id = try row.text("id")
            let place = Sealing.place(
                ofKey: id, account: try row.text("account_id"), device: try row.text("device_id"),
                aaid: try row.text("aaid"), keyID: try row.bytes("key_id"))
            return (id, try sealing.open(try row.bytes("public_key"), purpose: .publicKey, row: id), place)
        }
        for (id, key, place) in keys {
            try db.execute(
                sql: "UPDATE credential SET public_key = ? WHERE id = ?",
                arguments: [try sealing.seal(key, purpose: .boundPublicKey, row: place).blob, id])
        }
    }

    /// Adds people's telephone numbers and addresses. Existing accounts have none.
    static let contacts = Migration(name: "telephone numbers and addresses") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE account ADD COLUMN phone BLOB;
                ALTER TABLE account ADD COLUMN phone_verified INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE account ADD COLUMN postal_address BLOB;
                """)
    }

    /// Adds the further attributes that services receive about people, and the time of the last change. Existing
    /// accounts have none.
    static let profiles = Migration(name: "profiles of people") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE account ADD COLUMN profile BLOB;
                ALTER TABLE account ADD COLUMN updated_at INTEGER;
                """)
    }

    /// Adds the languages of people, by their tags. The language of an existing account is unknown until its person
    /// signs in. A tag of a language has at most 35 bytes (RFC 5646, section 4.4.1).
    static let languages = Migration(name: "languages of people") { db, _ in
        try db.execute(sql: "ALTER TABLE account ADD COLUMN language TEXT CHECK (length(language) <= 35)")
    }

    /// Adds to each session the device that signed the session in.
    static let devices = Migration(name: "devices of sessions") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_session ADD COLUMN device TEXT;
                CREATE INDEX oauth_session_device ON oauth_session (device) WHERE device IS NOT NULL;
                CREATE INDEX oauth_subject_account ON oauth_subject (account);
                """)
    }

    /// Adds the keys that a dispatched deregistration has deleted, for a phone that lost the answer.
    static let deregisteredKeys = Migration(name: "keys of dispatched deregistrations") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE deregistered_key (
                    number INTEGER PRIMARY KEY, ceremony_id TEXT NOT NULL REFERENCES ceremony (id) ON DELETE CASCADE,
                    aaid TEXT NOT NULL, key_id BLOB NOT NULL
                ) STRICT;
                CREATE INDEX deregistered_key_by_ceremony ON deregistered_key (ceremony_id);
                """)
    }

    /// Adds the keys of devices for themselves. An existing device has no keys yet, and adds keys at its next
    /// authentication.
    ///
    /// A row outlives the device for a while, but never the account, so the row refers to the account. One phone may
    /// have several registrations, all with the phone's single pair of keys.
    static let deviceIdentities = Migration(name: "keys of devices for themselves") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE device_identity (
                    device_id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    signing_key BLOB NOT NULL, signing_code BLOB NOT NULL, encryption_key BLOB NOT NULL,
                    encryption_code BLOB NOT NULL, ended_at INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX device_identity_by_account ON device_identity (account_id);
                CREATE INDEX device_identity_by_signing_key ON device_identity (signing_code);
                CREATE INDEX device_identity_by_encryption_key ON device_identity (encryption_code);
                CREATE INDEX device_identity_stale ON device_identity (ended_at) WHERE ended_at IS NOT NULL;
                """)
    }

    /// Makes devices targets of dispatches. An existing device has no push address yet, wants to be pushed to, and was
    /// never seen.
    static let dispatchTargets = Migration(name: "devices as targets of dispatches") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE device ADD COLUMN dispatcher TEXT;
                ALTER TABLE device ADD COLUMN push_address BLOB;
                ALTER TABLE device ADD COLUMN is_push_wanted INTEGER NOT NULL DEFAULT 1;
                ALTER TABLE device ADD COLUMN target_changed_at INTEGER;
                ALTER TABLE device ADD COLUMN seen_at INTEGER;
                """)
    }

    /// Adds the time until which an approved device approves, removes and recovers nothing, the time since which a device
    /// is reported as lost, and the mark of a device whose approval was disowned. An existing device has none.
    static let deviceStanding = Migration(name: "the standing of devices") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE device ADD COLUMN limited_until INTEGER;
                ALTER TABLE device ADD COLUMN rested_at INTEGER;
                ALTER TABLE device ADD COLUMN is_disowned INTEGER NOT NULL DEFAULT 0;
                """)
    }

    /// Adds the attested keys of the apps on devices. An existing device has none.
    static let attestedApps = Migration(name: "attested keys of apps") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE attested_app (
                    device_id TEXT PRIMARY KEY REFERENCES device (id) ON DELETE CASCADE, team_id TEXT NOT NULL,
                    bundle_id TEXT NOT NULL, environment TEXT NOT NULL, key_id BLOB NOT NULL,
                    public_key BLOB NOT NULL, counter INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    static let inventedAccounts = Migration(name: "invented accounts") { db, _ in
        try db.execute(
            sql: "CREATE TABLE invented_accounts (id INTEGER PRIMARY KEY CHECK (id = 1), document TEXT NOT NULL) STRICT"
        )
    }

    /// Adds the versions of the operator's terms that people have agreed to. Existing accounts have agreed to none.
    static let terms = Migration(name: "terms that people agree to") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE agreement (
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, version TEXT NOT NULL,
                    agreed_at INTEGER NOT NULL, PRIMARY KEY (account_id, version)
                ) STRICT, WITHOUT ROWID
                """)
    }
}

/// A user name as an account has it.
private struct KeptName {
    let id: String
    /// The name as it was written.
    let written: String
    /// The code by which the name is found.
    let code: [UInt8]

    var name: AccountName { AccountName(stored: AccountName.trimmed(self.written)) }
    /// The account and the name in its composed form; `nil` if the name is composed already.
    var recomposed: (id: String, name: String)? { AccountNameSpelling.composed(self.written).map { (self.id, $0) } }
}

extension SQLConnection {
    /// Returns the user names that open. A damaged name must not keep the server from starting.
    fileprivate func keptNames(_ sealing: Sealing) throws -> [KeptName] {
        try self.rows("SELECT id, username, username_code FROM account WHERE username <> X''") { row in
            let (id, sealed) = (try row.text("id"), try row.bytes("username"))
            let code = try row.bytes("username_code")
            return (try? sealing.openText(sealed, purpose: .username, row: id)).map { written in
                KeptName(id: id, written: written, code: code)
            }
        }.compactMap(\.self)
    }
}
