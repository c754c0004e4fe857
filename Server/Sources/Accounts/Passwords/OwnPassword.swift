import Passwords
import Store
public import _Primitives

/// What people change of their own passwords, and of what is asked for beside them.
///
/// Each change asks for the password anew, and for a code where there is a second factor, whatever session the browser has:
/// an open browser is not its owner. Wrong ones count as at a sign-in.
public struct OwnPassword: Sendable {
    /// What a person has.
    public struct Summary: Sendable, Equatable {
        /// The user name.
        public let username: String
        /// Whether there is a password of their own.
        public let hasPassword: Bool
        /// Whether a code is asked for beside it.
        public let hasSecondFactor: Bool
        /// How many recovery codes are left.
        public let recoveryCodes: Int
        /// The moment since which the password and the second factor are what they are; `nil` without a password.
        public let unchangedSince: Timestamp?
        /// `true` if letters can be sent to an address that is known to be the person's.
        public let hasMailbox: Bool
    }

    /// What a person shows to be let at a change.
    public struct Proof: Sendable {
        /// Whose it is.
        public let accountID: String
        /// The password that the account has now.
        public let password: String
        /// A code, where there is a second factor.
        public let code: String
        /// The browser's network, and what the browser is known by.
        public let visitor: Visitor

        /// A proof of these values.
        public init(accountID: String, password: String, code: String, visitor: Visitor) {
            self.accountID = accountID
            self.password = password
            self.code = code
            self.visitor = visitor
        }
    }

    /// What became of a proof.
    public enum Verdict: Sendable {
        /// It was right.
        case right(Proved)
        /// It was not: the reason is for the log alone.
        case refused(PasswordSignIns.Refusal)
    }

    /// A person whose proof was right a moment ago.
    public struct Proved: Sendable {
        let account: AccountRecord
        let shown: ShownPassword
        /// The moment since which the password and the second factor are what they are.
        public let unchangedSince: Timestamp
    }

    private let accounts: PasswordAccounts

    /// The passwords of these accounts.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// What a person has; `nil` where there is no such account, or it is locked.
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

    /// Judges a proof, and spends its code.
    ///
    /// Throws as ``PasswordSignIns/attempt(username:password:at:)``.
    ///
    /// Cost: one query, one store step for each thing that is shown, one hash, and a step where all is right.
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
        var spent: PasswordSignInStep.Spent?
        if let totp = known.totp {
            guard
                try await accounts.countAttempt(
                    .secondFactor(account: proof.accountID), free: accounts.limits.passwords.secondFactorAttempts,
                    at: now)
            else { return refused(.resting, of: "code") }
            guard let found = accounts.spent(proof.code, by: totp, at: now) else { return refused(.wrong, of: "code") }
            spent = found.spent
        }
        guard
            try await accounts.store.confirm(
                shown, attempt: decision.attempt, spent: spent,
                audit: spent.flatMap { accounts.event(of: $0, known, at: now) })
        else { return refused(.wrong, of: spent == nil ? "password" : "code") }
        if isSpent { accounts.guesses.refund(proof.visitor.source) }
        return .right(Proved(account: known.account, shown: shown, unchangedSince: known.unchangedSince ?? now))
    }

    /// Takes a new password in place of the one that was shown. The account knows the browser by what it is given. Every session of the account ends, and the person's devices
    /// are told. `false` where the account is locked by now, or has another password: somebody else was faster.
    ///
    /// Throws `PasswordRefusal` for one that cannot be chosen, and `HashingError`.
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

    /// Holds a new password against what it must be, before anything is judged or spent for it.
    ///
    /// Throws `PasswordRefusal`, and `HashingError`.
    public func check(new typed: String, accountID: String, by visitor: Visitor) async throws {
        try await self.accounts.check(
            new: typed, for: visitor.turn(atPasswordOf: accountID))
    }
}

extension PasswordAccount {
    /// The moment since which the password and the second factor are what they are; `nil` without a password.
    var unchangedSince: Timestamp? {
        self.password.map { password in self.totp.map { max($0.setAt, password.setAt) } ?? password.setAt }
    }
}
