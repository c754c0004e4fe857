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
}
