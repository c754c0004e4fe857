public import Records
import Sealing
public import _Primitives

extension SQLStore: IdentityKeyStore {
    public func identityRoot(orElse made: SecretBytes, audit: AuditEvent) async throws -> SecretBytes {
        // Two servers that start at once must keep one root.
        try await self.step(Step("identity-root.keep", guards: [], isolation: .serializable)) { [sealing] db in
            try IdentityKeyRows(db).identityRoot(sealing) ?? IdentityKeyRows(db).keep(root: made, audit, sealing)
        }
    }

    public func identitySealingKeys() async throws -> [SealingKeyRecord] {
        try await self.read { [sealing] db in try IdentityKeyRows(db).identitySealingKeys(sealing) }
    }

    public func addSealingKey(_ key: SealingKeyRecord, limit: Int, audit: AuditEvent) async throws -> [SealingKeyRecord]
    {
        try await self.step(Step("identity-key.add", guards: [], isolation: .serializable)) { [sealing] db in
            let count =
                try db.number(
                    "SELECT count(*) FROM identity_sealing_key WHERE erased_at > ?", [audit.at.milliseconds]) ?? 0
            try IdentityBound.sealingKeys.requireRoom(count, most: limit)
            try IdentityKeyRows(db).insert(key, sealing)
            try IdentityKeyRows(db).eraseSealingKeys(at: audit.at)
            try AuditRows(db).appendAudit(audit, sealing)
            return try IdentityKeyRows(db).identitySealingKeys(sealing)
        }
    }

    public func followSealingKeys(
        by key: SealingKeyRecord, unlessMadeSince moment: Timestamp, at now: Timestamp
    ) async throws -> [SealingKeyRecord] {
        // Two servers must not both find the latest key too old.
        try await self.step(Step("identity-key.follow", guards: [], isolation: .serializable)) { [sealing] db in
            try IdentityKeyRows(db).eraseSealingKeys(at: now)
            let kept = try db.rows("SELECT created_at FROM identity_sealing_key") { try $0.moment("created_at") }
            for key in key.additions(toKeysMadeAt: kept, unlessMadeSince: moment) {
                try IdentityKeyRows(db).insert(key, sealing)
            }
            return try IdentityKeyRows(db).identitySealingKeys(sealing)
        }
    }
}
