import Passwords
import Store
import _Primitives

/// A new password in place of one that is forgotten, by a link that is mailed to the account's verified address.
///
/// Whoever asks is told the same whatever the name is, and it takes the same: one durable step, which looks for nobody. Who has
/// the name is looked for later, with the rest of the mail's work. What is asked for beside the password is asked for here too,
/// since a mailbox is one thing that a person has, and no second one.
public struct PasswordResets: Sendable {
    /// Why no mail leaves: for the operator's log, and never for whoever asked.
    public enum Refusal: String, Sendable, Equatable, CaseIterable {
        case unknownName = "unknown-name", locked, noPassword = "no-password", noAddress = "no-address", resting
    }

    /// What a page about a link has to know.
    public struct Visit: Sendable, Equatable {
        /// Whose password it is.
        public let username: String
        /// Whether a code is asked for beside the link.
        public let hasSecondFactor: Bool
    }

    /// What became of a new password.
    public enum Verdict: Sendable, Equatable {
        /// It is the account's from now on.
        case done
        /// The code beside it was not right, or could not be looked at: the reason and the account are for the log alone.
        case refused(PasswordSignIns.Refusal, account: String)
        /// The link is spent, its time is over, or it never was one.
        case over
    }

    private let accounts: PasswordAccounts

    /// New passwords of these accounts.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// Keeps that a link is to be mailed to the person with this name, where there is one with a password and a verified
    /// address: ``sendLinks()`` sees to that.
    ///
    /// Throws ``AccountError`` `tooManyRequests` where the source has asked too often.
    ///
    /// Cost: one HMAC, one store step.
    public func ask(username: String, source: String) async throws {
        let accounts = self.accounts
        let now = accounts.time.now()
        try AccountError.throwShortage(accounts.mails.spend(source, at: now))
        let name = AccountName(username, limits: accounts.limits) ?? PasswordAccounts.nobody
        // Where too many wait, whoever asks is told the same.
        _ = try await accounts.store.keepAsk(for: name, at: now, most: accounts.limits.mail.waitingMails)
    }

    /// Leaves a link in the outbox for each person for whom one was asked for. Says why there is none for the others, for the
    /// log alone. Any number of nodes can do so over one store; one that is killed meanwhile has its work done by another.
    ///
    /// Cost: one query; where something was asked for, one store step, and for each a query and two steps.
    public func sendLinks() async throws -> [Refusal] {
        let (store, mail) = (self.accounts.store, self.accounts.limits.mail)
        let now = self.accounts.time.now()
        var refusals: [Refusal] = []
        for ask in try await store.takeAsks(at: now, lease: now + mail.mailLease, limit: mail.asksAtOnce) {
            if let refusal = try await self.refusal(of: ask, at: now) { refusals.append(refusal) }
            try await store.removeAsk(ask)
        }
        return refusals
    }

    /// Leaves the link, or says why not.
    private func refusal(of ask: ResetAsk, at now: Timestamp) async throws -> Refusal? {
        let accounts = self.accounts
        var known: PasswordAccount?
        if let id = ask.accountID { known = try await accounts.store.passwordAccount(id: id) }
        if let refusal = Self.refusal(known) { return refusal }
        guard let known else { return .unknownName }
        let isCounted = try await accounts.countAttempt(
            .mail(account: known.account.id), free: accounts.limits.mail.mailsInARow, at: now,
            leaving: accounts.mail(.passwordReset, to: known.account.id, at: now))
        return isCounted ? nil : .resting
    }

    private static func refusal(_ known: PasswordAccount?) -> Refusal? {
        guard let known else { return .unknownName }
        guard !known.account.isLocked else { return .locked }
        // Whoever signs in by a phone alone gets no weaker way by their mailbox.
        guard known.password != nil else { return .noPassword }
        guard known.account.email?.isVerified == true else { return .noAddress }
        return nil
    }

    /// What there is behind a link; `nil` where there is nothing. Changes nothing.
    ///
    /// Cost: two queries.
    public func visit(link: String) async throws -> Visit? {
        try await self.account(link).map { Visit(username: $0.account.shownName, hasSecondFactor: $0.totp != nil) }
    }

    private func account(_ link: String) async throws -> PasswordAccount? {
        let accounts = self.accounts
        guard
            let record = try await accounts.store.mailedLink(
                digest: accounts.links.digest(of: link), purpose: .passwordReset, at: accounts.time.now()),
            let known = try await accounts.store.passwordAccount(id: record.accountID), !known.account.isLocked,
            known.password != nil
        else { return nil }
        return known
    }

    /// Spends a link without a new password: the account knows the browser, in which a few passwords are judged while those of
    /// others rest. Nobody is signed in. `false` where the link is spent, its time is over, or it never was one.
    ///
    /// Throws ``AccountError`` `tooManyRequests` for a link that is none where the source was wrong too often.
    ///
    /// Cost: two queries; for a link that is one, one store step.
    public func knowBrowser(link: String, of visitor: Visitor, address: String?) async throws -> Bool {
        let accounts = self.accounts
        let now = accounts.time.now()
        let shortage = accounts.guesses.spend(visitor.source, at: now)
        guard try await self.account(link) != nil else {
            try AccountError.throwShortage(shortage)
            return false
        }
        if shortage == nil { accounts.guesses.refund(visitor.source) }
        return try await accounts.store.knowBrowser(
            byLink: accounts.links.digest(of: link), accounts.remembered(visitor, at: now),
            audit: AuditEvent(.browserKnown, at: now, address: address))
    }

    /// Spends a link: the password is the account's from now on. Every session of the account ends, and the person is told.
    /// The account knows the browser by what it is given; nobody is signed in.
    ///
    /// Throws `PasswordRefusal` for a password that cannot be chosen, `HashingError`, and ``AccountError``
    /// `tooManyRequests` where the source was wrong too often.
    ///
    /// Cost: two queries, one hash, one store step; where a code is asked for, one step more.
    public func reset(
        link: String, to typed: String, code: String, of visitor: Visitor, address: String?
    ) async throws -> Verdict {
        let accounts = self.accounts
        let now = accounts.time.now()
        let shortage = accounts.guesses.spend(visitor.source, at: now)
        // Whoever has a link has been given it: only what is wrong is told of the budget.
        guard let known = try await self.account(link), let stored = known.password else {
            try AccountError.throwShortage(shortage)
            return .over
        }
        let shown = ShownPassword(
            accountID: known.account.id, hash: stored.hash, secondFactorSetAt: known.totp?.setAt)
        func refused(_ reason: PasswordSignIns.Refusal) -> Verdict {
            accounts.refused.note(reason, of: "code", account: known.account.id, at: now)
            return .refused(reason, account: known.account.id)
        }
        // First, so that no attempt at a code counts for a password that cannot be.
        let hash: String
        let turn = visitor.turn(atPasswordOf: known.account.id)
        do { hash = try await accounts.newHash(typed: typed, for: turn) } catch {
            if shortage == nil { accounts.guesses.refund(visitor.source) }
            throw error
        }
        var spent: PasswordSignInStep.Spent?
        if let totp = known.totp {
            guard
                try await accounts.countAttempt(
                    .secondFactor(account: known.account.id), free: accounts.limits.passwords.secondFactorAttempts,
                    at: now)
            else { return refused(.resting) }
            guard let found = accounts.spent(code, by: totp, at: now) else { return refused(.wrong) }
            spent = found.spent
        }
        var change = accounts.change(of: known.account, to: hash, shown: shown, address: address)
        change.visit = accounts.remembered(visitor, at: change.password.setAt)
        change.link = accounts.links.digest(of: link)
        change.spent = spent
        change.audit.kind = .passwordReset
        change.spentAudit = spent.flatMap { accounts.event(of: $0, known, at: now) }
        guard try await accounts.store.setPassword(change) else {
            // The code was somebody else's a moment ago, or the link was.
            return spent == nil ? .over : refused(.wrong)
        }
        if shortage == nil { accounts.guesses.refund(visitor.source) }
        return .done
    }
}

extension AuditEvent.Kind {
    /// A mailed link was spent so that the account knows a browser.
    fileprivate static let browserKnown = Self(rawValue: "browser-known")
}
