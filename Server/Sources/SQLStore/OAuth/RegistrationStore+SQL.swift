public import Records
public import _Primitives

private enum InitialTokenColumn: Int, TableColumn {
    static let table = "oauth_initial_token"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, digest, createdAt, expiresAt, usesLeft
}

extension SQLStore: RegistrationStore {
    public func addInitialToken(
        _ token: InitialTokenRecord, limit: Int, at moment: Timestamp, audit: AuditEvent
    ) async throws {
        // The step relies on the number of tokens.
        try await self.step(Step("initial-token.add", guards: [], isolation: .serializable)) { [sealing] db in
            let count =
                try db.number(
                    "SELECT count(*) FROM oauth_initial_token WHERE expires_at > ? AND uses_left > 0",
                    [moment.milliseconds]) ?? 0
            try ClientRoom(count: count, limit: limit).check("tokens")
            try db.insert(
                [
                    InitialTokenColumn.id: token.id, .digest: token.digest,
                    .createdAt: token.createdAt.milliseconds, .expiresAt: token.expiresAt.milliseconds,
                    .usesLeft: token.left,
                ], by: InitialTokenColumn.insertion)
            try db.run("DELETE FROM oauth_initial_token WHERE expires_at <= ? OR uses_left <= 0", [moment.milliseconds])
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func initialToken(digest: [UInt8], at moment: Timestamp) async throws -> InitialTokenRecord? {
        try await self.read { db in
            try db.row(
                .composed(
                    """
                    SELECT \(InitialTokenColumn.selection) FROM oauth_initial_token
                    WHERE digest = ? AND expires_at > ? AND uses_left > 0
                    """), [digest, moment.milliseconds]
            ).map(InitialTokenRecord.init)
        }
    }

    public func initialTokens(at moment: Timestamp) async throws -> [InitialTokenRecord] {
        try await self.read { db in
            try db.rows(
                .composed(
                    """
                    SELECT \(InitialTokenColumn.selection) FROM oauth_initial_token
                    WHERE expires_at > ? AND uses_left > 0 ORDER BY created_at, id
                    """), [moment.milliseconds], InitialTokenRecord.init)
        }
    }

    public func deleteInitialToken(_ id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(Step("initial-token.delete", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run("DELETE FROM oauth_initial_token WHERE id = ?", [id])
            return try AuditRows(db).appendAudit(audit, if: db.hasChangedRows, sealing)
        }
    }

    public func register(
        _ client: ClientRecord, by digest: [UInt8], at moment: Timestamp, limit: Int, audit: AuditEvent
    ) async throws {
        // The step relies on the number of clients, and on the absence of another owner of the client's resources.
        try await self.step(Step("client.register", guards: [], isolation: .serializable)) { [sealing] db in
            let shown: SQLValues = [digest, moment.milliseconds]
            try db.require(
                """
                SELECT EXISTS (
                    SELECT 1 FROM oauth_initial_token WHERE digest = ? AND expires_at > ? AND uses_left > 0)
                """, shown, orThrow: InitialTokenRecord.refusal)
            try ClientRows(db).checkAddition(of: client, limit: limit)
            try db.changeOneRow(
                """
                UPDATE oauth_initial_token SET uses_left = uses_left - 1
                WHERE digest = ? AND expires_at > ? AND uses_left > 0
                """, shown, orThrow: InitialTokenRecord.refusal)
            try ClientRows(db).insert(client)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func addStranger(
        _ client: ClientRecord, limit: Int, unusedSince: Timestamp, audit: AuditEvent
    ) async throws {
        // The step relies on the number of clients, and on the absence of consents to the clients that go.
        try await self.step(Step("client.add-stranger", guards: [], isolation: .serializable)) { [sealing] db in
            let room = ClientRoom(count: try ClientRows(db).count(strangers: true), limit: limit)
            let unused = try ClientRows(db).oldestUnusedStrangers(since: unusedSince, limit: room.displaceable)
            try room.without(unused.count).check("clients")
            try ClientRows(db).checkClaims(of: client)
            for id in unused {
                try ClientRows(db).deleteUnusedClient(id)
                try AuditRows(db).appendAudit(AuditEvent(.unusedClientDeleted, at: audit.at, detail: id), sealing)
            }
            try ClientRows(db).insert(client)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }
}

extension AuditEvent.Kind {
    /// A stranger's unused client was deleted to make room; the detail is its identifier.
    static let unusedClientDeleted = Self(rawValue: "unused-client-deleted")
}

extension InitialTokenRecord {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            id: try row.text(InitialTokenColumn.id), digest: try row.bytes(InitialTokenColumn.digest),
            createdAt: try row.moment(InitialTokenColumn.createdAt),
            expiresAt: try row.moment(InitialTokenColumn.expiresAt),
            left: try row.integer(InitialTokenColumn.usesLeft, as: Int.self))
    }
}
