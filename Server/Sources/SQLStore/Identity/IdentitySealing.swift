import GRDB
import Sealing
import _Primitives

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
}

extension Migration {
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
}

extension SealingPurpose {
    /// A value of a person, bound to the account and the attribute.
    static let personalValue = SealingPurpose("personal value")
    /// A person's name for a value, bound to the account and the attribute.
    static let personalAlias = SealingPurpose("personal alias")
    static let invitedEmail = SealingPurpose("invited e-mail address")
    static let additionalEmail = SealingPurpose("further e-mail address")
    static let emailCode = SealingPurpose("e-mail address code")
}

extension Sealing {
    /// Returns the code by which an e-mail address is found. The case of its letters does not matter.
    func emailCode(_ address: String) -> [UInt8] { self.code(address.asciiLowercased, purpose: .emailCode) }

    /// Returns the place of a person's value, to which the value is bound: row, account and attribute. None of the
    /// parts contains a space.
    static func place(ofValue id: String, account: String, attribute: String) -> String {
        "\(id) \(account) \(attribute)"
    }
}
