package import CoreMetrics

// The metrics that several places of this server count, by their kinds. The values of labels are the server's own
// words. `scripts/metrics` writes the comment of each metric into the table of docs/interfaces.md.

extension CounterMetric {
    /// Requests by the path that is mounted, the method and the status.
    static var requests: Self {
        Self(
            "countersign_requests_total", labels: ["path", "method", "status"],
            "Requests, by the path that is mounted, the method and the status.")
    }
    /// Requests that were refused, by the code of the answer: a problem's name, an error of RFC 6749, a UAF status
    /// code.
    static var refusals: Self {
        Self(
            "countersign_refusals_total", labels: ["code"],
            "Requests that were refused, by the code that the answer has.")
    }
    /// Sign-ins `by` the name of a way to sign in, such as `phone`, `password` and `provider`, by a `session` that the
    /// browser had, in an `app`.
    package static var signIns: Metric<Counter> {
        Self(
            "countersign_sign_ins_total", labels: ["by"],
            "Sign-ins: by a way to sign in, by a session that was there, in an app.")
    }
    /// Passwords, and codes beside them: `right`, and the reasons in the log's words, such as `password-wrong`,
    /// `password-resting` and `code-wrong`.
    package static var passwordAttempts: Metric<Counter> {
        Self(
            "countersign_password_attempts_total", labels: ["verdict"],
            "Passwords, and codes beside them, by what became of them.")
    }
    /// Browsers that were sent to another provider (`away`) or came back from a provider: `finished`, or the code of
    /// the log: `upstream-unknown-person`, `upstream-unmet`, `upstream-declined`, `upstream-failed`, `upstream-stale`,
    /// `providers-busy`, `too-many-requests`, `upstream-account-locked`.
    package static var providerSteps: Metric<Counter> {
        Self(
            "countersign_provider_steps_total", labels: ["result"],
            "Steps of sign-ins by other providers, by what became of them.")
    }
    /// Steps of the store by their names: a feature and a change, as in `mail.keep-ask`. Steps that were refused or failed
    /// count, too.
    static var storeSteps: Self {
        Self(
            "countersign_store_steps_total", labels: ["step"],
            "Steps of the store by their names, also steps that were refused or failed.")
    }
    /// Steps and reads that the store could not do: `step` or `read`.
    static var storeFailures: Self {
        Self("countersign_store_failures_total", labels: ["work"], "Steps and reads that the store could not do.")
    }
    /// Messages to a `client`, a `mailbox` or a `device`: `delivered`, `failed` (tried again), `given-up`, and `dropped`,
    /// letters that were not kept because too many waited.
    package static var messages: Metric<Counter> {
        Self(
            "countersign_outbox_messages_total", labels: ["channel", "result"],
            "Messages to clients, mailboxes and devices, by what became of them; dropped are letters that were not kept, as too many waited."
        )
    }
    /// Signing keys that the server has added by itself.
    package static var signingKeysRotated: Metric<Counter> {
        Self("countersign_signing_keys_rotated_total", "Signing keys that took the place of others by themselves.")
    }
}

extension Metric where Handle == Timer {
    /// A histogram of the time until the head of an answer, by the path that is mounted.
    static var requestTime: Self {
        Self(
            "countersign_request_seconds", labels: ["path"],
            "From a request's head to its answer's head, by the path that is mounted.")
    }
    /// A histogram of the store's time for a `step` or a `read`, including the wait for its turn.
    static var storeTime: Self {
        Self(
            "countersign_store_seconds", labels: ["work"],
            "What the store took, with the wait for it: a step (writes) or a read.")
    }
}

extension GaugeMetric {
    /// People who have come back from other providers and wait for their turn.
    package static var providerWaiting: Metric<Gauge> {
        Self("countersign_provider_waiting", "People who have come back from other providers and wait for their turn.")
    }
    /// Passwords that wait for a thread.
    package static var hashingWaiting: Metric<Gauge> {
        Self("countersign_hashing_waiting", "Passwords that wait for a thread to hash them.")
    }
    /// The memory of the passwords that are being hashed.
    package static var hashingMemory: Metric<Gauge> {
        Self("countersign_hashing_memory_bytes", "Memory of the passwords that are hashed now.")
    }
    /// Work that waits for the store: a `step` or a `read`.
    static var storeWaiting: Self {
        Self("countersign_store_waiting", labels: ["work"], "Steps and reads that wait for the store.")
    }
    /// Messages that wait for clients, mailboxes and devices; at most 15 seconds old.
    static var messagesWaiting: Self {
        Self("countersign_outbox_waiting", labels: ["channel"], "Messages that wait, by whom they go to.")
    }
    /// The age of the oldest message that waits; at most 15 seconds old.
    static var oldestMessage: Self {
        Self("countersign_outbox_oldest_seconds", labels: ["channel"], "How long the oldest of them has waited.")
    }
    /// Sessions of browsers and apps that have not expired; at most 15 seconds old.
    static var sessions: Self { Self("countersign_sessions", "Browsers' and apps' sessions that have not run out.") }
    /// The time for which the current key has signed.
    static var signingKeyAge: Self {
        Self(
            "countersign_signing_key_age_seconds", labels: ["algorithm"],
            "How long the key has signed that signs now, by its algorithm.")
    }
    /// Stored values that were sealed anew under another key-encryption key since the start.
    package static var resealedValues: Metric<Gauge> {
        Self(
            "countersign_resealed_values",
            "Stored values that were sealed anew under another key-encryption key since the start.")
    }
    /// 1, with the program's release.
    static var buildInfo: Self {
        Self("countersign_build_info", labels: ["version"], "1, with the release of the program.")
    }
    /// The size of the database.
    static var databaseSize: Self { Self("countersign_database_bytes", "What the database takes on the disk.") }
    /// The free space on the disk of the data folder, for users other than root.
    static var diskFree: Self {
        Self("countersign_disk_free_bytes", "What is free on the disk of the data folder, for users other than root.")
    }
    /// The size of the disk of the data folder.
    static var diskSize: Self { Self("countersign_disk_bytes", "What the disk of the data folder holds.") }
    /// The remaining validity of the certificate that the `public` or the `mtls` listener shows; below 0 the
    /// certificate has expired.
    static var certificateRemaining: Self {
        Self(
            "countersign_certificate_remaining_seconds", labels: ["listener"],
            "How long the certificate is valid still that a listener shows; below 0 it has run out.")
    }
    /// The time since the file of the key-encryption keys was changed.
    static var keyFileAge: Self {
        Self("countersign_key_file_age_seconds", "How long ago the file of the key-encryption keys was changed.")
    }
    /// The time since the last `db backup` of this data folder began; missing before the first.
    static var lastBackupAge: Self {
        Self(
            "countersign_last_backup_age_seconds",
            "How long ago the last backup was begun that was made of this data folder; missing before the first.")
    }
}
