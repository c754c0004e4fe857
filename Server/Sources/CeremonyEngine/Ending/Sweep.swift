import Ceremony
import Records
import Settings
import _Primitives

/// Ends overdue ceremonies, and activations that an unsettled attempt has disabled. Deletes records past their time.
public struct Sweep: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore & NoticeStore & AskingRestStore & PushCountStore
    let endings: Endings

    /// Ends overdue ceremonies and wakes their watchers. Ends activations whose last possible attempt was never
    /// settled. Deletes ceremonies, notices, offers, consents, rests of clients, counted messages and entries of
    /// histories past their time. Returns the number of ended and deleted objects.
    ///
    /// Nothing depends on the time of a run: an overdue ceremony counts as expired already. Two simultaneous sweeps do
    /// no harm.
    @discardableResult
    public func run() async throws -> Int {
        let now = self.time.now()
        var count = 0
        while true {
            let overdue = try await self.store.overdueCeremonies(at: now, limit: self.limits.sweepBatch)
            // All at once, because steps that wait together share a commit.
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
                ending: self.environment.endOfSessions(at: now))
            count += disabled
            if disabled < self.limits.sweepBatch { break }
        }
        // Rows are deleted in batches until none is left, so that other steps can run in between.
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
        while true {
            let deleted = try await self.store.deleteRests(
                endedBefore: now - Limits.Fixed.askingRestMemory,
                attemptsBefore: now - Limits.Fixed.wrongNumberMemory, limit: self.limits.sweepBatch)
            count += deleted
            if deleted < self.limits.sweepBatch { break }
        }
        while true {
            let deleted = try await self.store.deletePushCounts(
                before: now - Limits.Fixed.pushDay, limit: self.limits.sweepBatch)
            count += deleted
            if deleted < self.limits.sweepBatch { break }
        }
        return count
    }
}
