import GRDB
public import Records
import Sealing
import Settings
import _Primitives

extension SQLiteDatabase: SealingKeyStore {
    public func sealingKeys() async throws -> [String] {
        try await self.read { db in try db.sealingKeys() }
    }

    public func reseal(
        audit: @escaping @Sendable () -> AuditEvent, told: @escaping @Sendable (Resealed) -> Void
    ) async throws -> Resealed {
        var resealed = Resealed()
        let needed = try await self.sealingKeys()
        guard Resealed.isNeeded(keys: needed) else { return resealed }
        for column in SealedColumn.all {
            var place: DatabaseValue?
            repeat {
                try Task.checkCancellation()
                let page = try await self.resealPage(of: column, after: place)
                resealed.add(page.resealed)
                place = page.last
                told(resealed)
            } while place != nil
        }
        guard resealed.allowsForgetting else { return resealed }
        // Values that were written meanwhile are sealed under the newest key already.
        let newest = self.sealing.keys.newest.identifier
        try await self.step { [sealing] db in
            try db.execute(sql: "DELETE FROM sealing_key WHERE id <> ?", arguments: [newest])
            try db.appendAudit(audit(), sealing)
        }
        return resealed
    }

    /// Reads the next rows of a table, and reseals the values that lie under a key other than the newest. Returns the
    /// key of the last row; `nil` if no rows are left.
    private func resealPage(
        of column: SealedColumn, after place: DatabaseValue?
    ) async throws -> (resealed: Resealed, last: DatabaseValue?) {
        let sealing = self.sealing
        return try await self.step(
            screenedBy: { db in try column.formerRows(db, after: place, header: sealing.newestHeader) }
        ) { db, found in
            var resealed = Resealed(examined: found.examined)
            for place in found.former {
                // The row may be gone by now. It may also have been rewritten: resealing a rewritten value once more
                // does no harm.
                let row = try db.row(
                    """
                    SELECT \(column.selection) FROM \(column.table)
                    WHERE \(column.key) = ? AND \(column.name) IS NOT NULL
                    """, [place])
                guard let row else { continue }
                guard let sealed = try column.sealedAnew(row, sealing) else {
                    resealed.add(Resealed(unreadable: 1, unreadableColumns: ["\(column.table).\(column.name)"]))
                    continue
                }
                try db.cachedStatement(
                    sql: "UPDATE \(column.table) SET \(column.name) = ? WHERE \(column.key) = ?"
                ).execute(arguments: [sealed.blob, place])
                resealed.resealed += 1
            }
            return (resealed, found.last)
        }
    }
}

extension SealedColumn {
    /// Returns the next rows of the table, for a reader.
    fileprivate func formerRows(
        _ db: Database, after place: DatabaseValue?, header: [UInt8]
    ) throws -> SQLiteDatabase.Screening<ResealingPage<DatabaseValue>, (resealed: Resealed, last: DatabaseValue?)> {
        let size = Limits.Fixed.resealedRows
        let rows = try db.rows(
            """
            SELECT \(self.key) AS place, coalesce(substr(\(self.name), 1, \(header.count)) <> ?1, 0) AS is_former
            FROM \(self.table) \(place == nil ? "" : "WHERE \(self.key) > ?2")
            ORDER BY \(self.key) LIMIT \(size)
            """, [header.blob.databaseValue] + [place].compactMap(\.self)
        ) { (place: try $0.value("place"), isFormer: try $0.flag("is_former")) }
        let page = ResealingPage(rows, size: size)
        guard !page.former.isEmpty else { return .answered((Resealed(examined: page.examined), page.last)) }
        return .step(page)
    }
}
