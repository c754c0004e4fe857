package import Records
package import Sealing
import Settings
import _Primitives

/// The rows of the trail.
package struct AuditRows {
    let db: SQLConnection

    package init(_ db: SQLConnection) { self.db = db }

    /// Appends an event within the present step. If the event is earlier than the last entry by at most
    /// ``Limits/Fixed/auditDisorder``, the event gets the time of the last entry.
    package func appendAudit(_ event: AuditEvent, _ sealing: Sealing) throws {
        let last = try self.db.row("SELECT number, code, at FROM audit ORDER BY number DESC LIMIT 1")
        var event = event
        event.at = event.moment(after: try last?.moment("at"))
        let number = try last.map { try $0.integer("number", as: Int64.self) } ?? 0
        let code = sealing.auditCode(event.chained(at: number + 1, after: try last?.bytes("code") ?? []))
        try self.db.run(
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

    /// Returns the accounts and the details of the entries after a number. Without a number the query for entries finds
    /// nothing.
    func subjects(after: Int64?, limit: Int) throws -> AuditedSubjects {
        let last = try self.db.row("SELECT number FROM audit ORDER BY number DESC LIMIT 1")?.integer(
            "number", as: Int64.self)
        let rows = try self.db.rows(
            "SELECT number, account_id, detail FROM audit WHERE number > ? ORDER BY number LIMIT ?",
            [after ?? .max, limit]
        ) { row in
            (
                number: try row.integer("number", as: Int64.self), account: try row.optionalText("account_id"),
                detail: try row.optionalText("detail")
            )
        }
        return AuditedSubjects(
            last: rows.last?.number ?? last ?? 0, accounts: rows.compactMap(\.account),
            details: rows.compactMap(\.detail))
    }

    /// Returns the expression for the address of an entry in a database, which may be older than the addresses.
    func addressColumn(of schema: String) throws -> String {
        try self.db.text(
            .composed("SELECT name FROM pragma_table_info('audit', '\(schema)') WHERE name = 'address'")) ?? "NULL"
    }

    /// Returns a page of the trail after the entry of a number, in the trail's order, with the codes of the entries.
    ///
    /// - Parameter address: The expression for the address of an entry (``addressColumn(of:)``). The present schema has
    ///   the column.
    func auditRows(
        after: Int64, limit: Int = Limits.Fixed.auditPage, _ sealing: Sealing, of schema: String = "main",
        address: String = "address"
    ) throws -> [(entry: AuditEntry, code: [UInt8])] {
        try self.db.rows(
            .composed(
                """
                SELECT number, kind, at, account_id, ceremony_id, actor, detail, code, \(address) AS address
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
