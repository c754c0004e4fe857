/// The statements that take back what the versions since the outbox of mail got its turns have added: for tests that make of
/// a database what a former version has left.
enum FormerSchema {
    /// The number of migrations that ``undoing`` takes back.
    static let count = 19 + Self.laterCount

    /// The number of migrations that ``undoingLater`` takes back.
    static let laterCount = 10

    /// The migrations since the one outbox.
    static let undoingLater = """
        ALTER TABLE answered_challenge DROP COLUMN uaf_status;
        ALTER TABLE answered_challenge DROP COLUMN answer_code;
        ALTER TABLE ceremony DROP COLUMN is_number_wrong;
        ALTER TABLE ceremony DROP COLUMN answer_code;
        DROP TABLE attested_app;
        ALTER TABLE device DROP COLUMN limited_until;
        ALTER TABLE device DROP COLUMN rested_at;
        ALTER TABLE device DROP COLUMN is_disowned;
        DROP TABLE push;
        DROP TABLE used_push_budget;
        DROP TABLE receipt;
        DROP TABLE receipt_key;
        DROP TABLE number_attempt;
        ALTER TABLE oauth_client DROP COLUMN matches_numbers;
        DROP TABLE asking_rest;
        ALTER TABLE ceremony DROP COLUMN denial;
        DROP INDEX oauth_client_status_uri;
        ALTER TABLE oauth_client DROP COLUMN status_uri;
        ALTER TABLE ceremony DROP COLUMN target_device;
        ALTER TABLE ceremony DROP COLUMN target_dispatcher;
        ALTER TABLE device DROP COLUMN dispatcher;
        ALTER TABLE device DROP COLUMN push_address;
        ALTER TABLE device DROP COLUMN is_push_wanted;
        ALTER TABLE device DROP COLUMN target_changed_at;
        ALTER TABLE device DROP COLUMN seen_at;
        """

    /// From the one outbox on: the two tables that the outbox replaced have the messages again.
    static let undoingOneOutbox = """
        \(Self.undoingLater)
        CREATE TABLE oauth_delivery (
            number INTEGER PRIMARY KEY, client TEXT NOT NULL, kind INTEGER NOT NULL, matter TEXT NOT NULL,
            subject TEXT, created_at INTEGER NOT NULL, due_at INTEGER NOT NULL, attempts INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX oauth_delivery_client ON oauth_delivery (client, due_at);
        CREATE INDEX oauth_delivery_due ON oauth_delivery (due_at);
        CREATE TABLE mail (
            number INTEGER PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
            subject TEXT NOT NULL, link BLOB REFERENCES mailed_link (digest) ON DELETE CASCADE, link_name TEXT,
            created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, due_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL, about TEXT, turn INTEGER NOT NULL DEFAULT 1
        ) STRICT;
        CREATE INDEX mail_account ON mail (account_id);
        CREATE INDEX mail_link ON mail (link) WHERE link IS NOT NULL;
        CREATE INDEX mail_due ON mail (due_at);
        CREATE INDEX mail_turn ON mail (turn, due_at);
        INSERT INTO oauth_delivery (client, kind, matter, subject, created_at, due_at, attempts)
        SELECT lane, CASE subject WHEN 'logout' THEN 0 ELSE 1 END, matter, name, created_at, due_at, attempts
        FROM message WHERE channel = 'client' ORDER BY number;
        INSERT INTO mail (
            account_id, subject, link, link_name, created_at, expires_at, due_at, attempts, about, turn)
        SELECT account_id, subject, link, name, created_at, expires_at, due_at, attempts, matter, turn
        FROM message WHERE channel = 'mailbox' ORDER BY number;
        DROP TABLE message;
        """

    /// From the turns of mail and the steps of refresh tokens on.
    static let undoing = """
        \(Self.undoingOneOutbox)
        ALTER TABLE oauth_refresh DROP COLUMN step;
        ALTER TABLE oauth_refresh DROP COLUMN grandparent;
        DROP TABLE dropped_mail;
        DROP INDEX mail_turn;
        ALTER TABLE mail DROP COLUMN turn;
        ALTER TABLE oauth_consent DROP COLUMN session;
        ALTER TABLE oauth_consent DROP COLUMN browser;
        ALTER TABLE oauth_consent DROP COLUMN address;
        DROP TABLE rested_activation;
        DROP TABLE rested_upstream_link;
        DROP TABLE rested_account_email;
        DROP TABLE rested_personal_value;
        DROP TABLE rested_password;
        DROP TABLE rested_totp;
        DROP TABLE rested_recovery_code;
        DROP TABLE account_change;
        ALTER TABLE ceremony DROP COLUMN is_opened_elsewhere;
        ALTER TABLE oauth_session DROP COLUMN has_browser;
        DROP TABLE password_attempt_day;
        DROP TABLE known_browser;
        DROP TABLE known_network;
        ALTER TABLE oauth_client DROP COLUMN assertion_audience;
        ALTER TABLE oauth_client DROP COLUMN sector_identifier_uri;
        ALTER TABLE oauth_client DROP COLUMN requires_pushed_requests;
        ALTER TABLE oauth_client DROP COLUMN default_max_age;
        ALTER TABLE account DROP COLUMN profile;
        ALTER TABLE account DROP COLUMN updated_at;
        ALTER TABLE reset_ask DROP COLUMN exact_code;
        DROP INDEX account_colliding_code;
        ALTER TABLE account DROP COLUMN colliding_code;
        ALTER TABLE account DROP COLUMN language;
        CREATE TRIGGER oauth_device_code_denied AFTER DELETE ON oauth_request
        BEGIN
            UPDATE oauth_device_code SET is_denied = 1, request = NULL WHERE request = OLD.id;
        END;
        CREATE TRIGGER oauth_backchannel_answered AFTER UPDATE OF phase ON ceremony
        WHEN NEW.reference IS NOT NULL AND NEW.phase = 4 AND OLD.phase <> NEW.phase
        BEGIN
            INSERT INTO oauth_delivery (client, kind, matter, created_at, due_at, attempts)
            SELECT client, 1, id, NEW.changed_at, NEW.changed_at, 0
            FROM oauth_backchannel_request WHERE id = NEW.reference AND notification IS NOT NULL;
        END;
        CREATE TRIGGER oauth_authentication_left AFTER DELETE ON oauth_session_authentication
        BEGIN
            UPDATE oauth_authentication SET expires_at = coalesce(
                (SELECT max(expires_at) FROM oauth_grant WHERE authentication = OLD.authentication), 0)
            WHERE id = OLD.authentication AND NOT EXISTS (
                SELECT 1 FROM oauth_session_authentication WHERE authentication = OLD.authentication);
        END;
        CREATE TRIGGER oauth_authentication_granted AFTER DELETE ON oauth_grant WHEN OLD.is_lasting = 1
        BEGIN
            UPDATE oauth_authentication SET expires_at = coalesce(
                (SELECT max(expires_at) FROM oauth_grant WHERE authentication = OLD.authentication), 0)
            WHERE id = OLD.authentication AND NOT EXISTS (
                SELECT 1 FROM oauth_session_authentication WHERE authentication = OLD.authentication);
        END;
        \(Self.undoingFinishedSignIns)
        """

    /// From the finished sign-ins of all methods on.
    static let undoingFinishedSignIns = """
        DROP TABLE finished_sign_in;
        ALTER TABLE password_sign_in ADD COLUMN finished_at INTEGER;
        ALTER TABLE upstream_arrival RENAME COLUMN arrived_at TO finished_at;
        ALTER TABLE upstream_arrival ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE upstream_arrival ADD COLUMN acr TEXT NOT NULL DEFAULT '';
        ALTER TABLE upstream_arrival ADD COLUMN amr TEXT NOT NULL DEFAULT '';
        ALTER TABLE upstream_arrival ADD COLUMN browser BLOB;
        ALTER TABLE upstream_arrival ADD COLUMN address BLOB;
        ALTER TABLE upstream_arrival ADD COLUMN account_id TEXT REFERENCES account (id) ON DELETE CASCADE;
        CREATE INDEX upstream_arrival_account ON upstream_arrival (account_id) WHERE account_id IS NOT NULL;
        """
}
