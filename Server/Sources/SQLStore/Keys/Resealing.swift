public import Records
import Sealing
import _Primitives

extension SQLStore: SealingKeyStore {
    public func sealingKeys() async throws -> [String] {
        try await self.read { db in try SealingKeyRows(db).neededKeys() }
    }

    public func reseal(
        audit: @escaping @Sendable () -> AuditEvent, told: @escaping @Sendable (Resealed) -> Void
    ) async throws -> Resealed {
        var resealed = Resealed()
        let needed = try await self.sealingKeys()
        guard Resealed.isNeeded(keys: needed) else { return resealed }
        for column in SealedColumn.all {
            var place: SQLValue?
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
        try await self.forgetKeys(beside: self.sealing.keys.newest.identifier, audit: audit())
        return resealed
    }

    /// Forgets all key-encryption keys beside the newest.
    private func forgetKeys(beside newest: String, audit: AuditEvent) async throws {
        try await self.step(Step("sealing-key.forget-former", guards: [], isolation: .readCommitted)) { [sealing] db in
            try SealingKeyRows(db).forgetKeys(beside: newest)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    /// Reads the next rows of a table, and reseals the values that lie under a key other than the newest. Returns the
    /// key of the last row; `nil` if no rows are left.
    private func resealPage(
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
            (try column.resealed(found, db, sealing), found.last)
        }
    }
}
