import Records
import Sealing
public import _Primitives

/// The description of a backup, written at its end and authenticated under the key-encryption key.
public struct BackupManifest: Sendable, Equatable {
    /// The numbers of the items that an operator knows.
    public struct Counts: Sendable, Equatable {
        public var accounts: Int64
        public var devices: Int64
        public var keys: Int64
        public var clients: Int64
        public var auditEntries: Int64
    }

    static let format = 1

    /// The time at which the backup began. The backup holds every step that was acknowledged before.
    public var createdAt: Timestamp
    /// The number of migrations that the backup's database has run.
    public var schema: Int
    /// The key that the backup was sealed under: a digest that distinguishes two keys and reveals nothing else.
    public var keyID: String
    /// The address with which the server was last started.
    public var issuer: String?
    /// The size of the database, in bytes.
    public var byteCount: Int64
    /// The database's SHA-256.
    public var digest: [UInt8]
    /// The numbers of items in the backup.
    public var counts: Counts

    /// The manifest as JSON, for its place in the file and for scripts.
    public var json: JSONObject {
        var object: JSONObject = [
            "format": .integer(Int64(Self.format)), "createdAt": .integer(self.createdAt.milliseconds),
            "schema": .integer(Int64(self.schema)), "key": .string(self.keyID), "bytes": .integer(self.byteCount),
            "sha256": .string(Base64URL.encode(self.digest)), "accounts": .integer(self.counts.accounts),
            "devices": .integer(self.counts.devices), "keys": .integer(self.counts.keys),
            "clients": .integer(self.counts.clients), "auditEntries": .integer(self.counts.auditEntries),
        ]
        object["issuer"] = self.issuer.map(JSON.string)
        return object
    }
}

extension BackupManifest {
    /// Reads the output of ``json``. Throws ``StoreError/Code/newerSchema`` for an unknown format, and
    /// ``StoreError/Code/corrupt`` for anything else.
    init(parsing bytes: [UInt8]) throws {
        do {
            guard case .object(let object) = try JSON(parsing: bytes) else {
                throw StoreError(.corrupt, "the backup's manifest is no object")
            }
            guard try object.requiredInteger("format", as: Int.self) == Self.format else {
                throw StoreError(.newerSchema, "a backup of a form that this program does not know")
            }
            guard let digest = Base64URL.decode(try object.requiredString("sha256")), digest.count == 32 else {
                throw StoreError(.corrupt, "the backup's manifest has no digest")
            }
            self.init(
                createdAt: Timestamp(milliseconds: try object.requiredInteger("createdAt")),
                schema: try object.requiredInteger("schema"), keyID: try object.requiredString("key"),
                issuer: try object.string("issuer"), byteCount: try object.requiredInteger("bytes"), digest: digest,
                counts: Counts(
                    accounts: try object.requiredInteger("accounts"), devices: try object.requiredInteger("devices"),
                    keys: try object.requiredInteger("keys"), clients: try object.requiredInteger("clients"),
                    auditEntries: try object.requiredInteger("auditEntries")))
        } catch let error as JSONError {
            throw StoreError(.corrupt, "the backup's manifest cannot be read: \(error)")
        }
    }
}

extension SealingPurpose {
    /// The code of a backup's manifest.
    static let backupManifest = SealingPurpose("backup manifest")
}

extension KeyEncryptionKey {
    /// Returns the code of a backup's manifest. The code is made under the key itself, because a verifier has not
    /// opened the database yet.
    func backupCode(_ manifest: [UInt8]) -> [UInt8] { Sealing(self).code(manifest, purpose: .backupManifest) }
}
