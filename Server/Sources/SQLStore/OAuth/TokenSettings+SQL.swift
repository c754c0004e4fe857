import Records

extension SQLConnection {
    /// Returns the identifier of the client that owns a resource.
    func owner(ofResource resource: String) throws -> String? {
        try self.text(
            """
            SELECT oauth_client.id
            FROM oauth_client, jsonb_array_elements_text(token_settings -> 'resources') AS owned
            WHERE token_settings <> '{}' AND owned.value = ?
            """, [resource])
    }

    /// Throws ``StoreError/Code/conflict`` if another client owns one of the resources.
    func checkOwner(of resources: [String], client: String) throws {
        for resource in resources {
            try ResourceOwner(client: self.owner(ofResource: resource)).check(claimant: client)
        }
    }
}
