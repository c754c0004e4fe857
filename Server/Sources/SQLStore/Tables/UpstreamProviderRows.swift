import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The secret that is shared with another provider, bound to the provider.
    static let providerSecret = SealingPurpose("upstream provider secret")
}

enum ProviderColumn: Int, TableColumn {
    static let table = "upstream_provider"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, title, kind, issuer, authorizationEndpoint, tokenEndpoint, userinfoEndpoint, clientID, authentication
    case secret, scopes, levels, usualLevel, newcomers, emailDomains, subjectClaim, createdAt
    case levelRequests, levelClaim, levelHint, signsOut
}

/// The rows of other providers.
struct UpstreamProviderRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    func upstreamProvider(_ name: String, _ sealing: Sealing) throws -> UpstreamProvider? {
        try self.db.row(.composed("SELECT \(ProviderColumn.selection) FROM upstream_provider WHERE id = ?"), [name]).map
        {
            try UpstreamProvider($0, sealing)
        }
    }

    /// Changes a provider within the present step, and keeps the events of the change. Returns the changed provider.
    func change(
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
        try self.db.run(
            .composed("UPDATE upstream_provider SET \(assignments) WHERE id = ?"), columns.map(\.value) + [former.name])
        try AuditRows(self.db).record(events, sealing)
        return provider
    }
}

extension UpstreamProvider {
    func columns(_ sealing: Sealing) throws -> [ProviderColumn: (any SQLBindable)?] {
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

    init(_ row: SQLRow, _ sealing: Sealing) throws {
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
