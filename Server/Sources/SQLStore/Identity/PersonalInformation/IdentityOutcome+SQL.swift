public import Records
import Sealing
import _Primitives

extension SQLStore: IdentityHistoryStore {
    public func applyIdentityOutcome(_ change: IdentityOutcomeChange) async throws {
        try await self.step(
            Step(
                "identity-outcome.apply",
                guards: [.exclusive(.account, id: change.accountID), .shared(.service, id: change.service)],
                isolation: .readCommitted)
        ) { [sealing] db in try IdentityHistoryRows(db).keep(IdentityHistoryRows(db).admit(change), sealing) }
    }

    public func identityHistory(accountID: String, before number: Int64?, limit: Int) async throws
        -> [IdentityHistoryEntry]
    {
        try await self.read { db in
            try db.rows(
                """
                SELECT place, purpose, nullif(service, '') AS service, role, outcome, at FROM identity_history
                WHERE account_id = ? AND place < ? ORDER BY place DESC LIMIT ?
                """, [accountID, number ?? Int64.max, limit]
            ) { row in
                IdentityHistoryEntry(
                    number: try row.integer("place"),
                    record: IdentityHistoryRecord(
                        purpose: try row.text("purpose"), service: try row.optionalText("service"),
                        role: try row.optionalText("role"),
                        outcome: try .init(stored: try row.text("outcome"), "what a session came to"),
                        at: try row.moment("at")))
            }
        }
    }

    public func visitedServices(accountID: String) async throws -> [String] {
        try await self.read { db in
            try db.rows(
                "SELECT DISTINCT service FROM identity_history WHERE account_id = ? AND service <> ''", [accountID]
            ) { try $0.text("service") }
        }
    }
}
