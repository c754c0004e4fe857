import Records
import Sealing
import _Primitives

/// Everything that ends with a device, or with the last key of a device.
struct DeviceEnds {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Deletes keys of an account, and the devices whose last key is deleted. Returns the names of the deleted keys. If
    /// `asker` is a device, only keys of devices with the same signing key are deleted. Otherwise
    /// ``CredentialSelection/all`` also deletes the account's authentications, and the devices that had no key before.
    func deregister(
        _ selection: CredentialSelection, accountID: String, asker: DeregistrationAsker = .anybody, at now: Timestamp,
        _ sealing: Sealing, _ ending: SessionEnding
    ) throws -> [CredentialSelection.Name] {
        let reach = DeregistrationReach(of: selection, by: asker)
        let deleted = try selection.patterns.flatMap { pattern in
            try self.db.rows(
                """
                DELETE FROM credential WHERE account_id = ?1
                AND (aaid = ?2 OR ?2 IS NULL) AND (key_id = ?3 OR ?3 IS NULL) AND (device_id IN (
                    SELECT device_id FROM device_identity
                    WHERE signing_code = (SELECT signing_code FROM device_identity WHERE device_id = ?4)) OR ?4 IS NULL)
                RETURNING aaid, key_id, device_id
                """, [accountID, pattern.aaid, pattern.keyID, reach.phone]
            ) { row in
                let name = CredentialSelection.Name(aaid: try row.text("aaid"), keyID: try row.bytes("key_id"))
                return (name: name, device: try row.text("device_id"))
            }
        }
        // This also deletes authentications without a known device.
        if reach.isWholeAccount {
            try AuthenticationEnds(self.db).deleteAuthentications(of: .account(accountID), at: now)
        }
        let emptied = reach.emptied(deleted.map(\.device))
        try self.revoke(emptied, accountID: accountID, at: now, sealing, ending)
        return deleted.map(\.name)
    }

    /// Deletes the keys that a device replaces, and devices without any keys left. Returns the devices that lost keys.
    func replaceKeys(
        by successor: String, accountID: String, at now: Timestamp, _ sealing: Sealing, _ ending: SessionEnding
    ) throws -> [String] {
        let devices = try self.db.texts(
            """
            SELECT DISTINCT device_id FROM credential JOIN replaced_credential ON credential_id = credential.id
            WHERE successor_id = ? AND account_id = ? AND device_id <> successor_id
            """, [successor, accountID])
        try self.db.run(
            """
            DELETE FROM credential WHERE account_id = ? AND device_id <> ?
            AND id IN (SELECT credential_id FROM replaced_credential WHERE successor_id = ?)
            """, [accountID, successor, successor])
        try self.revoke(.only(devices), accountID: accountID, at: now, sealing, ending)
        return devices
    }

    /// Revokes those of the devices that have no key left.
    private func revoke(
        _ devices: EmptiedDevices, accountID: String, at now: Timestamp, _ sealing: Sealing, _ ending: SessionEnding
    ) throws {
        let empty = try self.db.texts(
            """
            SELECT id FROM device WHERE account_id = ?
            AND NOT EXISTS (SELECT 1 FROM credential WHERE device_id = device.id)
            """, [accountID])
        for id in devices.revoked(among: empty) {
            try self.revokeDevice(id: id, accountID: accountID, at: now, sealing, ending)
        }
    }

    /// Deletes a device with its keys and sessions, and ends the device's open ceremonies: an unconfirmed enrolment, or
    /// a sign-in before the browser has taken up the result. The account's history gets an entry for each open session
    /// of an identity on the device.
    func revokeDevice(
        id: String, accountID: String, at now: Timestamp, _ sealing: Sealing, _ ending: SessionEnding
    ) throws {
        try IdentitySessionRows(self.db).noteEnds(of: id, accountID: accountID, sealing, ending)
        _ = try DeviceRows(self.db).deleteDevice(id: id)
        try DeviceIdentityRows(self.db).endIdentity(ofDevice: id, at: now)
        try AuthenticationEnds(self.db).deleteAuthentications(of: .device(id), at: now)
        try EndedCeremonies(self.db).endCeremonies(
            as: .cancelled,
            where: """
                account_id = ? AND device_id = ?
                AND (\(CeremonyRecord.isOpen) OR (outcome = ? AND reference IS NOT NULL AND is_consumed = 0))
                """,
            [accountID, id, CeremonyRecord.Outcome.succeeded.rawValue], at: now, sealing)
    }
}
