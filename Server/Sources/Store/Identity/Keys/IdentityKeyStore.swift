public import _Primitives

/// A key that phones seal to, as it is kept.
public struct SealingKeyRecord: Sendable, Equatable {
    /// Its name in messages.
    public var id: String
    /// The private scalar of P-256, 32 bytes. Sealed at rest, and never in a backup.
    public var privateKey: SecretBytes
    /// When it was made.
    public var createdAt: Timestamp
    /// After which nothing that is sealed to it is opened, and it is erased.
    public var erasedAt: Timestamp

    /// Describes a key.
    public init(id: String, privateKey: SecretBytes, createdAt: Timestamp, erasedAt: Timestamp) {
        self.id = id
        self.privateKey = privateKey
        self.createdAt = createdAt
        self.erasedAt = erasedAt
    }
}

/// The keys of personalised identities that are the server's own: the root that apps are configured with, and those that
/// phones seal to.
public protocol IdentityKeyStore: Sendable {
    /// The root's private scalar of P-256: the one that is there, or else this one, which is kept from then on.
    func identityRoot(orElse made: SecretBytes, audit: AuditEvent) async throws -> SecretBytes

    /// The keys to open with, the newest first.
    func identitySealingKeys() async throws -> [SealingKeyRecord]

    /// Adds a key that phones seal to from then on, with the audit event, and erases those whose time is over at its moment.
    /// Returns the keys there are, the newest first. Throws ``StoreError/Code/conflict`` where there are `limit` already.
    func addSealingKey(_ key: SealingKeyRecord, limit: Int, audit: AuditEvent) async throws -> [SealingKeyRecord]

    /// Adds a key unless there is one that was made at `unlessMadeSince` or later, and erases those whose time is over.
    /// Returns the keys there are, the newest first.
    func followSealingKeys(by key: SealingKeyRecord, unlessMadeSince: Timestamp, at now: Timestamp) async throws
        -> [SealingKeyRecord]
}
