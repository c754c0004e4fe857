public import _Primitives

/// What lets somebody register clients by themselves (an initial access token, RFC 7591, section 1.2): an operator made it,
/// for so many clients and so long.
public struct InitialTokenRecord: Sendable, Equatable {
    /// 128 random bits as base64url. It opens nothing.
    public let id: String
    /// SHA-256 of the token, which has 256 random bits.
    public let digest: [UInt8]
    /// When it was made.
    public let createdAt: Timestamp
    /// From then on it is worth nothing.
    public let expiresAt: Timestamp
    /// How many clients can still be registered by it.
    public let left: Int

    /// A record of these values.
    public init(id: String, digest: [UInt8], createdAt: Timestamp, expiresAt: Timestamp, left: Int) {
        self.id = id
        self.digest = digest
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.left = left
    }
}

/// Keeps what lets clients register themselves, and the clients that did.
public protocol RegistrationStore: Sendable {
    /// Keeps a new token, with the audit event. Throws ``StoreError/Code/conflict`` where there are `limit` that are worth
    /// something at `moment`; those that are worth nothing are deleted.
    func addInitialToken(_ token: InitialTokenRecord, limit: Int, at moment: Timestamp, audit: AuditEvent) async throws

    /// The token of that digest, where it is worth something at `moment`.
    func initialToken(digest: [UInt8], at moment: Timestamp) async throws -> InitialTokenRecord?

    /// The tokens that are worth something at `moment`, the oldest first.
    func initialTokens(at moment: Timestamp) async throws -> [InitialTokenRecord]

    /// Deletes a token, with the audit event. Says whether there was one; where there was none, there is no event.
    func deleteInitialToken(_ id: String, audit: AuditEvent) async throws -> Bool

    /// Adds a client as ``ClientStore/addClient(_:limit:audit:)`` does, and counts it against the token of that digest.
    ///
    /// Must be one step: of any number of calls at once as many succeed as the token is for. Throws
    /// ``StoreError/Code/notFound`` where it is worth nothing (any more), and `conflict` as that method; then nothing is
    /// counted.
    func register(_ client: ClientRecord, by digest: [UInt8], at moment: Timestamp, limit: Int, audit: AuditEvent)
        async throws

    /// Adds a stranger's client (``ClientRecord/isStranger``), with the audit event. If `limit` of them are there, the oldest
    /// from before `unusedSince` without a consent makes room, with what it has asked for.
    ///
    /// Must be one step. Throws ``StoreError/Code/conflict`` if the identifier is taken, or if no client can make room.
    func addStranger(_ client: ClientRecord, limit: Int, unusedSince: Timestamp, audit: AuditEvent) async throws
}
