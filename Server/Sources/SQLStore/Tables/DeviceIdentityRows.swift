import Records
import Sealing
import _Primitives

/// The rows of the keys by which devices speak for themselves.
package struct DeviceIdentityRows {
    let db: SQLConnection

    package init(_ db: SQLConnection) { self.db = db }

    /// Keeps the keys of a device that has just been added. Throws as ``requireFree(_:accountID:_:)``.
    func insert(_ identity: DeviceIdentityRecord, deviceID: String, accountID: String, _ sealing: Sealing) throws {
        try self.requireFree(identity, accountID: accountID, sealing)
        try self.keep(identity, deviceID: deviceID, accountID: accountID, sealing)
    }

    /// Throws `conflict` if another device has one of the keys. Keys of a row of the same account do not conflict if
    /// both keys are the same, in the same places.
    func requireFree(_ identity: DeviceIdentityRecord, accountID: String, _ sealing: Sealing) throws {
        try self.db.require(
            .composed("SELECT NOT EXISTS (\(Self.othersOfKeys))"),
            [sealing.deviceKeyCode(identity.signing.name), sealing.deviceKeyCode(identity.encryption.name), accountID],
            orThrow: StoreError(.conflict, "another device's key"))
    }

    /// Keeps the keys of a device that has none, or replaces the device's keys if the addition allows a replacement.
    /// Keys of another device change nothing: the authentication itself stays valid.
    func add(_ addition: DeviceIdentityAddition, _ sealing: Sealing) throws {
        switch addition.verdict(on: try self.scene(of: addition, sealing)) {
        case .ignored: break
        case .kept:
            try self.keep(
                addition.identity, deviceID: addition.deviceID, accountID: addition.accountID, sealing)
            try AuditRows(self.db).appendAudit(addition.audit, sealing)
        case .replaces(let replacement, let name):
            try self.replace(by: addition.identity, ofDevice: addition.deviceID, sealing)
            try AuditRows(self.db).appendAudit(replacement.audit, sealing)
            var notice = replacement.notice
            notice.subject = try sealing.openText(name, purpose: .deviceName, row: addition.deviceID)
            try NoticeRows(self.db).insertNotice(notice, sealing)
        }
    }

    /// The query for keys of another account, or of another pair: the signing key's code is `?1`, the encryption key's
    /// code is `?2`, and the account is `?3`.
    private static let othersOfKeys = """
        SELECT 1 FROM device_identity WHERE (signing_code IN (?1, ?2) OR encryption_code IN (?1, ?2))
        AND NOT (account_id = ?3 AND signing_code = ?1 AND encryption_code = ?2)
        """

    /// Reads the data for the judgement about the keys that a device states.
    private func scene(of addition: DeviceIdentityAddition, _ sealing: Sealing) throws -> DeviceIdentityScene {
        let scene = try self.db.rows(
            .composed(
                """
                SELECT EXISTS (SELECT 1 FROM device_identity WHERE device_id = ?4) AS has_keys,
                    EXISTS (\(Self.othersOfKeys)) AS is_taken,
                    EXISTS (
                        SELECT 1 FROM device_identity WHERE signing_code IN (?1, ?2) OR encryption_code IN (?1, ?2)
                    ) AS is_known,
                    (SELECT name FROM device WHERE id = ?4 AND account_id = ?3 AND is_active = 1) AS name
                """),
            [
                sealing.deviceKeyCode(addition.identity.signing.name),
                sealing.deviceKeyCode(addition.identity.encryption.name), addition.accountID, addition.deviceID,
            ]
        ) { row in
            DeviceIdentityScene(
                hasKeys: try row.flag("has_keys"), isTaken: try row.flag("is_taken"),
                isKnown: try row.flag("is_known"), sealedName: try row.optionalBytes("name"))
        }
        return scene[0]
    }

    private func keep(_ identity: DeviceIdentityRecord, deviceID: String, accountID: String, _ sealing: Sealing) throws
    {
        try self.db.run(
            """
            INSERT INTO device_identity (
                device_id, account_id, signing_key, signing_code, encryption_key, encryption_code
            ) VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                deviceID, accountID,
                try sealing.seal(identity.signing.point, purpose: .deviceSigningKey, row: deviceID),
                sealing.deviceKeyCode(identity.signing.name),
                try sealing.seal(identity.encryption.point, purpose: .deviceEncryptionKey, row: deviceID),
                sealing.deviceKeyCode(identity.encryption.name),
            ])
    }

    /// Gives a device new keys. The former keys prove nothing from then on.
    private func replace(by identity: DeviceIdentityRecord, ofDevice id: String, _ sealing: Sealing) throws {
        try self.db.run(
            """
            UPDATE device_identity
            SET signing_key = ?, signing_code = ?, encryption_key = ?, encryption_code = ? WHERE device_id = ?
            """,
            [
                try sealing.seal(identity.signing.point, purpose: .deviceSigningKey, row: id),
                sealing.deviceKeyCode(identity.signing.name),
                try sealing.seal(identity.encryption.point, purpose: .deviceEncryptionKey, row: id),
                sealing.deviceKeyCode(identity.encryption.name), id,
            ])
    }

    /// Returns the signing key of a device; `nil` for a device without keys of its own, and for a removed device.
    func signingKey(ofDevice id: String, _ sealing: Sealing) throws -> [UInt8]? {
        try self.db.row("SELECT signing_key FROM device_identity WHERE device_id = ? AND ended_at IS NULL", [id])
            .map { try sealing.open(try $0.bytes("signing_key"), purpose: .deviceSigningKey, row: id) }
    }

    /// Deletes the keys of an unconfirmed device.
    func deleteIdentity(ofDevice id: String) throws {
        try self.db.run("DELETE FROM device_identity WHERE device_id = ?", [id])
    }

    /// Deletes the keys of devices that a restore has removed.
    package func deleteIdentitiesOfNoDevice() throws {
        try self.db.run(
            "DELETE FROM device_identity WHERE ended_at IS NULL AND device_id NOT IN (SELECT id FROM device)")
    }

    /// Notes the removal of a device: from now on the device's keys prove only this removal.
    func endIdentity(ofDevice id: String, at now: Timestamp) throws {
        try self.db.run("UPDATE device_identity SET ended_at = ? WHERE device_id = ?", [now.milliseconds, id])
    }

    /// Deletes the keys of devices that were removed before `moment`, at most `limit`. Returns the number of deleted
    /// rows.
    func deleteEndedIdentities(before moment: Timestamp, limit: Int) throws -> Int {
        try self.db.run(
            """
            DELETE FROM device_identity WHERE device_id IN
            (SELECT device_id FROM device_identity WHERE ended_at < ? ORDER BY ended_at LIMIT ?)
            """, [moment.milliseconds, limit])
        return self.db.changesCount
    }
}
