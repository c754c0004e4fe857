public import Records
public import _Primitives

extension SQLStore: TokenStore {
    public func grant(_ id: String, tokens: [String], at moment: Timestamp) async throws -> StandingGrant? {
        try await self.read { [sealing] db in
            StandingGrant(
                try db.standingGrant(id, at: moment, sealing), isRevoked: try db.isRevoked(anyOf: tokens), at: moment)
        }
    }

    public func isRevoked(tokens: [String]) async throws -> Bool {
        try await self.read { db in try db.isRevoked(anyOf: tokens) }
    }

    public func revokeToken(_ id: String, ofGrant grant: String?, until end: Timestamp) async throws {
        let step = Step("token.revoke", guards: [], isolation: .readCommitted)
        try await self.step(
            step,
            screenedBy: { db -> Screening<Void, Void> in
                let isOfGrant = try grant.map { try db.isGrant($0) } ?? true
                return .step(if: try isOfGrant && !db.isRevoked(anyOf: [id]), otherwise: ())
            }
        ) { db, _ in
            try db.run(
                "INSERT INTO oauth_revoked_token (id, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [id, end.milliseconds])
        }
    }
}

extension SQLConnection {
    /// Returns `true` if one of these access tokens was revoked.
    func isRevoked(anyOf tokens: [String]) throws -> Bool {
        try tokens.contains {
            try self.isTrue("SELECT EXISTS (SELECT 1 FROM oauth_revoked_token WHERE id = ?)", [$0])
        }
    }

    fileprivate func isGrant(_ id: String) throws -> Bool {
        try self.isTrue("SELECT EXISTS (SELECT 1 FROM oauth_grant WHERE id = ?)", [id])
    }
}
