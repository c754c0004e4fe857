import GRDB
import Records
import Sealing
import _Primitives

extension Migration {
    /// Adds the rules for a client's requests. Existing clients keep their rules.
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
    /// Adds the detailed consents of people. No existing client asks for details, and no details were granted.
    static let authorizationDetails = Migration(name: "authorization details") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN detail_types TEXT NOT NULL DEFAULT '[]';
                ALTER TABLE oauth_grant ADD COLUMN details BLOB;
                """)
    }
}

extension Migration {
    /// Adds the names in clients' certificates. Existing clients authenticate in other ways.
    static let clientCertificates = Migration(name: "certificates of clients") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN certificate_name TEXT")
    }
}

extension Migration {
    /// Adds the permission to sign people in without a browser. Existing clients do not have this permission.
    static let directSignIn = Migration(name: "direct sign-in") { db, _ in
        try db.execute(
            sql: "ALTER TABLE oauth_client ADD COLUMN signs_in_directly INTEGER NOT NULL DEFAULT 0")
    }
}

extension SealingPurpose {
    /// The details that a person has agreed to, bound to the grant.
    static let authorizationDetails = SealingPurpose("oauth authorization details")
}

extension Migration {
    /// Adds the mark of clients that are switched off. No existing client is switched off.
    static let disabledClients = Migration(name: "clients that are switched off") { db, _ in
        try db.execute(sql: "ALTER TABLE oauth_client ADD COLUMN is_disabled INTEGER NOT NULL DEFAULT 0")
    }
}

extension SQLConnection {
    /// Keeps the profile of an existing client.
    func setProfile(_ profile: ClientProfile, ofClient id: String) throws {
        try self.runObserved(
            """
            UPDATE oauth_client SET security_profile = ?, requires_signed_requests = ?, origins = ?,
                detail_types = ?, signs_in_directly = ?, requires_pushed_requests = ?, default_max_age = ?
                WHERE id = ?
            """,
            [
                profile.security.rawValue, profile.requiresSignedRequests,
                ClientRecord.keptText(of: profile.origins),
                ClientRecord.keptText(of: profile.detailTypes), profile.signsInDirectly,
                profile.requiresPushedRequests, profile.defaultMaximumAge?.components.seconds, id,
            ])
    }

    /// Returns `true` if the client, or any client for `nil`, has this origin. At most a thousand clients exist, and
    /// few have origins.
    func isOrigin(_ origin: String, ofClient id: String?) throws -> Bool {
        try self.isTrue(
            """
            SELECT EXISTS (
                SELECT 1 FROM oauth_client, json_each(oauth_client.origins) AS origin
                WHERE oauth_client.origins <> '[]' AND origin.value = ?1 AND (?2 IS NULL OR oauth_client.id = ?2))
            """, [origin, id])
    }
}
