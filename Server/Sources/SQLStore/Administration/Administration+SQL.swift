public import Records
public import _Primitives

extension SQLStore: AdministrationStore {
    public func createAdministratorLink(digest: [UInt8], expiresAt: Timestamp, audit: AuditEvent) async throws -> Bool {
        // The step relies on the absence of an administrator.
        let step = Step("administrator.create-link", guards: [], isolation: .serializable)
        return try await self.step(step) { [sealing] db in
            try db.run(
                """
                INSERT INTO administrator_link (id, digest, expires_at)
                SELECT 1, ?, ? WHERE NOT EXISTS (SELECT 1 FROM administrator WHERE expires_at > ?)
                ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at
                """, [digest, expiresAt.milliseconds, audit.at.milliseconds])
            return try AuditRows(db).appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }

    public func redeemAdministratorLink(
        digest: [UInt8], at now: Timestamp, administrator: AdministratorRecord, audit: AuditEvent
    ) async throws -> Bool {
        // Of two uses of the link at once, the later fails to delete the link, and finds no link in its next run.
        let step = Step("administrator.redeem-link", guards: [], isolation: .serializable)
        // Anybody can send an invented secret, so a reader looks the secret up first.
        return try await self.step(
            step,
            screenedBy: { db -> Screening<Void, Bool> in
                let link = try db.row(
                    "SELECT 1 FROM administrator_link WHERE digest = ? AND expires_at > ?", [digest, now.milliseconds])
                return .step(if: link != nil, otherwise: false)
            }
        ) { [sealing] db, _ in
            // At most one link exists, and the link gives one administrator before the link goes.
            try db.run(
                """
                INSERT INTO administrator (id, token_digest, created_at, expires_at)
                SELECT ?, ?, ?, ? FROM administrator_link WHERE digest = ? AND expires_at > ?
                """,
                [
                    administrator.id, administrator.tokenDigest, administrator.createdAt.milliseconds,
                    administrator.expiresAt.milliseconds, digest, now.milliseconds,
                ])
            try db.run(
                "DELETE FROM administrator_link WHERE digest = ? AND expires_at > ?", [digest, now.milliseconds])
            return try AuditRows(db).appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }

    public func administrator(tokenDigest: [UInt8], at now: Timestamp) async throws -> AdministratorRecord? {
        try await self.read { db in
            try db.row(
                """
                SELECT id, created_at, expires_at FROM administrator
                WHERE token_digest = ? AND expires_at > ?
                """, [tokenDigest, now.milliseconds]
            ).map { row in
                AdministratorRecord(
                    id: try row.text("id"), tokenDigest: tokenDigest, createdAt: try row.moment("created_at"),
                    expiresAt: try row.moment("expires_at"))
            }
        }
    }

    public func administrators(at now: Timestamp, limit: Int) async throws -> [AdministratorRecord] {
        try await self.read { db in
            try db.rows(
                """
                SELECT id, created_at, expires_at, token_digest FROM administrator
                WHERE expires_at > ? ORDER BY created_at, id LIMIT ?
                """, [now.milliseconds, limit]
            ) { row in
                AdministratorRecord(
                    id: try row.text("id"), tokenDigest: try row.bytes("token_digest"),
                    createdAt: try row.moment("created_at"), expiresAt: try row.moment("expires_at"))
            }
        }
    }

    public func deleteAdministrator(id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(Step("administrator.delete", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run("DELETE FROM administrator WHERE id = ?", [id])
            return try AuditRows(db).appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }

    public func replaceAdministrator(_ administrator: AdministratorRecord, at now: Timestamp, audit: AuditEvent)
        async throws -> Bool
    {
        try await self.step(Step("administrator.replace", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run(
                """
                UPDATE administrator SET token_digest = ?, created_at = ?, expires_at = ?
                WHERE id = ? AND expires_at > ?
                """,
                [
                    administrator.tokenDigest, administrator.createdAt.milliseconds,
                    administrator.expiresAt.milliseconds, administrator.id, now.milliseconds,
                ])
            return try AuditRows(db).appendAudit(audit, if: db.hasChangedOneRow, sealing)
        }
    }
}
