public import _Primitives

/// A kept key that phones seal to.
public struct SealingKeyRecord: Sendable, Equatable {
    /// The key's name in messages.
    public var id: String
    /// The private scalar of P-256, 32 bytes. Sealed at rest, and never in a backup.
    public var privateKey: SecretBytes
    /// The moment when the key was made.
    public var createdAt: Timestamp
    /// The moment after which messages sealed to the key are not opened, and the key is erased.
    public var erasedAt: Timestamp

    /// Describes a key.
    public init(id: String, privateKey: SecretBytes, createdAt: Timestamp, erasedAt: Timestamp) {
        self.id = id
        self.privateKey = privateKey
        self.createdAt = createdAt
        self.erasedAt = erasedAt
    }
}

/// The server's own keys for personalised identities: the root that apps are configured with, and the keys that phones
/// seal to.
public protocol IdentityKeyStore: Sendable {
    /// Returns the root's private scalar of P-256: the existing root, or else `made`, which is kept from then on.
    func identityRoot(orElse made: SecretBytes, audit: AuditEvent) async throws -> SecretBytes

    /// Returns the keys to open messages with, the newest first. A key whose time is over is among them until a step
    /// erases it.
    func identitySealingKeys() async throws -> [SealingKeyRecord]

    /// Adds a key that phones seal to from then on, with the audit event, and erases keys whose time is over at the
    /// event's moment. Returns the remaining keys, the newest first. Throws ``StoreError/Code/conflict`` if the store
    /// has `limit` keys already.
    func addSealingKey(_ key: SealingKeyRecord, limit: Int, audit: AuditEvent) async throws -> [SealingKeyRecord]

    /// Adds a key, unless a key was made at `unlessMadeSince` or later, and erases keys whose time is over. Returns the
    /// remaining keys, the newest first.
    func followSealingKeys(by key: SealingKeyRecord, unlessMadeSince: Timestamp, at now: Timestamp) async throws
        -> [SealingKeyRecord]
}
