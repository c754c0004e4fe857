import GRDB
public import Records
import Sealing
public import _Primitives

extension Migration {
    /// Adds grants that outlive their session, the refresh tokens that renew these grants, and revoked access tokens.
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
        // An authentication without a session ends with its last grant.
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

    case grantID, head, parent, parentUsedAt, expiresAt, usedAt, step, grandparent
}

extension Migration {
    /// Makes the successor of a refresh token computable again. The token before the present one is refused for a while
    /// without consequences.
    static let refreshSteps = Migration(name: "steps of refresh tokens") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_refresh ADD COLUMN step BLOB;
                ALTER TABLE oauth_refresh ADD COLUMN grandparent BLOB;
                """)
    }
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
            // A client can present a token that ended long ago or was used before. A reader looks the token up, and
            // answers if nothing changes.
            outcome = try await self.step(screenedBy: { [sealing] db -> Screening<Void, RefreshOutcome> in
                guard let (family, standing) = try db.family(ofGrant: exchange.grant, at: moment, sealing) else {
                    return .answered(.unknown)
                }
                try judge(standing)
                switch family.verdict(on: exchange, of: standing, at: moment) {
                case .again(let step):
                    return .answered(
                        .renewed(Renewal(standing, by: .successorBefore(step: step), until: family.headEndsAt)))
                case .late: return .answered(.late)
                case .next, .same, .past: return .step(())
                }
            }) { [sealing] db, _ in try db.refresh(exchange, at: moment, sealing, judge) }
        }
        if case .renewed(let renewal) = outcome {
            switch renewal.token {
            case .successor: self.handedOutTokens.insert([exchange.successor?.digest ?? exchange.presented])
            case .presented: self.handedOutTokens.insert([exchange.presented])
            case .successorBefore: break
            }
        }
        return outcome
    }

    public func grant(_ id: String, token: String?, at moment: Timestamp) async throws -> StandingGrant? {
        try await self.grant(id, tokens: token.map { [$0] } ?? [], at: moment)
    }

    public func deleteGrant(_ id: String, client: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(screenedBy: { db -> Screening<Void, Bool> in
            try db.isGrant(id, ofClient: client) ? .step(()) : .answered(false)
        }) { [sealing] db, _ in
            guard try db.isGrant(id, ofClient: client) else { return false }
            let session = try String.fetchOne(
                db.cachedStatement(sql: "SELECT session FROM oauth_grant WHERE id = ?"), arguments: [id])
            _ = try db.endGrants(where: "id = ?", [id])
            // The grants of a session rest on an authentication of the session.
            _ = try db.endSessions(
                where: """
                    id = ? AND has_browser = 0 AND NOT EXISTS (
                        SELECT 1 FROM oauth_session_authentication AS held
                        JOIN oauth_grant ON oauth_grant.authentication = held.authentication
                        WHERE held.session = oauth_session.id)
                    """, [session], at: audit.at)
            try db.appendAudit(audit, sealing)
            return true
        }
    }
}

extension RefreshFamily {
    fileprivate init(_ row: StoredRow) throws {
        var parent: Used?
        if let digest = try row.optionalBytes(RefreshColumn.parent),
            let firstUsedAt = try row.optionalMoment(RefreshColumn.parentUsedAt)
        {
            parent = Used(digest: digest, firstUsedAt: firstUsedAt)
        }
        self.init(
            head: try row.bytes(RefreshColumn.head), headEndsAt: try row.moment(RefreshColumn.expiresAt),
            parent: parent,
            step: try row.optionalBytes(RefreshColumn.step),
            grandparent: try row.optionalBytes(RefreshColumn.grandparent))
    }

    fileprivate func verdict(on exchange: RefreshExchange, of standing: StandingGrant, at moment: Timestamp) -> Verdict
    {
        self.verdict(
            on: exchange, isBound: exchange.isBound || standing.grant.keyThumbprint != nil, at: moment)
    }
}

extension Database {
    /// Returns the family of a grant that is valid at `moment`, if the family's head has not ended.
    fileprivate func family(ofGrant id: String, at moment: Timestamp, _ sealing: Sealing) throws
        -> (RefreshFamily, StandingGrant)?
    {
        let row = try self.row(
            "SELECT \(RefreshColumn.selection) FROM oauth_refresh WHERE grant_id = ?1 AND expires_at > ?2",
            [id, moment.milliseconds])
        guard let row, let standing = try self.standingGrant(id, at: moment, sealing),
            moment < standing.grant.expiresAt
        else { return nil }
        return (try RefreshFamily(row), standing)
    }

    /// Begins a family within the present step. Returns `true` if the grant exists, and its family is at this head.
    func begin(_ start: RefreshFamilyStart, at moment: Timestamp, _ sealing: Sealing) throws -> Bool {
        let begun = try self.row("SELECT head FROM oauth_refresh WHERE grant_id = ?", [start.grant])
        if let begun { return constantTimeEqual(try begun.bytes("head"), start.head) }
        guard try self.letLast(start, at: moment, sealing) else { return false }
        try self.insertFamily(start)
        return true
    }

    /// Keeps a grant together with its beginning family, within the present step. The lifetime is written with the
    /// grant, not by a second update. Ends the oldest lasting grants of the client and the person if too many exist.
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
        switch family.verdict(on: exchange, of: standing, at: moment) {
        case .next(let family):
            try self.cachedStatement(
                sql: """
                    UPDATE oauth_refresh SET head = ?, parent = ?, parent_used_at = ?, expires_at = ?, used_at = ?, step = ?,
                        grandparent = ?
                    WHERE grant_id = ?
                    """
            ).execute(arguments: [
                family.head.blob, family.parent?.digest.blob, family.parent?.firstUsedAt.milliseconds,
                family.headEndsAt.milliseconds, moment.milliseconds, family.step?.blob, family.grandparent?.blob,
                exchange.grant,
            ])
            return .renewed(Renewal(standing, by: .successor, until: family.headEndsAt))
        case .same(let family):
            try self.cachedStatement(sql: "UPDATE oauth_refresh SET expires_at = ?, used_at = ? WHERE grant_id = ?")
                .execute(arguments: [family.headEndsAt.milliseconds, moment.milliseconds, exchange.grant])
            return .renewed(Renewal(standing, by: .presented, until: family.headEndsAt))
        case .again(let step):
            return .renewed(Renewal(standing, by: .successorBefore(step: step), until: family.headEndsAt))
        case .late: return .late
        case .past:
            _ = try self.endGrants(where: "id = ?", [exchange.grant])
            var reuse = exchange.reuse
            reuse.accountID = standing.authentication.account
            try self.appendAudit(reuse, sealing)
            return .reused
        }
    }

    fileprivate func isGrant(_ id: String, ofClient client: String) throws -> Bool {
        try Bool.fetchOne(
            self.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM oauth_grant WHERE id = ? AND client = ?)"),
            arguments: [id, client]) ?? false
    }
}
