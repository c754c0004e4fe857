import Records
import Sealing
import _Primitives

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

/// The rows of the root and of the sealing keys of identities.
struct IdentityKeyRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    func identityRoot(_ sealing: Sealing) throws -> SecretBytes? {
        try self.db.bytes("SELECT sealed FROM identity_root WHERE id = 1").map {
            SecretBytes(try sealing.open($0, purpose: .identityRoot, row: "1"))
        }
    }

    /// Keeps the root, and returns the root.
    func keep(root: SecretBytes, _ audit: AuditEvent, _ sealing: Sealing) throws -> SecretBytes {
        let sealed = try root.withBytes { try sealing.seal(Array($0), purpose: .identityRoot, row: "1") }
        try self.db.run("INSERT INTO identity_root (id, sealed) VALUES (1, ?)", [sealed])
        try AuditRows(self.db).appendAudit(audit, sealing)
        return root
    }

    func eraseSealingKeys(at now: Timestamp) throws {
        try self.db.run("DELETE FROM identity_sealing_key WHERE erased_at <= ?", [now.milliseconds])
    }

    func insert(_ key: SealingKeyRecord, _ sealing: Sealing) throws {
        let sealed = try key.privateKey.withBytes {
            try sealing.seal(Array($0), purpose: .identitySealingKey, row: key.id)
        }
        try self.db.insert(
            [
                SealingKeyColumn.id: key.id, .sealed: sealed, .createdAt: key.createdAt.milliseconds,
                .erasedAt: key.erasedAt.milliseconds,
            ], by: SealingKeyColumn.insertion)
    }

    /// Returns the sealing keys, the newest first.
    func identitySealingKeys(_ sealing: Sealing) throws -> [SealingKeyRecord] {
        try self.db.rows(
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
