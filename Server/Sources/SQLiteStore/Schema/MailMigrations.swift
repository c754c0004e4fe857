import GRDB
import Records

extension Migration {
    /// Adds the outbox of mail to people, and the links in these mails.
    static let mail = Migration(name: "mail") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE mailed_link (
                    digest BLOB PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    purpose TEXT NOT NULL, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX mailed_link_account ON mailed_link (account_id);
                CREATE INDEX mailed_link_time ON mailed_link (expires_at);
                CREATE TABLE mail (
                    number INTEGER PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    subject TEXT NOT NULL, link BLOB REFERENCES mailed_link (digest) ON DELETE CASCADE, link_name TEXT,
                    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, due_at INTEGER NOT NULL,
                    attempts INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX mail_account ON mail (account_id);
                CREATE INDEX mail_link ON mail (link) WHERE link IS NOT NULL;
                CREATE INDEX mail_due ON mail (due_at);
                """)
    }

    /// Adds the requests for new passwords, by the code of a user name. A later step looks for an account of that name.
    static let resetAsks = Migration(name: "resetAsks") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE reset_ask (
                    number INTEGER PRIMARY KEY, username_code BLOB NOT NULL, asked_at INTEGER NOT NULL,
                    due_at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX reset_ask_due ON reset_ask (due_at);
                """)
    }

    /// Adds letters about invitations and activations. A code is kept with its activation until the letter with the
    /// code is sent.
    static let letters = Migration(name: "letters about identities") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE mail ADD COLUMN about TEXT;
                ALTER TABLE pending_activation ADD COLUMN letter BLOB;
                """)
    }

    /// Adds the address that a link is about. An older link is about the account's first address.
    static let linkedAddresses = Migration(name: "links of further addresses") { db, _ in
        try db.execute(sql: "ALTER TABLE mailed_link ADD COLUMN about TEXT")
    }

    /// Adds the order in which letters are sent, and the count of dropped letters. A waiting letter gets the usual turn
    /// for its subject.
    static let mailTurns = Migration(name: "turns of mail") { db, _ in
        let awaited = MailRecord.Turn.awaited.rawValue
        try db.execute(
            sql: """
                ALTER TABLE mail ADD COLUMN turn INTEGER NOT NULL DEFAULT \(MailRecord.Turn.told.rawValue);
                UPDATE mail SET turn = \(awaited)
                WHERE subject IN ('password-reset', 'address-confirmation', 'new-activation');
                CREATE INDEX mail_turn ON mail (turn, due_at);
                CREATE TABLE dropped_mail (subject TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
                """)
    }

    /// Puts the waiting messages to clients and the waiting letters into one outbox, in their order. The outbox also
    /// takes the messages of dispatchers to devices.
    static let oneOutbox = Migration(name: "one outbox") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE message (
                    number INTEGER PRIMARY KEY, channel TEXT NOT NULL, lane TEXT NOT NULL, turn INTEGER NOT NULL,
                    account_id TEXT REFERENCES account (id) ON DELETE CASCADE, subject TEXT NOT NULL, matter TEXT,
                    name TEXT, link BLOB REFERENCES mailed_link (digest) ON DELETE CASCADE, content BLOB,
                    created_at INTEGER NOT NULL, expires_at INTEGER, due_at INTEGER NOT NULL, attempts INTEGER NOT NULL
                ) STRICT;
                INSERT INTO message (channel, lane, turn, subject, matter, name, created_at, due_at, attempts)
                SELECT '\(OutboxChannel.client.rawValue)', client, 0,
                    CASE kind WHEN 0 THEN '\(ClientDelivery.Kind.logout.rawValue)'
                        ELSE '\(ClientDelivery.Kind.answer.rawValue)' END,
                    matter, subject, created_at, due_at, attempts
                FROM oauth_delivery ORDER BY number;
                INSERT INTO message (
                    channel, lane, turn, account_id, subject, matter, name, link, created_at, expires_at, due_at,
                    attempts)
                SELECT '\(OutboxChannel.mailbox.rawValue)',
                    CASE turn WHEN \(MailRecord.Turn.stranger.rawValue) THEN '\(MailRecord.Turn.laneOfStrangers)'
                        ELSE '\(MailRecord.Turn.laneOfPeople)' END,
                    turn, account_id, subject, about, link_name, link, created_at, expires_at, due_at, attempts
                FROM mail ORDER BY number;
                DROP TABLE oauth_delivery;
                DROP TABLE mail;
                CREATE INDEX message_due ON message (channel, due_at);
                CREATE INDEX message_lane ON message (channel, lane, turn, due_at);
                CREATE INDEX message_account ON message (account_id) WHERE account_id IS NOT NULL;
                CREATE INDEX message_link ON message (link) WHERE link IS NOT NULL;
                """)
    }
}
