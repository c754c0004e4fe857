public import Records
public import _Primitives

extension SQLStore: TokenStore {
    public func grant(_ id: String, tokens: [String], at moment: Timestamp) async throws -> StandingGrant? {
        try await self.read { [sealing] db in
            StandingGrant(
                try GrantRows(db).standingGrant(id, at: moment, sealing),
                isRevoked: try RevokedTokenRows(db).isRevoked(anyOf: tokens), at: moment)
        }
    }

    public func isRevoked(tokens: [String]) async throws -> Bool {
        try await self.read { db in try RevokedTokenRows(db).isRevoked(anyOf: tokens) }
    }

    public func revokeToken(_ id: String, ofGrant grant: String?, until end: Timestamp) async throws {
        let step = Step("token.revoke", guards: [], isolation: .readCommitted)
        try await self.step(
            step,
            screenedBy: { db -> Screening<Void, Void> in
                let isOfGrant = try grant.map { try GrantRows(db).isGrant($0) } ?? true
                return .step(if: try isOfGrant && !RevokedTokenRows(db).isRevoked(anyOf: [id]), otherwise: ())
            }
        ) { db, _ in
            try db.run(
                "INSERT INTO oauth_revoked_token (id, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [id, end.milliseconds])
        }
    }
}
