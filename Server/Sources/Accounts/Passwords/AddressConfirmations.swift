public import Store
import _Primitives

/// Showing that mail to an address of an account reaches its person: by a link that is mailed there.
///
/// An operator enters addresses, and may have mistyped one; an invitation that somebody has taken into their account has
/// brought another, of which nobody knows whose it is. What is mailed to an address that is not confirmed opens nothing but
/// this.
public struct AddressConfirmations: Sendable {
    /// What a person has.
    public struct Summary: Sendable, Equatable {
        /// The user name.
        public let username: String
        /// The address; `nil` where an operator has entered none.
        public let address: String?
        /// Whether it is known to be the person's.
        public let isVerified: Bool
    }

    /// Why no mail leaves.
    public enum Refusal: String, Sendable, Equatable, CaseIterable {
        case noAddress = "no-address", confirmed, resting
    }

    private let accounts: PasswordAccounts

    /// Addresses of these accounts.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// What a person has; `nil` where there is no such account, or it is locked.
    ///
    /// Cost: one query.
    public func summary(accountID: String) async throws -> Summary? {
        guard let account = try await self.accounts.store.account(id: accountID), !account.isLocked else { return nil }
        return Summary(
            username: account.shownName, address: account.email?.address,
            isVerified: account.email?.isVerified ?? false)
    }

    /// Has a link mailed to the account's address, or to a further one, by its identifier. Says why not, where none is. Letters
    /// to all addresses of an account count together.
    ///
    /// Throws ``AccountError`` `tooManyRequests` where the source has asked too often.
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

    /// The same as ``summary(accountID:)`` of a further address, by its identifier; without an address where there is none of
    /// that name.
    ///
    /// Cost: one query, for a further address two.
    public func summary(accountID: String, further: String?) async throws -> Summary? {
        guard let further else { return try await self.summary(accountID: accountID) }
        guard let summary = try await self.summary(accountID: accountID) else { return nil }
        let email = try await self.accounts.store.additionalEmails(accountID: accountID)
            .first { $0.id.hasSameBytes(as: further) }
        return Summary(username: summary.username, address: email?.address, isVerified: email?.isVerified ?? false)
    }

    /// The account and the address behind a link; `nil` where there is none. Changes nothing.
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

    /// Spends a link that somebody shows who is signed in: the address is that person's from now on. `nil` where the link
    /// is none any more, or is another account's: whoever reads a mailbox is not thereby the person of the account.
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
