public import Records
import Sealing
public import Settings
public import _Primitives

extension SQLStore: PushCountStore {
    public func countPush(_ push: PushCount, bounds: Limits.Push) async throws -> PushBudget? {
        // The account's lock makes of two messages at once the second see the first.
        try await self.step(
            Step("push.count", guards: [.exclusive(.account, id: push.accountID)], isolation: .readCommitted)
        ) { [sealing] db in
            try IdentifiedRows(db).require("account", id: push.accountID, "the account of a message")
            let rows = PushCountRows(db)
            guard let budget = try rows.counts(at: push).usedUp(bounds) else {
                try rows.insert(push)
                return nil
            }
            if try rows.note(budget, at: push) { try AuditRows(db).appendAudit(budget.event(of: push), sealing) }
            return budget
        }
    }

    public func deletePushCounts(before moment: Timestamp, limit: Int) async throws -> Int {
        try await self.step(Step("push.sweep", guards: [], isolation: .readCommitted)) { db in
            try PushCountRows(db).deletePushes(before: moment, limit: limit)
                + PushCountRows(db).deleteNotes(before: moment, limit: limit)
        }
    }
}
