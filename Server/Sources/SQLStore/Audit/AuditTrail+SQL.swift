public import Records
package import Sealing
import Settings
public import _Primitives

extension SealingPurpose {
    static let auditChain = SealingPurpose("audit chain")
    static let auditAddress = SealingPurpose("audit address")
    static let noticeSubject = SealingPurpose("notice subject")
}

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
            try db.appendAudit(event, sealing)
        }
    }

    public func auditEntries(after: Int64, limit: Int) async throws -> [AuditEntry] {
        try await self.read { [sealing] db in try db.auditRows(after: after, limit: limit, sealing).map(\.entry) }
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
}

extension Sealing {
    /// Returns the code of an entry (``AuditEvent/chained(at:after:)``).
    func auditCode(_ bytes: [UInt8]) -> [UInt8] { self.code(bytes, purpose: .auditChain) }
}

extension SQLConnection {
    /// Appends an event within the present step. If the event is earlier than the last entry by at most
    /// ``Limits/Fixed/auditDisorder``, the event gets the time of the last entry.
    package func appendAudit(_ event: AuditEvent, _ sealing: Sealing) throws {
        let last = try self.row("SELECT number, code, at FROM audit ORDER BY number DESC LIMIT 1")
        var event = event
        event.at = event.moment(after: try last?.moment("at"))
        let number = try last.map { try $0.integer("number", as: Int64.self) } ?? 0
        let code = sealing.auditCode(event.chained(at: number + 1, after: try last?.bytes("code") ?? []))
        try self.run(
            """
            INSERT INTO audit (number, kind, at, account_id, ceremony_id, actor, detail, code, address)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                number + 1, event.kind.rawValue, event.at.milliseconds, event.accountID, event.ceremonyID, event.actor,
                event.detail, code,
                try event.address.map { try sealing.seal($0, purpose: .auditAddress, row: "\(number + 1)") },
            ])
    }

    /// Adds a notice within the present step.
    func insert(_ notice: NoticeRecord, _ sealing: Sealing) throws {
        let subject = try sealing.seal(notice.subject, purpose: .noticeSubject, row: notice.id)
        try self.run(
            "INSERT INTO notice (id, account_id, kind, at, subject) VALUES (?, ?, ?, ?, ?)",
            [notice.id, notice.accountID, notice.kind.rawValue, notice.at.milliseconds, subject])
    }

    /// Returns a page of the trail after the entry of a number, in the trail's order, with the codes of the entries.
    func auditRows(
        after: Int64, limit: Int = Limits.Fixed.auditPage, _ sealing: Sealing, of schema: String = "main"
    ) throws -> [(entry: AuditEntry, code: [UInt8])] {
        // A replaced database or a backup may be older than the addresses.
        let address = try self.text(
            .composed("SELECT name FROM pragma_table_info('audit', '\(schema)') WHERE name = 'address'"))
        return try self.rows(
            .composed(
                """
                SELECT number, kind, at, account_id, ceremony_id, actor, detail, code, \(address ?? "NULL") AS address
                FROM \(schema).audit
                WHERE number > ? ORDER BY number LIMIT ?
                """), [after, limit]
        ) { row in
            let number = try row.integer("number", as: Int64.self)
            let event = AuditEvent(
                AuditEvent.Kind(rawValue: try row.text("kind")), at: try row.moment("at"),
                accountID: try row.optionalText("account_id"), ceremonyID: try row.optionalText("ceremony_id"),
                actor: try row.optionalText("actor"), detail: try row.optionalText("detail"),
                // An address that does not open was changed. The entry's code does not cover this mark, so verification
                // finds the change.
                address: try row.optionalBytes("address").map {
                    (try? sealing.openText($0, purpose: .auditAddress, row: "\(number)")) ?? "?"
                })
            return (AuditEntry(number: number, event: event), try row.bytes("code"))
        }
    }
}
