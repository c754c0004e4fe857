import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The attested key of an app, bound to the device.
    static let attestedAppKey = SealingPurpose("attested key of an app")
}

/// The rows of the attested keys of apps: one row for a device at most.
struct AttestedAppRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Throws `conflict` for an assertion whose key is not the device's key, or whose number has counted.
    func requireAdvance(_ advance: AppCounterAdvance) throws {
        try self.db.require(
            "SELECT EXISTS (SELECT 1 FROM attested_app WHERE device_id = ? AND key_id = ? AND counter < ?)",
            [advance.deviceID, advance.keyID, advance.counter], orThrow: KeyRefusal.ofAppCounter)
    }

    /// Writes the number of an assertion that ``requireAdvance(_:)`` has admitted.
    func advance(_ advance: AppCounterAdvance) throws {
        try self.db.run(
            "UPDATE attested_app SET counter = ? WHERE device_id = ? AND key_id = ?",
            [advance.counter, advance.deviceID, advance.keyID])
    }

    /// Keeps the attested key of a device, in place of an earlier key.
    func keep(_ record: AttestedAppRecord, _ sealing: Sealing) throws {
        try self.db.run(
            """
            INSERT INTO attested_app (device_id, team_id, bundle_id, environment, key_id, public_key, counter)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (device_id) DO UPDATE SET
                team_id = ?2, bundle_id = ?3, environment = ?4, key_id = ?5, public_key = ?6, counter = ?7
            """,
            [
                record.deviceID, record.teamID, record.bundleID, record.environment, record.keyID,
                try sealing.seal(record.publicKey, purpose: .attestedAppKey, row: record.deviceID), record.counter,
            ])
    }

    /// Returns the attested key of a device; `nil` for none.
    func record(ofDevice id: String, _ sealing: Sealing) throws -> AttestedAppRecord? {
        try self.db.row(
            """
            SELECT team_id, bundle_id, environment, key_id, public_key, counter FROM attested_app WHERE device_id = ?
            """, [id]
        ).map { row in
            AttestedAppRecord(
                deviceID: id, teamID: try row.text("team_id"), bundleID: try row.text("bundle_id"),
                environment: try row.text("environment"), keyID: try row.bytes("key_id"),
                publicKey: try sealing.open(try row.bytes("public_key"), purpose: .attestedAppKey, row: id),
                counter: try row.integer("counter"))
        }
    }
}
