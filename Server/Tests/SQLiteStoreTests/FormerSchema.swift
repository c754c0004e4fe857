/// The statements that take back what the versions since the outbox of mail got its turns have added: for tests that make of
/// a database what a former version has left.
enum FormerSchema {
    /// The number of migrations that ``undoing`` takes back.
    static let count = 18

    /// From the turns of mail and the steps of refresh tokens on.
    static let undoing = """
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
