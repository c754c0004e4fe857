import GRDB
public import Records
import _Primitives

extension Migration {
    /// Adds the versions of the operator's terms that people have agreed to. Existing accounts have agreed to none.
    static let terms = Migration(name: "terms that people agree to") { db, _ in
        try db.execute(
            sql: """
                CREATE TABLE agreement (
                    account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE, version TEXT NOT NULL,
                    agreed_at INTEGER NOT NULL, PRIMARY KEY (account_id, version)
                ) STRICT, WITHOUT ROWID
                """)
    }
}

extension SQLiteDatabase: TermsStore {
    public func hasAgreed(account: String, version: String) async throws -> Bool {
        try await self.read { db in
            try db.isTrue(
                "SELECT EXISTS (SELECT 1 FROM agreement WHERE account_id = ? AND version = ?)", [account, version])
        }
    }

    public func agree(account: String, version: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.run(
                """
                INSERT OR IGNORE INTO agreement (account_id, version, agreed_at)
                SELECT id, ?2, ?3 FROM account WHERE id = ?1
                """, [account, version, audit.at.milliseconds])
            try db.appendAudit(audit, if: db.hasChangedRows, sealing)
            return try db.exists("account", id: account)
        }
    }
}
