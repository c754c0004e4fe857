import Foundation

/// Work for the hashing threads, by the turns of ``HashingTurns``.
///
/// Bounded in what waits and in the memory of what runs: a job begins when its memory fits beside that of the others,
/// or when it is alone. As none overtakes the one whose turn it is, a costly one is not put off for ever.
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
        /// Does the work, and gives what tells its caller.
        let perform: () -> () -> Void
        let refuse: (any Error) -> Void
    }

    init(limits: PasswordLimits) {
        self.limits = limits
        self.waiting = HashingTurns(most: limits.waitingHashes, share: limits.waitingHashesPerNetwork)
        self.running = limits.hashingThreads
        for index in 0..<limits.hashingThreads {
            let thread = Thread { [self] in
                Self.giveWay(limits.niceness)
                while let job = self.take() {
                    let tell = job.perform()
                    // First: whoever is told finds it counted.
                    self.finished(job)
                    tell()
                }
                self.ended()
            }
            thread.start()
            // For whoever looks at the process. A name that is given before the start is lost on Linux.
            thread.name = "hashing-\(index)"
        }
    }

    /// Lets the calling thread give way to others.
    private static func giveWay(_ niceness: Int32) {
        #if os(Linux)
            // Of this thread alone, on Linux. The operating system may refuse; then it gives way to nobody.
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        #endif
    }

    /// Has `work` done by a hashing thread.
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

    /// Lets a job wait. Gives the one that waits no longer because of it, which may be the job itself, and why.
    private func add(_ job: Job, number: UInt64, of turn: HashingTurn) -> (Job?, any Error) {
        self.condition.withLock {
            // Asked with the lock held: who is cancelled after this finds the job.
            guard !Task.isCancelled else { return (job, CancellationError()) }
            guard !self.isClosed else { return (job, HashingError(.closed, "the server is stopping")) }
            let loser = self.waiting.add(job, number: number, of: turn)
            self.condition.signal()
            return (
                loser, HashingError(.busy, "\(self.waiting.count) hashes wait", retryAfter: self.limits.busyRetry)
            )
        }
    }

    /// Whether a job more of this network would take the place of one of its own.
    func isFull(for turn: HashingTurn) -> Bool { self.condition.withLock { self.waiting.isFull(for: turn) } }

    /// A job that no thread has taken yet.
    private func remove(_ id: UInt64) -> Job? {
        self.condition.withLock {
            // The one behind it may fit where it did not.
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

    /// What it does now, and what it has done.
    var currentLoad: HashingLoad {
        self.condition.withLock {
            var load = self.load
            load.waiting = self.waiting.count
            load.isClosed = self.isClosed
            return load
        }
    }

    /// Takes nothing more; the threads finish what waits and go.
    func stop() {
        self.condition.withLock {
            self.isClosed = true
            self.condition.broadcast()
        }
    }

    /// Returns when the threads are gone.
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
