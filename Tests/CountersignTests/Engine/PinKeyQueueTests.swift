import Ceremony
import Countersign
import Dispatch
import Foundation
import Synchronization
import Testing
import _Primitives

@Suite("Keys of PINs, made on a thread of their own (decision 58)") struct PinKeyQueueTests {
    @Test(
        "however much waits for it, tasks go on meanwhile, and one thing is done at a time",
        .timeLimit(.minutes(10)))
    func ofItsOwn() async throws {
        let queue = PinKeyQueue(capacity: 64)
        let gate = DispatchSemaphore(value: 0)
        let running = Count()
        // More than the tasks' pool has threads: were they its, nobody could open the gate.
        let count = min(64, 2 * ProcessInfo.processInfo.activeProcessorCount + 2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await queue.run {
                        running.enter()
                        gate.wait()
                        running.leave()
                    }
                }
            }
            await Task {
                for _ in 0..<count {
                    await Task.yield()
                    gate.signal()
                }
            }.value
            try await group.waitForAll()
        }
        #expect(running.most == 1 && running.all == count)
    }

    @Test(
        "what waits leaves when its task is cancelled, what has begun is finished, and too much is refused",
        .timeLimit(.minutes(10)))
    func cancelled() async throws {
        let (queue, gate) = (PinKeyQueue(capacity: 1), DispatchSemaphore(value: 0))
        let first = await self.occupy(queue, until: gate)
        first.cancel()
        await self.cancelBoth(at: queue, [{}, {}])
        gate.signal()
        #expect(try await first.value == "first")
        #expect(try await queue.run { "fourth" } == "fourth")
    }

    @Test(
        "a PIN whose task is cancelled while it waits is let go of at once, not when its turn would have come",
        .timeLimit(.minutes(10)))
    func letGo() async throws {
        let (queue, gate) = (PinKeyQueue(capacity: 1), DispatchSemaphore(value: 0))
        let first = await self.occupy(queue, until: gate)
        var pins: [WeakPin] = []
        await self.cancelBoth(
            at: queue,
            (0..<2).map { _ in
                let typed = SecretBytes(utf8: "824193")
                pins.append(WeakPin(bytes: typed))
                return { #expect(typed != SecretBytes(utf8: "824193"), "nothing is done of what is cancelled") }
            })
        #expect(pins.count == 2 && !pins.contains(where: \.isKept))
        gate.signal()
        _ = try await first.value
    }

    /// Keeps a queue's thread busy until the gate opens; it is when this returns.
    private func occupy(_ queue: PinKeyQueue, until gate: DispatchSemaphore) async -> Task<String, any Error> {
        let hasBegun = AsyncStream<Void>.makeStream()
        let first = Task {
            try await queue.run {
                hasBegun.continuation.yield()
                gate.wait()
                return "first"
            }
        }
        for await _ in hasBegun.stream { break }
        return first
    }

    /// Has two things wait at a busy queue with room for one, and cancels the one that waits.
    private func cancelBoth(at queue: PinKeyQueue, _ works: [@Sendable () -> Void]) async {
        await withTaskGroup(of: (any Error)?.self) { group in
            for work in works {
                group.addTask {
                    do {
                        try await queue.run(work)
                        return nil
                    } catch { return error }
                }
            }
            // One waits, and there is no room for the other.
            let refused = await group.next() ?? nil
            #expect(refused as? PinSchemeError == PinSchemeError(.unavailable))
            group.cancelAll()
            let cancelled = await group.next() ?? nil
            #expect(cancelled is CancellationError)
        }
    }
}

/// How many are somewhere at once.
private final class Count: Sendable {
    private let counts = Mutex((now: 0, most: 0, all: 0))

    var most: Int { self.counts.withLock { $0.most } }
    var all: Int { self.counts.withLock { $0.all } }

    func enter() {
        self.counts.withLock { counts in
            counts.now += 1
            counts.all += 1
            counts.most = max(counts.most, counts.now)
        }
    }

    func leave() { self.counts.withLock { $0.now -= 1 } }
}
