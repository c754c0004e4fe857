public import Records
import Sealing
import _Primitives

extension SealingPurpose {
    static let deviceSigningKey = SealingPurpose("device signing key")
    static let deviceEncryptionKey = SealingPurpose("device encryption key")
    fileprivate static let deviceKeyCode = SealingPurpose("device key code")
}

extension Sealing {
    /// Returns the code by which a device's key is found.
    fileprivate func deviceKeyCode(_ name: String) -> [UInt8] { self.code(name, purpose: .deviceKeyCode) }
}

extension SQLStore: DeviceIdentityStore {
    public func device(ofKey name: String) async throws -> ProvingDevice? {
        let code = self.sealing.deviceKeyCode(name)
        return try await self.read { [sealing] db in
            try db.row(
                .composed(
                    """
                    SELECT \(AccountRecord.columns), device_identity.device_id, device_identity.signing_key,
                        (\(SQLConnection.deviceMayAuthenticate)) IS NOT TRUE AS is_gone
                    FROM device_identity JOIN account ON account.id = device_identity.account_id
                    LEFT JOIN device ON device.id = device_identity.device_id
                    LEFT JOIN activation ON activation.device_id = device.id
                    WHERE signing_code = ? AND device.is_active IS DISTINCT FROM 0
                    ORDER BY is_gone, device.number DESC NULLS LAST, device_identity.ended_at DESC NULLS LAST LIMIT 1
                    """), [code]
            ).map { row in
                let id = try row.text("device_id")
                return ProvingDevice(
                    deviceID: id, account: try AccountRecord(row, sealing),
                    signingKey: try sealing.open(
                        try row.bytes("signing_key"), purpose: .deviceSigningKey, row: id),
                    isGone: try row.flag("is_gone"))
            }
        }
    }

    public func isKey(_ name: String, ofDevice id: String) async throws -> Bool {
        let code = self.sealing.deviceKeyCode(name)
        return try await self.read { db in
            try db.isTrue(
                "SELECT EXISTS (SELECT 1 FROM device_identity WHERE device_id = ? AND signing_code = ?)", [id, code])
        }
    }
}

extension SQLConnection {
    /// Keeps the keys of a device that has just been added. Throws `conflict` if another device has one of the keys.
    /// Keys of a row of the same account do not conflict if both keys are the same, in the same places.
    func insert(_ identity: DeviceIdentityRecord, deviceID: String, accountID: String, _ sealing: Sealing) throws {
        try self.require(
            .composed("SELECT NOT EXISTS (\(Self.othersOfKeys))"),
            [sealing.deviceKeyCode(identity.signing.name), sealing.deviceKeyCode(identity.encryption.name), accountID],
            orThrow: StoreError(.conflict, "another device's key"))
        try self.keep(identity, deviceID: deviceID, accountID: accountID, sealing)
    }

    /// Keeps the keys of a device that has none, or replaces the device's keys if the addition allows a replacement.
    /// Keys of another device change nothing: the authentication itself stays valid.
    func add(_ addition: DeviceIdentityAddition, _ sealing: Sealing) throws {
        switch addition.verdict(on: try self.scene(of: addition, sealing)) {
        case .ignored: break
        case .kept:
            try self.keep(
                addition.identity, deviceID: addition.deviceID, accountID: addition.accountID, sealing)
            try self.appendAudit(addition.audit, sealing)
        case .replaces(let replacement, let name):
            try self.replace(by: addition.identity, ofDevice: addition.deviceID, sealing)
            try self.appendAudit(replacement.audit, sealing)
            var notice = replacement.notice
            notice.subject = try sealing.openText(name, purpose: .deviceName, row: addition.deviceID)
            try self.insertNotice(notice, sealing)
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
        let scene = try self.rows(
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
        try self.run(
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
        try self.run(
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

    /// Deletes the keys of an unconfirmed device.
    func deleteIdentity(ofDevice id: String) throws {
        try self.run("DELETE FROM device_identity WHERE device_id = ?", [id])
    }

    /// Deletes the keys of devices that a restore has removed.
    package func deleteIdentitiesOfNoDevice() throws {
        try self.run("DELETE FROM device_identity WHERE ended_at IS NULL AND device_id NOT IN (SELECT id FROM device)")
    }

    /// Notes the removal of a device: from now on the device's keys prove only this removal.
    func endIdentity(ofDevice id: String, at now: Timestamp) throws {
        try self.run("UPDATE device_identity SET ended_at = ? WHERE device_id = ?", [now.milliseconds, id])
    }

    /// Deletes the keys of devices that were removed before `moment`, at most `limit`. Returns the number of deleted
    /// rows.
    func deleteEndedIdentities(before moment: Timestamp, limit: Int) throws -> Int {
        try self.run(
            """
            DELETE FROM device_identity WHERE device_id IN
            (SELECT device_id FROM device_identity WHERE ended_at < ? ORDER BY ended_at LIMIT ?)
            """, [moment.milliseconds, limit])
        return self.changesCount
    }
}
