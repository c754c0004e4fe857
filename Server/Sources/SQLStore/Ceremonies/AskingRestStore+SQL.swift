public import Records
public import _Primitives

extension SQLStore: AskingRestStore {
    public func isAskingRested(accountID: String, requester: String, at now: Timestamp) async throws -> Bool {
        try await self.read { db in
            try AskingRestRows(db).isRested(accountID: accountID, requester: requester, at: now)
        }
    }

    public func deleteRests(endedBefore moment: Timestamp, limit: Int) async throws -> Int {
        try await self.step(Step("asking-rest.sweep", guards: [], isolation: .readCommitted)) { db in
            try AskingRestRows(db).deleteRests(endedBefore: moment, limit: limit)
        }
    }
}
