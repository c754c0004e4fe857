import Passwords
import Store
import _Primitives

/// What is judged of a password, and of a code beside it, wherever somebody shows them.
extension PasswordAccounts {
    /// The hash that is judged, and why it is refused where it does not match or there is none.
    func hash(of known: PasswordAccount?, _ decision: AttemptDecision, at now: Timestamp) -> (
        PasswordHash?, PasswordSignIns.Refusal
    ) {
        guard let known else { return (nil, .unknownName) }
        switch decision {
        case .reserved: break
        case .resting: return (nil, .resting)
        case .spent: return (nil, .spent)
        }
        guard !known.account.isLocked else { return (nil, .locked) }
        guard let password = known.password else { return (nil, .noPassword) }
        guard !password.isOneTime || now < password.setAt + self.limits.passwords.oneTimePasswordLifetime
        else {
            return (nil, .oneTimeOver)
        }
        guard let hash = try? PasswordHash(parsing: password.hash, limits: self.hashing) else {
            return (nil, .unreadableHash)
        }
        return (hash, .wrong)
    }

    /// What a typed code spends; `nil` where it is neither a time-based code nor could be a recovery code. Whether there is
    /// such a recovery code the store says, which takes it away.
    func spent(
        _ typed: String, by kept: TOTPRecord, at now: Timestamp
    ) -> (spent: PasswordSignInStep.Spent, factor: PasswordSignInRecord.SecondFactor)? {
        let limits = self.hashing
        if let totp = TOTP(kept), let step = totp.acceptedStep(of: typed, at: now, after: kept.lastStep, limits: limits)
        {
            return (.totp(step: step), .totp)
        }
        guard let code = RecoveryCode(typed: typed, limits: limits) else { return nil }
        return (.recoveryCode(self.digest(of: code, accountID: kept.accountID)), .recoveryCode)
    }

    /// What the trail says of a code that is spent.
    func event(of spent: PasswordSignInStep.Spent, _ known: PasswordAccount, at now: Timestamp) -> AuditEvent? {
        guard case .recoveryCode = spent else { return nil }
        return AuditEvent(
            .recoveryCodeSpent, at: now, accountID: known.account.id, detail: "\(known.recoveryCodes - 1) left")
    }
}
