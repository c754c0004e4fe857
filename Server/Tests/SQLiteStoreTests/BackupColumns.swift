import Records

/// A column that a later change adds must be decided on: is it sealed, and with what purpose, or not?
enum BackupColumns {
    static let sealed = [
        "activation.encryption_key": "activation encryption key", "activation.signing_key": "activation signing key",
        "ceremony.progress": "ceremony progress", "identity_answer.answer": "identity answer",
        "identity_consent.evidence": "identity consent", "receipt.evidence": "receipt of a transaction",
        "identity_root.sealed": "identity root", "identity_sealing_key.sealed": "identity sealing key",
        "message.content": "content of a message", "pending_activation.name": "offered activation name",
        "pending_activation.letter": "offered activation letter",
        "pending_activation.pin_key": "offered activation pin key",
        "account.display_name": "display name", "account.email": "e-mail address", "account.phone": "telephone number",
        "account.postal_address": "postal address", "account.profile": "profile of a person",
        "account.username": "user name",
        "audit.address": "audit address", "ceremony.detail": "ceremony detail", "credential.attestation": "attestation",
        "credential.picture_displays": "picture displays", "credential.public_key": "public key of an account",
        "attested_app.public_key": "attested key of an app",
        "device_identity.encryption_key": "device encryption key",
        "device_identity.signing_key": "device signing key",
        "device.name": "device name", "device.push_address": "push address", "notice.subject": "notice subject",
        "oauth_authentication.address": "oauth authentication address",
        "oauth_backchannel_request.details": "oauth backchannel details",
        "oauth_backchannel_request.notification": "oauth backchannel notification",
        "oauth_authentication.browser": "oauth authentication browser", "oauth_consent.claims": "oauth consent claims",
        "oauth_device_code.shown_code": "oauth device user code shown", "oauth_grant.claims": "oauth grant claims",
        "oauth_grant.details": "oauth authorization details",
        "oauth_key.sealed": "oauth signing key", "oauth_pushed_request.parameters": "oauth pushed request",
        "oauth_request.wishes": "oauth request wishes", "oauth_secret.sealed": "oauth subject secret",
        "password.hash": "password hash", "password_sign_in.address": "password sign-in address",
        "password_sign_in.browser": "password sign-in browser", "totp.secret": "time-based codes",
        "finished_sign_in.address": "finished sign-in address", "finished_sign_in.browser": "finished sign-in browser",
        "upstream_arrival.subject": "upstream arrival subject", "upstream_link.subject": "upstream link subject",
        "upstream_provider.secret": "upstream provider secret", "upstream_trip.nonce": "upstream trip nonce",
        "upstream_trip.verifier": "upstream trip verifier",
        "personal_value.alias": "personal alias", "personal_value.value": "personal value",
        "account_change.addition": "addition of an account change",
        "account_change.words": "words of an account change",
        "oauth_consent.browser": "oauth consent browser", "oauth_consent.address": "oauth consent address",
        "rested_upstream_link.subject": "upstream link subject",
        "rested_account_email.address": "further e-mail address",
        "rested_personal_value.value": "personal value", "rested_personal_value.alias": "personal alias",
        "rested_password.hash": "password hash", "rested_totp.secret": "time-based codes",
        "invite.email": "invited e-mail address", "account_email.address": "further e-mail address",
    ]
    static let unsealed = [
        "activation.reserved_request", "identity_answer.request_hash", "pending_activation.claim_digest",
        "pending_activation.reserved_request", "pending_activation.token_digest",
        "account.email_code", "account_email.address_code", "invite.email_code",
        "account.username_code", "account.colliding_code", "administrator.token_digest", "administrator_link.digest",
        "answered_challenge.answer_code", "answered_challenge.digest", "audit.code", "ceremony.answer_code",
        "ceremony.browser_digest", "ceremony.confirmation_code",
        "ceremony.content_hash", "ceremony.continuation_digest", "credential.key_id",
        "deregistered_key.key_id", "known_browser.digest", "known_network.network", "device.secret_code",
        "attested_app.key_id", "device_identity.encryption_code",
        "device_identity.signing_code", "dispatch_token.digest", "oauth_client.former_secret_digest",
        "oauth_client.registration_digest", "oauth_client.secret_digest", "oauth_code.challenge", "oauth_code.digest",
        "oauth_consent.content",
        "oauth_device_code.digest", "oauth_device_code.user_code", "oauth_device_secret.digest",
        "oauth_grant.device_secret",
        "oauth_backchannel_request.digest", "oauth_initial_token.digest",
        "oauth_pushed_request.digest", "oauth_refresh.grandparent", "oauth_refresh.head", "oauth_refresh.parent",
        "oauth_refresh.step",
        "oauth_request.browser_digest", "oauth_request.code_challenge", "oauth_session.cookie_digest",
        "oauth_shown.digest", "recovery_code.code", "message.link", "mailed_link.digest", "reset_ask.username_code",
        "reset_ask.exact_code",
        "upstream_link.subject_code", "rested_upstream_link.subject_code", "rested_account_email.address_code",
        "rested_recovery_code.code",
        "upstream_trip.state_digest",
    ]

    /// The attested key of an app on a device.
    static func app(on device: String) -> AttestedAppRecord {
        AttestedAppRecord(
            deviceID: device, teamID: "ABCDE12345", bundleID: "com.example.bank", environment: "production",
            keyID: [UInt8](repeating: 6, count: 32), publicKey: [UInt8](repeating: 7, count: 65), counter: 0)
    }

    /// Statements that add a row to tables that the tests of backups leave empty otherwise.
    static let rows = [
        """
        INSERT INTO totp (account_id, secret, algorithm, digits, period_seconds, set_at)
        VALUES ('alice', X'00', 'SHA1', 6, 30, 1)
        """,
        """
        INSERT INTO oauth_consent (id, account, client, content, scope, resources, granted_at)
        VALUES ('c', 'alice', 'bank', X'00', 'openid', '', 1)
        """,
        """
        INSERT INTO account_change (id, account_id, addition, words, made_at, state, decided_at)
        VALUES ('c', 'alice', X'00', X'00', 1, 'disowned', 1)
        """,
        """
        INSERT INTO message (
            channel, lane, turn, account_id, subject, matter, content, created_at, expires_at, due_at, attempts)
        VALUES ('device', 'courier', 0, 'alice', 'dispatch', 'a ceremony', X'00', 1, 2, 1, 0)
        """,
        "INSERT INTO rested_password VALUES ('alice', X'00', 1, 0, 'c')",
        "INSERT INTO rested_totp VALUES ('alice', X'00', 'SHA1', 6, 30, 1, NULL, 'c')",
        "INSERT INTO rested_account_email VALUES ('e', 'alice', X'00', X'00', 1, 1, 'c')",
        """
        INSERT INTO rested_upstream_link
        SELECT id, provider, issuer, subject_code, subject, account_id, created_at, 'c'
        FROM upstream_link LIMIT 1
        """,
        """
        INSERT INTO rested_personal_value
        SELECT id, account_id, attribute, alias, value, is_primary, is_verified, source, created_at, 'c'
        FROM personal_value LIMIT 1
        """,
    ]
}

extension BackupPlace {
    /// The keys by which the device of that name speaks for itself.
    static func identity(_ name: String) -> DeviceIdentityRecord {
        DeviceIdentityRecord(
            signing: .init(name: "signing-\(name)", point: [UInt8](repeating: 4, count: 65)),
            encryption: .init(name: "encryption-\(name)", point: [UInt8](repeating: 5, count: 65)))
    }
}
