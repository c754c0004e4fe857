import Records

/// The rows of revoked access tokens.
struct RevokedTokenRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns `true` if one of these access tokens was revoked.
    func isRevoked(anyOf tokens: [String]) throws -> Bool {
        try tokens.contains {
            try self.db.isTrue("SELECT EXISTS (SELECT 1 FROM oauth_revoked_token WHERE id = ?)", [$0])
        }
    }
}
