public import Passwords
import Store
import _Primitives

/// What a person is asked for beside the password: a code of an authenticator app, or one of the recovery codes that came
/// with it.
public struct SecondFactors: Sendable {
    private let accounts: PasswordAccounts

    /// The second factors of these accounts.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// A new secret for an authenticator app. Nothing is kept of it until a code of it was right.
    public func newSecret() -> TOTP { TOTP(random: self.accounts.random, limits: self.accounts.hashing) }

    /// Keeps a secret of which the person has typed a code, in place of the one before, and gives the recovery codes, to be
    /// shown once. `nil` where the code is not right, or there is no such account.
    ///
    /// Cost: one store step.
    public func enrol(_ totp: TOTP, code: String, accountID: String) async throws -> [RecoveryCode]? {
        let now = self.accounts.time.now()
        guard let step = totp.acceptedStep(of: code, at: now, after: nil, limits: self.accounts.hashing) else {
            return nil
        }
        // The code that was typed is spent with it.
        let record = TOTPRecord(
            accountID: accountID, secret: totp.secret, algorithm: totp.algorithm.rawValue, digits: totp.digits,
            periodSeconds: totp.periodSeconds, setAt: now, lastStep: step)
        let codes = self.newCodes()
        let isSet = try await self.accounts.store.setSecondFactor(
            record, recoveryCodes: self.digests(of: codes, accountID),
            audit: AuditEvent(.secondFactorSet, at: now, accountID: accountID))
        return isSet ? codes : nil
    }

    /// Gives new recovery codes in place of those before, to be shown once. `nil` where there is no second factor.
    ///
    /// Cost: one store step.
    public func renewRecoveryCodes(accountID: String) async throws -> [RecoveryCode]? {
        let codes = self.newCodes()
        let isSet = try await self.accounts.store.setRecoveryCodes(
            self.digests(of: codes, accountID), accountID: accountID,
            audit: AuditEvent(.recoveryCodesSet, at: self.accounts.time.now(), accountID: accountID))
        return isSet ? codes : nil
    }

    private func newCodes() -> [RecoveryCode] {
        RecoveryCode.set(random: self.accounts.random, limits: self.accounts.hashing)
    }

    private func digests(of codes: [RecoveryCode], _ accountID: String) -> [[UInt8]] {
        codes.map { self.accounts.digest(of: $0, accountID: accountID) }
    }
}
