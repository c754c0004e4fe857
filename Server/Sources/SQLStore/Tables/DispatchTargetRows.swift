import Records
import Sealing
import _Primitives

/// The columns by which the rows of devices are targets of dispatches.
struct DispatchTargetRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the target of a device that may authenticate.
    func target(deviceID: String, _ sealing: Sealing) throws -> DispatchTargetRecord? {
        try self.targets(where: "device.id = ?", [deviceID], sealing).first
    }

    /// Returns the targets of an account's devices that may authenticate, in the order of their registration.
    func targets(accountID: String, _ sealing: Sealing) throws -> [DispatchTargetRecord] {
        try self.targets(where: "device.account_id = ?", [accountID], sealing)
    }

    private func targets(
        where condition: String, _ values: SQLValues, _ sealing: Sealing
    ) throws -> [DispatchTargetRecord] {
        try self.db.rows(
            .composed(
                """
                SELECT device.id AS id, device.account_id AS account_id, device.name AS name,
                    device.created_at AS created_at, dispatcher, push_address, is_push_wanted, target_changed_at, seen_at,
                    device_identity.encryption_key AS encryption_key
                FROM device LEFT JOIN device_identity ON device_identity.device_id = device.id
                LEFT JOIN activation ON activation.device_id = device.id
                WHERE \(condition) AND \(DeviceRows.deviceMayAuthenticate) ORDER BY device.number
                """), values
        ) { try DispatchTargetRecord($0, sealing) }
    }

    /// Returns the names of the account's active devices that are other phones than the device. Registrations with the
    /// same signing key are one phone.
    func otherNames(than deviceID: String, accountID: String, _ sealing: Sealing) throws -> [String] {
        try self.db.rows(
            """
            SELECT id, name FROM device WHERE account_id = ?1 AND id <> ?2 AND is_active = 1 AND NOT EXISTS (
                SELECT 1 FROM device_identity AS own JOIN device_identity AS other
                ON other.signing_code = own.signing_code
                WHERE own.device_id = ?2 AND other.device_id = device.id)
            """, [accountID, deviceID]
        ) { row in try sealing.openText(try row.bytes("name"), purpose: .deviceName, row: try row.text("id")) }
    }

    /// Returns the identifiers of an account's devices that may not authenticate any more.
    func formerDevices(accountID: String) throws -> [String] {
        try self.db.texts(
            .composed(
                """
                SELECT device.id FROM device LEFT JOIN activation ON activation.device_id = device.id
                WHERE device.account_id = ?1 AND is_active = 1 AND (\(DeviceRows.deviceMayAuthenticate)) IS NOT TRUE
                UNION SELECT device_id FROM device_identity WHERE account_id = ?1 AND ended_at IS NOT NULL
                """), [accountID])
    }

    /// Writes the columns of a target.
    func update(_ target: DispatchTargetRecord, _ sealing: Sealing) throws {
        try self.db.run(
            """
            UPDATE device SET name = ?, dispatcher = ?, push_address = ?, is_push_wanted = ?, target_changed_at = ?
            WHERE id = ?
            """,
            [
                try sealing.seal(target.name, purpose: .deviceName, row: target.deviceID), target.dispatcher,
                try target.address.map { try sealing.seal($0, purpose: .pushAddress, row: target.deviceID) },
                target.isPushWanted, target.changedAt.milliseconds, target.deviceID,
            ])
    }

    /// Moves the time at which a device was seen forward.
    func noteSeen(deviceID: String, at moment: Timestamp) throws {
        try self.db.run(
            "UPDATE device SET seen_at = ?1 WHERE id = ?2 AND coalesce(seen_at, 0) < ?1",
            [moment.milliseconds, deviceID])
    }
}

extension DispatchTargetRecord {
    fileprivate init(_ row: SQLRow, _ sealing: Sealing) throws {
        let id = try row.text("id")
        self.init(
            deviceID: id, accountID: try row.text("account_id"),
            name: try sealing.openText(try row.bytes("name"), purpose: .deviceName, row: id),
            dispatcher: try row.optionalText("dispatcher"),
            address: try row.optionalBytes("push_address").map {
                try sealing.openText($0, purpose: .pushAddress, row: id)
            },
            isPushWanted: try row.flag("is_push_wanted"),
            encryptionKey: try row.optionalBytes("encryption_key").map {
                try DeviceIdentityRecord.Key(kept: sealing.open($0, purpose: .deviceEncryptionKey, row: id))
            },
            changedAt: try row.optionalMoment("target_changed_at") ?? row.moment("created_at"),
            seenAt: try row.optionalMoment("seen_at"))
    }
}
