public import _Primitives

/// A relying party that the administrator has registered (RFC 6749, section 2).
public struct ClientRecord: Sendable, Equatable {
    /// The public identifier (`client_id`): 128 random bits as base64url.
    public let id: String
    /// What people see.
    public let name: String
    /// Where a sign-in may lead to; compared letter by letter.
    public let redirectURIs: [String]
    /// Where a sign-out may lead to; compared letter by letter.
    public let postLogoutRedirectURIs: [String]
    /// SHA-256 of the secret, which has 256 random bits. 32 bytes.
    public let secretDigest: [UInt8]
    /// When it was registered.
    public let createdAt: Timestamp
    /// Whether it may have the keys of people whom it knows deleted: with them a person loses every service, not this
    /// one alone.
    public var mayDeregister: Bool

    /// A record of these values.
    public init(
        id: String, name: String, redirectURIs: [String], postLogoutRedirectURIs: [String], secretDigest: [UInt8],
        createdAt: Timestamp, mayDeregister: Bool = false
    ) {
        self.id = id
        self.name = name
        self.redirectURIs = redirectURIs
        self.postLogoutRedirectURIs = postLogoutRedirectURIs
        self.secretDigest = secretDigest
        self.createdAt = createdAt
        self.mayDeregister = mayDeregister
    }
}

/// Keeps the relying parties.
public protocol ClientStore: Sendable {
    /// Adds a client, with the audit event.
    ///
    /// Throws ``StoreError/Code/conflict`` where the identifier is taken, or where there are `limit` clients already; the
    /// count and the addition are one step.
    func addClient(_ client: ClientRecord, limit: Int, audit: AuditEvent) async throws

    /// The client of that identifier.
    func client(_ id: String) async throws -> ClientRecord?

    /// All clients, the oldest first. There are never more than the limit of ``addClient(_:limit:audit:)``.
    func clients() async throws -> [ClientRecord]

    /// Says what a client may do, and answers with the client as it is then; `nil` where there is none. The audit event is
    /// written where that is a change.
    func changeClient(_ id: String, mayDeregister: Bool, audit: AuditEvent) async throws -> ClientRecord?

    /// Deletes a client together with its open authorization requests, its grants and the subjects it knows, with the audit
    /// event. Says whether there was one; where there was none, there is no event.
    func deleteClient(_ id: String, audit: AuditEvent) async throws -> Bool
}
