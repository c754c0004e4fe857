import Foundation
public import UAFClient
public import _Primitives

/// A clock that a test moves. The wall clock and the time since the start are separate, as on a device whose owner sets
/// the wall clock.
// Safe to share: every access to the state is within `lock`, and continuations are resumed outside `lock`.
public final class FakeClock: DeviceClock, @unchecked Sendable {
    private struct Sleeper {
        let id: Int
        let end: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private let lock = NSLock()
    private var wall: Timestamp
    private var running = Duration.seconds(1000)
    private var boots = 1
    private var ids = 0
    private var sleepers: [Sleeper] = []
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Creates a clock that stands at a wall time.
    public init(wall: Timestamp = Timestamp(seconds: 1_800_000_000)) { self.wall = wall }

    /// The wall clock.
    public func now() -> Timestamp { self.lock.withLock { self.wall } }
    /// The time since the last start, sleep included.
    public func uptime() -> Duration { self.lock.withLock { self.running } }
    /// The name of the device's last start.
    public var bootIdentifier: String { self.lock.withLock { "boot-\(self.boots)" } }

    /// The wall clock for a server in the same test.
    public var timeSource: TimeSource { TimeSource { self.now() } }

    /// Lets time pass on both clocks, and wakes tasks whose time has come.
    public func advance(by duration: Duration) {
        let woken: [Sleeper] = self.lock.withLock {
            self.wall = self.wall + duration
            self.running += duration
            let due = self.sleepers.filter { $0.end <= self.running }
            self.sleepers.removeAll { $0.end <= self.running }
            return due
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Moves the wall clock alone, as a person can.
    public func moveWall(by duration: Duration) { self.lock.withLock { self.wall = self.wall + duration } }

    /// Restarts the device: the start gets another name, and the time since the start begins again near zero.
    public func restart() {
        self.lock.withLock {
            self.boots += 1
            self.running = .seconds(1)
        }
    }

    /// Waits until ``advance(by:)`` lets the duration pass. A wait of zero, too, ends only at the next advance.
    public func sleep(for duration: Duration) async throws {
        let id = self.lock.withLock {
            self.ids += 1
            return self.ids
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let satisfied = self.lock.withLock { () -> [CheckedContinuation<Void, Never>]? in
                    guard !Task.isCancelled else { return nil }
                    self.sleepers.append(
                        Sleeper(id: id, end: self.running + duration, continuation: continuation))
                    let count = self.sleepers.count
                    let satisfied = self.watchers.filter { $0.count <= count }.map(\.continuation)
                    self.watchers.removeAll { $0.count <= count }
                    return satisfied
                }
                if satisfied == nil { continuation.resume(throwing: CancellationError()) }
                for watcher in satisfied ?? [] { watcher.resume() }
            }
        } onCancel: {
            let sleeper = self.lock.withLock {
                self.sleepers.firstIndex { $0.id == id }.map { self.sleepers.remove(at: $0) }
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// The number of tasks that sleep on this clock.
    public var sleepingCount: Int { self.lock.withLock { self.sleepers.count } }

    /// Returns as soon as at least `count` tasks sleep on this clock.
    public func untilSleeping(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isSatisfied = self.lock.withLock {
                if self.sleepers.count >= count { return true }
                self.watchers.append((count, continuation))
                return false
            }
            if isSatisfied { continuation.resume() }
        }
    }
}
