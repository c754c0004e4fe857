public import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// A password's hash, bound to its account.
    static let passwordHash = SealingPurpose("password hash")
    /// The secret of time-based codes, bound to its account.
    static let totpSecret = SealingPurpose("time-based codes")
}

private enum PasswordColumn: Int, TableColumn {
    static let table = "password"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case accountID, hash, setAt, isOneTime
}

private enum TOTPColumn: Int, TableColumn {
    static let table = "totp"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case accountID, secret, algorithm, digits, periodSeconds, setAt, lastStep
}

extension SQLStore {
    public func passwordAccount(username: AccountName) async throws -> PasswordAccount? {
        try await self.read { [sealing] db in
            try db.account(username: username, sealing).map { try db.passwordAccount($0, sealing) }
        }
    }

    public func passwordAccount(id: String) async throws -> PasswordAccount? {
        try await self.read { [sealing] db in
            try db.account(id: id, sealing).map { try db.passwordAccount($0, sealing) }
        }
    }

    public func setPassword(_ change: PasswordChange) async throws -> Bool {
        try await self.step(
            Step(
                "password.set", guards: [.exclusive(.account, id: change.password.accountID)],
                isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try db.passwordStanding(
                of: change.password.accountID, opensHash: change.shown != nil, sealing)
            let link = try change.link.flatMap {
                try db.mailedLink(digest: $0, purpose: .passwordReset, at: change.audit.at)
            }
            return try db.carryOut(change.plan(in: standing, linked: link?.accountID), sealing)
        }
    }

    public func removePassword(accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("password.remove", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try db.passwordStanding(of: accountID, sealing)
            return try db.carryOut(.removingPassword(of: accountID, in: standing, audit: audit), sealing)
        }
    }

    public func setFactors(_ change: FactorChange) async throws -> Bool {
        try await self.step(
            Step("second-factor.set", guards: [.exclusive(.account, id: change.accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try db.passwordStanding(
                of: change.accountID, opensHash: change.shown != nil, sealing)
            return try db.carryOut(change.plan(in: standing), sealing)
        }
    }

    public func removeSecondFactor(accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("second-factor.remove", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            let standing = try db.passwordStanding(of: accountID, sealing)
            return try db.carryOut(.removingSecondFactor(of: accountID, in: standing, audit: audit), sealing)
        }
    }
}

extension SQLConnection {
    /// Returns the data of an account for its password.
    fileprivate func passwordAccount(_ account: AccountRecord, _ sealing: Sealing) throws -> PasswordAccount {
        let id = account.id
        let password = try self.row(
            .composed("SELECT \(PasswordColumn.selection) FROM password WHERE account_id = ?"), [id]
        ).map {
            row in
            PasswordRecord(
                accountID: id,
                hash: try sealing.openText(row.bytes(PasswordColumn.hash), purpose: .passwordHash, row: id),
                setAt: try row.moment(PasswordColumn.setAt), isOneTime: try row.flag(PasswordColumn.isOneTime))
        }
        let totp = try self.row(.composed("SELECT \(TOTPColumn.selection) FROM totp WHERE account_id = ?"), [id]).map {
            row in
            TOTPRecord(
                accountID: id,
                secret: SecretBytes(try sealing.open(row.bytes(TOTPColumn.secret), purpose: .totpSecret, row: id)),
                algorithm: try row.text(TOTPColumn.algorithm), digits: try row.integer(TOTPColumn.digits),
                periodSeconds: try row.integer(TOTPColumn.periodSeconds), setAt: try row.moment(TOTPColumn.setAt),
                lastStep: try row.optionalInteger(TOTPColumn.lastStep))
        }
        let codes = try self.number("SELECT count(*) FROM recovery_code WHERE account_id = ?", [id])
        return PasswordAccount(account: account, password: password, totp: totp, recoveryCodes: codes ?? 0)
    }

    /// Replaces the account's secret for time-based codes. The recovery codes are deleted with the former secret, and
    /// so are unfinished sign-ins by password and wrong attempts at the second factor.
    fileprivate func replace(_ totp: TOTPRecord, _ sealing: Sealing) throws {
        try self.run("DELETE FROM totp WHERE account_id = ?", [totp.accountID])
        let secret = try totp.secret.withBytes {
            try sealing.seal($0, purpose: .totpSecret, row: totp.accountID)
        }
        try self.insert(
            [
                TOTPColumn.accountID: totp.accountID, .secret: secret, .algorithm: totp.algorithm,
                .digits: totp.digits, .periodSeconds: totp.periodSeconds, .setAt: totp.setAt.milliseconds,
                .lastStep: totp.lastStep,
            ], by: TOTPColumn.insertion)
        // A password that was shown alone before is not enough any more.
        try self.run("DELETE FROM password_sign_in WHERE account_id = ?", [totp.accountID])
        try self.forgetAttempts(.secondFactor(account: totp.accountID))
    }

    /// Returns the present values of an account that decide about a proof of its password; `nil` if the account does
    /// not exist.
    ///
    /// - Parameter opensHash: `true` if the step compares the hash. A hash that no step compares stays sealed, so that
    ///   an operator can replace a damaged hash.
    func passwordStanding(of id: String, opensHash: Bool = false, _ sealing: Sealing) throws -> PasswordStanding? {
        try self.row(
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

    /// Carries out the plan of a step about an account's password. Returns `false`, and changes nothing, if a condition
    /// has refused the step, or the plan's code is spent already or does not exist.
    func carryOut(_ plan: PasswordPlan?, _ sealing: Sealing) throws -> Bool {
        guard let plan, try self.spend(plan.spent, accountID: plan.account) else { return false }
        for write in plan.writes { try self.carryOut(write, accountID: plan.account, sealing) }
        return true
    }

    private func carryOut(_ write: PasswordWrite, accountID: String, _ sealing: Sealing) throws {
        switch write {
        case .replacePassword(let password): try self.replacePassword(password, sealing)
        case .replaceHash(let hash):
            let sealed = try sealing.seal(hash, purpose: .passwordHash, row: accountID)
            try self.run("UPDATE password SET hash = ? WHERE account_id = ?", [sealed, accountID])
        case .removePassword:
            try self.run("DELETE FROM password WHERE account_id = ?", [accountID])
        case .replaceSecret(let totp): try self.replace(totp, sealing)
        case .removeSecret:
            try self.run("DELETE FROM totp WHERE account_id = ?", [accountID])
        case .endRecoveryCodes:
            try self.run("DELETE FROM recovery_code WHERE account_id = ?", [accountID])
        case .addRecoveryCodes(let codes): try self.insert(recoveryCodes: codes, accountID: accountID)
        case .forgetAttempts(let holder): try self.forgetAttempts(holder)
        case .forgetAllAttempts: try self.forgetAllAttempts(atPasswordOf: accountID)
        case .forgetWrong(let digest): try self.forgetWrong(ofBrowser: digest)
        case .giveBackDay(let attempt): try self.giveBackDay(of: attempt)
        case .spendLink(let digest):
            try self.run("DELETE FROM mailed_link WHERE digest = ?", [digest])
        case .forgetKnown: try self.forgetKnown(ofAccount: accountID)
        case .forgetBrowser(let digest): try self.forgetBrowser(digest, ofAccount: accountID)
        case .knowBrowser(let digest, let moment):
            try self.knowBrowser(digest, at: moment, accountID: accountID)
        case .knowNetwork(let network, let moment):
            try self.knowNetwork(network, at: moment, accountID: accountID, sealing)
        case .keepRecent(let most): try self.keepRecent(most, ofAccount: accountID)
        case .removeLinks(let moment): try self.removeLinks(ofAccount: accountID, at: moment, sealing)
        case .endAuthentications(let moment): try self.deleteAuthentications(of: .account(accountID), at: moment)
        case .endOtherAuthentications(let session, let moment):
            try self.deleteAuthentications(of: .accountBeside(accountID, session: session), at: moment)
        case .replaceSignIn(let record): try self.replace(record, sealing)
        case .audit(let event): try self.appendAudit(event, sealing)
        case .notice(let notice): try self.insertNotice(notice, sealing)
        case .keepChange(let change): try self.insert(change, sealing)
        case .mail(let letter): try self.leaveMail(letter)
        }
    }

    /// Replaces the account's password. All links that were mailed to the account become invalid, except for questions
    /// about changes.
    func replacePassword(_ password: PasswordRecord, _ sealing: Sealing) throws {
        try self.run(
            "DELETE FROM password WHERE account_id = ?",
            [
                password.accountID
            ])
        try self.deleteMailedLinks(ofAccount: password.accountID)
        let hash = try sealing.seal(password.hash, purpose: .passwordHash, row: password.accountID)
        try self.insert(
            [
                PasswordColumn.accountID: password.accountID, .hash: hash, .setAt: password.setAt.milliseconds,
                .isOneTime: password.isOneTime,
            ], by: PasswordColumn.insertion)
    }

    fileprivate func insert(recoveryCodes codes: [[UInt8]], accountID: String) throws {
        for code in codes {
            try self.run("INSERT INTO recovery_code (account_id, code) VALUES (?, ?)", [accountID, code])
        }
    }

    /// Deletes a holder's attempts in a row. The daily counts stay.
    func forgetAttempts(_ holder: AttemptHolder) throws {
        try self.run("DELETE FROM password_attempt WHERE holder = ?", [holder.key])
    }
}
