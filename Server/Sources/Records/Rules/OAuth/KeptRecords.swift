package import _Primitives

extension SessionRecord {
    /// Makes a record of the values of a session's rows; `nil` if no authentication of the session is left.
    package init?(
        id: String, cookieDigest: [UInt8], remaining authentications: [AuthenticationRecord], usedAt: Timestamp,
        expiresAt: Timestamp, hasBrowser: Bool
    ) {
        guard !authentications.isEmpty else { return nil }
        self.init(
            id: id, cookieDigest: cookieDigest, authentications: authentications, usedAt: usedAt,
            expiresAt: expiresAt, hasBrowser: hasBrowser)
    }
}

extension StandingGrant {
    /// Makes a grant with its authentication, as the store has found the authentication and the account. Throws
    /// ``StoreError/Code/corrupt`` if the store has found none: a grant ends with its authentication.
    package init(grant: GrantRecord, found: (authentication: AuthenticationRecord, isAccountLocked: Bool)?) throws {
        guard let found else { throw StoreError(.corrupt, "a grant without its authentication") }
        self.init(grant: grant, authentication: found.authentication, isAccountLocked: found.isAccountLocked)
    }
}

extension GrantListing.Kind {
    /// Reads the kind of a listed row. Throws ``StoreError/Code/corrupt``.
    package init(kept text: String) throws {
        guard let kind = Self(rawValue: text) else { throw StoreError(.corrupt, "a kind of a listing") }
        self = kind
    }
}
