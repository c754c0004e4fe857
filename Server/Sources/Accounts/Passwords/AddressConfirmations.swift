public import Records
import Settings
import _Primitives

/// Confirmations of addresses: a mailed link shows that mail to an account's address reaches the account's person.
///
/// An operator enters addresses, and may mistype an address. An accepted invitation brings an address whose owner is
/// unknown. So a letter to an unconfirmed address opens nothing but this confirmation.
public struct AddressConfirmations: Sendable {
    /// The address of a person, and its confirmation.
    public struct Summary: Sendable, Equatable {
        /// The name by which the person knows the account.
        public let username: String
        /// The address; `nil` if the account has no such address.
        public let address: String?
        /// `true` if the address is known to be the person's.
        public let isVerified: Bool
    }

    /// The reason why no mail leaves: there is no such address or no such unlocked account, the address is already
    /// confirmed, or the account's letters are paused.
    public enum Refusal: String, Sendable, Equatable, CaseIterable {
        case noAddress = "no-address", confirmed, resting
    }

    private let accounts: PasswordAccounts

    /// Creates the confirmations of these accounts' addresses.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// Returns the address of a person; `nil` if there is no such account, or the account is locked.
    ///
    /// Cost: one query.
    public func summary(accountID: String) async throws -> Summary? {
        guard let account = try await self.accounts.store.account(id: accountID), !account.isLocked else { return nil }
        return Summary(
            username: account.shownName, address: account.email?.address,
            isVerified: account.email?.isVerified ?? false)
    }

    /// Mails a link to the account's address, or to the additional address with the identifier `further`. Returns the
    /// refusal if no link is mailed; `nil` on success. Letters to all addresses of an account count together. If too
    /// many letters wait, the outbox drops the letter, and the result is still `nil`.
    ///
    /// Throws ``AccountError`` `tooManyRequests` if the source has asked too often.
    ///
    /// Cost: one query, for a further address two, one store step.
    public func ask(accountID: String, further: String? = nil, source: String) async throws -> Refusal? {
        let accounts = self.accounts
        let now = accounts.time.now()
        try AccountError.throwShortage(accounts.mails.spend(source, at: now))
        guard let summary = try await self.summary(accountID: accountID, further: further), summary.address != nil
        else { return .noAddress }
        guard !summary.isVerified else { return .confirmed }
        let isCounted = try await accounts.countAttempt(
            .confirmation(account: accountID), free: accounts.limits.mail.mailsInARow, at: now,
            leaving: accounts.mail(.addressConfirmation, to: accountID, about: further, at: now))
        return isCounted ? nil : .resting
    }

    /// Returns the additional address with the identifier `further` as ``summary(accountID:)`` does, and without
    /// `further` the account's first address. The summary has no address if there is none of this identifier.
    ///
    /// Cost: one query, for a further address two.
    public func summary(accountID: String, further: String?) async throws -> Summary? {
        guard let further else { return try await self.summary(accountID: accountID) }
        guard let summary = try await self.summary(accountID: accountID) else { return nil }
        let email = try await self.accounts.store.additionalEmails(accountID: accountID)
            .first { $0.id.hasSameBytes(as: further) }
        return Summary(username: summary.username, address: email?.address, isVerified: email?.isVerified ?? false)
    }

    /// Returns the account and the address behind a link; `nil` if the link is no longer valid, or the account is gone
    /// or locked. Changes nothing.
    ///
    /// Cost: two queries, for a further address three.
    public func visit(link: String) async throws -> Summary? {
        let accounts = self.accounts
        guard
            let record = try await accounts.store.mailedLink(
                digest: accounts.links.digest(of: link), purpose: .addressConfirmation, at: accounts.time.now())
        else { return nil }
        return try await self.summary(accountID: record.accountID, further: record.about)
    }

    /// Spends a link that a signed-in person shows. The address is the person's from now on. `nil`, without a change,
    /// if the link is no longer valid, the account is locked, or the link belongs to another account: a reader of a
    /// mailbox is not yet the person of the account.
    ///
    /// Cost: one query, one store step.
    public func confirm(link: String, accountID: String) async throws -> AddressConfirmation? {
        let accounts = self.accounts
        let digest = accounts.links.digest(of: link)
        let now = accounts.time.now()
        guard
            let record = try await accounts.store.mailedLink(
                digest: digest, purpose: .addressConfirmation, at: now)
        else { return nil }
        guard record.accountID.hasSameBytes(as: accountID) else { return nil }
        let audit =
            record.about.map { AuditEvent(.additionalEmailChanged, at: now, accountID: record.accountID, detail: $0) }
            ?? AuditEvent(
                .accountEmailChanged, at: now, accountID: record.accountID, detail: "confirmed by a mailed link")
        return try await accounts.store.confirmAddress(
            byLink: digest, values: accounts.limits.valuesPerAttribute, audit: audit)
    }
}
