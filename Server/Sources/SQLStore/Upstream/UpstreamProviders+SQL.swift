import GRDB
public import Records
import Sealing
import _Primitives

extension Migration {
    /// Adds other providers for sign-ins, the links of accounts to identities at these providers, and the trips of
    /// browsers to a provider and back.
    static let upstreamProviders = Migration(name: "other providers") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE upstream_provider (
                    id TEXT PRIMARY KEY, title TEXT NOT NULL, kind TEXT NOT NULL, issuer TEXT NOT NULL,
                    authorization_endpoint TEXT, token_endpoint TEXT, userinfo_endpoint TEXT, client_id TEXT NOT NULL,
                    authentication TEXT NOT NULL, secret BLOB, scopes TEXT NOT NULL, levels TEXT NOT NULL,
                    usual_level TEXT NOT NULL, newcomers TEXT NOT NULL, email_domains TEXT NOT NULL,
                    subject_claim TEXT NOT NULL, created_at INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE upstream_link (
                    id TEXT PRIMARY KEY, provider TEXT NOT NULL REFERENCES upstream_provider (id) ON DELETE CASCADE,
                    issuer TEXT NOT NULL, subject_code BLOB NOT NULL, subject BLOB NOT NULL,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, created_at INTEGER NOT NULL,
                    UNIQUE (provider, issuer, subject_code)
                ) STRICT;
                CREATE INDEX upstream_link_account ON upstream_link (account_id);
                CREATE TABLE upstream_trip (
                    place TEXT PRIMARY KEY, request TEXT NOT NULL REFERENCES oauth_request (id) ON DELETE CASCADE,
                    provider TEXT NOT NULL REFERENCES upstream_provider (id) ON DELETE CASCADE,
                    state_digest BLOB UNIQUE, verifier BLOB NOT NULL, nonce BLOB NOT NULL, is_second INTEGER NOT NULL,
                    begun_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, UNIQUE (request, provider)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX upstream_trip_provider ON upstream_trip (provider);
                CREATE TABLE upstream_arrival (
                    place TEXT PRIMARY KEY, request TEXT NOT NULL REFERENCES oauth_request (id) ON DELETE CASCADE,
                    provider TEXT NOT NULL REFERENCES upstream_provider (id) ON DELETE CASCADE,
                    issuer TEXT NOT NULL, subject BLOB NOT NULL, at INTEGER NOT NULL, acr TEXT NOT NULL,
                    amr TEXT NOT NULL, browser BLOB, address BLOB,
                    account_id TEXT REFERENCES account (id) ON DELETE CASCADE, finished_at INTEGER NOT NULL,
                    is_wanted INTEGER NOT NULL, UNIQUE (request, provider)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX upstream_arrival_provider ON upstream_arrival (provider);
                CREATE INDEX upstream_arrival_account ON upstream_arrival (account_id) WHERE account_id IS NOT NULL;
                """)
    }
}

extension Migration {
    /// Adds the levels that are requested from other providers for the level words of app sign-in clients. Nothing is
    /// requested from existing providers.
    static let upstreamLevels = Migration(name: "levels of other providers") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE upstream_provider ADD COLUMN level_requests TEXT NOT NULL DEFAULT '[]';
                ALTER TABLE upstream_provider ADD COLUMN level_claim TEXT NOT NULL DEFAULT 'acr';
                ALTER TABLE upstream_provider ADD COLUMN level_hint TEXT;
                """)
    }
}

extension Migration {
    /// Adds the mark of providers at which people are signed out as well. No existing provider has the mark.
    static let upstreamSignOuts = Migration(name: "signing out at other providers") { db, _ in
        try db.execute(sql: "ALTER TABLE upstream_provider ADD COLUMN signs_out INTEGER NOT NULL DEFAULT 0")
    }
}

extension SealingPurpose {
    /// The secret that is shared with another provider, bound to the provider.
    static let providerSecret = SealingPurpose("upstream provider secret")
}

private enum ProviderColumn: Int, TableColumn {
    static let table = "upstream_provider"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, title, kind, issuer, authorizationEndpoint, tokenEndpoint, userinfoEndpoint, clientID, authentication
    case secret, scopes, levels, usualLevel, newcomers, emailDomains, subjectClaim, createdAt
    case levelRequests, levelClaim, levelHint, signsOut
}

extension SQLiteDatabase {
    public func addProvider(_ provider: UpstreamProvider, limit: Int, audit: AuditEvent) async throws {
        try await self.step { [sealing] db in
            let count = try db.number("SELECT count(*) FROM upstream_provider") ?? 0
            try UpstreamProvider.checkRoom(beside: count, limit: limit)
            // A second provider of the same name is a conflict.
            try db.insert(provider.columns(sealing), by: ProviderColumn.insertion)
            try db.appendAudit(audit, sealing)
        }
    }

    public func upstreamProvider(_ name: String) async throws -> UpstreamProvider? {
        try await self.read { [sealing] db in try db.upstreamProvider(name, sealing) }
    }

    public func upstreamProviders() async throws -> [UpstreamProvider] {
        try await self.read { [sealing] db in
            try db.rows(.composed("SELECT \(ProviderColumn.selection) FROM upstream_provider ORDER BY created_at, id"))
            {
                try UpstreamProvider($0, sealing)
            }
        }
    }

    public func changeProvider(
        _ name: String, change: @escaping @Sendable (inout UpstreamProvider) throws -> [AuditEvent]
    ) async throws -> UpstreamProvider? {
        try await self.step { [sealing] db in
            try db.upstreamProvider(name, sealing).map { try db.change($0, by: change, sealing) }
        }
    }

    public func removeProvider(_ name: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(noting: audit, on: ProviderColumn.table, id: name) { db in
            try db.run("DELETE FROM upstream_provider WHERE id = ?", [name])
            try db.deleteAuthentications(of: .method(UpstreamProvider.method(of: name)), at: audit.at)
        }
    }
}

extension SQLConnection {
    fileprivate func upstreamProvider(_ name: String, _ sealing: Sealing) throws -> UpstreamProvider? {
        try self.row(.composed("SELECT \(ProviderColumn.selection) FROM upstream_provider WHERE id = ?"), [name]).map {
            try UpstreamProvider($0, sealing)
        }
    }

    /// Changes a provider within the present step, and keeps the events of the change. Returns the changed provider.
    fileprivate func change(
        _ former: UpstreamProvider, by change: (inout UpstreamProvider) throws -> [AuditEvent], _ sealing: Sealing
    ) throws -> UpstreamProvider {
        var provider = former
        let events = try change(&provider)
        // An unchanged value is not resealed. A restore treats a changed sealed value without an audit entry as the act
        // of somebody else.
        let columns = try provider.columns(sealing).filter { column, _ in
            ![ProviderColumn.id, .kind, .issuer, .createdAt].contains(column)
                && (column != .secret || !provider.hasSameSecret(as: former))
        }.sorted { $0.key.rawValue < $1.key.rawValue }
        let assignments = columns.map { "\($0.key.name) = ?" }.joined(separator: ", ")
        try self.run(
            .composed("UPDATE upstream_provider SET \(assignments) WHERE id = ?"), columns.map(\.value) + [former.name])
        try self.record(events, sealing)
        return provider
    }
}

extension UpstreamProvider {
    fileprivate func columns(_ sealing: Sealing) throws -> [ProviderColumn: (any SQLBindable)?] {
        let secret = try self.secret.map { secret in
            try secret.withBytes { try sealing.seal($0, purpose: .providerSecret, row: self.name) }
        }
        return [
            .id: self.name, .title: self.title, .kind: self.kind.rawValue, .issuer: self.issuer,
            .authorizationEndpoint: self.endpoints?.authorization, .tokenEndpoint: self.endpoints?.token,
            .userinfoEndpoint: self.endpoints?.userinfo, .clientID: self.clientID,
            .authentication: self.authentication.rawValue, .secret: secret,
            .scopes: Self.stored(self.scopes), .levels: Level.stored(self.levels),
            .usualLevel: self.usualLevel, .newcomers: self.newcomers.rawValue,
            .emailDomains: Self.stored(self.emailDomains), .subjectClaim: self.subjectClaim,
            .createdAt: self.createdAt.milliseconds, .levelRequests: LevelRequest.stored(self.levelRequests),
            .levelClaim: self.levelClaim, .levelHint: self.levelHint?.text, .signsOut: self.signsOut,
        ]
    }

    fileprivate init(_ row: SQLRow, _ sealing: Sealing) throws {
        let name = try row.text(ProviderColumn.id)
        let kind: Kind = try Self.word(stored: row.text(ProviderColumn.kind))
        let newcomers: Newcomers = try Self.word(stored: row.text(ProviderColumn.newcomers))
        let authentication: Authentication = try Self.word(stored: row.text(ProviderColumn.authentication))
        self.init(
            name: name, title: try row.text(ProviderColumn.title), kind: kind,
            issuer: try row.text(ProviderColumn.issuer),
            endpoints: Endpoints(
                authorization: try row.optionalText(ProviderColumn.authorizationEndpoint),
                token: try row.optionalText(ProviderColumn.tokenEndpoint),
                userinfo: try row.optionalText(ProviderColumn.userinfoEndpoint)),
            clientID: try row.text(ProviderColumn.clientID), authentication: authentication,
            secret: try row.optionalBytes(ProviderColumn.secret).map {
                SecretBytes(try sealing.open($0, purpose: .providerSecret, row: name))
            },
            scopes: try Self.texts(stored: row.text(ProviderColumn.scopes)),
            levels: try Level.list(stored: row.text(ProviderColumn.levels)),
            usualLevel: try row.text(ProviderColumn.usualLevel), newcomers: newcomers,
            emailDomains: try Self.texts(stored: row.text(ProviderColumn.emailDomains)),
            subjectClaim: try row.text(ProviderColumn.subjectClaim),
            createdAt: try row.moment(ProviderColumn.createdAt))
        self.levelRequests = try LevelRequest.list(stored: row.text(ProviderColumn.levelRequests))
        self.levelClaim = try row.text(ProviderColumn.levelClaim)
        self.levelHint = try row.optionalText(ProviderColumn.levelHint).map(LevelHint.init(text:))
        self.signsOut = try row.flag(ProviderColumn.signsOut)
    }
}
