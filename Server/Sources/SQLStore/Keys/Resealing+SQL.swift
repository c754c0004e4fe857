import Records
import Sealing
import Settings

extension SealedColumn {
    /// Returns the next rows of the table, for a reader.
    func page(
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

    /// Reseals the values of a page that lie under a former key, within the present step.
    func resealed(_ found: ResealingPage<SQLValue>, _ db: SQLConnection, _ sealing: Sealing) throws -> Resealed {
        var resealed = Resealed(examined: found.examined)
        for place in found.former {
            // The row may be gone by now. It may also have been rewritten: resealing a rewritten value once more
            // does no harm.
            let values = try db.rows(
                .composed(
                    """
                    SELECT \(self.selection) FROM \(self.table)
                    WHERE \(self.key) = ? AND \(self.name) IS NOT NULL
                    """), [place]
            ) { try self.sealedAnew($0, sealing) }
            for sealed in values {
                guard let sealed else {
                    resealed.add(Resealed(unreadable: 1, unreadableColumns: ["\(self.table).\(self.name)"]))
                    continue
                }
                try db.run(
                    .composed("UPDATE \(self.table) SET \(self.name) = ? WHERE \(self.key) = ?"),
                    [sealed, place])
                resealed.resealed += 1
            }
        }
        return resealed
    }
}
