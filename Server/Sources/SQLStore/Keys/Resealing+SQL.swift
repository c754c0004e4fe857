import Records
import Sealing
import Settings
import _Primitives

extension SQLStore {
    /// Forgets all key-encryption keys beside the newest.
    func forgetKeys(beside newest: String, audit: AuditEvent) async throws {
        try await self.step(Step("sealing-key.forget-former", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.run("DELETE FROM sealing_key WHERE id <> ?", [newest])
            try db.appendAudit(audit, sealing)
        }
    }

    /// Reads the next rows of a table, and reseals the values that lie under a key other than the newest. Returns the
    /// key of the last row; `nil` if no rows are left.
    func resealPage(
        of column: SealedColumn, after place: SQLValue?
    ) async throws -> (resealed: Resealed, last: SQLValue?) {
        let sealing = self.sealing
        // A value that another step rewrites meanwhile is read anew: the rewritten value is never overwritten.
        return try await self.step(
            Step("sealing-key.reseal", guards: [], isolation: .serializable),
            screenedBy: { db in
                let page = try column.page(db, after: place, header: sealing.newestHeader)
                return Screening(answer: page.answerWithoutWriting, orStepWith: page)
            }
        ) { db, found in
            var resealed = Resealed(examined: found.examined)
            for place in found.former {
                // The row may be gone by now. It may also have been rewritten: resealing a rewritten value once more
                // does no harm.
                let values = try db.rows(
                    .composed(
                        """
                        SELECT \(column.selection) FROM \(column.table)
                        WHERE \(column.key) = ? AND \(column.name) IS NOT NULL
                        """), [place]
                ) { try column.sealedAnew($0, sealing) }
                for sealed in values {
                    guard let sealed else {
                        resealed.add(Resealed(unreadable: 1, unreadableColumns: ["\(column.table).\(column.name)"]))
                        continue
                    }
                    try db.run(
                        .composed("UPDATE \(column.table) SET \(column.name) = ? WHERE \(column.key) = ?"),
                        [sealed, place])
                    resealed.resealed += 1
                }
            }
            return (resealed, found.last)
        }
    }
}

extension SQLConnection {
    /// Returns the identifiers of the keys that values can lie under, the newest first.
    func neededKeys() throws -> [String] { try self.texts("SELECT id FROM sealing_key ORDER BY number DESC") }
}

extension SealedColumn {
    /// Returns the next rows of the table, for a reader.
    fileprivate func page(
        _ db: SQLConnection, after place: SQLValue?, header: [UInt8]
    ) throws -> ResealingPage<SQLValue> {
        let size = Limits.Fixed.resealedRows
        let rows = try db.rows(
            .composed(
                """
                SELECT \(self.key) AS place,
                    coalesce(substr(\(self.name), 1, \(header.count)) <> ?1, FALSE) AS is_former
                FROM \(self.table) \(place == nil ? "" : "WHERE \(self.key) > ?2")
                ORDER BY \(self.key) LIMIT \(size)
                """), [header] + (place.map { [$0] } ?? [])
        ) { (place: try $0.value("place"), isFormer: try $0.flag("is_former")) }
        return ResealingPage(rows, size: size)
    }
}
