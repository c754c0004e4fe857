import Records
import Settings
import Synchronization
import _Primitives

/// Wakes the streams of devices whose accounts or devices may have changed, whoever changed them.
///
/// Each removal of a device, each lock of an account and each deregistration leaves an entry in the audit trail, in the
/// same step. So the trail is read on, from the first stream on, every ``Limits/Fixed/deviceLook``: one query for all
/// streams. A stream that is woken reads its device again.
final class DeviceChanges: Sendable {
    private struct State {
        /// The number of the last entry that was read; `nil` before the first stream.
        var last: Int64?
        var isLooking = false
    }

    private let hub: CeremonyHub
    private let store: any AuditStore
    private let state = Mutex(State())

    init(hub: CeremonyHub, store: any AuditStore) {
        self.hub = hub
        self.store = store
    }

    /// Begins to look. A change after the end of this call wakes the streams of its device. Throws the store's errors.
    ///
    /// While nobody watches, the trail is not read. The first stream after such a time does not wait for a look at all
    /// entries of the time: a stream that begins later reads its device after those entries.
    func begin() async throws {
        if !self.hub.isWatchingDevices {
            let last = try await self.store.auditedSubjects(after: nil, limit: 1).last
            // A stream that has begun meanwhile may have read its device before the last entries.
            let isAlone = !self.hub.isWatchingDevices
            self.state.withLock { $0.last = isAlone ? max($0.last ?? last, last) : $0.last ?? last }
        }
        let isFirst = self.state.withLock { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
        guard isFirst else { return }
        Task { [weak self] in
            while (try? await Task.sleep(for: Limits.Fixed.deviceLook)) != nil, let self { await self.look() }
        }
    }

    /// Reads the trail on. After an error of the store the next look begins at the same entry.
    private func look() async {
        guard self.hub.isWatchingDevices, var last = self.state.withLock({ $0.last }) else { return }
        while let read = try? await self.store.auditedSubjects(after: last, limit: Limits.Fixed.auditPage),
            read.last > last
        {
            for account in Set(read.accounts) { self.hub.wakeDevices(ofAccount: account) }
            for device in Set(read.details) { self.hub.wake(.device(device)) }
            last = read.last
            self.state.withLock { $0.last = last }
        }
    }
}
