public import Passwords
import Records
import Sealing
import Settings
import _Primitives

/// The second factor beside the password: a code of an authenticator app, or one of the account's recovery codes.
public struct SecondFactors: Sendable {
    private let accounts: PasswordAccounts

    /// Creates the second factors of these accounts.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// A secret that is offered to an account, for the person's app and for the page.
    public struct Offer: Sendable {
        /// The codes of the secret.
        public let totp: TOTP
        /// The secret and the time of the offer, sealed to the account's present password and second factor.
        public let sealed: String
        let person: OwnPassword.Proved
    }

    /// Offers a new secret to a person who has shown the account's present password. The server keeps nothing of the
    /// offer: the page carries the sealed secret. The offer is valid for
    /// ``Limits/PasswordAccounts/secondFactorOfferLifetime``, and ends when the account has another password or another
    /// second factor.
    public func offer(to person: OwnPassword.Proved) throws -> Offer {
        let totp = TOTP(random: self.accounts.random, limits: self.accounts.hashing)
        let moment = UInt64(bitPattern: self.accounts.time.now().milliseconds)
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: moment >> (8 * $0)) } + totp.secret.withBytes { Array($0) }
        let sealed = try self.accounts.sealing.sealPassing(
            bytes, purpose: .offeredSecret, label: Self.row(of: person.shown))
        return Offer(totp: totp, sealed: Base64URL.encode(sealed), person: person)
    }

    /// Returns the label for the seal of an offer: the account with its password hash and second factor at the time of
    /// the proof.
    private static func row(of shown: ShownPassword) -> String {
        "\(shown.accountID) \(shown.secondFactorSetAt?.milliseconds ?? 0) \(shown.hash)"
    }

    /// Returns the offer that a page brings back; `nil` if the offer belongs to another account, or is no longer valid.
    ///
    /// Cost: one query.
    public func offer(sealed text: String, accountID: String) async throws -> Offer? {
        guard let sealed = Base64URL.decode(text),
            let known = try await self.accounts.store.passwordAccount(id: accountID), !known.account.isLocked,
            let password = known.password
        else { return nil }
        let shown = ShownPassword(
            accountID: accountID, hash: password.hash, secondFactorSetAt: known.totp?.setAt)
        guard
            let bytes = self.accounts.sealing.openPassing(
                sealed, purpose: .offeredSecret, label: Self.row(of: shown)),
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
        return Offer(
            totp: totp, sealed: text,
            person: OwnPassword.Proved(
                account: known.account, shown: shown, unchangedSince: known.unchangedSince ?? offeredAt))
    }

    /// Stores the secret of an offer in place of the earlier secret, after the person has typed a code of the secret.
    /// Returns the recovery codes, which are shown once. `nil` if the code is wrong, or the account has changed since
    /// its password was shown.
    ///
    /// The person is told. Everything that the account has authenticated in other sessions than `session` ends, because
    /// an attacker with the password alone may have begun another session. Without `session` everything ends.
    ///
    /// Cost: one store step.
    public func enrol(_ offer: Offer, code: String, session: String?) async throws -> [RecoveryCode]? {
        let now = self.accounts.time.now()
        let totp = offer.totp
        guard let step = totp.acceptedStep(of: code, at: now, after: nil, limits: self.accounts.hashing) else {
            return nil
        }
        // Storing the secret also spends the typed code.
        let record = TOTPRecord(
            accountID: offer.person.account.id, secret: totp.secret, algorithm: totp.algorithm.rawValue,
            digits: totp.digits, periodSeconds: totp.periodSeconds, setAt: now, lastStep: step)
        return try await self.set(record, .secondFactorSet, of: offer.person, session: session, at: now)
    }

    /// Makes new recovery codes in place of the earlier codes. The new codes are shown once, and the person is told.
    /// `nil` if there is no second factor, or the account has changed since its password was shown.
    ///
    /// Cost: one store step.
    public func renewRecoveryCodes(of person: OwnPassword.Proved) async throws -> [RecoveryCode]? {
        try await self.set(nil, .recoveryCodesSet, of: person, at: self.accounts.time.now())
    }

    private func set(
        _ totp: TOTPRecord?, _ event: AuditEvent.Kind, of person: OwnPassword.Proved, session: String? = nil,
        at now: Timestamp
    ) async throws -> [RecoveryCode]? {
        let id = person.account.id
        let codes = RecoveryCode.set(random: self.accounts.random, limits: self.accounts.hashing)
        let made = self.accounts.accountChange(
            totp == nil ? .recoveryCodes : .secondFactor, of: person.account, at: now)
        let isSet = try await self.accounts.store.setFactors(
            FactorChange(
                accountID: id, totp: totp,
                recoveryCodes: codes.map { self.accounts.digest(of: $0, accountID: id) }, shown: person.shown,
                session: session,
                audit: AuditEvent(event, at: now, accountID: id),
                notice: self.accounts.notice(.secondFactorChanged, of: person.account, at: now),
                mail: self.accounts.told(.secondFactorChanged, of: person.account, made), accountChange: made))
        return isSet ? codes : nil
    }
}

extension SealingPurpose {
    /// An offered secret for time-based codes, bound to its account.
    fileprivate static let offeredSecret = SealingPurpose("offered time-based codes")
}
