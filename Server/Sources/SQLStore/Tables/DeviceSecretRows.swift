import Records

/// The rows of device secrets.
struct DeviceSecretRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns `true` if a client exists and belongs to the group that may use a secret.
    func isOfGroup(ofDeviceSecret digest: [UInt8], client: String) throws -> Bool {
        try self.db.isTrue(
            """
            SELECT EXISTS (
                SELECT 1 FROM oauth_client, oauth_device_secret
                WHERE oauth_client.id = ? AND digest = ?
                    AND token_settings ->> 'group' = sharing_group)
            """, [client, digest])
    }

    /// Notes within the present step that a device secret was given with a grant. Returns `false` if the grant is gone,
    /// has a secret already, or was itself got by a device secret.
    func setDeviceSecret(_ digest: [UInt8], ofGrant id: String) throws -> Bool {
        try self.db.run(
            "UPDATE oauth_grant SET device_secret = ? WHERE id = ? AND device_secret IS NULL AND origin IS NULL",
            [digest, id])
        return self.db.changesCount > 0
    }
}
