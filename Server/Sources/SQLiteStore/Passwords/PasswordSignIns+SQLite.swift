import Foundation
import GRDB
public import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The browser of a sign-in by password, bound to its request.
    static let passwordSignInBrowser = SealingPurpose("password sign-in browser")
    /// The network address of a sign-in by password, bound to its request.
    static let passwordSignInAddress = SealingPurpose("password sign-in address")
}

private enum PasswordSignInColumn: Int, TableColumn {
    static let table = "password_sign_in"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case request, accountID, secondFactor, needsSecondFactor, needsNewPassword, finishedAt, browser, address
}

extension SQLiteDatabase: PasswordStore {
    public func countAttempt(
        _ holder: AttemptHolder, leaving mail: (MailRecord, most: Int)?,
        judge: @escaping @Sendable (AttemptCount?) -> (AttemptCount, AuditEvent?)?
    ) async throws -> Bool {
        try await self.step { [sealing] db in
            guard let (next, audit) = judge(try db.attempts(of: holder)) else { return false }
            try db.keep(next, of: holder)
            if let audit { try db.appendAudit(audit, sealing) }
            _ = try db.leaveMail(mail)
            return true
        }
    }

    public func advance(_ step: PasswordSignInStep) async throws -> Bool {
        try await self.step { [sealing] db in
            let record = step.record
            guard try db.stands(step, sealing) else { return false }
            if let spent = step.spent { guard try db.spend(spent, accountID: record.accountID) else { return false } }
            if step.verifiedHash != nil { try db.giveBack(step.attempt, accountID: record.accountID) }
            if step.spent != nil { try db.forgetAttempts(.secondFactor(account: record.accountID)) }
            if let password = step.newPassword {
                try db.replacePassword(password, sealing)
                // A rehashed password is still the same password.
                if step.previous != nil { try db.forgetKnown(ofAccount: record.accountID) }
            }
            try db.replace(record, sealing)
            if let visit = step.visit { try db.remember(visit, accountID: record.accountID, sealing) }
            for event in step.audit { try db.appendAudit(event, sealing) }
            for notice in step.notices { try db.insertNotice(notice, sealing) }
            return true
        }
    }

    public func confirm(
        _ shown: ShownPassword, attempt: ReservedAttempt?, spent: PasswordSignInStep.Spent?, audit: AuditEvent?
    ) async throws -> Bool {
        try await self.step { [sealing] db in
            guard try db.stillHas(shown, sealing), (shown.secondFactorSetAt != nil) == (spent != nil) else {
                return false
            }
            if let spent {
                guard try db.spend(spent, accountID: shown.accountID) else { return false }
                try db.forgetAttempts(.secondFactor(account: shown.accountID))
            }
            try db.giveBack(attempt, accountID: shown.accountID)
            if let audit { try db.appendAudit(audit, sealing) }
            return true
        }
    }

    public func passwordSignIn(request: String) async throws -> PasswordSignInRecord? {
        try await self.read { [sealing] db in try db.passwordSignIn(request, sealing) }
    }
}

extension Database {
    /// Spends a code. Returns `false` if the code is spent already or does not exist.
    func spend(_ spent: PasswordSignInStep.Spent, accountID: String) throws -> Bool {
        switch spent {
        case .totp(let number):
            try self.cachedStatement(
                sql: """
                    UPDATE totp SET last_step = ?2 WHERE account_id = ?1 AND (last_step IS NULL OR last_step < ?2)
                    """
            ).execute(arguments: [accountID, number])
        case .recoveryCode(let code):
            try self.cachedStatement(sql: "DELETE FROM recovery_code WHERE account_id = ? AND code = ?")
                .execute(arguments: [accountID, code.blob])
        }
        return self.changesCount == 1
    }

    /// Returns `true` if everything that a step relies on still exists.
    fileprivate func stands(_ step: PasswordSignInStep, _ sealing: Sealing) throws -> Bool {
        let record = step.record
        let isThere = try Bool.fetchOne(
            self.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM oauth_request WHERE id = ?)
                    AND EXISTS (SELECT 1 FROM account WHERE id = ? AND is_locked = 0)
                    """), arguments: [record.request, record.accountID])
        guard isThere == true else { return false }
        // A second factor can have been set since the account was read.
        guard try self.hasSecondFactor(record.accountID) == (record.needsSecondFactor || record.secondFactor != nil)
        else { return false }
        if let previous = step.previous {
            guard try self.passwordSignIn(record.request, sealing) == previous else { return false }
        }
        if let verified = step.verifiedHash {
            guard let hash = try self.passwordHash(accountID: record.accountID, sealing),
                hash.hasSameBytes(as: verified)
            else { return false }
        }
        return true
    }

    fileprivate func passwordSignIn(_ request: String, _ sealing: Sealing) throws -> PasswordSignInRecord? {
        try self.row("SELECT \(PasswordSignInColumn.selection) FROM password_sign_in WHERE request = ?", [request]).map
        { row in
            let factor = try row.optionalText(PasswordSignInColumn.secondFactor).map { name in
                guard let factor = PasswordSignInRecord.SecondFactor(rawValue: name) else {
                    throw StoreError(.corrupt, "what was shown beside a password")
                }
                return factor
            }
            return PasswordSignInRecord(
                request: request, accountID: try row.text(PasswordSignInColumn.accountID), secondFactor: factor,
                needsSecondFactor: try row.flag(PasswordSignInColumn.needsSecondFactor),
                needsNewPassword: try row.flag(PasswordSignInColumn.needsNewPassword),
                finishedAt: try row.optionalMoment(PasswordSignInColumn.finishedAt),
                browser: try row.optionalBytes(PasswordSignInColumn.browser).map {
                    try sealing.openText($0, purpose: .passwordSignInBrowser, row: request)
                },
                address: try row.optionalBytes(PasswordSignInColumn.address).map {
                    try sealing.openText($0, purpose: .passwordSignInAddress, row: request)
                })
        }
    }

    fileprivate func replace(_ record: PasswordSignInRecord, _ sealing: Sealing) throws {
        let request = record.request
        try self.cachedStatement(sql: "DELETE FROM password_sign_in WHERE request = ?").execute(arguments: [request])
        try self.insert(
            [
                PasswordSignInColumn.request: request, .accountID: record.accountID,
                .secondFactor: record.secondFactor?.rawValue, .needsSecondFactor: record.needsSecondFactor,
                .needsNewPassword: record.needsNewPassword, .finishedAt: record.finishedAt?.milliseconds,
                .browser: try record.browser.map {
                    try sealing.seal($0, purpose: .passwordSignInBrowser, row: request).blob
                },
                .address: try record.address.map {
                    try sealing.seal($0, purpose: .passwordSignInAddress, row: request).blob
                },
            ], by: PasswordSignInColumn.insertion)
    }
}
