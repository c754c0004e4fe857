import GRDB
import Store
import _Primitives

extension Migration {
    /// What is asked of a client's requests: of those that are there already, what was.
    static let clientProfiles = Migration(name: "profiles of clients") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN security_profile TEXT NOT NULL DEFAULT 'usual';
                ALTER TABLE oauth_client ADD COLUMN requires_signed_requests INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE oauth_client ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
                """)
    }
}

extension Migration {
    /// What people agree to in detail: of the clients that are there already none asks, and nothing was granted.
    static let authorizationDetails = Migration(name: "authorization details") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN detail_types TEXT NOT NULL DEFAULT '[]';
                ALTER TABLE oauth_grant ADD COLUMN details BLOB;
                """)
    }
}

extension Migration {
    /// The names that clients' certificates have: those that are there already prove themselves in other ways.
    static let clientCertificates = Migration(name: "certificates of clients") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN certificate_name TEXT")
    }
}

extension Migration {
    /// Clients from before sign nobody in without a browser.
    static let directSignIn = Migration(name: "direct sign-in") { db, _ in
        try db.execute(
            sql: "ALTER TABLE oauth_client ADD COLUMN signs_in_directly INTEGER NOT NULL DEFAULT 0")
    }
}

extension SealingPurpose {
    /// What a person has agreed to in detail, bound to its grant.
    static let authorizationDetails = SealingPurpose("oauth authorization details")
}

extension Migration {
    /// Whether a client is switched off: none that is there already is.
    static let disabledClients = Migration(name: "clients that are switched off") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN is_disabled INTEGER NOT NULL DEFAULT 0")
    }
}

extension Database {
    /// Keeps the profile of a client that is there.
    func setProfile(_ profile: ClientProfile, ofClient id: String) throws {
        try self.cachedStatement(
            sql: """
                UPDATE oauth_client SET security_profile = ?, requires_signed_requests = ?, origins = ?,
                    detail_types = ?, signs_in_directly = ?, requires_pushed_requests = ?, default_max_age = ?
                    WHERE id = ?
                """
        ).execute(arguments: [
            profile.security.rawValue, profile.requiresSignedRequests,
            JSON.array(profile.origins.map(JSON.string)).text,
            JSON.array(profile.detailTypes.map(JSON.string)).text, profile.signsInDirectly,
            profile.requiresPushedRequests, profile.defaultMaximumAge?.components.seconds, id,
        ])
    }

    /// Whether a client, or any of them, has this origin. There are a thousand clients at most, and few have any.
    func isOrigin(_ origin: String, ofClient id: String?) throws -> Bool {
        try Bool.fetchOne(
            self.cachedStatement(
                sql: """
                    SELECT EXISTS (
                        SELECT 1 FROM oauth_client, json_each(oauth_client.origins) AS origin
                        WHERE oauth_client.origins <> '[]' AND origin.value = ?1 AND (?2 IS NULL OR oauth_client.id = ?2))
                    """), arguments: [origin, id]) ?? false
    }
}
