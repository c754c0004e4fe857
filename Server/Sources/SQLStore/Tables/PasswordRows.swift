import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// A password's hash, bound to its account.
    static let passwordHash = SealingPurpose("password hash")
}

private enum PasswordColumn: Int, TableColumn {
    static let table = "password"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case accountID, hash, setAt, isOneTime
}

/// The rows of passwords.
struct PasswordRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the data of an account for its password.
    func passwordAccount(_ account: AccountRecord, _ sealing: Sealing) throws -> PasswordAccount {
        let id = account.id
        let password = try self.db.row(
            .composed("SELECT \(PasswordColumn.selection) FROM password WHERE account_id = ?"), [id]
        ).map {
            row in
            PasswordRecord(
                accountID: id,
                hash: try sealing.openText(row.bytes(PasswordColumn.hash), purpose: .passwordHash, row: id),
                setAt: try row.moment(PasswordColumn.setAt), isOneTime: try row.flag(PasswordColumn.isOneTime))
        }
        let totp = try self.db.row(.composed("SELECT \(TOTPColumn.selection) FROM totp WHERE account_id = ?"), [id]).map
        {
            row in
            TOTPRecord(
                accountID: id,
                secret: SecretBytes(try sealing.open(row.bytes(TOTPColumn.secret), purpose: .totpSecret, row: id)),
                algorithm: try row.text(TOTPColumn.algorithm), digits: try row.integer(TOTPColumn.digits),
                periodSeconds: try row.integer(TOTPColumn.periodSeconds), setAt: try row.moment(TOTPColumn.setAt),
                lastStep: try row.optionalInteger(TOTPColumn.lastStep))
        }
        let codes = try self.db.number("SELECT count(*) FROM recovery_code WHERE account_id = ?", [id])
        return PasswordAccount(account: account, password: password, totp: totp, recoveryCodes: codes ?? 0)
    }

    /// Returns the present values of an account that decide about a proof of its password; `nil` if the account does
    /// not exist.
    ///
    /// - Parameter opensHash: `true` if the step compares the hash. A hash that no step compares stays sealed, so that
    ///   an operator can replace a damaged hash.
    func passwordStanding(of id: String, opensHash: Bool = false, _ sealing: Sealing) throws -> PasswordStanding? {
        try self.db.row(
            """
            SELECT account.is_locked AS is_locked, password.account_id IS NOT NULL AS has_password,
                CASE WHEN ?2 = 1 THEN password.hash END AS hash, totp.set_at AS factor_set_at
            FROM account LEFT JOIN password ON password.account_id = account.id
            LEFT JOIN totp ON totp.account_id = account.id WHERE account.id = ?1
            """, [id, opensHash]
        ).map { row in
            PasswordStanding(
                isLocked: try row.flag("is_locked"), hasPassword: try row.flag("has_password"),
                hash: try row.optionalBytes("hash").map {
                    try sealing.openText($0, purpose: .passwordHash, row: id)
                },
                secondFactorSetAt: try row.optionalMoment("factor_set_at"))
        }
    }

    /// Replaces the account's password. All links that were mailed to the account become invalid, except for questions
    /// about changes.
    func replacePassword(_ password: PasswordRecord, _ sealing: Sealing) throws {
        try self.db.run(
            "DELETE FROM password WHERE account_id = ?",
            [
                password.accountID
            ])
        try MailedLinkRows(self.db).deleteMailedLinks(ofAccount: password.accountID)
        let hash = try sealing.seal(password.hash, purpose: .passwordHash, row: password.accountID)
        try self.db.insert(
            [
                PasswordColumn.accountID: password.accountID, .hash: hash, .setAt: password.setAt.milliseconds,
                .isOneTime: password.isOneTime,
            ], by: PasswordColumn.insertion)
    }
}
