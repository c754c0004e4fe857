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

    /// Judges a text that is typed as a code of an account: as a time-based code, or as a recovery code. Only the store
    /// finds out if the account has such a recovery code. An attempt at a recovery code is counted durably before.
    ///
    /// - Parameter replacing: `true` if a new recovery code takes the place of the spent code. The caller must show the
    ///   new code.
    ///
    /// Cost: for a text in the form of a recovery code, one store step and one query.
    func judge(
        code typed: String, of known: PasswordAccount, by kept: TOTPRecord, replacing: Bool, at now: Timestamp
    ) async throws -> JudgedCode {
        let limits = self.hashing
        if let totp = TOTP(kept), let step = totp.acceptedStep(of: typed, at: now, after: kept.lastStep, limits: limits)
        {
            return .accepted(AcceptedCode(spent: .totp(step: step), factor: .totp, use: nil, replacement: nil))
        }
        guard let code = RecoveryCode(typed: typed, limits: limits) else { return .refused(.wrong) }
        let account = known.account
        guard
            try await self.countAttempt(
                .recoveryCode(account: account.id), free: self.limits.passwords.recoveryCodeAttempts, at: now)
        else { return .refused(.resting) }
        let replacement = replacing ? RecoveryCode(random: self.random, limits: limits) : nil
        let audit = AuditEvent(
            .recoveryCodeSpent, at: now, accountID: account.id,
            detail: replacing ? "replaced" : "\(known.recoveryCodes - 1) left")
        return .accepted(
            AcceptedCode(
                spent: .recoveryCode(
                    self.digest(of: code, accountID: account.id),
                    replacement: replacement.map { self.digest(of: $0, accountID: account.id) }),
                factor: .recoveryCode,
                use: RecoveryCodeUse(
                    audit: audit, notice: self.notice(.recoveryCodeUsed, of: account, at: now),
                    mails: try await self.letters(.recoveryCodeUsed, toAllAddressesOf: account, at: now)),
                replacement: replacement))
    }
}

/// The judgement of a typed code.
enum JudgedCode: Sendable {
    /// The code is right, as far as the store is not asked.
    case accepted(AcceptedCode)
    /// The code is wrong, or recovery codes rest.
    case refused(PasswordSignIns.Refusal)
}

/// A typed code that is right, as far as the store is not asked.
struct AcceptedCode: Sendable {
    /// The code, for the step that spends it.
    let spent: PasswordSignInStep.Spent
    /// The kind of the code.
    let factor: PasswordSignInRecord.SecondFactor
    /// The event and the messages about a recovery code; `nil` for a time-based code.
    let use: RecoveryCodeUse?
    /// The code in place of a spent recovery code; `nil` for none.
    let replacement: RecoveryCode?
}
