public import Records
import _Primitives

extension SQLStore: TermsStore {
    public func hasAgreed(account: String, version: String) async throws -> Bool {
        try await self.read { db in
            try db.isTrue(
                "SELECT EXISTS (SELECT 1 FROM agreement WHERE account_id = ? AND version = ?)", [account, version])
        }
    }

    public func agree(account: String, version: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("terms.agree", guards: [.shared(.account, id: account)], isolation: .readCommitted)
        ) { [sealing] db in
            try db.run(
                """
                INSERT INTO agreement (account_id, version, agreed_at)
                SELECT id, ?2, ?3 FROM account WHERE id = ?1 ON CONFLICT DO NOTHING
                """, [account, version, audit.at.milliseconds])
            try AuditRows(db).appendAudit(audit, if: db.hasChangedRows, sealing)
            return try IdentifiedRows(db).exists("account", id: account)
        }
    }
}
