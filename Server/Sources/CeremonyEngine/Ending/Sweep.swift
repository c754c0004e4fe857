import Ceremony
import Store
import _Primitives

/// Ends what is overdue, and deletes what is past its time.
public struct Sweep: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore & NoticeStore
    let endings: Endings

    /// Ends what is overdue, deletes what nobody can ask for any more, and wakes its watchers. Returns how many rows it
    /// changed.
    ///
    /// Nothing depends on when it runs: what is overdue counts as expired already. Two sweeps at once do no harm.
    @discardableResult
    public func run() async throws -> Int {
        let now = self.time.now()
        var count = 0
        while true {
            let overdue = try await self.store.overdueCeremonies(at: now, limit: self.limits.sweepBatch)
            // All at once: steps that wait together share a commit.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in overdue { group.addTask { try await self.endings.expire(id, at: now) } }
                try await group.waitForAll()
            }
            count += overdue.count
            if overdue.count < self.limits.sweepBatch { break }
        }
        while true {
            let disabled = try await self.store.disableForsaken(
                countedBy: now - DeviceProof.skew - DeviceProof.skew, limit: self.limits.sweepBatch,
                audit: AuditEvent(.activationDisabled, at: now),
                ending: CeremonyRecord.ending(.failed, at: now, limits: self.limits))
            count += disabled
            if disabled < self.limits.sweepBatch { break }
        }
        // Rows go in batches, so that other steps come in between, until there are no more.
        while true {
            let deleted = try await self.store.deleteStale(
                endedBefore: now - self.limits.endedRetention,
                deregisteredBefore: now - self.limits.deregistrationRetention, now: now, limit: self.limits.sweepBatch)
            count += deleted
            if deleted < self.limits.sweepBatch { break }
        }
        while true {
            let deleted = try await self.store.deleteNotices(
                before: now - self.limits.noticeRetention, limit: self.limits.sweepBatch)
            count += deleted
            if deleted < self.limits.sweepBatch { break }
        }
        while true {
            let deleted = try await self.store.deleteStaleIdentities(
                now: now, historyBefore: now - self.limits.identityHistoryRetention, limit: self.limits.sweepBatch)
            count += deleted
            if deleted < self.limits.sweepBatch { break }
        }
        return count
    }
}
