public import Records
import Sealing

extension SQLStore: SealingKeyStore {
    public func sealingKeys() async throws -> [String] {
        try await self.read { db in try db.neededKeys() }
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
}
