public import _Primitives

/// An administrator's token, by the digest of its secret.
public struct AdministratorRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// SHA-256 of the token.
    public var tokenDigest: [UInt8]
    /// The moment when the token was made.
    public var createdAt: Timestamp
    /// The moment when the token expires.
    public var expiresAt: Timestamp

    /// Makes the record of an administrator.
    public init(id: String, tokenDigest: [UInt8], createdAt: Timestamp, expiresAt: Timestamp) {
        self.id = id
        self.tokenDigest = tokenDigest
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// Administrators and the one-time link that makes the first of them.
public protocol AdministrationStore: Sendable {
    /// Keeps the link's digest in place of an earlier digest. Returns `false`, and keeps nothing, if an administrator's
    /// token has not expired at the event's moment.
    func createAdministratorLink(digest: [UInt8], expiresAt: Timestamp, audit: AuditEvent) async throws -> Bool

    /// Uses a link up and adds the administrator. Returns `false` if the link is unknown, used or expired at `now`.
    ///
    /// Must be atomic: of many concurrent calls for the same link one succeeds.
    func redeemAdministratorLink(
        digest: [UInt8], at now: Timestamp, administrator: AdministratorRecord, audit: AuditEvent
    ) async throws -> Bool

    /// Returns the administrator of a token that has not expired at `now`; `nil` for any other token.
    func administrator(tokenDigest: [UInt8], at now: Timestamp) async throws -> AdministratorRecord?

    /// Returns the administrators whose tokens have not expired at `now`, the oldest first, at most `limit`.
    func administrators(at now: Timestamp, limit: Int) async throws -> [AdministratorRecord]

    /// Ends an administrator's token. Returns `false`, and writes nothing, if no administrator has that identifier.
    func deleteAdministrator(id: String, audit: AuditEvent) async throws -> Bool

    /// Puts the record in place of the record with the same identifier. The former token is worth nothing from then on.
    /// Returns `false`, and writes nothing, if there is no such record that has not expired at `now`.
    func replaceAdministrator(_ administrator: AdministratorRecord, at now: Timestamp, audit: AuditEvent) async throws
        -> Bool
}
