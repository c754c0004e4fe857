import GRDB
import SQLStore
import Sealing

extension Migration {
    /// Adds services of personalised identities, the accounts' values of the attributes that services request,
    /// organisations and invitations. No existing client is a service, and no account has any values.
    static let identities = Migration(name: "personalised identities") { db, sealing in
        try db.execute(
            sql: """
                CREATE TABLE service (
                    id TEXT PRIMARY KEY REFERENCES oauth_client (id) ON DELETE CASCADE, profile TEXT NOT NULL
                ) STRICT;
                CREATE TABLE service_roles (
                    service TEXT NOT NULL REFERENCES service (id) ON DELETE CASCADE,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    roles TEXT NOT NULL, PRIMARY KEY (service, account_id)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX service_roles_account ON service_roles (account_id);
                CREATE TABLE personal_value (
                    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, attribute TEXT NOT NULL,
                    alias BLOB NOT NULL, value BLOB NOT NULL, is_primary INTEGER NOT NULL, is_verified INTEGER NOT NULL,
                    source TEXT NOT NULL, created_at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX personal_value_account ON personal_value (account_id, attribute);
                CREATE UNIQUE INDEX personal_value_primary ON personal_value (account_id, attribute)
                    WHERE is_primary = 1;
                CREATE TABLE attribute_selection (
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    service TEXT NOT NULL REFERENCES service (id) ON DELETE CASCADE, attribute TEXT NOT NULL,
                    value_id TEXT NOT NULL REFERENCES personal_value (id) ON DELETE CASCADE,
                    PRIMARY KEY (account_id, service, attribute)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX attribute_selection_value ON attribute_selection (value_id);
                CREATE INDEX attribute_selection_service ON attribute_selection (service);
                CREATE TABLE identity_history (
                    number INTEGER PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    purpose TEXT NOT NULL, service TEXT NOT NULL, role TEXT, outcome TEXT NOT NULL, at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX identity_history_account ON identity_history (account_id, number);
                CREATE TABLE organisation (
                    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE organisation_member (
                    organisation TEXT NOT NULL REFERENCES organisation (id) ON DELETE CASCADE,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    PRIMARY KEY (organisation, account_id)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX organisation_member_account ON organisation_member (account_id);
                CREATE TABLE invite (
                    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                    organisation TEXT REFERENCES organisation (id) ON DELETE CASCADE,
                    service TEXT REFERENCES service (id) ON DELETE CASCADE, role TEXT, email BLOB NOT NULL,
                    email_code BLOB NOT NULL, provisional_account_id TEXT UNIQUE, state TEXT NOT NULL, accepted_by TEXT,
                    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX invite_email ON invite (email_code);
                CREATE INDEX invite_organisation ON invite (organisation) WHERE organisation IS NOT NULL;
                CREATE INDEX invite_service ON invite (service) WHERE service IS NOT NULL;
                CREATE INDEX invite_accepted_by ON invite (accepted_by) WHERE accepted_by IS NOT NULL;
                CREATE INDEX invite_expires_at ON invite (expires_at);
                CREATE TABLE account_email (
                    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, address BLOB NOT NULL,
                    address_code BLOB NOT NULL, is_verified INTEGER NOT NULL, created_at INTEGER NOT NULL,
                    UNIQUE (account_id, address_code)
                ) STRICT;
                CREATE INDEX account_email_address ON account_email (address_code);
                ALTER TABLE account ADD COLUMN email_code BLOB;
                CREATE INDEX account_email_code ON account (email_code) WHERE email_code IS NOT NULL;
                """)
        let addresses = try SQLConnection(db).rows("SELECT id, email FROM account WHERE email IS NOT NULL") { row in
            let (id, sealed) = (try row.text("id"), try row.bytes("email"))
            // A damaged address must not keep the server from starting.
            return (try? sealing.openText(sealed, purpose: .email, row: id)).map { (id: id, address: $0) }
        }
        for (id, address) in addresses.compactMap(\.self) {
            try db.execute(
                sql: "UPDATE account SET email_code = ? WHERE id = ?",
                arguments: [sealing.emailCode(address).blob, id])
        }
    }

    /// Adds the mark of invitations that people have asked for themselves. For existing invitations the audit trail
    /// shows this: no operator made them.
    static let askedInvites = Migration(name: "invitations that were asked for") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE invite ADD COLUMN is_asked_for INTEGER NOT NULL DEFAULT 0;
                UPDATE invite SET is_asked_for = 1 WHERE id IN (
                    SELECT detail FROM audit WHERE kind = 'invite-added' AND actor IS NULL);
                """)
    }

    /// Numbers the history entries of each account. By the number, entries past the account's bound are found without a
    /// walk over the remaining entries, and pages are requested.
    static let historyByAge = Migration(name: "histories of identities by age") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE identity_history ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
                UPDATE identity_history SET place = (
                    SELECT count(*) FROM identity_history AS earlier
                    WHERE earlier.account_id = identity_history.account_id AND earlier.number <= identity_history.number);
                DROP INDEX identity_history_account;
                CREATE INDEX identity_history_account ON identity_history (account_id, place);
                """)
    }

    /// Adds the consents of people to services with personalised identities. The consents of earlier sessions are
    /// unknown.
    ///
    /// Rows are in the order of their creation: rows of one commit share pages, and the oldest rows are deleted first.
    static let identityConsents = Migration(name: "consents of identities") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE identity_consent (
                    number INTEGER PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    session TEXT NOT NULL, evidence BLOB NOT NULL, kept_until INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX identity_consent_account ON identity_consent (account_id, number);
                """)
    }

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
