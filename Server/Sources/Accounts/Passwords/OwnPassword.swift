import Passwords
import Records
import Settings
public import _Primitives

/// Changes by people of their own passwords and second factors.
///
/// Each change asks again for the password, and for a code if there is a second factor. A session does not suffice: the
/// user of an open browser may not be its owner. Wrong passwords and codes count as at a sign-in.
public struct OwnPassword: Sendable {
    /// The facts about a person's password and second factor that a page shows. No secret is among them.
    public struct Summary: Sendable, Equatable {
        /// The name by which the person knows the account.
        public let username: String
        /// `true` if the person has their own password.
        public let hasPassword: Bool
        /// `true` if the account also needs a code.
        public let hasSecondFactor: Bool
        /// The number of unused recovery codes.
        public let recoveryCodes: Int
        /// The time of the last change of the password or the second factor; `nil` without a password.
        public let unchangedSince: Timestamp?
        /// `true` if letters can be sent to an address that is known to be the person's.
        public let hasMailbox: Bool
    }

    /// The proof that a person shows for a change.
    public struct Proof: Sendable {
        /// The account of the person.
        public let accountID: String
        /// The present password of the account.
        public let password: String
        /// A code, if there is a second factor.
        public let code: String
        /// The browser's network, and the browser's value from an earlier sign-in.
        public let visitor: Visitor

        /// Creates a proof.
        public init(accountID: String, password: String, code: String, visitor: Visitor) {
            self.accountID = accountID
            self.password = password
            self.code = code
            self.visitor = visitor
        }
    }

    /// The judgement of a proof.
    public enum Verdict: Sendable {
        /// The proof is right.
        case right(Proved)
        /// The proof is refused. The reason is for the log alone.
        case refused(PasswordSignIns.Refusal)
    }

    /// A person whose proof was right a moment ago.
    public struct Proved: Sendable {
        let account: AccountRecord
        let shown: ShownPassword
        /// The time of the last change of the password or the second factor.
        public let unchangedSince: Timestamp
    }

    private let accounts: PasswordAccounts

    /// Creates the changes of these accounts' passwords.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// Returns the facts about a person's password and second factor that a page shows: which of them exist, the unused
    /// recovery codes, and the last change. The password and the secrets are not included. A one-time password does not
    /// count as the person's own password. Returns `nil` if there is no such account, or the account is locked.
    ///
    /// Cost: one query.
    public func summary(accountID: String) async throws -> Summary? {
        guard let known = try await self.accounts.store.passwordAccount(id: accountID), !known.account.isLocked else {
            return nil
        }
        return Summary(
            username: known.account.shownName, hasPassword: known.password.map { !$0.isOneTime } ?? false,
            hasSecondFactor: known.totp != nil, recoveryCodes: known.recoveryCodes,
            unchangedSince: known.unchangedSince,
            hasMailbox: self.accounts.sendsMail && known.account.email?.isVerified == true)
    }

    /// Judges a proof, and spends its right code. An account without a password is refused.
    ///
    /// Throws ``AccountError`` `tooManyRequests`, without a judgement, if the source was wrong too often and the
    /// account was not signed in to from there before. Throws `HashingError` if too many attempts wait.
    ///
    /// Cost: one query, one store step for each shown part, one hash, and one more step if all is right. Past the
    /// source's budget another query.
    public func judge(_ proof: Proof) async throws -> Verdict {
        let accounts = self.accounts
        let now = accounts.time.now()
        let isSpent = try await accounts.spendGuess(proof.visitor, accountID: proof.accountID, at: now)
        guard let known = try await accounts.store.passwordAccount(id: proof.accountID), let stored = known.password
        else { return .refused(.noPassword) }
        func refused(_ reason: PasswordSignIns.Refusal, of what: String = "password") -> Verdict {
            accounts.refused.note(reason, of: what, account: proof.accountID, at: now)
            return .refused(reason)
        }
        let shown = ShownPassword(
            accountID: proof.accountID, hash: stored.hash, secondFactorSetAt: known.totp?.setAt)
        let holder = AttemptHolder.password(account: proof.accountID)
        let decision = try await accounts.reserveAttempt(holder, of: proof.visitor, at: now)
        let verdict: PasswordVerdict
        let reason: PasswordSignIns.Refusal
        do {
            (verdict, reason) = try await accounts.verify(
                proof.password, of: known, decision,
                for: HashingTurn(network: proof.visitor.source, account: holder.key), at: now)
        } catch {
            if isSpent { accounts.guesses.refund(proof.visitor.source) }
            throw error
        }
        guard case .right = verdict else { return refused(reason) }
        var code: AcceptedCode?
        if let totp = known.totp {
            guard
                try await accounts.countAttempt(
                    .secondFactor(account: proof.accountID), free: accounts.limits.passwords.secondFactorAttempts,
                    at: now)
            else { return refused(.resting, of: "code") }
            // The pages do not show a replacement: the page of recovery codes makes new ones.
            switch try await accounts.judge(code: proof.code, of: known, by: totp, replacing: false, at: now) {
            case .refused(let reason): return refused(reason, of: "code")
            case .accepted(let accepted): code = accepted
            }
        }
        guard
            try await accounts.store.confirm(
                shown, attempt: decision.attempt, spent: code?.spent, use: code?.use)
        else { return refused(.wrong, of: code == nil ? "password" : "code") }
        if isSpent { accounts.guesses.refund(proof.visitor.source) }
        return .right(Proved(account: known.account, shown: shown, unchangedSince: known.unchangedSince ?? now))
    }

    /// Replaces the shown password by a new password; `false` if the account is locked by now, or its password or
    /// second factor was changed meanwhile.
    ///
    /// The account then knows the browser by the browser's given value, and no other browser. Every session of the
    /// account ends, also the caller's. The person's devices are told, and a letter goes to a confirmed address.
    ///
    /// Throws `PasswordRefusal` for an unacceptable password, and `HashingError`.
    ///
    /// Cost: one hash, one store step.
    public func change(
        to typed: String, by person: Proved, at visitor: Visitor, address: String?
    ) async throws -> Bool {
        let hash = try await self.accounts.newHash(typed: typed, for: visitor.turn(atPasswordOf: person.account.id))
        var change = self.accounts.change(of: person.account, to: hash, shown: person.shown, address: address)
        change.visit = self.accounts.remembered(visitor, at: change.password.setAt)
        return try await self.accounts.store.setPassword(change)
    }

    /// Checks a new password against the rules, before anything is judged or spent.
    ///
    /// Throws `PasswordRefusal`, and `HashingError`.
    public func check(new typed: String, accountID: String, by visitor: Visitor) async throws {
        try await self.accounts.check(
            new: typed, for: visitor.turn(atPasswordOf: accountID))
    }
}

extension PasswordAccount {
    /// The time of the last change of the password or the second factor; `nil` without a password.
    var unchangedSince: Timestamp? {
        self.password.map { password in self.totp.map { max($0.setAt, password.setAt) } ?? password.setAt }
    }
}
