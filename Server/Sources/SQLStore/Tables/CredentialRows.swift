import Records
import Sealing
import _Primitives

/// The rows of keys.
struct CredentialRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the names of an account's active keys, oldest first. Keys of devices that are reported as lost are not
    /// among them.
    func activeKeys(of account: String) throws -> [ActiveKeys.Key] {
        try self.db.rows(
            .composed(
                """
                SELECT aaid, key_id, device_id FROM credential WHERE account_id = ? AND is_active = 1
                AND NOT EXISTS (\(Self.restedDevice)) ORDER BY number
                """), [account]
        ) { key in
            ActiveKeys.Key(
                aaid: try key.text("aaid"), keyID: try key.bytes("key_id"), deviceID: try key.text("device_id"))
        }
    }

    func credentials(accountID: String, _ sealing: Sealing) throws -> [CredentialRecord] {
        try self.db.rows(
            .composed("SELECT \(CredentialRecord.columns) FROM credential WHERE account_id = ? ORDER BY number"),
            [accountID]
        ) { try CredentialRecord($0, sealing) }
    }

    func credentials(deviceID: String, _ sealing: Sealing) throws -> [CredentialRecord] {
        try self.db.rows(
            .composed("SELECT \(CredentialRecord.columns) FROM credential WHERE device_id = ? ORDER BY number"),
            [deviceID]
        ) { try CredentialRecord($0, sealing) }
    }

    /// Returns the key of that model and name, with its account's state. A key of a device that is reported as lost is
    /// not active.
    func storedCredential(aaid: String, keyID: [UInt8], _ sealing: Sealing) throws -> StoredCredential? {
        try self.db.row(
            .composed(
                """
                SELECT \(CredentialRecord.columns), is_locked, EXISTS (\(Self.restedDevice)) AS is_rested FROM credential
                JOIN account ON account.id = account_id WHERE aaid = ? AND key_id = ?
                """), [aaid, keyID]
        ).map { row in
            var credential = try CredentialRecord(row, sealing)
            credential.isActive = try credential.isActive && !row.flag("is_rested")
            return StoredCredential(credential: credential, isAccountLocked: try row.flag("is_locked"))
        }
    }

    /// Throws `notFound` unless the devices of further keys are active devices of the keys' accounts, `forbidden` if an
    /// account is locked, and `conflict` if another device has a key of the same model and name.
    func requireDevices(of credentials: [CredentialRecord]) throws {
        for key in credentials {
            let isLocked = try self.db.row(
                """
                SELECT is_locked FROM device JOIN account ON account.id = account_id
                WHERE device.id = ? AND account_id = ? AND is_active = 1 AND rested_at IS NULL
                """, [key.deviceID, key.accountID])?.flag("is_locked")
            try KeyRefusal.checkJoining(isAccountLocked: isLocked)
            try self.db.refuse(
                "SELECT 1 FROM credential WHERE aaid = ? AND key_id = ? AND device_id <> ?",
                [key.aaid, key.keyID, key.deviceID], KeyRefusal.knownKey)
        }
    }

    /// Adds keys to their devices, which ``requireDevices(of:)`` has checked. The new keys replace the devices' keys of
    /// the same models.
    func join(_ credentials: [CredentialRecord], _ sealing: Sealing) throws {
        for key in credentials {
            try self.db.run("DELETE FROM credential WHERE device_id = ? AND aaid = ?", [key.deviceID, key.aaid])
        }
        try self.insert(credentials, sealing)
    }

    func insert(_ credentials: [CredentialRecord], _ sealing: Sealing) throws {
        for key in credentials {
            let place = Sealing.place(
                ofKey: key.id, account: key.accountID, device: key.deviceID, aaid: key.aaid, keyID: key.keyID)
            let publicKey = try sealing.seal(key.publicKey, purpose: .boundPublicKey, row: place)
            let attestation = try sealing.sealUnlessEmpty(key.attestation, purpose: .attestation, row: key.id)
            let displays = try sealing.sealUnlessEmpty(key.pictureDisplays, purpose: .pictureDisplays, row: key.id)
            try self.db.run(
                """
                INSERT INTO credential (id, device_id, account_id, aaid, key_id, public_key, key_format, algorithm,
                counter, registration_counter, authenticator_version, is_active, created_at, attestation,
                picture_displays)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    key.id, key.deviceID, key.accountID, key.aaid, key.keyID, publicKey, key.keyFormat,
                    key.algorithm, key.counter, key.registrationCounter, key.authenticatorVersion, key.isActive,
                    key.createdAt.milliseconds, attestation, displays,
                ])
        }
    }

    /// Advances a counter, if the key is active, its account is not locked, and its device is neither reported as lost
    /// nor its activation disabled.
    /// One statement does both, so nothing can come between the check and the change. Throws `notFound` if the key does
    /// not exist, `forbidden` if a condition does not hold, and `conflict` if the counter does not advance.
    func advance(_ advance: CounterAdvance, at now: Timestamp) throws {
        // The step waits for this write, because other rows decide about the refusal.
        let isTaken = try self.db.changes(
            .composed(
                """
                UPDATE credential SET counter = ?1, last_used_at = ?3 WHERE \(Self.takesCounter)
                """), [advance.counter, advance.credentialID, now.milliseconds])
        try KeyRefusal.checkAdvance(isTaken: isTaken, mayBeUsed: self.mayBeUsed(advance.credentialID))
    }

    /// Throws as ``advance(_:at:)``, and writes nothing.
    func requireAdvance(_ advance: CounterAdvance) throws {
        let isTaken = try self.db.isTrue(
            .composed("SELECT EXISTS (SELECT 1 FROM credential WHERE \(Self.takesCounter))"),
            [advance.counter, advance.credentialID])
        try KeyRefusal.checkAdvance(isTaken: isTaken, mayBeUsed: self.mayBeUsed(advance.credentialID))
    }

    /// A condition on `credential`: the key `?2` takes the counter `?1`.
    private static let takesCounter = """
        id = ?2 AND is_active = 1 AND (counter < ?1 OR (counter = 0 AND ?1 = 0))
        AND EXISTS (SELECT 1 FROM account WHERE account.id = account_id AND is_locked = 0)
        AND NOT EXISTS (\(Self.disabledActivation)) AND NOT EXISTS (\(Self.restedDevice))
        """

    /// Returns `true` if a key is active and its account is not locked; `nil` if the key does not exist.
    private func mayBeUsed(_ credential: String) throws -> Bool? {
        try self.db.row(
            .composed(
                """
                SELECT is_active = 1 AND is_locked = 0 AND NOT EXISTS (\(Self.disabledActivation))
                    AND NOT EXISTS (\(Self.restedDevice)) AS is_usable
                FROM credential JOIN account ON account.id = account_id WHERE credential.id = ?
                """), [credential])?.flag("is_usable")
    }

    /// The disabled activation of a key's device: an activation that wrong factors have disabled, or that a disowned
    /// change has added. While the last attempt is being judged, the activation is not disabled.
    private static let disabledActivation = """
        SELECT 1 FROM activation
        WHERE activation.device_id = credential.device_id AND is_permanent = 1 AND reserved_at IS NULL
        """

    /// The key's device, if the device is reported as lost.
    private static let restedDevice =
        "SELECT 1 FROM device WHERE device.id = credential.device_id AND rested_at IS NOT NULL"

    /// Deletes keys of an activation.
    func deleteCredentials(_ ids: [String], ofActivation activation: String) throws {
        for id in ids {
            try self.db.run("DELETE FROM credential WHERE id = ? AND device_id = ?", [id, activation])
        }
    }
}

extension CredentialRecord {
    fileprivate enum Column: Int, TableColumn {
        static let table = "credential"
        static let selection = Self.selected()

        case id, deviceID, accountID, aaid, keyID, publicKey, keyFormat, algorithm, counter, registrationCounter,
            authenticatorVersion, isActive, createdAt, lastUsedAt, attestation, pictureDisplays
    }

    static let columns = Column.selection

    init(_ row: SQLRow, _ sealing: Sealing) throws {
        let (id, device) = (try row.text(Column.id), try row.text(Column.deviceID))
        let (account, aaid) = (try row.text(Column.accountID), try row.text(Column.aaid))
        let keyID = try row.bytes(Column.keyID)
        let place = Sealing.place(ofKey: id, account: account, device: device, aaid: aaid, keyID: keyID)
        self.init(
            id: id, deviceID: device, accountID: account, aaid: aaid, keyID: keyID,
            publicKey: try sealing.open(try row.bytes(Column.publicKey), purpose: .boundPublicKey, row: place),
            keyFormat: try row.integer(Column.keyFormat), algorithm: try row.integer(Column.algorithm),
            counter: try row.integer(Column.counter),
            registrationCounter: try row.integer(Column.registrationCounter),
            authenticatorVersion: try row.integer(Column.authenticatorVersion),
            attestation: try row.optionalBytes(Column.attestation).map {
                try sealing.open($0, purpose: .attestation, row: id)
            } ?? [],
            pictureDisplays: try row.optionalBytes(Column.pictureDisplays).map {
                try sealing.open($0, purpose: .pictureDisplays, row: id)
            } ?? [],
            isActive: try row.flag(Column.isActive), createdAt: try row.moment(Column.createdAt),
            lastUsedAt: try row.optionalMoment(Column.lastUsedAt))
    }
}
