import CoreMetrics

// The metrics of this server, by their kinds. The values of labels are the server's own words.

extension Metric where Handle == Counter {
    static var requests: Self {
        Self(
            "countersign_requests_total", labels: ["path", "method", "status"],
            "Requests, by the path that is mounted, the method and the status.")
    }
    static var refusals: Self {
        Self(
            "countersign_refusals_total", labels: ["code"],
            "Requests that were refused, by the code that the answer has.")
    }
    static var signIns: Self {
        Self(
            "countersign_sign_ins_total", labels: ["by"],
            "Sign-ins: by a phone, by a session that was there, in an app, by a password, by another provider.")
    }
    static var passwordAttempts: Self {
        Self(
            "countersign_password_attempts_total", labels: ["verdict"],
            "Passwords, and codes beside them, by what became of them.")
    }
    static var providerSteps: Self {
        Self(
            "countersign_provider_steps_total", labels: ["result"],
            "Steps of sign-ins by other providers, by what became of them.")
    }
    static var storeSteps: Self {
        Self(
            "countersign_store_steps_total", labels: ["step"],
            "Steps of the store by their names, also steps that were refused or failed.")
    }
    static var storeFailures: Self {
        Self("countersign_store_failures_total", labels: ["work"], "Steps and reads that the store could not do.")
    }
    static var deliveries: Self {
        Self(
            "countersign_deliveries_total", labels: ["result"],
            "What services were told, or not: that somebody has signed out, or has answered.")
    }
    static var mails: Self {
        Self(
            "countersign_mails_total", labels: ["result"],
            "Letters to people, by what became of them; dropped are those that were not kept, as too many waited.")
    }
    static var signingKeysRotated: Self {
        Self("countersign_signing_keys_rotated_total", "Signing keys that took the place of others by themselves.")
    }
}

extension Metric where Handle == Timer {
    static var requestTime: Self {
        Self(
            "countersign_request_seconds", labels: ["path"],
            "From a request's head to its answer's head, by the path that is mounted.")
    }
    static var storeTime: Self {
        Self(
            "countersign_store_seconds", labels: ["work"],
            "What the store took, with the wait for it: a step (writes) or a read.")
    }
}

extension Metric where Handle == Gauge {
    static var providerWaiting: Self {
        Self("countersign_provider_waiting", "People who have come back from other providers and wait for their turn.")
    }
    static var hashingWaiting: Self {
        Self("countersign_hashing_waiting", "Passwords that wait for a thread to hash them.")
    }
    static var hashingMemory: Self {
        Self("countersign_hashing_memory_bytes", "Memory of the passwords that are hashed now.")
    }
    static var storeWaiting: Self {
        Self("countersign_store_waiting", labels: ["work"], "Steps and reads that wait for the store.")
    }
    static var deliveriesWaiting: Self {
        Self("countersign_deliveries_waiting", "What services have still to be told.")
    }
    static var oldestDelivery: Self {
        Self("countersign_deliveries_oldest_seconds", "How long the oldest of them has waited.")
    }
    static var mailsWaiting: Self { Self("countersign_mails_waiting", "Letters that wait to be sent.") }
    static var oldestMail: Self { Self("countersign_mails_oldest_seconds", "How long the oldest of them has waited.") }
    static var sessions: Self { Self("countersign_sessions", "Browsers' and apps' sessions that have not run out.") }
    static var signingKeyAge: Self {
        Self(
            "countersign_signing_key_age_seconds", labels: ["algorithm"],
            "How long the key has signed that signs now, by its algorithm.")
    }
    static var resealedValues: Self {
        Self(
            "countersign_resealed_values",
            "Stored values that were sealed anew under another key-encryption key since the start.")
    }
    static var buildInfo: Self {
        Self("countersign_build_info", labels: ["version"], "1, with the release of the program.")
    }
    static var databaseSize: Self { Self("countersign_database_bytes", "What the database takes on the disk.") }
    static var diskFree: Self {
        Self("countersign_disk_free_bytes", "What is free on the disk of the data folder, for users other than root.")
    }
    static var diskSize: Self { Self("countersign_disk_bytes", "What the disk of the data folder holds.") }
    static var certificateRemaining: Self {
        Self(
            "countersign_certificate_remaining_seconds", labels: ["listener"],
            "How long the certificate is valid still that a listener shows; below 0 it has run out.")
    }
    static var keyFileAge: Self {
        Self("countersign_key_file_age_seconds", "How long ago the file of the key-encryption keys was changed.")
    }
    static var lastBackupAge: Self {
        Self(
            "countersign_last_backup_age_seconds",
            "How long ago the last backup was begun that was made of this data folder; missing before the first.")
    }
}
