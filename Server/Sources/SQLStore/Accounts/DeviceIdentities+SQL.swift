public import Records
import Sealing
import _Primitives

extension SQLStore: DeviceIdentityStore {
    public func device(ofKey name: String) async throws -> ProvingDevice? {
        let code = self.sealing.deviceKeyCode(name)
        return try await self.read { [sealing] db in
            try db.row(
                .composed(
                    """
                    SELECT \(AccountRecord.columns), device_identity.device_id, device_identity.signing_key,
                        device_identity.encryption_key, device.seen_at, device.limited_until, device.rested_at,
                        COALESCE(device.is_disowned, 0) AS is_disowned,
                        (\(DeviceRows.deviceIsKept)) IS NOT TRUE AS is_gone
                    FROM device_identity JOIN account ON account.id = device_identity.account_id
                    LEFT JOIN device ON device.id = device_identity.device_id
                    LEFT JOIN activation ON activation.device_id = device.id
                    WHERE signing_code = ? AND device.is_active IS DISTINCT FROM 0
                    ORDER BY is_gone, device.rested_at IS NOT NULL, device.number DESC NULLS LAST,
                        device_identity.ended_at DESC NULLS LAST
                    LIMIT 1
                    """), [code]
            ).map { row in
                let id = try row.text("device_id")
                return ProvingDevice(
                    deviceID: id, account: try AccountRecord(row, sealing),
                    signingKey: try sealing.open(
                        try row.bytes("signing_key"), purpose: .deviceSigningKey, row: id),
                    encryptionKey: try sealing.open(
                        try row.bytes("encryption_key"), purpose: .deviceEncryptionKey, row: id),
                    isGone: try row.flag("is_gone"), seenAt: try row.optionalMoment("seen_at"),
                    standing: DeviceStanding(
                        limitedUntil: try row.optionalMoment("limited_until"),
                        restedAt: try row.optionalMoment("rested_at"), isDisowned: try row.flag("is_disowned")))
            }
        }
    }

    public func isKey(_ name: String, ofDevice id: String) async throws -> Bool {
        let code = self.sealing.deviceKeyCode(name)
        return try await self.read { db in
            try db.isTrue(
                """
                SELECT EXISTS (
                    SELECT 1 FROM device_identity WHERE device_id = ?1 AND signing_code = ?2
                    AND NOT EXISTS (SELECT 1 FROM device WHERE id = ?1 AND rested_at IS NOT NULL))
                """, [id, code])
        }
    }
}
