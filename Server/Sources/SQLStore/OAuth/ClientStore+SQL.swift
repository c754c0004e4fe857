public import Records
import Sealing
import _Primitives

extension SQLStore: ClientStore {
    public func addClient(_ client: ClientRecord, limit: Int, audit: AuditEvent) async throws {
        // The step relies on the number of clients, and on the absence of another owner of the client's resources.
        try await self.step(Step("client.add", guards: [], isolation: .serializable)) { [sealing] db in
            try ClientRows(db).add(client, limit: limit)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func hasOrigin(_ origin: String, client: String?) async throws -> Bool {
        try await self.read { db in try ClientRows(db).isOrigin(origin, ofClient: client) }
    }

    public func client(_ id: String) async throws -> ClientRecord? {
        try await self.knownClients.client(id) { try await self.read { db in try ClientRows(db).client(id) } }
    }

    public func client(owning resource: String) async throws -> ClientRecord? {
        try await self.read { db in
            try ClientRows(db).owner(ofResource: resource).flatMap { try ClientRows(db).client($0) }
        }
    }

    public func clients() async throws -> [ClientRecord] {
        try await self.read { db in
            try db.rows(.composed("SELECT \(ClientColumn.selection) FROM oauth_client ORDER BY created_at, id")) {
                try ClientRecord($0)
            }
        }
    }

    public func changeClient(
        _ id: String, change: @escaping @Sendable (inout ClientRecord) throws -> [AuditEvent]
    ) async throws -> ClientRecord? {
        // The step relies on the absence of another owner of the client's resources.
        let step = Step("client.update", guards: [.exclusive(.client, id: id)], isolation: .serializable)
        return try await self.step(step) { [sealing] db in
            try ClientRows(db).client(id).map { try ClientRows(db).change($0, by: change, sealing) }
        }
    }

    public func deleteClient(_ id: String, audit: AuditEvent) async throws -> Bool {
        let step = Step(
            "client.delete",
            guards: [
                // The accounts of the invitations that the step revokes.
                .exclusive(
                    .account, where: "id IN (SELECT provisional_account_id FROM invite WHERE service = ?)", [id]),
                .exclusive(.client, id: id),
            ], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            try InviteRows(db).revokeInvites("service = ?", [id], audit, sealing)
            return try AuditRows(db).appendAudit(audit, if: ClientRows(db).deleteClient(id), sealing)
        }
    }
}
