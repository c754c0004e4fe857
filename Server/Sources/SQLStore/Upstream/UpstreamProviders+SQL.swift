public import Records
import Sealing
import _Primitives

extension SQLStore: UpstreamProviderStore {
    public func addProvider(_ provider: UpstreamProvider, limit: Int, audit: AuditEvent) async throws {
        // The step relies on the number of providers.
        try await self.step(Step("provider.add", guards: [], isolation: .serializable)) { [sealing] db in
            let count = try db.number("SELECT count(*) FROM upstream_provider") ?? 0
            try UpstreamProvider.checkRoom(beside: count, limit: limit)
            // A second provider of the same name is a conflict.
            try db.insert(provider.columns(sealing), by: ProviderColumn.insertion)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func upstreamProvider(_ name: String) async throws -> UpstreamProvider? {
        try await self.read { [sealing] db in try UpstreamProviderRows(db).upstreamProvider(name, sealing) }
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
            try UpstreamProviderRows(db).upstreamProvider(name, sealing).map {
                try UpstreamProviderRows(db).change($0, by: change, sealing)
            }
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
            try AuthenticationEnds(db).deleteAuthentications(of: .method(method), at: audit.at)
        }
    }
}
