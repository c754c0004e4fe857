import GRDB
public import Store
public import _Primitives

extension Migration {
    /// Grants that outlive their session, the refresh tokens by which they are renewed, and access tokens that were taken
    /// back.
    static let refreshTokens = Migration(name: "refresh tokens") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_grant ADD COLUMN is_lasting INTEGER NOT NULL DEFAULT 0;
                CREATE INDEX oauth_grant_lasting ON oauth_grant (session) WHERE is_lasting = 1;
                CREATE TABLE oauth_refresh (
                    grant_id TEXT PRIMARY KEY REFERENCES oauth_grant (id) ON DELETE CASCADE, head BLOB NOT NULL,
                    parent BLOB, parent_used_at INTEGER, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE oauth_revoked_token (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL)
                    STRICT, WITHOUT ROWID;
                CREATE INDEX oauth_revoked_token_end ON oauth_revoked_token (expires_at);
                """)
        // With its last grant an authentication ends that no session stands on.
        try db.execute(
            sql: """
                CREATE TRIGGER oauth_authentication_granted AFTER DELETE ON oauth_grant WHEN OLD.is_lasting = 1
                BEGIN
                    UPDATE oauth_authentication SET expires_at = coalesce(
                        (SELECT max(expires_at) FROM oauth_grant WHERE authentication = OLD.authentication), 0)
                    WHERE id = OLD.authentication AND NOT EXISTS (
                        SELECT 1 FROM oauth_session_authentication WHERE authentication = OLD.authentication);
                END
                """)
    }
}

private enum RefreshColumn: Int, TableColumn {
    static let table = "oauth_refresh"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case grantID, head, parent, parentUsedAt, expiresAt, usedAt
}

extension SQLiteDatabase: RefreshStore {
    public func beginFamily(_ start: RefreshFamilyStart, at moment: Timestamp) async throws -> Bool {
        let isThere = try await self.step { [sealing] db in
            try db.begin(start, at: moment, sealing)
        }
        self.handedOutTokens.insert([start.head])
        return isThere
    }

    public func refresh(
        _ exchange: RefreshExchange, at moment: Timestamp,
        judge: @escaping @Sendable (StandingGrant) throws -> Void
    ) async throws -> RefreshOutcome {
        let outcome: RefreshOutcome
        if self.handedOutTokens.remove(exchange.presented) {
            outcome = try await self.step { [sealing] db in try db.refresh(exchange, at: moment, sealing, judge) }
        } else {
            // A client can show what ended long ago: readers look it up.
            outcome = try await self.step(screenedBy: { [sealing] db -> Screening<Void, RefreshOutcome> in
                guard let (_, standing) = try db.family(ofGrant: exchange.grant, at: moment, sealing) else {
                    return .answered(.unknown)
                }
                try judge(standing)
                return .step(())
            }) { [sealing] db, _ in try db.refresh(exchange, at: moment, sealing, judge) }
        }
        if case .renewed = outcome { self.handedOutTokens.insert([exchange.successor]) }
        return outcome
    }

    public func grant(_ id: String, token: String?, at moment: Timestamp) async throws -> StandingGrant? {
        try await self.read { [sealing] db in
            if let token, try db.isRevoked(anyOf: [token]) { return nil }
            guard let standing = try db.standingGrant(id, at: moment, sealing), moment < standing.grant.expiresAt else {
                return nil
            }
            return standing
        }
    }

    public func deleteGrant(_ id: String, client: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(screenedBy: { db -> Screening<Void, Bool> in
            try db.isGrant(id, ofClient: client) ? .step(()) : .answered(false)
        }) { [sealing] db, _ in
            guard try db.isGrant(id, ofClient: client) else { return false }
            try db.deleteGrant(id)
            try db.appendAudit(audit, sealing)
            return true
        }
    }
}

/// What is kept of a family.
private struct RefreshFamily {
    let head: [UInt8]
    let parent: [UInt8]?
    let parentUsedAt: Timestamp?
}

extension Database {
    /// The family of a grant that stands at `moment`, where its head has not ended.
    fileprivate func family(ofGrant id: String, at moment: Timestamp, _ sealing: Sealing) throws
        -> (RefreshFamily, StandingGrant)?
    {
        let row = try self.row(
            "SELECT \(RefreshColumn.selection) FROM oauth_refresh WHERE grant_id = ?1 AND expires_at > ?2",
            [id, moment.milliseconds])
        guard let row, let standing = try self.standingGrant(id, at: moment, sealing),
            moment < standing.grant.expiresAt
        else { return nil }
        let family = RefreshFamily(
            head: try row.bytes(RefreshColumn.head), parent: try row.optionalBytes(RefreshColumn.parent),
            parentUsedAt: try row.optionalMoment(RefreshColumn.parentUsedAt))
        return (family, standing)
    }

    /// Begins a family within the present step. Says whether the grant is there, and its family at this head.
    func begin(_ start: RefreshFamilyStart, at moment: Timestamp, _ sealing: Sealing) throws -> Bool {
        let begun = try self.row("SELECT head FROM oauth_refresh WHERE grant_id = ?", [start.grant])
        if let begun { return constantTimeEqual(try begun.bytes("head"), start.head) }
        guard try self.letLast(start, at: moment, sealing) else { return false }
        try self.insertFamily(start)
        return true
    }

    /// Keeps a grant that begins with its family, within the present step: what it lasts as is written with it, and not
    /// over it.
    func insert(
        _ grant: GrantRecord, redirectURI: String, beginning start: RefreshFamilyStart, at moment: Timestamp,
        _ sealing: Sealing
    ) throws {
        let numbers = try self.lastingNumbers(client: grant.client, subject: grant.subject)
        let newest = (numbers?.newest ?? 0) + 1
        try self.insert(
            grant, redirectURI: redirectURI, lasting: GrantBeginning(family: start, at: moment, number: newest), sealing
        )
        try self.keepAuthentication(grant.authentication, until: start.end)
        try self.endDisplaced(
            by: start, client: grant.client, subject: grant.subject, oldest: numbers?.oldest ?? newest, newest: newest,
            sealing)
        try self.insertFamily(start)
    }

    private func insertFamily(_ start: RefreshFamilyStart) throws {
        try self.insert(
            [
                RefreshColumn.grantID: start.grant, .head: start.head.blob,
                .expiresAt: start.headEndsAt.milliseconds,
            ],
            by: RefreshColumn.insertion)
    }

    fileprivate func refresh(
        _ exchange: RefreshExchange, at moment: Timestamp, _ sealing: Sealing, _ judge: (StandingGrant) throws -> Void
    ) throws -> RefreshOutcome {
        guard let (family, standing) = try self.family(ofGrant: exchange.grant, at: moment, sealing) else {
            return .unknown
        }
        try judge(standing)
        let usedAt: Timestamp
        if constantTimeEqual(family.head, exchange.presented) {
            usedAt = moment
        } else if let parent = family.parent, let firstUsedAt = family.parentUsedAt,
            constantTimeEqual(parent, exchange.presented),
            exchange.isBound || standing.grant.keyThumbprint != nil || moment < firstUsedAt + exchange.parentLifetime
        {
            // The time of whoever proves nothing runs from the first use: a thief cannot prolong it.
            usedAt = firstUsedAt
        } else {
            try self.deleteGrant(exchange.grant)
            var reuse = exchange.reuse
            reuse.accountID = standing.authentication.account
            try self.appendAudit(reuse, sealing)
            return .reused
        }
        try self.cachedStatement(
            sql: """
                UPDATE oauth_refresh SET head = ?, parent = ?, parent_used_at = ?, expires_at = ?, used_at = ?
                WHERE grant_id = ?
                """
        ).execute(arguments: [
            exchange.successor.blob, exchange.presented.blob, usedAt.milliseconds,
            exchange.successorEndsAt.milliseconds, moment.milliseconds, exchange.grant,
        ])
        return .renewed(standing)
    }

    fileprivate func isGrant(_ id: String, ofClient client: String) throws -> Bool {
        try Bool.fetchOne(
            self.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM oauth_grant WHERE id = ? AND client = ?)"),
            arguments: [id, client]) ?? false
    }
}
