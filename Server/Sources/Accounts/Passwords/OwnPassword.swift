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
        /// Who is counted (a network).
        public let source: String

        /// A proof of these values.
        public init(accountID: String, password: String, code: String, source: String) {
            self.accountID = accountID
            self.password = password
            self.code = code
            self.source = source
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
        try AccountError.throwShortage(accounts.guesses.spend(proof.source, at: now))
        guard let known = try await accounts.store.passwordAccount(id: proof.accountID), let stored = known.password
        else { return .refused(.noPassword) }
        let shown = ShownPassword(
            accountID: proof.accountID, hash: stored.hash, secondFactorSetAt: known.totp?.setAt)
        let holder = AttemptHolder.password(account: proof.accountID)
        let isCounted = try await accounts.countAttempt(
            holder, free: accounts.limits.passwords.passwordAttempts, at: now)
        let (hash, reason) = accounts.hash(of: known, isCounted: isCounted, at: now)
        let password = try? Password(typed: proof.password, limits: accounts.hashing)
        let verdict: PasswordVerdict
        do { verdict = try await accounts.pool.verify(password, against: hash) } catch {
            accounts.guesses.refund(proof.source)
            if isCounted { try await accounts.giveBackAttempt(holder) }
            throw error
        }
        guard case .right = verdict else { return .refused(reason) }
        var spent: PasswordSignInStep.Spent?
        if let totp = known.totp {
            guard
                try await accounts.countAttempt(
                    .secondFactor(account: proof.accountID), free: accounts.limits.passwords.secondFactorAttempts,
                    at: now)
            else { return .refused(.resting) }
            guard let found = accounts.spent(proof.code, by: totp, at: now) else { return .refused(.wrong) }
            spent = found.spent
        }
        guard
            try await accounts.store.confirm(
                shown, spent: spent, audit: spent.flatMap { accounts.event(of: $0, known, at: now) })
        else { return .refused(.wrong) }
        accounts.guesses.refund(proof.source)
        return .right(Proved(account: known.account, shown: shown, unchangedSince: known.unchangedSince ?? now))
    }

    /// Takes a new password in place of the one that was shown. Every session of the account ends, and the person's devices
    /// are told. `false` where the account is locked by now, or has another password: somebody else was faster.
    ///
    /// Throws `PasswordRefusal` for one that cannot be chosen, and `HashingError`.
    ///
    /// Cost: one hash, one store step.
    public func change(to typed: String, by person: Proved, address: String?) async throws -> Bool {
        let hash = try await self.accounts.newHash(typed: typed)
        return try await self.accounts.store.setPassword(
            self.accounts.change(of: person.account, to: hash, shown: person.shown, address: address))
    }

    /// Holds a new password against what it must be, before anything is judged or spent for it.
    ///
    /// Throws `PasswordRefusal`, and `HashingError`.
    public func check(new typed: String) async throws {
        try await self.accounts.check(new: typed)
    }
}

extension PasswordAccount {
    /// The moment since which the password and the second factor are what they are; `nil` without a password.
    var unchangedSince: Timestamp? {
        self.password.map { password in self.totp.map { max($0.setAt, password.setAt) } ?? password.setAt }
    }
}
