import GRDB
import Records

extension Migration {
    /// Adds the resources that clients may have tokens for or own, and the resources of requests and grants. Existing
    /// rows are for this server alone.
    static let resources = Migration(name: "resources") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN token_settings TEXT NOT NULL DEFAULT '{}';
                CREATE INDEX oauth_client_tokens ON oauth_client (token_settings) WHERE token_settings <> '{}';
                ALTER TABLE oauth_request ADD COLUMN resources TEXT NOT NULL DEFAULT '';
                ALTER TABLE oauth_grant ADD COLUMN resources TEXT NOT NULL DEFAULT '';
                """)
    }
}

extension SQLConnection {
    /// Returns the identifier of the client that owns a resource.
    func owner(ofResource resource: String) throws -> String? {
        try self.text(
            """
            SELECT oauth_client.id FROM oauth_client, json_each(token_settings, '$.resources') AS owned
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
