public import _Primitives

/// A token with which clients can register themselves (an initial access token, RFC 7591, section 1.2). An operator
/// made the token for a number of clients and a time.
public struct InitialTokenRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url. The identifier opens nothing.
    public let id: String
    /// SHA-256 of the token, which has 256 random bits.
    public let digest: [UInt8]
    /// The moment when the token was made.
    public let createdAt: Timestamp
    /// The moment when the token expires.
    public let expiresAt: Timestamp
    /// The number of clients that can still be registered with the token.
    public let left: Int

    /// Makes a record of these values.
    public init(id: String, digest: [UInt8], createdAt: Timestamp, expiresAt: Timestamp, left: Int) {
        self.id = id
        self.digest = digest
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.left = left
    }
}

/// Keeps the tokens with which clients register themselves, and the registered clients.
public protocol RegistrationStore: Sendable {
    /// Keeps a new token, with the audit event. Throws ``StoreError/Code/conflict`` if `limit` tokens are valid at
    /// `moment`. Tokens that are no longer valid are deleted.
    func addInitialToken(_ token: InitialTokenRecord, limit: Int, at moment: Timestamp, audit: AuditEvent) async throws

    /// Returns the token with the digest, if the token is valid at `moment`: not expired, and good for another client.
    /// Otherwise returns `nil`.
    func initialToken(digest: [UInt8], at moment: Timestamp) async throws -> InitialTokenRecord?

    /// Returns the tokens that are valid at `moment`, the oldest first.
    func initialTokens(at moment: Timestamp) async throws -> [InitialTokenRecord]

    /// Deletes a token, with the audit event. Returns `true` if the token existed; otherwise no event is kept.
    func deleteInitialToken(_ id: String, audit: AuditEvent) async throws -> Bool

    /// Adds a client as ``ClientStore/addClient(_:limit:audit:)`` does, and counts the client against the token with
    /// the digest.
    ///
    /// Must be a single step: of any number of calls at once as many succeed as the token allows. Throws
    /// ``StoreError/Code/notFound`` if the token is not valid (any more), and `conflict` as that method; then nothing
    /// is counted.
    func register(_ client: ClientRecord, by digest: [UInt8], at moment: Timestamp, limit: Int, audit: AuditEvent)
        async throws

    /// Adds a stranger's client (``ClientRecord/isStranger``), with the audit event. If `limit` strangers' clients
    /// exist, the oldest from before `unusedSince` without a consent makes room, with its requests. A client that is
    /// switched off, or is a service of personalised identities, does not make room.
    ///
    /// Must be a single step. Throws ``StoreError/Code/conflict`` if the identifier is taken, if another client owns
    /// one of its resources, or if no client can make room.
    func addStranger(_ client: ClientRecord, limit: Int, unusedSince: Timestamp, audit: AuditEvent) async throws
}
