public import Records
import Sealing
public import _Primitives

extension SQLStore: IdentityKeyStore {
    public func identityRoot(orElse made: SecretBytes, audit: AuditEvent) async throws -> SecretBytes {
        // Two servers that start at once must keep one root.
        try await self.step(Step("identity-root.keep", guards: [], isolation: .serializable)) { [sealing] db in
            try db.identityRoot(sealing) ?? db.keep(root: made, audit, sealing)
        }
    }

    public func identitySealingKeys() async throws -> [SealingKeyRecord] {
        try await self.read { [sealing] db in try db.identitySealingKeys(sealing) }
    }

    public func addSealingKey(_ key: SealingKeyRecord, limit: Int, audit: AuditEvent) async throws -> [SealingKeyRecord]
    {
        try await self.step(Step("identity-key.add", guards: [], isolation: .serializable)) { [sealing] db in
            try db.eraseSealingKeys(at: audit.at)
            let count = try db.number("SELECT count(*) FROM identity_sealing_key") ?? 0
            try IdentityBound.sealingKeys.requireRoom(count, most: limit)
            try db.insert(key, sealing)
            try db.appendAudit(audit, sealing)
            return try db.identitySealingKeys(sealing)
        }
    }

    public func followSealingKeys(
        by key: SealingKeyRecord, unlessMadeSince moment: Timestamp, at now: Timestamp
    ) async throws -> [SealingKeyRecord] {
        // Two servers must not both find the latest key too old.
        try await self.step(Step("identity-key.follow", guards: [], isolation: .serializable)) { [sealing] db in
            try db.eraseSealingKeys(at: now)
            let kept = try db.rows("SELECT created_at FROM identity_sealing_key") { try $0.moment("created_at") }
            for key in key.additions(toKeysMadeAt: kept, unlessMadeSince: moment) { try db.insert(key, sealing) }
            return try db.identitySealingKeys(sealing)
        }
    }
}

/// The facts about these keys for backup and restore.
package enum IdentityKeyTable {
    /// The table that no backup contains rows of.
    package static let sealingKeys = "identity_sealing_key"
}

private enum SealingKeyColumn: Int, TableColumn {
    static let table = IdentityKeyTable.sealingKeys
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, sealed, createdAt, erasedAt
}

extension SQLConnection {
    fileprivate func identityRoot(_ sealing: Sealing) throws -> SecretBytes? {
        try self.bytes("SELECT sealed FROM identity_root WHERE id = 1").map {
            SecretBytes(try sealing.open($0, purpose: .identityRoot, row: "1"))
        }
    }

    /// Keeps the root, and returns the root.
    fileprivate func keep(root: SecretBytes, _ audit: AuditEvent, _ sealing: Sealing) throws -> SecretBytes {
        let sealed = try root.withBytes { try sealing.seal(Array($0), purpose: .identityRoot, row: "1") }
        try self.run("INSERT INTO identity_root (id, sealed) VALUES (1, ?)", [sealed])
        try self.appendAudit(audit, sealing)
        return root
    }

    fileprivate func eraseSealingKeys(at now: Timestamp) throws {
        try self.run("DELETE FROM identity_sealing_key WHERE erased_at <= ?", [now.milliseconds])
    }

    fileprivate func insert(_ key: SealingKeyRecord, _ sealing: Sealing) throws {
        let sealed = try key.privateKey.withBytes {
            try sealing.seal(Array($0), purpose: .identitySealingKey, row: key.id)
        }
        try self.insert(
            [
                SealingKeyColumn.id: key.id, .sealed: sealed, .createdAt: key.createdAt.milliseconds,
                .erasedAt: key.erasedAt.milliseconds,
            ], by: SealingKeyColumn.insertion)
    }

    /// Returns the sealing keys, the newest first.
    fileprivate func identitySealingKeys(_ sealing: Sealing) throws -> [SealingKeyRecord] {
        try self.rows(
            .composed("SELECT \(SealingKeyColumn.selection) FROM identity_sealing_key ORDER BY created_at DESC, id")
        ) {
            row in
            let id = try row.text(SealingKeyColumn.id)
            return SealingKeyRecord(
                id: id,
                privateKey: SecretBytes(
                    try sealing.open(try row.bytes(SealingKeyColumn.sealed), purpose: .identitySealingKey, row: id)),
                createdAt: try row.moment(SealingKeyColumn.createdAt),
                erasedAt: try row.moment(SealingKeyColumn.erasedAt))
        }
    }
}
