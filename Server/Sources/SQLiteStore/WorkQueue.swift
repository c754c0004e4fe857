import Foundation
import Records

/// A queue of work for one kind of connection, done in batches by dedicated threads. So neither an event loop nor a
/// thread of the cooperative pool ever waits for a disk.
///
/// The queue is bounded: a caller that finds the queue full gets an error at once.
final class WorkQueue<Job: Sendable>: @unchecked Sendable {
    // Safe to share: every access to `waiting` and `isClosed` holds `condition`.
    private let condition = NSCondition()
    private var waiting: [Job] = []
    private var isClosed = false
    private var running: Int
    private let capacity: Int
    private let batchSize: Int

    /// Starts `threads` threads that hand batches of at most `batchSize` jobs to `work`.
    init(
        name: String, threads: Int, capacity: Int, batchSize: Int, work: @escaping @Sendable (ArraySlice<Job>) -> Void
    ) {
        self.capacity = capacity
        self.batchSize = batchSize
        self.running = threads
        for index in 0..<threads {
            let thread = Thread { [self] in
                while let batch = self.take() { work(batch) }
                self.ended()
            }
            thread.name = "\(name)-\(index)"
            thread.start()
        }
    }

    /// Adds a job. Throws ``StoreError/Code/unavailable`` if the queue is full or closed.
    func add(_ job: Job) throws {
        self.condition.lock()
        defer { self.condition.unlock() }
        guard !self.isClosed else { throw StoreError(.unavailable, "the store is closed") }
        guard self.waiting.count < self.capacity else { throw StoreError(.unavailable, "too many steps wait") }
        self.waiting.append(job)
        self.condition.signal()
    }

    /// The number of jobs that no thread has taken yet.
    var count: Int {
        self.condition.lock()
        defer { self.condition.unlock() }
        return self.waiting.count
    }

    private func take() -> ArraySlice<Job>? {
        self.condition.lock()
        defer { self.condition.unlock() }
        while self.waiting.isEmpty {
            if self.isClosed { return nil }
            self.condition.wait()
        }
        let batch = self.waiting.prefix(self.batchSize)
        self.waiting.removeFirst(batch.count)
        return batch
    }

    private func ended() {
        self.condition.lock()
        self.running -= 1
        self.condition.broadcast()
        self.condition.unlock()
    }

    /// Takes no more jobs. The threads finish the waiting jobs and end.
    func stop() {
        self.condition.lock()
        self.isClosed = true
        self.condition.broadcast()
        self.condition.unlock()
    }

    /// Does the same as ``stop()``, and returns when the threads have ended. Blocks.
    func close() {
        self.stop()
        self.condition.lock()
        while self.running > 0 { self.condition.wait() }
        self.condition.unlock()
    }
}
