public import Records
import Sealing
public import Settings
public import _Primitives

/// The administrators of the server: holders of a token. The first administrator comes by a one-time link.
public struct Administrators: Sendable {
    private let store: any AdministrationStore
    private let time: TimeSource
    private let random: RandomSource
    private let limits: Limits
    private let guesses: Budget

    /// Creates the administrators of a store.
    public init(
        store: any AdministrationStore, time: TimeSource = .system, random: RandomSource = .system,
        limits: Limits = Limits()
    ) {
        self.store = store
        self.time = time
        self.random = random
        self.limits = limits
        self.guesses = Budget(limits.guesses)
    }

    /// Makes a new one-time link in place of an earlier link, and returns the link's secret; `nil` if an administrator
    /// with a valid token exists.
    public func makeLinkIfNone() async throws -> String? {
        let now = self.time.now()
        let secret = self.random.token()
        let isMade = try await self.store.createAdministratorLink(
            digest: Sealing.digest(ofSecret: secret), expiresAt: now + self.limits.administratorLinkLifetime,
            audit: AuditEvent(.administratorLinkCreated, at: now))
        return isMade ? secret : nil
    }

    /// Exchanges the secret of the link for an administrator's token. Works once. Throws `notFound`, or
    /// `tooManyRequests` if `source` has sent too many wrong secrets. A right secret is accepted past the budget, too.
    ///
    /// `lifetime` is at most ``Limits/administratorTokenLifetime``, which is the default. Throws `invalidRequest` for
    /// another lifetime.
    public func redeem(secret: String, source: String, lifetime: Duration? = nil) async throws -> String {
        let lifetime = try self.checked(lifetime ?? self.limits.administratorTokenLifetime)
        let now = self.time.now()
        // The budget is spent before the judgement, and given back for a right secret.
        let shortage = self.guesses.spend(source, at: now)
        let token = self.random.token()
        let administrator = AdministratorRecord(
            id: self.random.identifier(), tokenDigest: Sealing.digest(ofSecret: token), createdAt: now,
            expiresAt: now + lifetime)
        let isRedeemed = try await self.store.redeemAdministratorLink(
            digest: Sealing.digest(ofSecret: secret), at: now, administrator: administrator,
            audit: AuditEvent(.administratorAdded, at: now, detail: administrator.id))
        guard isRedeemed else {
            try AccountError.throwShortage(shortage)
            throw AccountError(.notFound)
        }
        if shortage == nil { self.guesses.refund(source) }
        return token
    }

    /// Returns the administrator's identifier, for the audit trail; `nil` for an invalid token.
    public func administrator(token: String) async throws -> String? {
        try await self.store.administrator(tokenDigest: Sealing.digest(ofSecret: token), at: self.time.now())?.id
    }

    /// Returns the administrators with valid tokens, the oldest first, at most a page.
    public func list() async throws -> [AdministratorRecord] {
        try await self.store.administrators(at: self.time.now(), limit: self.limits.pageSize)
    }

    /// Ends an administrator's token at once. After the end of the last token, the next start makes a one-time link
    /// again. Throws `notFound`.
    public func revoke(id: String, by operator: String) async throws {
        let event = AuditEvent(.administratorRevoked, at: self.time.now(), actor: `operator`, detail: id)
        guard try await self.store.deleteAdministrator(id: id, audit: event) else { throw AccountError(.notFound) }
    }

    private func checked(_ lifetime: Duration) throws -> Duration {
        let most = self.limits.administratorTokenLifetime
        guard (Limits.Fixed.shortestLifetime...most).contains(lifetime) else {
            throw AccountError(
                .invalidRequest, "A token lives from a second to \(most.components.seconds) seconds.")
        }
        return lifetime
    }

    /// Makes a new token for an administrator, and ends the earlier token. Without a `lifetime` the new token gets the
    /// lifetime of the earlier token, at most ``Limits/administratorTokenLifetime``. Throws `notFound`, also for an
    /// expired token, and `invalidRequest` as ``redeem(secret:source:lifetime:)``.
    public func rotate(id: String, by operator: String, lifetime: Duration? = nil) async throws -> String {
        let now = self.time.now()
        let before = try await self.list().first { $0.id == id }.map { $0.expiresAt - $0.createdAt }
        let lifetime = try self.checked(
            lifetime ?? min(before ?? Limits.Fixed.shortestLifetime, self.limits.administratorTokenLifetime))
        let token = self.random.token()
        let administrator = AdministratorRecord(
            id: id, tokenDigest: Sealing.digest(ofSecret: token), createdAt: now,
            expiresAt: now + lifetime)
        let event = AuditEvent(.administratorTokenRotated, at: now, actor: `operator`, detail: id)
        guard try await self.store.replaceAdministrator(administrator, at: now, audit: event) else {
            throw AccountError(.notFound)
        }
        return token
    }
}

extension AuditEvent.Kind {
    fileprivate static let administratorLinkCreated = Self(rawValue: "administrator-link-created")
    fileprivate static let administratorAdded = Self(rawValue: "administrator-added")
    fileprivate static let administratorRevoked = Self(rawValue: "administrator-revoked")
    fileprivate static let administratorTokenRotated = Self(rawValue: "administrator-token-rotated")
}
