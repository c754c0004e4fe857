import Foundation
import GRDB
public import Records
import Sealing
import _Primitives

extension Migration {
    /// Adds passwords of accounts, their second factors, and sign-ins by password.
    static let passwords = Migration(name: "passwords") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE password (
                    account_id TEXT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
                    hash BLOB NOT NULL, set_at INTEGER NOT NULL, is_one_time INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE totp (
                    account_id TEXT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
                    secret BLOB NOT NULL, algorithm TEXT NOT NULL, digits INTEGER NOT NULL,
                    period_seconds INTEGER NOT NULL, set_at INTEGER NOT NULL, last_step INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE recovery_code (
                    account_id TEXT NOT NULL REFERENCES totp (account_id) ON DELETE CASCADE, code BLOB NOT NULL,
                    PRIMARY KEY (account_id, code)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE password_attempt (
                    holder TEXT PRIMARY KEY, account_id TEXT REFERENCES account (id) ON DELETE CASCADE,
                    count INTEGER NOT NULL, at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX password_attempt_account ON password_attempt (account_id) WHERE account_id IS NOT NULL;
                CREATE INDEX password_attempt_time ON password_attempt (at);
                CREATE TABLE password_sign_in (
                    request TEXT PRIMARY KEY REFERENCES oauth_request (id) ON DELETE CASCADE,
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                    second_factor TEXT, needs_second_factor INTEGER NOT NULL, needs_new_password INTEGER NOT NULL,
                    finished_at INTEGER, browser BLOB, address BLOB
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX password_sign_in_account ON password_sign_in (account_id);
                """)
    }
}

extension Migration {
    /// Adds the sign-in methods of clients. Existing clients let people sign in by phone.
    static let signInMethods = Migration(name: "ways to sign in to a client") { db, _ in
        try db.execute(
            sql: "ALTER TABLE oauth_client ADD COLUMN sign_in_methods TEXT NOT NULL DEFAULT '[\"phone\"]'")
    }
}

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

extension SQLiteDatabase {
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
        try await self.step { [sealing] db in
            let password = change.password
            guard let account = try db.account(id: password.accountID, sealing) else { return false }
            if let shown = change.shown { guard try db.stillHas(shown, sealing) else { return false } }
            if let link = change.link {
                guard !account.isLocked,
                    try db.mailedLink(digest: link, purpose: .passwordReset, at: change.audit.at)?.accountID
                        .hasSameBytes(as: account.id) == true,
                    try db.passwordHash(accountID: account.id, sealing) != nil,
                    try db.hasSecondFactor(account.id) == (change.spent != nil)
                else { return false }
            }
            if let spent = change.spent { guard try db.spend(spent, accountID: account.id) else { return false } }
            try db.replacePassword(password, sealing)
            for holder in [
                AttemptHolder.password(account: account.id), .secondFactor(account: account.id),
                .mail(account: account.id), .confirmation(account: account.id),
            ] { try db.forgetAttempts(holder) }
            try db.forgetAllAttempts(atPasswordOf: account.id)
            try db.forgetKnown(ofAccount: account.id)
            // Another person may have had the account for a while, and may have linked an identity to the account.
            if change.link != nil { try db.removeLinks(ofAccount: account.id, at: change.audit.at, sealing) }
            if change.endsSessions { try db.deleteAuthentications(of: .account(account.id), at: change.audit.at) }
            if let visit = change.visit { try db.remember(visit, accountID: account.id, sealing) }
            for event in [change.spentAudit, change.audit].compactMap(\.self) { try db.appendAudit(event, sealing) }
            if let notice = change.notice { try db.insertNotice(notice, sealing) }
            if let made = change.accountChange { try db.insert(made, sealing) }
            if let mail = change.mail { try db.leaveMail(mail) }
            return true
        }
    }

    public func removePassword(accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.cachedStatement(sql: "DELETE FROM password WHERE account_id = ?").execute(arguments: [accountID])
            guard db.changesCount == 1 else { return false }
            try db.deleteAuthentications(of: .account(accountID), at: audit.at)
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func setFactors(_ change: FactorChange) async throws -> Bool {
        try await self.step { [sealing] db in
            guard try db.account(id: change.accountID, sealing) != nil else { return false }
            if let shown = change.shown { guard try db.stillHas(shown, sealing) else { return false } }
            if let totp = change.totp {
                try db.replace(totp, sealing)
                try db.deleteAuthentications(
                    of: .accountBeside(change.accountID, session: change.session), at: change.audit.at)
            } else {
                guard try db.hasSecondFactor(change.accountID) else { return false }
                try db.cachedStatement(sql: "DELETE FROM recovery_code WHERE account_id = ?")
                    .execute(arguments: [change.accountID])
            }
            try db.insert(recoveryCodes: change.recoveryCodes, accountID: change.accountID)
            try db.appendAudit(change.audit, sealing)
            if let notice = change.notice { try db.insertNotice(notice, sealing) }
            if let made = change.accountChange { try db.insert(made, sealing) }
            if let mail = change.mail { try db.leaveMail(mail) }
            return true
        }
    }

    public func removeSecondFactor(accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.cachedStatement(sql: "DELETE FROM totp WHERE account_id = ?").execute(arguments: [accountID])
            guard db.changesCount == 1 else { return false }
            try db.forgetAttempts(.secondFactor(account: accountID))
            try db.appendAudit(audit, sealing)
            return true
        }
    }
}

extension Database {
    /// Returns the data of an account for its password.
    fileprivate func passwordAccount(_ account: AccountRecord, _ sealing: Sealing) throws -> PasswordAccount {
        let id = account.id
        let password = try self.row("SELECT \(PasswordColumn.selection) FROM password WHERE account_id = ?", [id]).map {
            row in
            PasswordRecord(
                accountID: id,
                hash: try sealing.openText(row.bytes(PasswordColumn.hash), purpose: .passwordHash, row: id),
                setAt: try row.moment(PasswordColumn.setAt), isOneTime: try row.flag(PasswordColumn.isOneTime))
        }
        let totp = try self.row("SELECT \(TOTPColumn.selection) FROM totp WHERE account_id = ?", [id]).map { row in
            TOTPRecord(
                accountID: id,
                secret: SecretBytes(try sealing.open(row.bytes(TOTPColumn.secret), purpose: .totpSecret, row: id)),
                algorithm: try row.text(TOTPColumn.algorithm), digits: try row.integer(TOTPColumn.digits),
                periodSeconds: try row.integer(TOTPColumn.periodSeconds), setAt: try row.moment(TOTPColumn.setAt),
                lastStep: try row.optionalInteger(TOTPColumn.lastStep))
        }
        let codes = try Int.fetchOne(
            self.cachedStatement(sql: "SELECT count(*) FROM recovery_code WHERE account_id = ?"), arguments: [id])
        return PasswordAccount(account: account, password: password, totp: totp, recoveryCodes: codes ?? 0)
    }

    /// Replaces the account's secret for time-based codes. The recovery codes are deleted with the former secret, and
    /// so are unfinished sign-ins by password and wrong attempts at the second factor.
    fileprivate func replace(_ totp: TOTPRecord, _ sealing: Sealing) throws {
        try self.cachedStatement(sql: "DELETE FROM totp WHERE account_id = ?").execute(arguments: [totp.accountID])
        let secret = try totp.secret.withBytes {
            try sealing.seal($0, purpose: .totpSecret, row: totp.accountID).blob
        }
        try self.insert(
            [
                TOTPColumn.accountID: totp.accountID, .secret: secret, .algorithm: totp.algorithm,
                .digits: totp.digits, .periodSeconds: totp.periodSeconds, .setAt: totp.setAt.milliseconds,
                .lastStep: totp.lastStep,
            ], by: TOTPColumn.insertion)
        // A password that was shown alone before is not enough any more.
        try self.cachedStatement(sql: "DELETE FROM password_sign_in WHERE account_id = ?")
            .execute(arguments: [totp.accountID])
        try self.forgetAttempts(.secondFactor(account: totp.accountID))
    }

    /// Returns `true` if the account is not locked, and still has the password and second factor that were shown.
    func stillHas(_ shown: ShownPassword, _ sealing: Sealing) throws -> Bool {
        guard try self.account(id: shown.accountID, sealing)?.isLocked == false,
            let hash = try self.passwordHash(accountID: shown.accountID, sealing), hash.hasSameBytes(as: shown.hash)
        else { return false }
        let setAt = try Int64.fetchOne(
            self.cachedStatement(sql: "SELECT set_at FROM totp WHERE account_id = ?"), arguments: [shown.accountID])
        return setAt == shown.secondFactorSetAt?.milliseconds
    }

    /// Returns the hash of an account's password.
    func passwordHash(accountID: String, _ sealing: Sealing) throws -> String? {
        try self.row("SELECT hash FROM password WHERE account_id = ?", [accountID]).map {
            try sealing.openText($0.bytes("hash"), purpose: .passwordHash, row: accountID)
        }
    }

    /// Returns `true` if a sign-in by password to the account needs a code as well.
    func hasSecondFactor(_ accountID: String) throws -> Bool {
        try Bool.fetchOne(
            self.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM totp WHERE account_id = ?)"),
            arguments: [accountID]) == true
    }

    /// Replaces the account's password. All links that were mailed to the account become invalid, except for questions
    /// about changes.
    func replacePassword(_ password: PasswordRecord, _ sealing: Sealing) throws {
        try self.cachedStatement(sql: "DELETE FROM password WHERE account_id = ?").execute(arguments: [
            password.accountID
        ])
        try self.deleteMailedLinks(ofAccount: password.accountID)
        let hash = try sealing.seal(password.hash, purpose: .passwordHash, row: password.accountID)
        try self.insert(
            [
                PasswordColumn.accountID: password.accountID, .hash: hash.blob, .setAt: password.setAt.milliseconds,
                .isOneTime: password.isOneTime,
            ], by: PasswordColumn.insertion)
    }

    fileprivate func insert(recoveryCodes codes: [[UInt8]], accountID: String) throws {
        for code in codes {
            try self.cachedStatement(sql: "INSERT INTO recovery_code (account_id, code) VALUES (?, ?)")
                .execute(arguments: [accountID, code.blob])
        }
    }

    /// Deletes a holder's attempts in a row. The daily counts stay.
    func forgetAttempts(_ holder: AttemptHolder) throws {
        try self.cachedStatement(sql: "DELETE FROM password_attempt WHERE holder = ?").execute(arguments: [holder.key])
    }
}
