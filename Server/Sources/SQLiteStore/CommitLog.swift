import Foundation
import Store

/// Makes durable what the writer has committed, on a thread of its own, while the writer goes on with the next commit.
///
///     writer     | commit 1 | commit 2     | commit 3    |
///     this                  | disk: 1      | disk: 2     |
///     callers                              | learn of 1  | learn of 2
///
/// SQLite shows a commit to readers, and to the next step, before it is on the disk. So whoever has read something waits here
/// as its writer does: nobody learns of anything that the loss of power could take back. A disk that fails to make the log
/// durable may have lost any part of it, and says so only once: from then on nothing is committed and nothing is read.
final class CommitLog: @unchecked Sendable {
    // Safe to share: every access to what can change holds `condition`.
    private let condition = NSCondition()
    /// The last commit that may be seen by readers.
    private var begun = 0
    /// The last commit that is in the log, or failed.
    private var written = 0
    /// The last commit that is on the disk.
    private var durable = 0
    private var waiting: [Waiting] = []
    private var failure: StoreError?
    private var isBroken = false
    private var isClosed = false
    private var isRunning = true
    private let capacity: Int

    private struct Waiting {
        /// What has to be durable.
        let commit: Int
        let answer: @Sendable (StoreError?) -> Void
    }

    /// Starts the thread, which calls `synchronize` to make everything durable that was written before the call.
    ///
    /// Where the disk is slow, so many answers wait for it, and so many commits (``Limits/Fixed/commitsAhead``): whoever comes
    /// with more waits himself, and with him what is queued for him.
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

    /// Whether something could not be made durable.
    var hasFailed: Bool { self.condition.withLock { self.isBroken } }

    /// Commits by `write`, which is called once, by one thread at a time. Blocks. Throws what it throws, and
    /// ``StoreError/Code/unavailable`` where an earlier commit could not be made durable.
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

    /// Calls `answer` once everything is durable that could be seen until now: at once, or from this object's thread. It is
    /// given an error where that cannot be told. Blocks.
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

    /// The commit up to which the log is to be made durable; `nil` where there is nothing to do any more.
    private func next() -> Int? {
        self.condition.withLock {
            while self.written == self.durable, !(self.isClosed && self.begun == self.written) {
                self.condition.wait()
            }
            guard self.failure == nil, self.written != self.durable else {
                // Nobody makes durable what may come after.
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

    /// Lets the thread go once everything is durable that was committed.
    func stop() {
        self.condition.withLock {
            self.isClosed = true
            self.condition.broadcast()
        }
    }

    /// As ``stop()``, and returns when the thread is gone. Blocks.
    func close() {
        self.stop()
        self.condition.withLock { while self.isRunning { self.condition.wait() } }
    }
}
