public import _Primitives

/// An administrator's token, by the digest of its secret.
public struct AdministratorRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// SHA-256 of the token.
    public var tokenDigest: [UInt8]
    /// When the token was made.
    public var createdAt: Timestamp
    /// From when on it is not valid any more.
    public var expiresAt: Timestamp

    /// Describes an administrator.
    public init(id: String, tokenDigest: [UInt8], createdAt: Timestamp, expiresAt: Timestamp) {
        self.id = id
        self.tokenDigest = tokenDigest
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// Administrators and the one-time link that makes the first of them.
public protocol AdministrationStore: Sendable {
    /// Keeps the link's digest in place of an earlier one. `false`, and nothing kept, where an administrator exists.
    func createAdministratorLink(digest: [UInt8], expiresAt: Timestamp, audit: AuditEvent) async throws -> Bool

    /// Uses a link up and adds the administrator. `false` where the link is unknown, used or expired at `now`.
    ///
    /// Must be atomic: of many concurrent calls for one link one succeeds.
    func redeemAdministratorLink(
        digest: [UInt8], at now: Timestamp, administrator: AdministratorRecord, audit: AuditEvent
    ) async throws -> Bool

    /// The administrator of a token that has not expired at `now`; `nil` for any other token.
    func administrator(tokenDigest: [UInt8], at now: Timestamp) async throws -> AdministratorRecord?

    /// The administrators whose tokens have not expired at `now`, the oldest first, at most `limit`.
    func administrators(at now: Timestamp, limit: Int) async throws -> [AdministratorRecord]

    /// Ends an administrator's token. `false`, and nothing written, where there is no administrator of that identifier.
    func deleteAdministrator(id: String, audit: AuditEvent) async throws -> Bool

    /// Puts the record in place of the one with its identifier: the token before is worth nothing from then on.
    /// `false`, and nothing written, where there is none that has not expired at `now`.
    func replaceAdministrator(_ administrator: AdministratorRecord, at now: Timestamp, audit: AuditEvent) async throws
        -> Bool
}
