public import Records
public import _Primitives

extension SQLStore: AskingRestStore {
    public func isAskingRested(accountID: String, requester: String, at now: Timestamp) async throws -> Bool {
        try await self.read { db in
            try AskingRestRows(db).isRested(accountID: accountID, requester: requester, at: now)
        }
    }

    public func countNumberAttempt(_ attempt: NumberAttempt) async throws -> Int? {
        // The account's lock makes of two attempts at once the second see the first.
        try await self.step(
            Step(
                "number-attempt.count", guards: [.exclusive(.account, id: attempt.accountID)],
                isolation: .readCommitted)
        ) { db in
            guard try AskingRestRows(db).count(attempt) else { return nil }
            return try AskingRestRows(db).attempts(accountID: attempt.accountID, at: attempt.at)
        }
    }

    public func deleteRests(endedBefore moment: Timestamp, attemptsBefore: Timestamp, limit: Int) async throws -> Int {
        try await self.step(Step("asking-rest.sweep", guards: [], isolation: .readCommitted)) { db in
            try AskingRestRows(db).deleteRests(endedBefore: moment, limit: limit)
                + AskingRestRows(db).deleteAttempts(before: attemptsBefore, limit: limit)
        }
    }
}
