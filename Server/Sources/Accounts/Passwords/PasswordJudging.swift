import Passwords
import Records
import Settings
import _Primitives

/// The common judgement of passwords and codes, for all places that ask for them.
extension PasswordAccounts {
    /// Returns the hash for the judgement, `nil` if no password may match, and the reason of the refusal if the
    /// password does not match or the hash is `nil`.
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

    /// Returns the step of the time-based code, or the digest of the recovery code, that a typed text spends. `nil` if
    /// the text is neither a valid time-based code nor in the form of a recovery code. Only the store finds out if the
    /// account has such a recovery code.
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

    /// Returns the trail's entry for a spent recovery code; `nil` for a time-based code.
    func event(of spent: PasswordSignInStep.Spent, _ known: PasswordAccount, at now: Timestamp) -> AuditEvent? {
        guard case .recoveryCode = spent else { return nil }
        return AuditEvent(
            .recoveryCodeSpent, at: now, accountID: known.account.id, detail: "\(known.recoveryCodes - 1) left")
    }
}
