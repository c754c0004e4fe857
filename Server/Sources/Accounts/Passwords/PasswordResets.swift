public import Passwords
import Records
import Settings
import _Primitives

/// Resets of forgotten passwords, by a link that is mailed to the account's verified address.
///
/// Every name gets the same answer after the same time: one durable step, without a look-up of the account. The look-up
/// comes later, with the mail's other work. A reset also asks for the second factor, because a mailbox is only one
/// factor.
public struct PasswordResets: Sendable {
    /// The reason why no mail leaves. The reason is for the operator's log, and never for the caller.
    public enum Refusal: String, Sendable, Equatable, CaseIterable {
        case unknownName = "unknown-name", locked, noPassword = "no-password", noAddress = "no-address", resting
    }

    /// The facts that the page of a link needs.
    public struct Visit: Sendable, Equatable {
        /// The name of the account.
        public let username: String
        /// `true` if the account also needs a code.
        public let hasSecondFactor: Bool
    }

    /// The result of a new password.
    public enum Verdict: Sendable, Equatable {
        /// The password is set from now on. The code, which is to be shown once, has taken the place of a spent recovery
        /// code.
        case done(replacement: RecoveryCode?)
        /// The code beside the password was wrong, or was not judged. The reason and the account are for the log alone.
        case refused(PasswordSignIns.Refusal, account: String)
        /// The link is spent, its time is over, or the link was never valid. Or the account is locked, has no password,
        /// or has changed meanwhile.
        case over
    }

    private let accounts: PasswordAccounts

    /// Creates the resets of these accounts' passwords.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// Records the request to mail a link to the person with a name. ``sendLinks()`` later mails the link if the name
    /// has an account with a password and a verified address.
    ///
    /// Throws ``AccountError`` `tooManyRequests` if the source has asked too often.
    ///
    /// Cost: one HMAC, one store step.
    public func ask(username: String, source: String) async throws {
        let accounts = self.accounts
        let now = accounts.time.now()
        try AccountError.throwShortage(accounts.mails.spend(source, at: now))
        let name = AccountName(username, limits: accounts.limits) ?? PasswordAccounts.nobody
        // The caller gets the same answer if too many requests wait.
        _ = try await accounts.store.keepAsk(for: name, at: now, most: accounts.limits.mail.waitingMails)
    }

    /// Leaves a link in the outbox for each requested reset of an account with a password and a verified address, for a
    /// batch of requests. Returns the refusals of the other requests, for the log alone. The outbox drops a letter if
    /// too many letters wait.
    ///
    /// Any number of nodes can do so over one store. If a node is killed meanwhile, another node does its work.
    ///
    /// Cost: one query; if resets were requested, one store step, and for each request a query and two steps.
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

    /// Leaves the link in the outbox; otherwise returns the refusal.
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
        // A person who signs in with a phone alone must not get a weaker way through their mailbox.
        guard known.password != nil else { return .noPassword }
        guard known.account.email?.isVerified == true else { return .noAddress }
        return nil
    }

    /// Returns the account's facts for a link; `nil` if the link is not valid, or the account is locked or has no
    /// password. Changes nothing.
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

    /// Spends a link without a new password, so that the account knows the browser. A few passwords from the browser
    /// are then judged while the attempts of others are paused. No person is signed in. `false` if the link is spent,
    /// its time is over, or the link was never valid, and if the account is locked or has no password.
    ///
    /// Throws ``AccountError`` `tooManyRequests` for an invalid link if the source was wrong too often.
    ///
    /// Cost: two queries; for a valid link, one store step.
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

    /// Spends a link, and sets the password. Every session of the account and every link to another provider ends, and
    /// the person is told. The account knows the browser by the browser's given value, and no other browser. No person
    /// is signed in. A refused attempt does not spend the link.
    ///
    /// Throws `PasswordRefusal` for an unacceptable password, `HashingError`, and for an invalid link ``AccountError``
    /// `tooManyRequests` if the source was wrong too often.
    ///
    /// Cost: two queries, one hash, one store step; if a code is needed, one step more.
    public func reset(
        link: String, to typed: String, code: String, of visitor: Visitor, address: String?
    ) async throws -> Verdict {
        let accounts = self.accounts
        let now = accounts.time.now()
        let shortage = accounts.guesses.spend(visitor.source, at: now)
        // The holder of a valid link received the link by mail. So the budget refuses only invalid links.
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
        // The hash comes first, so that no attempt at a code counts for an unacceptable password.
        let hash: String
        let turn = visitor.turn(atPasswordOf: known.account.id)
        do { hash = try await accounts.newHash(typed: typed, for: turn) } catch {
            if shortage == nil { accounts.guesses.refund(visitor.source) }
            throw error
        }
        var accepted: AcceptedCode?
        if let totp = known.totp {
            guard
                try await accounts.countAttempt(
                    .secondFactor(account: known.account.id), free: accounts.limits.passwords.secondFactorAttempts,
                    at: now)
            else { return refused(.resting) }
            switch try await accounts.judge(code: code, of: known, by: totp, replacing: true, at: now) {
            case .refused(let reason): return refused(reason)
            case .accepted(let code): accepted = code
            }
        }
        var change = accounts.change(of: known.account, to: hash, shown: shown, address: address)
        change.visit = accounts.remembered(visitor, at: change.password.setAt)
        change.link = accounts.links.digest(of: link)
        change.spent = accepted?.spent
        change.codeUse = accepted?.use
        change.audit.kind = .passwordReset
        guard try await accounts.store.setPassword(change) else {
            // Another request has spent the code or the link a moment ago.
            return accepted == nil ? .over : refused(.wrong)
        }
        if shortage == nil { accounts.guesses.refund(visitor.source) }
        return .done(replacement: accepted?.replacement)
    }
}

extension AuditEvent.Kind {
    /// A mailed link was spent so that the account knows a browser.
    fileprivate static let browserKnown = Self(rawValue: "browser-known")
}
