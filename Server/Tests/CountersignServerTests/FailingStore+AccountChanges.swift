import Records
import _Primitives

/// Changes of accounts pass through.
extension FailingStore {
    func accountChange(_ id: String) async throws -> AccountChangeRecord? { try await self.store.accountChange(id) }

    func accountChanges(accountID: String, after moment: Timestamp, limit: Int) async throws -> [AccountChangeRecord] {
        try await self.store.accountChanges(accountID: accountID, after: moment, limit: limit)
    }

    func decide(_ decision: AccountChangeDecision) async throws -> Bool { try await self.store.decide(decision) }

    func takeChangeLink(digest: [UInt8], at moment: Timestamp) async throws -> String? {
        try await self.store.takeChangeLink(digest: digest, at: moment)
    }

    func takeChangeCode(digest: [UInt8], accountID: String, at moment: Timestamp) async throws -> Bool {
        try await self.store.takeChangeCode(digest: digest, accountID: accountID, at: moment)
    }

    func deleteAccountChanges(before moment: Timestamp, limit: Int) async throws -> Int {
        try await self.store.deleteAccountChanges(before: moment, limit: limit)
    }
}
