public import Records
import Sealing
import _Primitives

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

extension SQLStore {
    public func addProvider(_ provider: UpstreamProvider, limit: Int, audit: AuditEvent) async throws {
        // The step relies on the number of providers.
        try await self.step(Step("provider.add", guards: [], isolation: .serializable)) { [sealing] db in
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
        let step = Step("provider.update", guards: [.exclusive(.provider, id: name)], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            try db.upstreamProvider(name, sealing).map { try db.change($0, by: change, sealing) }
        }
    }

    public func removeProvider(_ name: String, audit: AuditEvent) async throws -> Bool {
        let method = UpstreamProvider.method(of: name)
        let step = Step(
            "provider.remove",
            guards: [
                .exclusive(.provider, id: name),
                .exclusive(
                    .session,
                    where: """
                        id IN (
                            SELECT session FROM oauth_session_authentication
                            JOIN oauth_authentication ON oauth_authentication.id = authentication WHERE method = ?)
                        """, [method]),
            ], isolation: .readCommitted)
        return try await self.step(step, noting: audit, on: ProviderColumn.table, id: name) { db in
            try db.run("DELETE FROM upstream_provider WHERE id = ?", [name])
            try db.deleteAuthentications(of: .method(method), at: audit.at)
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
