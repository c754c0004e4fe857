package import _Primitives

/// The present values of an account that decide about a proof of its password.
package struct PasswordStanding: Sendable, Equatable {
    /// `true` if the account is locked.
    package let isLocked: Bool
    /// `true` if the account has a password.
    package let hasPassword: Bool
    /// The hash of the account's password; `nil` without a password, and if the step compares no hash.
    package let hash: String?
    /// The moment when the secret of the account's time-based codes was set; `nil` without a secret.
    package let secondFactorSetAt: Timestamp?

    /// Makes a standing of these values.
    package init(isLocked: Bool, hasPassword: Bool, hash: String?, secondFactorSetAt: Timestamp?) {
        self.isLocked = isLocked
        self.hasPassword = hasPassword
        self.hash = hash
        self.secondFactorSetAt = secondFactorSetAt
    }

    /// `true` if a sign-in by the password needs a code as well.
    var needsCode: Bool { self.secondFactorSetAt != nil }

    /// `true` if a mailed link of the account may be spent: the account is not locked and has a password. A link never
    /// gives a password to an account that signs in without one.
    var takesLink: Bool { !self.isLocked && self.hasPassword }
}

extension ShownPassword {
    /// Returns `true` if the account is not locked, and still has the password and the second factor that were shown.
    ///
    /// - Parameter standing: `nil` if the account is gone.
    func holds(in standing: PasswordStanding?) -> Bool {
        guard let standing, !standing.isLocked, let hash = standing.hash, hash.hasSameBytes(as: self.hash) else {
            return false
        }
        return standing.secondFactorSetAt == self.secondFactorSetAt
    }

    /// Returns `true` if the shown values still hold, and a code was shown exactly if the account has a second factor.
    func isProof(with code: PasswordSignInStep.Spent?, in standing: PasswordStanding?) -> Bool {
        self.holds(in: standing) && (self.secondFactorSetAt != nil) == (code != nil)
    }
}

extension PasswordChange {
    /// Returns `true` if every condition of the change holds, except that the code is still to be spent.
    ///
    /// An operator's change needs nothing but the account.
    ///
    /// - Parameters:
    ///   - standing: The account's present values; `nil` if the account is gone.
    ///   - linked: The account of the mailed link; `nil` if the link is spent or its time is over.
    func isAllowed(in standing: PasswordStanding?, linked: String?) -> Bool {
        guard let standing else { return false }
        if let shown = self.shown, !shown.holds(in: standing) { return false }
        guard self.link != nil else { return true }
        return standing.takesLink && linked?.hasSameBytes(as: self.password.accountID) == true
            && standing.needsCode == (self.spent != nil)
    }
}

extension FactorChange {
    /// Returns `true` if every condition of the change holds: the account exists, the shown values are still the
    /// account's, and recovery codes alone have a secret to go with.
    func isAllowed(in standing: PasswordStanding?) -> Bool {
        guard let standing else { return false }
        if let shown = self.shown, !shown.holds(in: standing) { return false }
        return self.totp != nil || standing.needsCode
    }
}

/// The stored state that a step of a sign-in by password relies on.
package struct PasswordSignInScene: Sendable, Equatable {
    /// `true` if the authorization request exists.
    package let hasRequest: Bool
    /// The account's present values; `nil` if the account is gone.
    package let account: PasswordStanding?
    /// The stored sign-in of the request; `nil` without a sign-in, and for a step that begins a sign-in.
    package let stored: PasswordSignInRecord?

    /// Makes a scene of these values.
    package init(hasRequest: Bool, account: PasswordStanding?, stored: PasswordSignInRecord?) {
        self.hasRequest = hasRequest
        self.account = account
        self.stored = stored
    }
}

extension PasswordSignInStep {
    /// Returns `true` if the state that the step relies on still exists, except that the code is still to be spent.
    func stands(in scene: PasswordSignInScene) -> Bool {
        guard scene.hasRequest, let account = scene.account, !account.isLocked else { return false }
        // A second factor can have been set since the account was read.
        guard account.needsCode == (self.record.needsSecondFactor || self.record.secondFactor != nil) else {
            return false
        }
        if let previous = self.previous, scene.stored != previous { return false }
        guard let verified = self.verifiedHash else { return true }
        return account.hash?.hasSameBytes(as: verified) == true
    }
}

extension PasswordSignInRecord.SecondFactor {
    /// Reads the stored word of a second factor. Throws ``StoreError/Code/corrupt`` for any other word.
    package init(stored word: String) throws {
        guard let factor = Self(rawValue: word) else {
            throw StoreError(.corrupt, "what was shown beside a password")
        }
        self = factor
    }
}
