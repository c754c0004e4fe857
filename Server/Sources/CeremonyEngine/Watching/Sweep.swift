import Store
import _Primitives

extension CeremonyEngine {
    /// Ends what is overdue, deletes what nobody can ask for any more, and wakes who watches. Returns how many rows it
    /// changed.
    ///
    /// Nothing depends on when it runs: what is overdue counts as expired already. Two sweeps at once do no harm.
    @discardableResult
    public func sweep() async throws -> Int {
        let now = self.time.now()
        var count = 0
        for id in try await self.store.overdueCeremonies(at: now, limit: self.limits.sweepBatch) {
            let ended = try await self.store.change(.id(id)) { record in
                guard record.phase != .ended, now >= record.expiresAt else { return CeremonyChange() }
                try self.handle(.expire, &record, at: now)
                var change = CeremonyChange()
                // Keys that nobody confirmed.
                if record.kind == .registration { change.deviceFate = .discard }
                change.audit = [AuditEvent(.expired, at: now, accountID: record.accountID, ceremonyID: id)]
                return change
            }
            if ended != nil { count += 1 }
            self.hub.wake(id)
        }
        count += try await self.store.deleteStale(
            endedBefore: now - self.limits.endedRetention, now: now, limit: self.limits.sweepBatch)
        return count
    }
}
