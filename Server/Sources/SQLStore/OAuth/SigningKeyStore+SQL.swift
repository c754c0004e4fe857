import JOSE
public import Records
import Sealing
public import _Primitives

extension SQLStore: SigningKeyStore {
    public func providerKeys(orFirst offered: ProviderKeys) async throws -> ProviderKeys {
        // The step relies on the absence of a secret.
        try await self.step(Step("signing-key.begin", guards: [], isolation: .serializable)) { [sealing] db in
            if try Self.sealedSubjectSecret(db) == nil {
                let sealed = try offered.subjectSecret.withBytes {
                    try sealing.seal(Array($0), purpose: .subjectSecret, row: "1")
                }
                try db.run(
                    "INSERT INTO oauth_secret (id, sealed) VALUES (1, ?)",
                    [
                        sealed
                    ])
                try Self.add(offered.signingKeys, from: nil, db, sealing)
            }
            return try Self.providerKeys(db, sealing)
        }
    }

    public func providerKeys() async throws -> ProviderKeys {
        try await self.read { [sealing] db in try Self.providerKeys(db, sealing) }
    }

    public func addSigningKey(_ key: SigningKeyRecord, audit: AuditEvent) async throws -> ProviderKeys {
        // The step relies on the absence of a key.
        try await self.step(Step("signing-key.add", guards: [], isolation: .serializable)) { [sealing] db in
            let added = try Self.providerKeys(db, sealing).missing(key)
            try Self.add(added, from: nil, db, sealing)
            try AuditRows(db).appendAudit(audit, if: !added.isEmpty, sealing)
            return try Self.providerKeys(db, sealing)
        }
    }

    public func rotateSigningKeys(
        to keys: [SigningKeyRecord], replacing present: [String]?, from takeover: Timestamp,
        forgettingRetiredBefore moment: Timestamp, seenSince seen: Timestamp?, audit: AuditEvent
    ) async throws -> ProviderKeys {
        // No key is added meanwhile, and another rotation finds the keys retired.
        let step = Step(
            "signing-key.rotate", guards: [.exclusive(.key, where: "retired_at IS NULL", [])], isolation: .serializable)
        return try await self.step(step) { [sealing] db in
            for name in present ?? [] {
                let isNewest = try db.isTrue(
                    "SELECT EXISTS (SELECT 1 FROM oauth_key WHERE id = ? AND retired_at IS NULL)", [name])
                guard isNewest else { return try Self.providerKeys(db, sealing) }
            }
            for key in keys {
                try db.run(
                    """
                    UPDATE oauth_key SET retired_at = ?1
                    WHERE algorithm = ?2 AND face = ?3 AND (retired_at IS NULL OR retired_at > ?1)
                    """, [takeover.milliseconds, key.algorithm.rawValue, key.face.rawValue])
            }
            try db.run("DELETE FROM oauth_key WHERE retired_at < ?", [moment.milliseconds])
            try seen.map { try ReceiptKeyRows(db).markSeen(since: $0) }
            try Self.add(keys, from: takeover, db, sealing)
            try AuditRows(db).appendAudit(audit, sealing)
            return try Self.providerKeys(db, sealing)
        }
    }

    private static func sealedSubjectSecret(_ db: SQLConnection) throws -> [UInt8]? {
        try db.bytes("SELECT sealed FROM oauth_secret WHERE id = 1")
    }

    private static func add(
        _ keys: [SigningKeyRecord], from start: Timestamp?, _ db: SQLConnection, _ sealing: Sealing
    ) throws {
        for key in try ReceiptKeyRecord.added(by: keys, from: start) { try ReceiptKeyRows(db).add(key) }
        for key in keys {
            let sealed = try key.privateKey.withBytes {
                try sealing.seal(Array($0), purpose: .signingKey, row: key.id)
            }
            try db.insert(
                [
                    KeyColumn.id: key.id, .sealed: sealed, .createdAt: key.createdAt.milliseconds,
                    .retiredAt: key.retiredAt?.milliseconds, .algorithm: key.algorithm.rawValue,
                    .face: key.face.rawValue,
                ], by: KeyColumn.insertion)
        }
    }

    private static func providerKeys(_ db: SQLConnection, _ sealing: Sealing) throws -> ProviderKeys {
        let sealed = try ProviderKeys.sealedSecret(found: Self.sealedSubjectSecret(db))
        let secret = try sealing.open(sealed, purpose: .subjectSecret, row: "1")
        let keys = try db.rows(
            .composed(
                """
                SELECT \(KeyColumn.selection) FROM oauth_key
                ORDER BY retired_at IS NOT NULL, retired_at DESC, created_at DESC, algorithm, face
                """)
        ) { row in
            let id = try row.text(KeyColumn.id)
            let face = try SigningKeyRecord.Face(kept: row.text(KeyColumn.face))
            return SigningKeyRecord(
                id: id, algorithm: try row.algorithm(KeyColumn.algorithm),
                privateKey: SecretBytes(
                    try sealing.open(try row.bytes(KeyColumn.sealed), purpose: .signingKey, row: id)),
                face: face, createdAt: try row.moment(KeyColumn.createdAt),
                retiredAt: try row.optionalMoment(KeyColumn.retiredAt))
        }
        return ProviderKeys(subjectSecret: SecretBytes(secret), signingKeys: keys)
    }
}

private enum KeyColumn: Int, TableColumn {
    static let table = "oauth_key"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, sealed, createdAt, retiredAt, algorithm, face
}

extension SealingPurpose {
    /// A private signing key, bound to its name.
    static let signingKey = SealingPurpose("oauth signing key")
    /// The secret of the pairwise subjects.
    static let subjectSecret = SealingPurpose("oauth subject secret")
}
