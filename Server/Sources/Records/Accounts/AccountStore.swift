import _Primitives

/// Accounts, their devices and keys. Every method with an effect appends its audit event in the same step.
public protocol AccountStore: Sendable {
    /// Adds an account. Throws `conflict` if the user name is taken, in any spelling.
    func createAccount(_ account: AccountRecord, audit: AuditEvent) async throws

    /// Returns the account with this user name; `nil` if no account has the name.
    func account(username: AccountName) async throws -> AccountRecord?

    /// Returns the account with this identifier; `nil` if no account has the identifier.
    func account(id: String) async throws -> AccountRecord?

    /// Returns accounts in the order of their creation, after the account `after`, at most `limit`. Begins at the start
    /// if `after` is `nil`, or if the account `after` does not exist.
    func accounts(after: String?, limit: Int) async throws -> [AccountRecord]

    /// Locks or unlocks an account. Returns `false` if the account does not exist. In the same step, locking ends the
    /// account's sessions, all grants from its authentications, its unfinished sign-ins, and its mailed links except
    /// the links about changes. The account also forgets its known browsers and networks. Unlocking brings nothing
    /// back.
    ///
    /// Must take effect at once: an authentication that becomes durable after this fails.
    func setAccountLocked(_ isLocked: Bool, id: String, audit: AuditEvent) async throws -> Bool

    // Each change of a person here, and of their e-mail address anywhere, sets ``AccountRecord/updatedAt`` to the
    // moment of the audit event.

    /// Sets both names of an account; `nil` removes a name. Returns `false` if the account does not exist. Throws
    /// `conflict` if the user name belongs to another account.
    func setAccountNames(id: String, audit: [AuditEvent], username: AccountName?, displayName: String?) async throws
        -> Bool

    /// Sets an account's first e-mail address, or removes it. Returns `false` if the account does not exist. With
    /// another address, and if the address loses its confirmation, the account's mailed links end, except the links
    /// about changes. Values of `email` with the former address are no longer verified, unless the account still has
    /// the address verified, as its first address or a further address.
    func setAccountEmail(_ email: AccountEmail?, id: String, audit: AuditEvent) async throws -> Bool

    /// Sets an account's telephone number, or removes it. Returns `false` if the account does not exist.
    func setAccountPhone(_ phone: AccountPhone?, id: String, audit: AuditEvent) async throws -> Bool

    /// Sets an account's postal address, or removes it. Returns `false` if the account does not exist.
    func setAccountAddress(_ address: PostalAddress?, id: String, audit: AuditEvent) async throws -> Bool

    /// Sets an account's profile, or removes it. Returns `false` if the account does not exist.
    func setAccountProfile(_ profile: PersonProfile?, id: String, audit: AuditEvent) async throws -> Bool

    /// Deletes an account with all data about it: devices, keys, passwords, personal values, sessions, grants,
    /// consents, ceremonies, notices, the names by which clients knew it, and the invitation that it accepted or was
    /// made for. Returns `false` if the account does not exist. The audit trail stays.
    func deleteAccount(id: String, audit: AuditEvent) async throws -> Bool

    /// Returns the account's devices, oldest first, pending devices included.
    func devices(accountID: String) async throws -> [DeviceRecord]

    /// Returns the account's keys, oldest first, pending keys included.
    func credentials(accountID: String) async throws -> [CredentialRecord]

    /// Returns the names of the active keys of the account with that user name, and the look of an invented account for
    /// names without an account. The method is a single read that opens no sealed value. For a name without an account,
    /// the query for keys is left out.
    func keys(username: AccountName) async throws -> NamedKeys
}

extension AccountStore {
    /// Returns the account that an operator refers to: the account with that user name, or else the account with the
    /// identifier after `id:` (``AccountRecord/reference``).
    public func account(reference: AccountName) async throws -> AccountRecord? {
        if let account = try await self.account(username: reference) { return account }
        let prefix = AccountRecord.referencePrefix
        guard reference.text.hasBytes(atStart: prefix) else { return nil }
        return try await self.account(id: String(reference.text.dropFirst(prefix.count)))
    }
}
