public import Records

extension SQLStore: InventedAccountStore {
    public func inventedAccounts() async throws -> String? {
        try await self.read { db in try AccountRows(db).inventedAccounts() }
    }

    public func setInventedAccounts(_ document: String?, audit: AuditEvent) async throws {
        // Two documents at once must not both find the table empty.
        try await self.step(Step("invented-accounts.set", guards: [], isolation: .serializable)) { [sealing] db in
            try db.run("DELETE FROM invented_accounts")
            try db.run(
                "INSERT INTO invented_accounts (id, document) SELECT 1, CAST(?1 AS TEXT) WHERE ?1 IS NOT NULL",
                [document])
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func keyStatistics(limit: Int) async throws -> KeyStatistics {
        try await self.read { db in
            let sets = try db.rows(
                """
                SELECT keys, COUNT(DISTINCT account_id) AS accounts FROM (
                    SELECT account_id, string_agg(name, ' ') AS keys FROM (
                        SELECT account_id, device_id, aaid || ':' || length(key_id) AS name FROM credential
                        WHERE is_active = 1 ORDER BY device_id, aaid, length(key_id)
                    ) AS named GROUP BY device_id, account_id
                ) AS held GROUP BY keys ORDER BY accounts DESC, keys LIMIT ?
                """, [limit]
            ) { row in
                KeyStatistics.DeviceKeys(
                    keys: try row.text("keys").split(separator: " ").map { try KeyStatistics.Key(stored: $0) },
                    accounts: try row.integer("accounts"))
            }
            let accounts: [(Int, Int)] = try db.rows(
                """
                SELECT devices, COUNT(*) AS accounts FROM (
                    SELECT COUNT(DISTINCT device_id) AS devices FROM credential WHERE is_active = 1
                    GROUP BY account_id
                ) AS counted GROUP BY devices ORDER BY devices LIMIT ?
                """, [limit]
            ) { (try $0.integer("devices"), try $0.integer("accounts")) }
            return KeyStatistics(sets: sets, accountsByDevices: Dictionary(uniqueKeysWithValues: accounts))
        }
    }
}
