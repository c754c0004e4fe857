import Records
import Sealing
import _Primitives

/// The writes of a step about a password, in the tables of all kinds of writes.
struct PasswordPlans {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Carries out the plan of a step about an account's password. Returns `false`, and changes nothing, if a condition
    /// has refused the step, or the plan's code is spent already or does not exist.
    func carryOut(_ plan: PasswordPlan?, _ sealing: Sealing) throws -> Bool {
        guard let plan, try FactorRows(self.db).spend(plan.spent, accountID: plan.account) else { return false }
        for write in plan.writes { try self.carryOut(write, accountID: plan.account, sealing) }
        return true
    }

    func carryOut(_ write: PasswordWrite, accountID: String, _ sealing: Sealing) throws {
        switch write {
        case .replacePassword(let password): try PasswordRows(self.db).replacePassword(password, sealing)
        case .replaceHash(let hash):
            let sealed = try sealing.seal(hash, purpose: .passwordHash, row: accountID)
            try self.db.run("UPDATE password SET hash = ? WHERE account_id = ?", [sealed, accountID])
        case .removePassword:
            try self.db.run("DELETE FROM password WHERE account_id = ?", [accountID])
        case .replaceSecret(let totp): try FactorRows(self.db).replace(totp, sealing)
        case .removeSecret:
            try self.db.run("DELETE FROM totp WHERE account_id = ?", [accountID])
        case .endRecoveryCodes:
            try self.db.run("DELETE FROM recovery_code WHERE account_id = ?", [accountID])
        case .addRecoveryCodes(let codes): try FactorRows(self.db).insert(recoveryCodes: codes, accountID: accountID)
        case .forgetAttempts(let holder): try AttemptRows(self.db).forgetAttempts(holder)
        case .forgetAllAttempts: try AttemptRows(self.db).forgetAllAttempts(atPasswordOf: accountID)
        case .forgetWrong(let digest): try KnownVisitRows(self.db).forgetWrong(ofBrowser: digest)
        case .giveBackDay(let attempt): try AttemptRows(self.db).giveBackDay(of: attempt)
        case .spendLink(let digest):
            try self.db.run("DELETE FROM mailed_link WHERE digest = ?", [digest])
        case .forgetKnown: try KnownVisitRows(self.db).forgetKnown(ofAccount: accountID)
        case .forgetBrowser(let digest): try KnownVisitRows(self.db).forgetBrowser(digest, ofAccount: accountID)
        case .knowBrowser(let digest, let moment):
            try KnownVisitRows(self.db).knowBrowser(digest, at: moment, accountID: accountID)
        case .knowNetwork(let network, let moment):
            try KnownVisitRows(self.db).knowNetwork(network, at: moment, accountID: accountID, sealing)
        case .keepRecent(let most): try KnownVisitRows(self.db).keepRecent(most, ofAccount: accountID)
        case .removeLinks(let moment):
            try UpstreamLinkRows(self.db).removeLinks(ofAccount: accountID, at: moment, sealing)
        case .endAuthentications(let moment):
            try AuthenticationEnds(self.db).deleteAuthentications(of: .account(accountID), at: moment)
        case .endOtherAuthentications(let session, let moment):
            try AuthenticationEnds(self.db).deleteAuthentications(
                of: .accountBeside(accountID, session: session), at: moment)
        case .replaceSignIn(let record): try PasswordSignInRows(self.db).replace(record, sealing)
        case .finishSignIn(let signIn): try FinishedSignInRows(self.db).replace(signIn, sealing)
        case .audit(let event): try AuditRows(self.db).appendAudit(event, sealing)
        case .notice(let notice): try NoticeRows(self.db).insertNotice(notice, sealing)
        case .keepChange(let change): try AccountChangeRows(self.db).insert(change, sealing)
        case .mail(let letter): try MailRows(self.db).leaveMail(letter, sealing)
        }
    }
}
