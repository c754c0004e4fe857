public import Records
import Sealing
public import _Primitives

extension SQLStore: AuditStore, NoticeStore {
    public func deleteNotices(before moment: Timestamp, limit: Int) async throws -> Int {
        try await self.step(Step("notice.sweep", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                "DELETE FROM notice WHERE id IN (SELECT id FROM notice WHERE at < ? ORDER BY at LIMIT ?)",
                [moment.milliseconds, limit])
            return db.changesCount
        }
    }

    public func appendAudit(_ event: AuditEvent) async throws {
        try await self.step(Step("audit.append", guards: [], isolation: .readCommitted)) { [sealing] db in
            try AuditRows(db).appendAudit(event, sealing)
        }
    }

    public func auditEntries(after: Int64, limit: Int) async throws -> [AuditEntry] {
        try await self.read { [sealing] db in
            try AuditRows(db).auditRows(after: after, limit: limit, sealing).map(\.entry)
        }
    }

    public func auditedSubjects(after: Int64?, limit: Int) async throws -> AuditedSubjects {
        try await self.read { db in try AuditRows(db).subjects(after: after, limit: limit) }
    }

    public func notices(accountID: String, limit: Int) async throws -> [NoticeRecord] {
        try await self.read { [sealing] db in
            try db.rows(
                "SELECT id, kind, at, subject FROM notice WHERE account_id = ? ORDER BY at DESC, rowid DESC LIMIT ?",
                [accountID, limit]
            ) { row in
                let kind = try NoticeRecord.Kind(stored: row.integer("kind"))
                let id = try row.text("id")
                return NoticeRecord(
                    id: id, accountID: accountID, kind: kind, at: try row.moment("at"),
                    subject: try sealing.openText(try row.bytes("subject"), purpose: .noticeSubject, row: id))
            }
        }
    }

    /// Checks the whole trail, page by page. A reader is free between two pages, because a trail can be long.
    public func verifyAudit() async throws -> AuditVerdict {
        var check = AuditTrailCheck(code: self.sealing.auditCode)
        while !check.isDone {
            let start = check.number
            check.take(try await self.read { [sealing] db in try AuditRows(db).auditRows(after: start, sealing) })
        }
        return check.verdict
    }
}
