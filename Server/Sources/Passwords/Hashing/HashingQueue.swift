import Foundation

/// The queue of work for the hashing threads, by the turns of ``HashingTurns``.
///
/// The queue bounds the number of waiting jobs and the memory of running jobs. A job begins if its memory fits beside
/// the memory of the others, or if the job is alone. No job overtakes the job whose turn is next, so a costly job is
/// not put off for ever.
final class HashingQueue: @unchecked Sendable {
    // Safe to share: every access to what varies holds `condition`.
    private let condition = NSCondition()
    private var waiting: HashingTurns<Job>
    private var load = HashingLoad()
    private var running: Int
    private var isClosed = false
    private var nextID: UInt64 = 0
    private var drained: [CheckedContinuation<Void, Never>] = []
    private let limits: PasswordLimits

    private struct Job {
        let memoryKiB: Int
        /// Does the work, and returns a function that tells the caller.
        let perform: () -> () -> Void
        let refuse: (any Error) -> Void
    }

    init(limits: PasswordLimits) {
        self.limits = limits
        self.waiting = HashingTurns(most: limits.waitingHashes, share: limits.waitingHashesPerNetwork)
        self.running = limits.hashingThreads
        for index in 0..<limits.hashingThreads {
            let thread = Thread { [self] in
                // The name is for inspecting the process. On Linux a name from before the start is lost.
                Thread.current.name = "hashing-\(index)"
                Self.giveWay(limits.niceness)
                while let job = self.take() {
                    let tell = job.perform()
                    // The count comes first, so that a told caller finds the job counted.
                    self.finished(job)
                    tell()
                }
                self.ended()
            }
            thread.start()
        }
    }

    /// Lowers the priority of the calling thread.
    private static func giveWay(_ niceness: Int32) {
        #if os(Linux)
            // On Linux the priority belongs to this thread alone. If the operating system refuses, the priority stays.
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        #endif
    }

    /// Runs `work` on a hashing thread.
    ///
    /// Throws the errors of `work`, ``HashingError`` `busy` or `closed`, and `CancellationError` if the caller is
    /// cancelled before the work begins.
    func run<Value: Sendable>(
        for turn: HashingTurn, memoryKiB: Int, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let id = self.newID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let job = Job(
                    memoryKiB: memoryKiB,
                    perform: {
                        let result = Result { try work() }
                        return { continuation.resume(with: result) }
                    }, refuse: { continuation.resume(throwing: $0) })
                let (loser, refusal) = self.add(job, number: id, of: turn)
                loser?.refuse(refusal)
            }
        } onCancel: {
            self.remove(id)?.refuse(CancellationError())
        }
    }

    private func newID() -> UInt64 {
        self.condition.withLock {
            self.nextID += 1
            return self.nextID
        }
    }

    /// Adds a waiting job. Returns the job that loses its place, which may be the added job, and the reason.
    private func add(_ job: Job, number: UInt64, of turn: HashingTurn) -> (Job?, any Error) {
        self.condition.withLock {
            // The check runs under the lock, so that a later cancellation finds the job.
            guard !Task.isCancelled else { return (job, CancellationError()) }
            guard !self.isClosed else { return (job, HashingError(.closed, "the server is stopping")) }
            let loser = self.waiting.add(job, number: number, of: turn)
            self.condition.signal()
            return (
                loser, HashingError(.busy, "\(self.waiting.count) hashes wait", retryAfter: self.limits.busyRetry)
            )
        }
    }

    /// `true` if another job of the network takes the place of one of the network's jobs, or gets no place.
    func isFull(for turn: HashingTurn) -> Bool { self.condition.withLock { self.waiting.isFull(for: turn) } }

    /// Removes and returns a job that no thread has taken yet.
    private func remove(_ id: UInt64) -> Job? {
        self.condition.withLock {
            // The next job may now fit.
            defer { self.condition.broadcast() }
            return self.waiting.remove(id)
        }
    }

    private func take() -> Job? {
        self.condition.withLock {
            while true {
                if let next = self.waiting.next, self.fits(next), let first = self.waiting.takeNext() {
                    self.load.memoryKiB += first.memoryKiB
                    self.load.mostMemoryKiB = max(self.load.mostMemoryKiB, self.load.memoryKiB)
                    return first
                }
                if self.isClosed, self.waiting.count == 0 { return nil }
                self.condition.wait()
            }
        }
    }

    private func fits(_ job: Job) -> Bool {
        self.load.memoryKiB == 0
            || self.load.memoryKiB + job.memoryKiB <= self.limits.hashingThreads * self.limits.hashing.memoryKiB
    }

    private func finished(_ job: Job) {
        self.condition.withLock {
            self.load.memoryKiB -= job.memoryKiB
            self.load.done += 1
            self.condition.broadcast()
        }
    }

    private func ended() {
        let drained = self.condition.withLock {
            self.running -= 1
            defer { if self.running == 0 { self.drained = [] } }
            return self.running == 0 ? self.drained : []
        }
        for continuation in drained { continuation.resume() }
    }

    /// The present load, with the totals since the start.
    var currentLoad: HashingLoad {
        self.condition.withLock {
            var load = self.load
            load.waiting = self.waiting.count
            load.isClosed = self.isClosed
            return load
        }
    }

    /// Takes no more work. The threads finish the waiting jobs and end.
    func stop() {
        self.condition.withLock {
            self.isClosed = true
            self.condition.broadcast()
        }
    }

    /// Returns after the end of the threads.
    func untilDrained() async {
        await withCheckedContinuation { continuation in
            let isDrained = self.condition.withLock {
                if self.running > 0 { self.drained.append(continuation) }
                return self.running == 0
            }
            if isDrained { continuation.resume() }
        }
    }
}
