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

    /// A secret that is offered to an account: for its app, and as the page brings it back.
    public struct Offer: Sendable {
        /// The codes of the secret.
        public let totp: TOTP
        /// The secret and its moment, sealed to the account.
        public let sealed: String
    }

    /// Offers a new secret to whoever has shown what the account has now. Nothing is kept of it: the page carries it,
    /// sealed. It counts until the account has another password or another second factor.
    ///
    /// Cost: one query.
    public func offer(accountID: String) async throws -> Offer? {
        guard let row = try await self.row(of: accountID) else { return nil }
        let totp = self.newSecret()
        let moment = UInt64(bitPattern: self.accounts.time.now().milliseconds)
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: moment >> (8 * $0)) } + totp.secret.withBytes { Array($0) }
        let sealed = try self.accounts.sealing.seal(bytes, purpose: .offeredSecret, row: row)
        return Offer(totp: totp, sealed: Base64URL.encode(sealed))
    }

    /// To what an offer is sealed: the account as it was when the person showed its password, and a code of it.
    private func row(of accountID: String) async throws -> String? {
        guard let known = try await self.accounts.store.passwordAccount(id: accountID), !known.account.isLocked,
            let password = known.password
        else { return nil }
        return "\(accountID) \(password.setAt.milliseconds) \(known.totp?.setAt.milliseconds ?? 0)"
    }

    /// The offer that a page brings back; `nil` where it is none of this account's, or does not count any more.
    ///
    /// Cost: one query.
    public func offer(sealed text: String, accountID: String) async throws -> Offer? {
        guard let sealed = Base64URL.decode(text), let row = try await self.row(of: accountID),
            let bytes = try? self.accounts.sealing.open(sealed, purpose: .offeredSecret, row: row),
            bytes.count > 8
        else { return nil }
        let moment = bytes.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let offeredAt = Timestamp(milliseconds: Int64(bitPattern: moment))
        let limits = self.accounts.hashing
        guard self.accounts.time.now() < offeredAt + self.accounts.limits.passwords.secondFactorOfferLifetime,
            let totp = TOTP(
                secret: Array(bytes.dropFirst(8)), algorithm: .sha1, digits: limits.totpDigits,
                periodSeconds: limits.totpPeriodSeconds)
        else { return nil }
        return Offer(totp: totp, sealed: text)
    }

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

extension SealingPurpose {
    /// A secret for time-based codes that is offered, bound to its account.
    fileprivate static let offeredSecret = SealingPurpose("offered time-based codes")
}
