public import Records
import Sealing
public import _Primitives

extension SQLStore: AccountChangeStore {
    public func accountChange(_ id: String) async throws -> AccountChangeRecord? {
        try await self.read { [sealing] db in try AccountChangeRows(db).accountChange(id, sealing) }
    }

    public func accountChanges(accountID: String, after moment: Timestamp, limit: Int) async throws
        -> [AccountChangeRecord]
    {
        try await self.read { [sealing] db in
            try db.rows(
                .composed(
                    """
                    SELECT \(ChangeColumn.selection) FROM account_change WHERE account_id = ? AND decided_at > ?
                    ORDER BY decided_at DESC, id LIMIT ?
                    """), [accountID, moment.milliseconds, limit]
            ) { try AccountChangeRecord($0, sealing) }
        }
    }

    public func decide(_ decision: AccountChangeDecision) async throws -> Bool {
        try await self.step(
            Step(
                "account-change.decide", guards: [.exclusive(.account, id: decision.accountID)],
                isolation: .readCommitted)
        ) { [sealing] db in
            let change = decision.admitted(try AccountChangeRows(db).accountChange(decision.change, sealing))
            let account = try change.flatMap { try AccountRows(db).account(id: $0.accountID, sealing) }
            switch decision.effect(on: change, of: account) {
            case .refused: return false
            case .rest(let change):
                try AccountChangeRows(db).keep(decision)
                try RestingRows(db).rest(change, unusableHash: decision.unusableHash, at: decision.audit.at, sealing)
                try RestingRows(db).endSessions(ofDevicesRestingWith: change, at: decision.audit.at, sealing)
            case .wake(let change):
                try AccountChangeRows(db).keep(decision)
                try RestingRows(db).wake(change, sealing)
            }
            _ = try AccountEnds(db).endLasting(account: decision.accountID)
            try KnownVisitRows(db).forgetKnown(ofAccount: decision.accountID)
            try AuthenticationEnds(db).deleteAuthentications(of: .account(decision.accountID), at: decision.audit.at)
            try AuditRows(db).appendAudit(decision.audit, sealing)
            _ = try MailRows(db).leaveMail(decision.mail, sealing)
            return true
        }
    }

    public func takeChangeLink(digest: [UInt8], at moment: Timestamp) async throws -> String? {
        try await self.step(Step("account-change.take-link", guards: [], isolation: .readCommitted)) { db in
            let subjects = try db.rows(
                "DELETE FROM mailed_link WHERE digest = ? AND purpose = ? AND expires_at > ? RETURNING about",
                [digest, MailedLinkRecord.Purpose.changeQuestion.rawValue, moment.milliseconds]
            ) { try $0.optionalText("about") }
            return subjects.first ?? nil
        }
    }

    public func takeChangeCode(digest: [UInt8], accountID: String, at moment: Timestamp) async throws -> Bool {
        // The step forgets attempts that other steps of the account count.
        try await self.step(
            Step(
                "account-change.take-code", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted)
        ) { db in
            let confirmed = try db.rows(
                """
                DELETE FROM mailed_link WHERE digest = ? AND purpose = ? AND account_id = ? AND expires_at > ?
                RETURNING account_id
                """,
                [digest, MailedLinkRecord.Purpose.changeCode.rawValue, accountID, moment.milliseconds]
            ) { try $0.text("account_id") }
            for account in confirmed { try AttemptRows(db).forgetAttempts(.secondFactor(account: account)) }
            return !confirmed.isEmpty
        }
    }

    public func deleteAccountChanges(before moment: Timestamp, limit: Int) async throws -> Int {
        try await self.step(Step("account-change.sweep", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                DELETE FROM account_change WHERE id IN (
                    SELECT id FROM account_change WHERE decided_at < ? LIMIT ?)
                """, [moment.milliseconds, limit])
            return db.changesCount
        }
    }
}
