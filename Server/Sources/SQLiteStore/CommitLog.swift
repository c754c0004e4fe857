import Foundation
import Records
import Settings

/// Makes the writer's commits durable on a separate thread, while the writer goes on with the next commit.
///
///     writer     | commit 1 | commit 2     | commit 3    |
///     this                  | disk: 1      | disk: 2     |
///     callers                              | learn of 1  | learn of 2
///
/// SQLite shows a commit to readers, and to the next step, before the commit is on the disk. So a reader waits here
/// just as the writer does: no caller learns of data that a loss of power could take back. A disk that fails to make
/// the log durable may have lost any part of the log, and reports the failure only once. From then on nothing is
/// committed and nothing is read.
final class CommitLog: @unchecked Sendable {
    // Safe to share: every access to mutable state holds `condition`.
    private let condition = NSCondition()
    /// The number of the last commit that readers may see.
    private var begun = 0
    /// The number of the last commit that is in the log, or failed.
    private var written = 0
    /// The number of the last commit that is on the disk.
    private var durable = 0
    private var waiting: [Waiting] = []
    private var failure: StoreError?
    private var isBroken = false
    private var isClosed = false
    private var isRunning = true
    private let capacity: Int

    private struct Waiting {
        /// The number of the commit that has to be durable before `answer` is called.
        let commit: Int
        let answer: @Sendable (StoreError?) -> Void
    }

    /// Starts the thread, which calls `synchronize` to make everything durable that was written so far.
    ///
    /// At most `capacity` answers wait for a slow disk, and at most ``Limits/Fixed/commitsAhead`` commits. The next
    /// caller blocks, and so do the jobs in the caller's queue.
    init(capacity: Int, synchronize: @escaping @Sendable () throws -> Void) {
        self.capacity = capacity
        let thread = Thread { [self] in
            while let commit = self.next() {
                var failure: StoreError?
                do { try synchronize() } catch {
                    failure = error as? StoreError ?? StoreError(.unavailable, "the log could not be made durable")
                }
                self.end(commit, failure)
            }
        }
        thread.name = "store-log"
        thread.start()
    }

    /// `true` if the log could not be made durable.
    var hasFailed: Bool { self.condition.withLock { self.isBroken } }

    /// Commits by calling `write` once. Called by one thread at a time. Blocks. Rethrows the error of `write`, and
    /// throws ``StoreError/Code/unavailable`` if an earlier commit could not be made durable, or the store is closed.
    func commit(_ write: () throws -> Void) throws {
        try self.condition.withLock {
            while self.failure == nil, self.begun - self.durable >= Limits.Fixed.commitsAhead { self.condition.wait() }
            if let failure { throw failure }
            self.begun += 1
        }
        defer {
            self.condition.withLock {
                self.written = self.begun
                self.condition.broadcast()
            }
        }
        try write()
    }

    /// Calls `answer` once every commit that a reader could see so far is durable: at once, or later from the thread of
    /// this object. `answer` receives an error if the durability is unknown. Blocks.
    func whenDurable(_ answer: @escaping @Sendable (StoreError?) -> Void) {
        self.condition.lock()
        while self.failure == nil, self.waiting.count >= self.capacity { self.condition.wait() }
        guard self.failure != nil || self.durable == self.begun else {
            self.waiting.append(Waiting(commit: self.begun, answer: answer))
            return self.condition.unlock()
        }
        let failure = self.failure
        self.condition.unlock()
        answer(failure)
    }

    /// Returns the number of the commit up to which the log is to be made durable; `nil` if no work is left and the
    /// thread ends.
    private func next() -> Int? {
        self.condition.withLock {
            while self.written == self.durable, !(self.isClosed && self.begun == self.written) {
                self.condition.wait()
            }
            guard self.failure == nil, self.written != self.durable else {
                // No thread makes later commits durable.
                self.failure = self.failure ?? StoreError(.unavailable, "the store is closed")
                self.isRunning = false
                self.condition.broadcast()
                return nil
            }
            return self.written
        }
    }

    private func end(_ commit: Int, _ failure: StoreError?) {
        let answered: ArraySlice<Waiting> = self.condition.withLock {
            if failure == nil { self.durable = commit } else { (self.failure, self.isBroken) = (failure, true) }
            let count = failure == nil ? self.waiting.prefix { $0.commit <= commit }.count : self.waiting.count
            defer {
                self.waiting.removeFirst(count)
                self.condition.broadcast()
            }
            return self.waiting.prefix(count)
        }
        for waiting in answered { waiting.answer(failure) }
    }

    /// Ends the thread once everything committed is durable.
    func stop() {
        self.condition.withLock {
            self.isClosed = true
            self.condition.broadcast()
        }
    }

    /// Does the same as ``stop()``, and returns when the thread has ended. Blocks.
    func close() {
        self.stop()
        self.condition.withLock { while self.isRunning { self.condition.wait() } }
    }
}
