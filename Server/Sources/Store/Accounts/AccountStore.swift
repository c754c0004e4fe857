import _Primitives

/// Accounts, their devices and keys. Every method that changes something appends its audit event in the same step.
public protocol AccountStore: Sendable {
    /// Adds an account. Throws `conflict` where the user name is taken.
    func createAccount(_ account: AccountRecord, audit: AuditEvent) async throws

    /// The account with this user name; `nil` where there is none.
    func account(username: AccountName) async throws -> AccountRecord?

    /// The account with this identifier; `nil` where there is none.
    func account(id: String) async throws -> AccountRecord?

    /// Accounts in the order of their creation, after the account `after` (from the start where `nil`), at most `limit`.
    func accounts(after: String?, limit: Int) async throws -> [AccountRecord]

    /// Locks or unlocks an account. `false` where there is none. Locking ends its sessions, and what was granted in them, in
    /// the same step.
    ///
    /// Must take effect at once: an authentication that becomes durable after this fails.
    func setAccountLocked(_ isLocked: Bool, id: String, audit: AuditEvent) async throws -> Bool

    // Each change of a person here, and of their e-mail address anywhere, sets ``AccountRecord/updatedAt`` to the moment of
    // the audit event.

    /// Calls an account by other names. `false` where there is no such account. Throws `conflict` where the user name is
    /// another account's.
    func setAccountNames(id: String, audit: [AuditEvent], username: AccountName?, displayName: String?) async throws
        -> Bool

    /// Gives an account an e-mail address, or none. `false` where there is no such account. No value of `email` that is the
    /// address before is verified any more, unless the account has that one verified still, as its first or a further one.
    func setAccountEmail(_ email: AccountEmail?, id: String, audit: AuditEvent) async throws -> Bool

    /// Gives an account a telephone number, or none. `false` where there is no such account.
    func setAccountPhone(_ phone: AccountPhone?, id: String, audit: AuditEvent) async throws -> Bool

    /// Gives an account a postal address, or none. `false` where there is no such account.
    func setAccountAddress(_ address: PostalAddress?, id: String, audit: AuditEvent) async throws -> Bool

    /// Gives an account a profile, or none. `false` where there is no such account.
    func setAccountProfile(_ profile: PersonProfile?, id: String, audit: AuditEvent) async throws -> Bool

    /// Deletes an account with its devices, keys, sessions, ceremonies, notices, and the names by which clients knew it.
    /// `false` where there is none. The audit trail stays.
    func deleteAccount(id: String, audit: AuditEvent) async throws -> Bool

    /// The account's devices, oldest first, pending ones included.
    func devices(accountID: String) async throws -> [DeviceRecord]

    /// The account's keys, oldest first, pending ones included.
    func credentials(accountID: String) async throws -> [CredentialRecord]

    /// The names of the active keys of the account with that user name, and what an account looks like that has to be
    /// invented in its place, in one read that opens nothing sealed and is the same for every name.
    func keys(username: AccountName) async throws -> NamedKeys
}

extension AccountStore {
    /// The account that an operator means: of that user name or, where nobody has it, of the identifier after `id:`
    /// (``AccountRecord/reference``).
    public func account(reference: AccountName) async throws -> AccountRecord? {
        if let account = try await self.account(username: reference) { return account }
        let prefix = AccountRecord.referencePrefix
        guard reference.text.hasBytes(atStart: prefix) else { return nil }
        return try await self.account(id: String(reference.text.dropFirst(prefix.count)))
    }
}
