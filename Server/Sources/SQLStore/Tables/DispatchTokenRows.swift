import Records
import _Primitives

/// The rows of the tokens by which devices find their ceremonies.
struct DispatchTokenRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    func insert(_ tokens: [DispatchTokenRecord], ceremonyID: String) throws {
        for token in tokens {
            try self.db.run(
                "INSERT INTO dispatch_token (digest, ceremony_id, channel, expires_at) VALUES (?, ?, ?, ?)",
                [token.digest, ceremonyID, token.channel.stored, token.expiresAt.milliseconds])
        }
    }

    /// Adds tokens of the ceremony. A present token of the same digest gets the new end.
    func add(_ tokens: [DispatchTokenRecord], ceremonyID: String) throws {
        for token in tokens {
            try self.db.run(
                """
                INSERT INTO dispatch_token (digest, ceremony_id, channel, expires_at) VALUES (?, ?, ?, ?)
                ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at
                """, [token.digest, ceremonyID, token.channel.stored, token.expiresAt.milliseconds])
        }
    }

    /// Deletes tokens of the ceremony that expired before a moment.
    func deleteTokens(ceremonyID: String, expiredBefore moment: Timestamp) throws {
        try self.db.run(
            "DELETE FROM dispatch_token WHERE ceremony_id = ? AND expires_at < ?", [ceremonyID, moment.milliseconds])
    }

    /// Lets every unexpired token of the ceremony expire.
    func expireTokens(ceremonyID: String, at now: Timestamp) throws {
        try self.db.run(
            "UPDATE dispatch_token SET expires_at = least(expires_at, ?) WHERE ceremony_id = ?",
            [now.milliseconds, ceremonyID])
    }
}
