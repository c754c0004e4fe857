import Dispatch
import Foundation

/// Waits for asynchronous work on a thread that has nothing else to do.
enum Blocking {
    /// Blocks the calling thread until `body` is done, and gives what it gives. It sleeps meanwhile.
    ///
    /// Never on the main thread, whose screens would stand still: a debug build ends there. Nor in a task: the few threads
    /// that tasks share could all wait for a task that finds none.
    static func wait<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        Self.assertNothingIsDrawnHere()
        let outcome = Outcome<Value>()
        Task { outcome.end(with: await Result.catching(body)) }
        return try outcome.wait().get()
    }

    private static func assertNothingIsDrawnHere() {
        assert(!Thread.isMainThread, "a …Synchronous function blocks, and this is the main thread: use its async form")
        #if DEBUG
            // What draws a program's screens need not be its first thread.
            dispatchPrecondition(condition: .notOnQueue(.main))
        #endif
    }

    /// What a piece of work came to, once.
    // Safe to share: `result` is written once, before the semaphore is signalled, and read after it was waited for.
    private final class Outcome<Value: Sendable>: @unchecked Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        private var result: Result<Value, any Error>?

        func end(with result: Result<Value, any Error>) {
            self.result = result
            self.semaphore.signal()
        }

        func wait() -> Result<Value, any Error> {
            self.semaphore.wait()
            return self.result ?? .failure(CancellationError())
        }
    }
}

extension Result where Failure == any Error {
    fileprivate static func catching(_ body: () async throws -> Success) async -> Self {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}
