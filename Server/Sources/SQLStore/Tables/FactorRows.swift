import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The secret of time-based codes, bound to its account.
    static let totpSecret = SealingPurpose("time-based codes")
}

enum TOTPColumn: Int, TableColumn {
    static let table = "totp"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case accountID, secret, algorithm, digits, periodSeconds, setAt, lastStep
}

/// The rows of second factors: secrets for time-based codes, and recovery codes.
struct FactorRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Spends a code, if a step shows a code. Returns `false` if the code is spent already or does not exist.
    func spend(_ spent: PasswordSignInStep.Spent?, accountID: String) throws -> Bool {
        switch spent {
        case nil: return true
        case .totp(let number)?:
            try self.db.run(
                """
                UPDATE totp SET last_step = ?2 WHERE account_id = ?1 AND (last_step IS NULL OR last_step < ?2)
                """, [accountID, number])
        case .recoveryCode(let code, nil)?:
            try self.db.run("DELETE FROM recovery_code WHERE account_id = ? AND code = ?", [accountID, code])
        case .recoveryCode(let code, let replacement?)?:
            try self.db.run(
                "UPDATE recovery_code SET code = ?3 WHERE account_id = ?1 AND code = ?2",
                [accountID, code, replacement])
        }
        return self.db.changesCount == 1
    }

    /// Replaces the account's secret for time-based codes. The recovery codes are deleted with the former secret, and
    /// so are unfinished sign-ins by password and wrong attempts at the second factor.
    func replace(_ totp: TOTPRecord, _ sealing: Sealing) throws {
        try self.db.run("DELETE FROM totp WHERE account_id = ?", [totp.accountID])
        let secret = try totp.secret.withBytes {
            try sealing.seal($0, purpose: .totpSecret, row: totp.accountID)
        }
        try self.db.insert(
            [
                TOTPColumn.accountID: totp.accountID, .secret: secret, .algorithm: totp.algorithm,
                .digits: totp.digits, .periodSeconds: totp.periodSeconds, .setAt: totp.setAt.milliseconds,
                .lastStep: totp.lastStep,
            ], by: TOTPColumn.insertion)
        // A password that was shown alone before is not enough any more.
        try PasswordSignInRows(self.db).forget(account: totp.accountID)
        try FinishedSignInRows(self.db).forget(account: totp.accountID, method: AuthenticationRecord.passwordMethod)
        try AttemptRows(self.db).forgetAttempts(.secondFactor(account: totp.accountID))
    }

    func insert(recoveryCodes codes: [[UInt8]], accountID: String) throws {
        for code in codes {
            try self.db.run("INSERT INTO recovery_code (account_id, code) VALUES (?, ?)", [accountID, code])
        }
    }
}
