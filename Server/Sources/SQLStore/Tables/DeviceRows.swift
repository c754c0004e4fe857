import Records
import Sealing
import _Primitives

/// The columns of a device.
enum DeviceColumn: Int, TableColumn {
    static let table = "device"
    static let selection = Self.selected()

    case id, accountID, name, isActive, createdAt, secretCode, limitedUntil, restedAt, isDisowned
}

/// The rows of devices.
struct DeviceRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Throws `conflict` if a key of a device that is to be added exists already, by its model and name, or if another
    /// device has one of the keys by which the device speaks for itself.
    func requireNewKeys(of registration: DeviceRegistration, _ sealing: Sealing) throws {
        for key in registration.credentials {
            try self.db.refuse(
                "SELECT 1 FROM credential WHERE aaid = ? AND key_id = ?", [key.aaid, key.keyID], KeyRefusal.knownKey)
        }
        try registration.identity.map {
            try DeviceIdentityRows(self.db).requireFree($0, accountID: registration.device.accountID, sealing)
        }
    }

    /// Throws `conflict` if a device to activate does not exist.
    func requireDevice(id: String) throws {
        try self.db.require(
            "SELECT EXISTS (SELECT 1 FROM device WHERE id = ?)", [id], orThrow: KeyRefusal.ofActivation)
    }

    /// Adds a device and its keys. Throws `conflict` as ``requireNewKeys(of:_:)``.
    func insert(_ registration: DeviceRegistration, _ sealing: Sealing) throws {
        let device = registration.device
        let name = try sealing.seal(device.name, purpose: .deviceName, row: device.id)
        try self.db.run(
            """
            INSERT INTO device (
                id, account_id, name, is_active, created_at, secret_code, limited_until, rested_at, is_disowned
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                device.id, device.accountID, name, device.isActive, device.createdAt.milliseconds,
                device.secretCode, device.standing.limitedUntil?.milliseconds, device.standing.restedAt?.milliseconds,
                device.standing.isDisowned,
            ])
        try CredentialRows(self.db).insert(registration.credentials, sealing)
        if let identity = registration.identity {
            try DeviceIdentityRows(self.db).insert(identity, deviceID: device.id, accountID: device.accountID, sealing)
        }
        for id in registration.replaces {
            try self.db.run(
                """
                INSERT INTO replaced_credential
                SELECT ?, id FROM credential WHERE id = ? AND account_id = ? ON CONFLICT DO NOTHING
                """, [device.id, id, device.accountID])
        }
    }

    /// Lets a device and its keys authenticate, and limits the device until a moment. Throws `conflict` if the device
    /// does not exist.
    func activateDevice(id: String, limitedUntil: Timestamp?) throws {
        try self.db.changeOneRow(
            "UPDATE device SET is_active = 1, limited_until = ? WHERE id = ?", [limitedUntil?.milliseconds, id],
            orThrow: KeyRefusal.ofActivation)
        try self.db.run("UPDATE credential SET is_active = 1 WHERE device_id = ?", [id])
    }

    /// Deletes a device together with its keys; `false` if the device does not exist.
    func deleteDevice(id: String) throws -> Bool {
        try IdentityAnswerRows(self.db).deleteAnswers(of: id)
        try self.db.run("DELETE FROM device WHERE id = ?", [id])
        return self.db.hasChangedOneRow
    }

    /// Returns `true` if a device may authenticate, and for `nil`.
    func isActiveDevice(_ device: String?) throws -> Bool {
        try device.map { device in
            try self.db.isTrue(
                .composed(
                    """
                    SELECT EXISTS (
                        SELECT 1 FROM device LEFT JOIN activation ON device_id = device.id
                        WHERE device.id = ? AND \(Self.deviceMayAuthenticate))
                    """), [device])
        } ?? true
    }

    /// Returns `true` if the device is an active device of the account, and its activation is not disabled, should the
    /// asker need the activation.
    func mayAsk(_ device: String, as asker: DeregistrationAsker, ofAccount account: String) throws -> Bool {
        try self.db.isTrue(
            .composed(
                """
                SELECT EXISTS (
                    SELECT 1 FROM device LEFT JOIN activation ON device_id = device.id
                    WHERE device.id = ?1 AND account_id = ?2
                    AND is_active = 1 AND (?3 = 0 OR \(Self.deviceMayAuthenticate)))
                """), [device, account, asker.needsActivation])
    }

    /// The condition for a device, joined with its activation, that may authenticate. A device whose activation is
    /// disabled may not authenticate: wrong factors have disabled the activation, or a disowned change has added the
    /// activation. While the activation's last attempt is being judged, the device may authenticate, because the attempt
    /// can be right.
    /// A device that is reported as lost may not authenticate either.
    static let deviceMayAuthenticate = "\(Self.deviceIsKept) AND rested_at IS NULL"

    /// The condition for a device, joined with its activation, that may authenticate as soon as it is reported as lost
    /// no longer. Every other device is gone for its phone.
    static let deviceIsKept = "is_active = 1 AND (is_permanent IS DISTINCT FROM 1 OR reserved_at IS NOT NULL)"
}

extension DeviceRecord {
    init(_ row: RowPart<DeviceColumn>, _ sealing: Sealing) throws {
        let id = try row.text(.id)
        self.init(
            id: id, accountID: try row.text(.accountID),
            name: try sealing.openText(try row.bytes(.name), purpose: .deviceName, row: id),
            isActive: try row.flag(.isActive), createdAt: try row.moment(.createdAt),
            secretCode: try row.optionalBytes(.secretCode),
            standing: DeviceStanding(
                limitedUntil: try row.optionalMoment(.limitedUntil), restedAt: try row.optionalMoment(.restedAt),
                isDisowned: try row.flag(.isDisowned)))
    }
}
