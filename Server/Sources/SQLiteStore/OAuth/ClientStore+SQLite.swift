import Foundation
import GRDB
import JOSE
public import Store
import _Primitives

extension SQLiteDatabase: ClientStore {
    public func addClient(_ client: ClientRecord, limit: Int, audit: AuditEvent) async throws {
        try await self.step { [sealing] db in
            let count = try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM oauth_client")) ?? 0
            guard count < limit else { throw StoreError(.conflict, "there are \(count) clients") }
            try db.cachedStatement(sql: "INSERT INTO oauth_client VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").execute(
                arguments: [
                    client.id, client.name, Self.text(client.redirectURIs), Self.text(client.postLogoutRedirectURIs),
                    client.secretDigest.blob, client.createdAt.milliseconds,
                    client.settings.mayDeregister, client.settings.idTokenAlgorithm.rawValue,
                    client.settings.codeBinding.rawValue, client.formerSecret?.digest.blob,
                    client.formerSecret?.endsAt.milliseconds,
                ])
            try db.appendAudit(audit, sealing)
        }
    }

    public func client(_ id: String) async throws -> ClientRecord? {
        try await self.read { db in
            try Self.client(id, db)
        }
    }

    public func clients() async throws -> [ClientRecord] {
        try await self.read { db in
            try Row.fetchAll(db.cachedStatement(sql: "SELECT * FROM oauth_client ORDER BY created_at, id"))
                .map { try Self.client($0) }
        }
    }

    public func changeClient(
        _ id: String, change: @escaping @Sendable (inout ClientRecord) -> [AuditEvent]
    ) async throws -> ClientRecord? {
        try await self.step { [sealing] db in
            guard var client = try Self.client(id, db) else { return nil }
            let events = change(&client)
            try db.cachedStatement(
                sql: """
                    UPDATE oauth_client SET name = ?, redirect_uris = ?, post_logout_redirect_uris = ?,
                        secret_digest = ?, may_deregister = ?, id_token_algorithm = ?, code_binding = ?,
                        former_secret_digest = ?, former_secret_until = ? WHERE id = ?
                    """
            ).execute(arguments: [
                client.name, Self.text(client.redirectURIs), Self.text(client.postLogoutRedirectURIs),
                client.secretDigest.blob, client.settings.mayDeregister, client.settings.idTokenAlgorithm.rawValue,
                client.settings.codeBinding.rawValue, client.formerSecret?.digest.blob,
                client.formerSecret?.endsAt.milliseconds, id,
            ])
            try db.cachedStatement(
                sql: """
                    DELETE FROM oauth_request WHERE client = ?1
                    AND redirect_uri NOT IN (SELECT value FROM json_each((SELECT redirect_uris FROM oauth_client WHERE id = ?1)))
                    """
            ).execute(arguments: [id])
            for event in events { try db.appendAudit(event, sealing) }
            return client
        }
    }

    public func deleteClient(_ id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            for table in ["oauth_request", "oauth_grant", "oauth_subject", "oauth_session_service"] {
                try db.cachedStatement(sql: "DELETE FROM \(table) WHERE client = ?").execute(arguments: [id])
            }
            try db.cachedStatement(sql: "DELETE FROM oauth_client WHERE id = ?").execute(arguments: [id])
            guard db.changesCount > 0 else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    private static func client(_ id: String, _ db: Database) throws -> ClientRecord? {
        try Row.fetchOne(db.cachedStatement(sql: "SELECT * FROM oauth_client WHERE id = ?"), arguments: [id])
            .map { try Self.client($0) }
    }

    private static func client(_ row: Row) throws -> ClientRecord {
        guard let binding = ClientSettings.CodeBinding(rawValue: try row.text(8)) else {
            throw StoreError(.corrupt, "what a client's codes are bound to")
        }
        return ClientRecord(
            id: try row.text(0), name: try row.text(1), redirectURIs: try Self.addresses(row.text(2)),
            postLogoutRedirectURIs: try Self.addresses(row.text(3)), secretDigest: try row.bytes(4),
            createdAt: try row.moment(5),
            settings: ClientSettings(
                idTokenAlgorithm: try row.algorithm(7), codeBinding: binding, mayDeregister: try row.integer(6) != 0),
            formerSecret: try row.optionalBytes(9).map { digest in
                guard let endsAt = try row.optionalMoment(10) else {
                    throw StoreError(.corrupt, "a client's former secret")
                }
                return FormerSecret(digest: digest, endsAt: endsAt)
            })
    }

    private static func text(_ addresses: [String]) -> String { JSON.array(addresses.map(JSON.string)).text }

    private static func addresses(_ text: String) throws -> [String] {
        guard let addresses = try? JSONObject([("a", JSON(parsing: text))]).strings("a") else {
            throw StoreError(.corrupt, "a list of addresses")
        }
        return addresses
    }
}
